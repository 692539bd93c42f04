import { execFileSync, spawnSync } from "node:child_process";
import { mkdirSync } from "node:fs";

/**
 * Mounts a disk of this many megabytes, for tests of a full disk. Returns undefined if the user may not mount disks.
 */
export function smallDisk(
  dir: string,
  megabytes: number,
): { grow: () => void; release: () => void } | undefined {
  if (process.platform !== "linux" || process.getuid?.() !== 0) return undefined;
  mkdirSync(dir, { recursive: true });
  const size = (mb: number) => `size=${mb}m`;
  if (spawnSync("mount", ["-t", "tmpfs", "-o", size(megabytes), "tmpfs", dir]).status !== 0) return undefined;
  return {
    grow: () => execFileSync("mount", ["-o", `remount,${size(megabytes * 8)}`, dir]),
    release: () => spawnSync("umount", ["-l", dir]),
  };
}
