import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("../..", import.meta.url));

/** Runs a tool from node_modules in the foreground with the pinned Node. @returns its exit code */
export function runTool(script: string, args: string[], env: Record<string, string> = {}): number {
  const path = join(root, "node_modules", script);
  const result = spawnSync(process.execPath, [path, ...args], {
    cwd: root,
    stdio: "inherit",
    env: { ...process.env, ...env },
  });
  return result.status ?? 1;
}
