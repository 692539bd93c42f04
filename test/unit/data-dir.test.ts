import { fork } from "node:child_process";
import { once } from "node:events";
import { existsSync, readdirSync, readFileSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { readRunning } from "../../scripts/config/data-dir.ts";
import { tempDir } from "../support/broker.ts";

const CLAIMANTS = 6;
const ROUNDS = 60;

/** Claims the folder on request, and releases it on request. */
const CLAIMANT = `
  import { claimDataDir } from ${JSON.stringify(new URL("../../scripts/config/data-dir.ts", import.meta.url).href)};
  let claim;
  process.on("message", (dataDir) => {
    if (dataDir === "release") {
      claim?.release();
      claim = undefined;
      process.send("released");
      return;
    }
    try {
      claim = claimDataDir(dataDir);
      process.send("claimed");
    } catch (error) {
      process.send(error.message);
    }
  });
  process.send("here");
`;

test("lets one of several processes claim the data folder after a crash", async () => {
  const dataDir = tempDir("claims");
  const path = join(dataDir, "running.json");
  const script = join(tempDir("claimant"), "claimant.mjs");
  writeFileSync(script, CLAIMANT);
  const claimants = Array.from({ length: CLAIMANTS }, () => fork(script, { execArgv: [] }));
  const answers = () =>
    Promise.all(claimants.map(async (one) => ((await once(one, "message")) as [string])[0]));
  try {
    await answers();
    for (let round = 0; round < ROUNDS; round++) {
      // The file of a crashed process: complete, or truncated by a full disk.
      writeFileSync(path, round % 10 === 9 ? "" : JSON.stringify({ pid: 1, mark: `gone/${round}` }));
      const past = Date.now() / 1000 - 60;
      utimesSync(path, past, past);
      const told = answers();
      for (const one of claimants) one.send(dataDir);
      const words = await told;
      expect(words.filter((word) => word === "claimed").length, words.join("\n")).toBe(1);
      const holder = claimants[words.indexOf("claimed")]?.pid;
      expect(readRunning(dataDir)?.pid, readFileSync(path, "utf8")).toBe(holder);
      for (const word of words.filter((one) => one !== "claimed"))
        expect(word).toMatch(new RegExp(`^Another instance \\(process ${holder}\\) uses the data folder`));
      const released = answers();
      for (const one of claimants) one.send("release");
      await released;
      expect(existsSync(path)).toBe(false);
      expect(readdirSync(dataDir)).toEqual([]);
    }
  } finally {
    for (const one of claimants) one.kill("SIGKILL");
  }
});
