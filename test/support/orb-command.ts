/** Runs the command `orb` as a process of its own. */
import { type ChildProcess, spawn } from "node:child_process";
import { existsSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { inject } from "vitest";
import { bundleCommand } from "../../scripts/bundle/command.ts";
import { tempDir } from "./broker.ts";

export interface Ran {
  code: number | null;
  out: string;
  err: string;
}

export interface OrbCommand {
  /** The folder in which the command runs. */
  folder: string;
  start(args: readonly string[]): { child: ChildProcess; ended: Promise<Ran> };
  run(...args: string[]): Promise<Ran>;
  /** Writes a file into the folder, and returns its path. */
  file(name: string, content: string | Uint8Array): string;
}

/** Returns the path of the command as the package ships it. The first caller of a test run builds it. */
export async function orbProgram(): Promise<string> {
  const program = join(inject("runDir"), "orb.mjs");
  if (existsSync(program)) return program;
  const draft = join(tempDir("orb-program"), "orb.mjs");
  await bundleCommand(draft);
  // Files of several workers can get here at the same time. Each then has a complete program.
  renameSync(draft, program);
  return program;
}

/**
 * Returns the command for a platform. The caller must have the token of a platform admin.
 * @param more further variables of its environment
 */
export async function orbCommand(
  origin: string,
  token: string,
  more: Readonly<Record<string, string>> = {},
): Promise<OrbCommand> {
  const folder = tempDir("orb-command");
  const command = await orbProgram();
  const { PATH, NODE_COMPILE_CACHE } = process.env;
  const start = (args: readonly string[]) => {
    const child = spawn(process.execPath, [command, "--url", origin, ...args], {
      cwd: folder,
      env: { PATH, NODE_COMPILE_CACHE, XDG_CONFIG_HOME: folder, ORB_TOKEN: token, ...more },
      stdio: ["ignore", "pipe", "pipe"],
    });
    const ran = { out: "", err: "" };
    child.stdout.setEncoding("utf8").on("data", (text: string) => {
      ran.out += text;
    });
    child.stderr.setEncoding("utf8").on("data", (text: string) => {
      ran.err += text;
    });
    const ended = new Promise<Ran>((resolve) => child.once("close", (code) => resolve({ ...ran, code })));
    return { child, ended };
  };
  return {
    folder,
    start,
    run: (...args) => start(args).ended,
    file(name, content) {
      const path = join(folder, name);
      writeFileSync(path, content);
      return path;
    },
  };
}
