import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";
import type { Readable } from "node:stream";
import { setTimeout as delay } from "node:timers/promises";
import {
  Log,
  LogLevel,
  Miniflare,
  type Request as MiniflareRequest,
  Response as MiniflareResponse,
} from "miniflare";
import { CONVERSIONS, compatibility } from "../bundle/bundle.ts";
import { type Programs, programsIn } from "../bundle/layout.ts";
import { openImageWorker } from "../images/workerd.ts";
import { Failure } from "../process/failure.ts";
import { requirePort } from "../process/ports.ts";
import { retryDelay } from "../process/supervise.ts";
import { openAssets } from "./assets.ts";

export interface FunctionsOptions {
  host: string;
  port: number;
  bindings: Record<string, string>;
  /** Receives the functions' log lines, one JSON object each. */
  log: (line: string) => void;
  /** Folder that `buildPrograms` wrote. */
  programs: string;
  /** Called when the process died and cannot be started again. */
  givenUp?: ((failure: Failure) => void) | undefined;
  /** Serves this module instead of the functions. */
  bundle?: string | undefined;
  /** Whether Durable Objects keep the broker connection open. Otherwise each request opens one. */
  link?: boolean;
}

export interface Functions extends AsyncDisposable {
  readonly url: string;
  stop(): Promise<void>;
}

const SIGNALS = ["SIGINT", "SIGTERM"] as const;

/** Removes the signal handlers of miniflare, because they would end the process before the broker has stopped. */
function withoutSignals<T>(create: () => T): T {
  const before = SIGNALS.map((signal) => new Set(process.listeners(signal)));
  const created = create();
  for (const [index, signal] of SIGNALS.entries()) {
    for (const listener of process.listeners(signal)) {
      if (before[index]?.has(listener) === false) process.off(signal, listener);
    }
  }
  return created;
}

/** Returns the modules of the functions. @param bundle the module that workerd starts, instead of the built one */
function modulesOf({ functions, conversions }: Programs, bundle = readFileSync(functions, "utf8")) {
  return [
    { type: "ESModule" as const, path: "worker.js", contents: bundle },
    { type: "ESModule" as const, path: CONVERSIONS, contents: readFileSync(conversions, "utf8") },
  ];
}

/** Serves the code in `functions/` in workerd through miniflare, and restarts workerd on the same port if it dies. */
export async function serveFunctions(options: FunctionsOptions): Promise<Functions> {
  const { host, port, bindings, log } = options;
  const programs = programsIn(options.programs);
  const modules = modulesOf(programs, options.bundle);
  const assets = openAssets(programs.assets);
  const images = openImageWorker(programs.images, new Log(LogLevel.ERROR), withoutSignals);
  const create = () =>
    new Miniflare({
      host,
      port,
      ...compatibility(),
      modules,
      bindings,
      ...(options.link ? { durableObjects: { BROKER_LINK: "BrokerLink" } } : {}),
      serviceBindings: {
        ASSETS: async (request: MiniflareRequest) => {
          const name = new URL(request.url).pathname.slice(1);
          const { status, headers, body } = await assets(name, request.headers.get("if-none-match"));
          return new MiniflareResponse(body, { status, headers: [...headers] });
        },
        IMAGES: images.fetch,
      },
      // Prevents miniflare from fetching request metadata from another host.
      cf: false,
      log: new Log(LogLevel.ERROR),
      logRequests: false,
      handleRuntimeStdio(stdout: Readable, stderr: Readable) {
        createInterface({ input: stdout }).on("line", hear).once("close", died);
        createInterface({ input: stderr }).on("line", hear);
      },
    });
  let wanted = true;
  let reviving: Promise<void> | undefined;
  let running: Miniflare | undefined;
  /**
   * The first lines of output, held back until it is clear whether the start succeeds. If they say that a port is in
   * use, only a short error is shown.
   */
  let held: string[] | undefined = [];

  function hear(line: string): void {
    if (held === undefined) log(line);
    else held.push(line);
  }

  function letGo(): void {
    for (const line of held ?? []) log(line);
    held = undefined;
  }

  async function start(): Promise<void> {
    const miniflare = withoutSignals(create);
    try {
      await miniflare.ready;
      running = miniflare;
    } catch (error) {
      await miniflare.dispose().catch(() => undefined);
      throw error;
    }
  }

  /**
   * Called when the output of workerd ends, which happens when workerd exits. Restarts workerd unless it was stopped.
   */
  function died(): void {
    if (!wanted || running === undefined || reviving !== undefined) return;
    log(JSON.stringify({ level: "warn", message: "the functions stopped; starting them again" }));
    reviving = revive().finally(() => {
      reviving = undefined;
    });
  }

  async function revive(): Promise<void> {
    await running?.dispose().catch(() => undefined);
    running = undefined;
    for (let failures = 1; wanted; failures++) {
      try {
        await start();
        return;
      } catch (error) {
        log(JSON.stringify({ level: "error", message: String(error) }));
        const wait = retryDelay(failures, 50, 3_000);
        if (wait === undefined) {
          options.givenUp?.(new Failure(`The functions cannot be started again: ${String(error)}`));
          return;
        }
        await delay(wait);
      }
    }
  }

  await start().catch(async (error: unknown) => {
    await requirePort(port, "PORT", host);
    letGo();
    throw new Failure(
      `The functions did not start: ${error instanceof Error ? error.message : String(error)}`,
    );
  });
  letGo();
  const stop = async () => {
    wanted = false;
    await reviving;
    await Promise.all([running?.dispose(), images.stop()]);
    running = undefined;
  };
  return { url: `http://localhost:${port}`, stop, [Symbol.asyncDispose]: stop };
}
