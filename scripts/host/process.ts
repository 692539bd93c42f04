import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { build, stop as stopBundler } from "esbuild";
import { backoff, supervise } from "../process/supervise.ts";
import type { Functions, FunctionsOptions } from "./functions.ts";

/**
 * A request's objects live shortly: a small nursery, and a heap that is swept before it has grown by a third. The middle
 * one of the compilers makes requests no faster, and leaves 15 MiB of holes behind; without it the last one would begin
 * late, with what was called 3,000 times, and a host be half as fast for its first five seconds of load.
 */
const FLAGS = [
  "--max-semi-space-size=4",
  "--heap-growing-percent=30",
  "--no-maglev",
  "--invocation-count-for-turbofan=500",
];

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

/**
 * Serves the app from a Node process of its own, watched: when it dies it is started again.
 * @throws Failure when it does not start
 */
export async function serveProcess(options: FunctionsOptions): Promise<Functions> {
  const { host, port, bindings, log } = options;
  const dir = mkdtempSync(join(tmpdir(), "platform-host-"));
  const file = join(dir, "platform-host.mjs");
  // What the system needs to know beside the settings.
  const { PATH, TMPDIR } = process.env;
  const system = { ...(PATH ? { PATH } : {}), ...(TMPDIR ? { TMPDIR } : {}) };

  const child = supervise({
    failure: "The host did not start",
    spawn: () =>
      spawn(process.execPath, [...FLAGS, file], {
        stdio: ["ignore", "pipe", "pipe", "ipc"],
        // One arena of the C library: what is freed by one thread is used again by all.
        env: { ...system, MALLOC_ARENA_MAX: "1", ...bindings, HOST: host, PORT: String(port) },
      }),
    readyLimitMs: 20_000,
    graceMs: 5_000,
    line: log,
    // Without it nothing is served: whatever keeps it from coming back may pass.
    retryMs: ({ failures, served }) => (served ? backoff(failures, 100, 3_000) : undefined),
    restarting: (why) =>
      log(JSON.stringify({ level: "warn", message: "the host stopped; starting it again", why })),
  });

  async function stop(): Promise<void> {
    await child.stop();
    rmSync(dir, { recursive: true, force: true });
  }

  try {
    await bundleHost(file);
    // It would stay, and take as much memory as the host itself.
    await stopBundler();
    await child.start();
  } catch (error) {
    await stop();
    throw error;
  }
  return { url: `http://localhost:${port}`, stop, [Symbol.asyncDispose]: stop };
}
