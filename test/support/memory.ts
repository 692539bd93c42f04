import { execFile } from "node:child_process";
import { promisify } from "node:util";

const run = promisify(execFile);

/** Resident bytes of the processes of this test that serve the functions: workerd or the Node host. */
async function residentBytes(): Promise<number> {
  const { stdout } = await run("ps", ["-axo", "ppid=,rss=,args="]);
  const sizes = stdout.split("\n").flatMap((line) => {
    const [parent, kib, ...args] = line.trim().split(/\s+/);
    const serves = /\/workerd |platform-host\.mjs/.test(`${args.join(" ")} `);
    return Number(parent) === process.pid && serves ? [Number(kib) * 1024] : [];
  });
  if (sizes.length === 0) throw new Error("No process of this test serves the functions.");
  return sizes.reduce((sum, size) => sum + size, 0);
}

/** Runs `work` and returns the peak growth of the serving processes in bytes. */
export async function growthDuring(work: () => Promise<unknown>): Promise<number> {
  const before = await residentBytes();
  let peak = before;
  let over = false;
  const watch = (async () => {
    while (!over) {
      peak = Math.max(peak, await residentBytes());
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
