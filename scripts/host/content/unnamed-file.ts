import { randomUUID } from "node:crypto";
import { openSync, unlinkSync } from "node:fs";
import { join } from "node:path";

/**
 * Creates a file without a name, which the system removes when the process ends. Returns its descriptor.
 * @param use part of the name that the file has until it is unlinked
 * @throws Error if the folder does not exist or cannot be written to
 */
export function openUnnamed(dir: string, use: string): number {
  const path = join(dir, `platform-${use}-${randomUUID()}`);
  const file = openSync(path, "wx+", 0o600);
  unlinkSync(path);
  return file;
}
