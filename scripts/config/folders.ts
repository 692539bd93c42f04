import { mkdirSync, statSync } from "node:fs";
import { dirname } from "node:path";
import { systemCode } from "../process/failure.ts";

const isFolder = (path: string) => statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;

/**
 * Creates a folder and its parents. Only the owner can open them. Does not use Node's recursive `mkdir`, which would
 * loop forever below /proc.
 */
export function makeFolder(path: string): void {
  if (isFolder(path)) return;
  const above = dirname(path);
  if (above !== path) makeFolder(above);
  try {
    mkdirSync(path, { mode: 0o700 });
  } catch (error) {
    // Another process may have created the folder at the same moment.
    if (systemCode(error) === "EEXIST" && isFolder(path)) return;
    if (systemCode(error) === "ENOENT")
      throw new Error(`folders cannot be created in ${above}`, { cause: error });
    throw error;
  }
}
