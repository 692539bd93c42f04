import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect } from "vitest";
import { readSettings } from "../../scripts/config/settings.ts";
import { lastingBroker, startPlatform } from "../../scripts/platform/platform.ts";
import { oneLine } from "../../scripts/process/failure.ts";
import { freePort } from "../../scripts/process/ports.ts";
import { tempDir } from "./broker.ts";
import { testPrograms } from "./programs.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));

/** The command `npm start` in a separate process, without npm. */
export interface Started extends AsyncDisposable {
  readonly child: ChildProcess;
  /** Returns the output so far. */
  output(): string;
  /** Resolves when a line of the output matches. Rejects with the output if the process exits before that. */
  printed(pattern: RegExp): Promise<RegExpExecArray>;
  /** Resolves to the exit code. */
  exited(): Promise<number | null>;
}

/** Runs the start script with only these variables, PATH and Node's compile cache. */
export function runStart(env: Record<string, string>, ...args: string[]): Started {
  return runScript("start", env, ...args);
}

/**
 * Runs a script of the project with only these variables, PATH and Node's compile cache. The programs are those that
 * were built for all test files, unless a variable says otherwise.
 */
export function runScript(name: string, env: Record<string, string>, ...args: string[]): Started {
  return runScriptOf(root, name, env, ...args);
}

/** Runs a script of another version of the project. @param folder its checkout */
export function runScriptOf(
  folder: string,
  name: string,
  env: Record<string, string>,
  ...args: string[]
): Started {
  const { PATH, NODE_COMPILE_CACHE } = process.env;
  const child = spawn(process.execPath, [join(folder, "scripts", `${name}.ts`), ...args], {
    env: { PATH, NODE_COMPILE_CACHE, NATS_SERVER_BIN: lastingBroker(), PROGRAMS_DIR: testPrograms(), ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  return watched(child);
}

/** Reads the output of a process, and stops the process when it is disposed. */
export function watched(child: ChildProcess): Started {
  let text = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream?.setEncoding("utf8").on("data", (chunk: string) => {
      text += chunk;
      child.emit("printed");
    });
  }
  const ended = () => child.exitCode !== null || child.signalCode !== null;
  const exited = async (): Promise<number | null> => {
    if (!ended()) await once(child, "close");
    return child.exitCode;
  };
  return {
    child,
    output: () => text,
    printed: (pattern) =>
      new Promise((resolve, reject) => {
        const look = () => {
          const match = pattern.exec(text);
          if (match !== null) resolve(match);
        };
        look();
        child.on("printed", look);
        child.once("close", () => {
          look();
          reject(new Error(`it ended without printing ${pattern}:\n${text}`));
        });
      }),
    exited,
    async [Symbol.asyncDispose]() {
      if (!ended()) child.kill("SIGTERM");
      await exited();
    },
  };
}

/** Returns settings for a platform on free ports with a data folder of its own. */
export async function settings(more: Record<string, string> = {}): Promise<Record<string, string>> {
  return {
    PORT: String(await freePort()),
    STREAMS_PORT: String(await freePort()),
    DATA_DIR: tempDir("start"),
    ...more,
  };
}

/**
 * Starts the platform in this process, with settings that must make it fail. A command takes a second more.
 * @returns the line that the command would print
 */
export async function failureHere(env: Record<string, string>): Promise<string> {
  try {
    const platform = await startPlatform(readSettings(env), {
      natsServer: env.NATS_SERVER_BIN ?? lastingBroker(),
      programs: env.PROGRAMS_DIR ?? testPrograms(),
      say: () => undefined,
    });
    await platform.stop();
  } catch (error) {
    return oneLine(error) ?? String(error);
  }
  throw new Error("The platform started.");
}

/** Starts the platform with settings that must make it fail, and returns the output. */
export async function failure(env: Record<string, string>, ...args: string[]): Promise<string> {
  await using started = runStart(env, ...args);
  const up = started.printed(/ready at/).then(
    () => "it started" as const,
    () => started.exited(),
  );
  const code = await Promise.race([started.exited(), up]);
  expect(code, started.output()).toBe(1);
  // A start on a busy machine also says what it waits for.
  const lines = started.output().trim().split("\n");
  return lines.filter((line) => !/^(Still w|W)aiting for /.test(line)).join("\n");
}
