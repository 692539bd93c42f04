import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { build, stop as stopBundler } from "esbuild";
import { Failure } from "../failure.ts";
import type { Functions, FunctionsOptions } from "./functions.ts";

const READY_LIMIT_MS = 20_000;
const STOP_LIMIT_MS = 5_000;
/**
 * A request's objects live shortly: a small nursery, and a heap that is swept before it has grown by a third. The middle
 * one of the compilers makes requests no faster, and leaves 15 MiB of holes behind.
 */
const FLAGS = ["--max-semi-space-size=4", "--heap-growing-percent=30", "--no-maglev"];

/**
 * The app as one file: a process that loads it needs a third less memory than one that strips types itself, and starts
 * at once.
 */
async function bundleHost(outfile: string): Promise<void> {
  await build({
    entryPoints: [fileURLToPath(new URL("./serve.ts", import.meta.url))],
    bundle: true,
    minify: true,
    outfile,
    format: "esm",
    platform: "node",
    target: "node24",
    loader: { ".txt": "text", ".html": "text", ".css": "text", ".svg": "text" },
    // Packages in the older module format ask for modules by this name; they are found where ours are.
    banner: {
      js: `import { createRequire as requireFrom } from "node:module"; const require = requireFrom(${JSON.stringify(import.meta.url)});`,
    },
    // Files beside the modules are looked for where the modules are, not where the bundle is.
    define: { "import.meta.url": JSON.stringify(import.meta.url) },
    logLevel: "silent",
  });
}

/** Ends a process, if it ever began, and waits until it is gone. */
async function end(dying: ChildProcess, signal: "SIGTERM" | "SIGKILL"): Promise<void> {
  if (dying.pid === undefined || dying.exitCode !== null || dying.signalCode !== null) return;
  const gone = once(dying, "exit");
  dying.kill(signal);
  const timer = setTimeout(() => dying.kill("SIGKILL"), STOP_LIMIT_MS);
  await gone;
  clearTimeout(timer);
}

type Word = { ready: true } | { failure: string };

/**
 * Serves the app from a Node process of its own, watched: when it dies it is started again.
 * @throws Failure when it does not start
 */
export async function serveProcess(options: FunctionsOptions): Promise<Functions> {
  const { host, port, bindings, log } = options;
  const dir = mkdtempSync(join(tmpdir(), "platform-host-"));
  const file = join(dir, "platform-host.mjs");
  let child: ChildProcess | undefined;
  let wanted = true;

  // What the system needs to know beside the settings.
  const { PATH, TMPDIR } = process.env;
  const system = { ...(PATH ? { PATH } : {}), ...(TMPDIR ? { TMPDIR } : {}) };

  async function start(): Promise<void> {
    const born = spawn(process.execPath, [...FLAGS, file], {
      stdio: ["ignore", "pipe", "pipe", "ipc"],
      // One arena of the C library: what is freed by one thread is used again by all.
      env: { ...system, MALLOC_ARENA_MAX: "1", ...bindings, HOST: host, PORT: String(port) },
    });
    child = born;
    for (const output of [born.stdout, born.stderr])
      if (output) createInterface({ input: output }).on("line", log);
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const timer = setTimeout(() => reject(new Failure("The host did not start in time.")), READY_LIMIT_MS);
    born.on("message", (word: Word) => {
      if ("ready" in word) resolve();
      else reject(new Failure(`The host did not start: ${word.failure}`));
    });
    born.on("error", (error) => reject(new Failure(`The host did not start: ${error.message}`)));
    born.once("exit", (code, signal) => reject(new Failure(`The host ended with ${code ?? signal}.`)));
    try {
      await promise;
    } catch (error) {
      // Another one will be started: of this one nothing may stay.
      await end(born, "SIGKILL");
      throw error;
    } finally {
      clearTimeout(timer);
    }
    born.once("exit", (code, signal) => {
      if (!wanted || child !== born) return;
      log(JSON.stringify({ level: "warn", message: "the host stopped; starting it again", code, signal }));
      void revive();
    });
  }

  async function revive(): Promise<void> {
    for (let wait = 100; wanted; wait = Math.min(wait * 2, 3_000)) {
      await new Promise((resolve) => setTimeout(resolve, wait));
      if (!wanted) return;
      const up = await start().then(
        () => true,
        (error: unknown) => {
          log(JSON.stringify({ level: "error", message: String(error) }));
          return false;
        },
      );
      if (up) return;
    }
  }

  async function stop(): Promise<void> {
    wanted = false;
    if (child !== undefined) await end(child, "SIGTERM");
    rmSync(dir, { recursive: true, force: true });
  }

  try {
    await bundleHost(file);
    // It would stay, and take as much memory as the host itself.
    await stopBundler();
    await start();
  } catch (error) {
    await stop();
    throw error;
  }
  return { url: `http://localhost:${port}`, stop, [Symbol.asyncDispose]: stop };
}
