import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { build, stop as stopBundler } from "esbuild";
import { systemVariables } from "../process/environment.ts";
import { backoff, supervise } from "../process/supervise.ts";
import type { Functions, FunctionsOptions } from "./functions.ts";
import { drainMs } from "./shutdown.ts";

/**
 * Node options that save memory. Most objects live only during one request, so a small memory area for new objects is
 * enough. Turning off the middle compiler (Maglev) saves 15 MiB of fragmented memory. The last option makes the
 * optimizing compiler start earlier; otherwise the host would have half its speed in the first five seconds.
 */
const FLAGS = [
  "--max-semi-space-size=4",
  "--heap-growing-percent=30",
  "--no-maglev",
  "--invocation-count-for-turbofan=500",
];

/**
 * Bundles the Node host into one file. A process that loads this file needs a third less memory than a process that
 * strips types from the sources.
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
    // CommonJS packages in the bundle need `require`, which ES modules lack. This `require` finds modules relative to
    // the bundle.
    banner: {
      js: `import { createRequire as requireFrom } from "node:module"; const require = requireFrom(${JSON.stringify(import.meta.url)});`,
    },
    // Modules find files relative to `import.meta.url`. Give them the URL of this source file instead of the bundle's
    // URL.
    define: { "import.meta.url": JSON.stringify(import.meta.url) },
    logLevel: "silent",
  });
}

/** Serves the platform from a Node process, and restarts the process if it dies. */
export async function serveProcess(options: FunctionsOptions): Promise<Functions> {
  const { host, port, bindings, log } = options;
  const dir = mkdtempSync(join(tmpdir(), "platform-host-"));
  const file = join(dir, "platform-host.mjs");

  const child = supervise({
    failure: "The host did not start",
    spawn: () =>
      spawn(process.execPath, [...FLAGS, file], {
        stdio: ["ignore", "pipe", "pipe", "ipc"],
        // With several memory arenas in the C library, memory that one thread has freed cannot be used by others. So
        // use only one.
        env: { ...systemVariables(), MALLOC_ARENA_MAX: "1", ...bindings, HOST: host, PORT: String(port) },
      }),
    readyLimitMs: 20_000,
    graceMs: 5_000 + drainMs(bindings.HOST_DRAIN_SECONDS),
    line: log,
    // Always restart this process, because without it the platform cannot answer requests.
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
    // The bundler needs as much memory as the host itself, so stop it first.
    await stopBundler();
    await child.start();
  } catch (error) {
    await stop();
    throw error;
  }
  return { url: `http://localhost:${port}`, stop, [Symbol.asyncDispose]: stop };
}
