import { execFile } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { promisify } from "node:util";

const run = promisify(execFile);

/** Processes that serve the functions, and their resident bytes. */
type Sizes = ReadonlyMap<number, number>;

/** Returns the processes of this test that serve the functions: workerd or the Node host. */
async function serving(): Promise<Sizes> {
  const { stdout } = await run("ps", ["-axo", "ppid=,pid=,rss=,args="]);
  const sizes = new Map(
    stdout.split("\n").flatMap((line) => {
      const [parent, pid, kib, ...args] = line.trim().split(/\s+/);
      const serves = /\/workerd |platform-host\.mjs/.test(`${args.join(" ")} `);
      return Number(parent) === process.pid && serves ? [[Number(pid), Number(kib) * 1024] as const] : [];
    }),
  );
  if (sizes.size === 0) throw new Error("No process of this test serves the functions.");
  return sizes;
}

/** Returns the resident bytes of a process, which Linux says in a file; 0 if the process has ended. */
function residentBytes(pid: number): number {
  try {
    const [, kib] = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, "utf8")) ?? [];
    return Number(kib ?? 0) * 1024;
  } catch {
    return 0;
  }
}

const sum = (sizes: Iterable<number>): number => [...sizes].reduce((all, size) => all + size, 0);

/** Runs `work` and returns the peak growth of the serving processes in bytes. */
export async function growthDuring(work: () => Promise<unknown>): Promise<number> {
  const first = await serving();
  const pids = [...first.keys()];
  // The program `ps` reads all processes, which would take most of a processor if it ran this often.
  const current = existsSync("/proc/self/status")
    ? async () => sum(pids.map(residentBytes))
    : async () => sum((await serving()).values());
  const before = sum(first.values());
  let peak = before;
  let over = false;
  const watch = (async () => {
    while (!over) {
      peak = Math.max(peak, await current());
      await new Promise((resolve) => setTimeout(resolve, 25));
    }
  })();
  try {
    await work();
  } finally {
    over = true;
    await watch;
  }
  return peak - before;
}
