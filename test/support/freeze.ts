import { readdirSync, readFileSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";

/** Returns whether all threads of a process have stopped. Also returns true if the system does not tell. */
function stands(pid: number): boolean {
  try {
    return readdirSync(`/proc/${pid}/task`).every((thread) => {
      const stat = readFileSync(`/proc/${pid}/task/${thread}/stat`, "utf8");
      return stat.split(") ").at(-1)?.startsWith("T") === true;
    });
  } catch {
    return true;
  }
}

/**
 * Stops a process with SIGSTOP. Waits until its threads have stopped, because they may still respond for a moment after
 * the signal.
 */
export async function freeze(pid: number): Promise<void> {
  process.kill(pid, "SIGSTOP");
  while (!stands(pid)) await delay(2);
}
