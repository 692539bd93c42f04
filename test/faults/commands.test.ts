/** The commands beside a running platform, as processes of their own: what they say when they are given the wrong thing. */
import { expect, test } from "vitest";
import { tempDir } from "../support/broker.ts";
import { runScript } from "../support/start.ts";

/** Runs a command which must fail, and gives what it printed. */
async function refused(name: string, env: Record<string, string>, ...args: string[]): Promise<string> {
  await using command = runScript(name, env, ...args);
  expect(await command.exited(), command.output()).toBe(1);
  return command.output().trim();
}

const nobody = () => ({ DATA_DIR: tempDir("nobody") });

test.each([
  ["/proc/foo", "The folder /proc/foo cannot be used (no folder can be made in /proc): name another."],
  [
    "/etc/passwd",
    "The folder /etc/passwd cannot be used (EEXIST: file already exists, mkdir '/etc/passwd'): name another.",
  ],
])("a backup that cannot be written to %s says so in one line", async (folder, said) => {
  expect(await refused("backup", nobody(), folder)).toBe(said);
});
