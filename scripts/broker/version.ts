import { spawnSync } from "node:child_process";
import { statSync } from "node:fs";

/** Minimum broker version: the first with message schedules and atomic batches. */
export const MINIMUM = "2.14.0";

export function parseVersion(output: string): string | undefined {
  return /\bv?(\d+\.\d+\.\d+(?:-[0-9A-Za-z.]+)?)\b/.exec(output)?.[1];
}

/**
 * Returns whether a version is at least the minimum. A pre-release such as "2.14.0-RC.1" counts as older than its
 * release.
 */
export function isRecentEnough(version: string, minimum = MINIMUM): boolean {
  const [numbers = "", preRelease] = version.split("-", 2);
  const have = numbers.split(".").map(Number);
  const need = minimum.split(".").map(Number);
  for (let index = 0; index < 3; index++) {
    const difference = (have[index] ?? 0) - (need[index] ?? 0);
    if (difference !== 0) return difference > 0;
  }
  return preRelease === undefined;
}

/** Versions of binaries that this process has started, by the path and the state of the file. */
const known = new Map<string, string>();

function stateOf(binary: string): string {
  try {
    const { ino, size, mtimeMs } = statSync(binary);
    return JSON.stringify([binary, ino, size, mtimeMs]);
  } catch {
    return binary;
  }
}

/** Returns the version of a binary; undefined if the binary does not run or is not a nats-server. */
export function versionOf(binary: string): string | undefined {
  const state = stateOf(binary);
  const found = known.get(state);
  if (found !== undefined) return found;
  const result = spawnSync(binary, ["-v"], { encoding: "utf8", timeout: 10_000 });
  if (result.status !== 0) return undefined;
  const version = parseVersion(`${result.stdout}${result.stderr}`);
  if (version !== undefined) known.set(state, version);
  return version;
}
