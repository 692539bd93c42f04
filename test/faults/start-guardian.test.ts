import { spawn } from "node:child_process";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { tempDir } from "../support/broker.ts";

const scripts = fileURLToPath(new URL("../../scripts", import.meta.url));

/** Runs the first stage of the npm scripts with another second stage. */
function guarded(name: string) {
  const child = spawn(process.execPath, [join(scripts, "bootstrap.mjs"), name], {
    stdio: ["ignore", "pipe", "pipe"],
  });
  let said = "";
  for (const output of [child.stdout, child.stderr]) {
    output.setEncoding("utf8").on("data", (text: string) => {
      said += text;
    });
  }
  return { child, said: () => said };
}

test("kills a script that does not stop within 15 s", async () => {
  const path = join(tempDir("guarded"), "deaf");
  writeFileSync(
    `${path}.ts`,
    'process.on("SIGTERM", () => undefined); setInterval(() => undefined, 1000); console.log(process.pid);',
  );
  const { child, said } = guarded(relative(scripts, path));
  await expect.poll(said).toMatch(/^\d+\n$/);
  const pid = Number(said());
  child.kill("SIGTERM");
  await once(child, "close");
  expect(said()).toMatch(/The process did not stop within 15 s\. Killing it\.\n$/);
  expect(() => process.kill(pid, 0)).toThrow("ESRCH");
});

test("lists the commands for an unknown one", async () => {
  const { child, said } = guarded("nope");
  const [code] = await once(child, "close");
  expect(code).toBe(1);
  expect(said()).toMatch(/^There is no command "nope": npm run has start, .*backup, restore, .*\.\n$/);
});
