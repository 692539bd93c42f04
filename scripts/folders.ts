import { mkdirSync, statSync } from "node:fs";
import { dirname } from "node:path";
import { systemCode } from "./failure.ts";

const isFolder = (path: string) => statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;

/**
 * Makes a folder for its owner only, and those above it, one by one: Node's own way of making all of them turns in
 * circles for ever where the system says that a folder is missing which is there (below /proc, say).
 * @throws the system's error, or one that names the folder which takes no others
 */
export function makeFolder(path: string): void {
  if (isFolder(path)) return;
  const above = dirname(path);
  if (above !== path) makeFolder(above);
  try {
    mkdirSync(path, { mode: 0o700 });
  } catch (error) {
    // Another may have made it at the same moment.
    if (systemCode(error) === "EEXIST" && isFolder(path)) return;
    if (systemCode(error) === "ENOENT")
      throw new Error(`no folder can be made in ${above}`, { cause: error });
    throw error;
  }
}
