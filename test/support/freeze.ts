import { readdirSync, readFileSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";

/** Whether every thread of a process stands still; where the system does not tell, it is taken for granted. */
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

/** Stops a process in its tracks (`SIGSTOP`). The signal alone leaves its threads a moment in which they still answer. */
export async function freeze(pid: number): Promise<void> {
  process.kill(pid, "SIGSTOP");
  while (!stands(pid)) await delay(2);
}
