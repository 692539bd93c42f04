import { spawn } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { backoff, type Program, supervise } from "../../scripts/process/supervise.ts";
import { tempDir } from "../support/broker.ts";

/**
 * A process that records its id. Each start behaves as the next word says: `serve`, `hang`, `end`, or `fail` with a
 * reason.
 */
function acting(...lives: string[]) {
  const dir = tempDir("supervised");
  const born = join(dir, "born");
  const script = `import { appendFileSync, readFileSync } from "node:fs";
    appendFileSync(${JSON.stringify(born)}, process.pid + "\\n");
    const life = readFileSync(${JSON.stringify(born)}, "utf8").trim().split("\\n").length - 1;
    const act = ${JSON.stringify(lives)}[life] ?? "serve";
    if (act === "end") { console.log("last words"); process.exit(3); }
    if (act === "fail") process.send({ failure: "told" }, () => process.exit(1));
    if (act === "serve") process.send({ ready: true });
    setInterval(() => undefined, 1000);`;
  const file = join(dir, "acting.mjs");
  writeFileSync(file, script);
  const whys: string[] = [];
  let back = 0;
  const program: Program = {
    failure: "It did not start",
    spawn: () => spawn(process.execPath, [file], { stdio: ["ignore", "pipe", "pipe", "ipc"] }),
    readyLimitMs: 4_000,
    graceMs: 5_000,
    retryMs: ({ failures, served }) => (served ? backoff(failures, 10, 100) : undefined),
    restarting: (why) => whys.push(why),
    restarted: () => back++,
  };
  const pids = () => (existsSync(born) ? readFileSync(born, "utf8").trim().split("\n").map(Number) : []);
  const alive = () =>
    pids().filter((pid) => {
      try {
        return process.kill(pid, 0);
      } catch {
        return false;
      }
    });
  return { program, whys, alive, pids, back: () => back };
}

test("retries a process that hangs, exits or fails to restart, and keeps only one alive", async () => {
  const { program, whys, alive, pids, back } = acting("serve", "hang", "end", "fail", "serve");
  const child = supervise(program);
  await child.start();
  await child.kill("SIGKILL");
  expect(child.pid).toBeUndefined();
  await child.settled();
  expect(whys).toEqual(["it exited with SIGKILL", "it was not ready within 4 s", "last words", "told"]);
  expect(back()).toBe(1);
  expect(pids()).toHaveLength(5);
  expect(alive()).toEqual([child.pid]);
  await child.stop();
  expect(alive()).toEqual([]);
});

test("stop does not wait for the next retry and starts nothing afterwards", async () => {
  const { program, alive, pids } = acting("serve", "end");
  const waiting = Promise.withResolvers<void>();
  const child = supervise({
    ...program,
    retryMs({ failures }) {
      if (failures === 0) return 0;
      waiting.resolve();
      return 3_600_000;
    },
  });
  await child.start();
  await child.kill("SIGKILL");
  await waiting.promise;
  await child.stop();
  expect(pids()).toHaveLength(2);
  expect(alive()).toEqual([]);
});

test("a failed first start leaves no process, and a later start is independent of it", async () => {
  const { program, whys, alive, pids } = acting("hang", "serve", "end");
  const child = supervise(program);
  await expect(child.start()).rejects.toThrow("It did not start: it was not ready within 4 s");
  expect([alive(), whys]).toEqual([[], []]);
  await child.start();
  await child.stop();
  await expect(child.start()).rejects.toThrow("It did not start: last words");
  expect(pids()).toHaveLength(3);
  expect(alive()).toEqual([]);
});
