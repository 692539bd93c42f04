import { spawnSync } from "node:child_process";
import { statSync } from "node:fs";

/**
 * For each line of releases, the first broker version with message schedules and atomic batches that does not use more
 * and more processor time while messages expire. Later lines are recent enough.
 */
const MINIMUMS = ["2.14.10", "2.15.1"];

/** The versions that are recent enough, for messages. */
export const RECENT_ENOUGH = `${MINIMUMS.join(", ")} or newer`;

export function parseVersion(output: string): string | undefined {
  return /\bv?(\d+\.\d+\.\d+(?:-[0-9A-Za-z.]+)?)\b/.exec(output)?.[1];
}

const numbersOf = (version: string): number[] => version.split(".").map(Number);

/** Returns the difference of two versions: a positive number if the first is newer. */
function compare(one: readonly number[], other: readonly number[]): number {
  const differences = one.map((number, index) => number - (other[index] ?? 0));
  return differences.find((difference) => difference !== 0) ?? 0;
}

/**
 * Returns whether a version is at least the minimum of its line. A pre-release such as "2.15.1-RC.1" counts as older
 * than its release.
 */
export function isRecentEnough(version: string): boolean {
  const [numbers = "", preRelease] = version.split("-", 2);
  const have = numbersOf(numbers);
  const minimums = MINIMUMS.map(numbersOf);
  const ofLine = ([major, minor]: readonly number[]) => major === have[0] && minor === have[1];
  const need = minimums.find(ofLine) ?? minimums.at(-1) ?? [];
  const difference = compare(have, need);
  return difference > 0 || (difference === 0 && preRelease === undefined);
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
