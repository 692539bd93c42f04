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
 * Objects of a request are short-lived, so a small nursery and early collection save memory. Without the middle-tier
 * compiler, 15 MiB less memory is fragmented. The last flag then starts the top tier earlier; otherwise a host would be
 * half as fast for five seconds.
 */
const FLAGS = [
  "--max-semi-space-size=4",
  "--heap-growing-percent=30",
  "--no-maglev",
  "--invocation-count-for-turbofan=500",
];

/** A process that loads one bundled file needs a third less memory than one that strips types itself. */
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
    // CommonJS packages in the bundle call `require`, which ES modules lack. It resolves modules from here.
    banner: {
      js: `import { createRequire as requireFrom } from "node:module"; const require = requireFrom(${JSON.stringify(import.meta.url)});`,
    },
    // Modules locate files relative to themselves, not to the bundle.
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
        // One arena of the C library, so that memory freed by one thread can be reused by all.
        env: { ...systemVariables(), MALLOC_ARENA_MAX: "1", ...bindings, HOST: host, PORT: String(port) },
      }),
    readyLimitMs: 20_000,
    graceMs: 5_000 + drainMs(bindings.HOST_DRAIN_SECONDS),
    line: log,
    // Without this process nothing is served, so always restart it, whatever the reason of its end.
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
    // The bundler process would stay and take as much memory as the host itself.
    await stopBundler();
    await child.start();
  } catch (error) {
    await stop();
    throw error;
  }
  return { url: `http://localhost:${port}`, stop, [Symbol.asyncDispose]: stop };
}
