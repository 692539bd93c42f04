import { mkdirSync, readFileSync, rmdirSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { expect, test } from "vitest";
import { isNotable, logFile } from "../../scripts/process/logs.ts";
import { tempDir } from "../support/broker.ts";
import { smallDisk } from "../support/disk.ts";

/** Longer than the interval at which lines are flushed, in milliseconds. */
const FLUSHED_MS = 150;

test("a log that cannot be written drops lines, reports it once, and continues when it can", async () => {
  const dir = join(tempDir("logs"), "disk");
  const path = join(dir, "functions.log");
  const disk = smallDisk(dir, 1);
  const said: string[] = [];
  try {
    const write = logFile(path, (line) => said.push(line));
    // Where the test cannot mount a disk, a folder in place of the file simulates a full one.
    if (disk === undefined) mkdirSync(path);
    else writeFileSync(join(dir, "ballast"), Buffer.alloc(1024 * 1024 - 16 * 1024));
    for (let line = 0; line < 3; line++) {
      write("x".repeat(32 * 1024));
      await delay(FLUSHED_MS);
    }
    await expect
      .poll(() => said)
      .toEqual([expect.stringMatching(/^The log \S+ cannot be written \(.*\)\. Its lines are dropped .*$/)]);
    if (disk === undefined) rmdirSync(path);
    else disk.grow();
    write("there is room");
    await expect.poll(() => readFileSync(path, "utf8")).toMatch(/there is room\n$/);
    expect(said.length).toBe(1);
  } finally {
    disk?.release();
  }
});

test("a log file stays below 10 MB, even with multi-byte characters", async () => {
  const path = join(tempDir("logs"), "functions.log");
  const write = logFile(path, () => undefined);
  for (let round = 0; round < 3; round++) {
    write("€".repeat(2_000_000));
    await delay(FLUSHED_MS);
  }
  expect(statSync(path).size).toBeLessThan(10 * 1024 * 1024);
  expect(statSync(`${path}.1`).size).toBeLessThan(10 * 1024 * 1024);
});

const line = (level: string, message: string) =>
  JSON.stringify({ time: "2026-11-22T08:00:00.000Z", level, message });

test.each([
  [line("info", "request"), false],
  [line("debug", "request"), false],
  [line("warn", "broker disconnected"), true],
  [line("error", "bootstrap access failed"), true],
  [line("warn", "bootstrap access"), false],
  ["    at a stack (file.ts:1:1)", true],
  ["", false],
])("shows %j on the terminal: %s", (text, shown) => {
  expect(isNotable(text)).toBe(shown);
});
