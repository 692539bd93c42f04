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
import { Failure } from "../failure.ts";
import { requirePort } from "../ports.ts";
import { backoff } from "../supervise.ts";
import { assetResponse } from "./assets.ts";
import { bundleFunctions, compatibility } from "./bundle.ts";

/** What to serve. */
export interface FunctionsOptions {
  host: string;
  port: number;
  /** Variables of the functions, by name. */
  bindings: Record<string, string>;
  /** Where the functions' log lines go; they are JSON, one a line. */
  log: (line: string) => void;
  /** A bundle made before; it is made now when missing. */
  bundle?: string | undefined;
  /** Durable Objects hold the connection to the broker. */
  link?: boolean;
}

/** The functions, being served by the Workers runtime on this machine. */
export interface Functions extends AsyncDisposable {
  readonly url: string;
  stop(): Promise<void>;
}

const SIGNALS = ["SIGINT", "SIGTERM"] as const;

/**
 * Creates a runtime without the signal handlers that come with it: they end the process on the spot, before the
 * broker and the data folder are put in order. It is disposed of by {@link Functions.stop}.
 */
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

/**
 * Serves the functions in workerd through miniflare, watched: when workerd dies it is started again on the same port.
 * @throws Failure when it does not start
 */
export async function serveFunctions(options: FunctionsOptions): Promise<Functions> {
  const { host, port, bindings, log } = options;
  const bundle = options.bundle ?? (await bundleFunctions());
  const create = () =>
    new Miniflare({
      host,
      port,
      ...compatibility(),
      modules: [{ type: "ESModule", path: "worker.js", contents: bundle }],
      bindings,
      ...(options.link ? { durableObjects: { BROKER_LINK: "BrokerLink" } } : {}),
      serviceBindings: {
        ASSETS: async (request: MiniflareRequest) => {
          const name = new URL(request.url).pathname.slice(1);
          const { status, headers, body } = await assetResponse(name, request.headers.get("if-none-match"));
          return new MiniflareResponse(body, { status, headers: [...headers] });
        },
      },
      // Neither the request's supposed place nor anything else is asked of another host.
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
  /** Lines of the first start, until it is known what they are about: a port that is taken is told without a stack. */
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

  /** Its output ends with it: whoever did not stop it starts it again. */
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
        await delay(backoff(failures, 50, 3_000));
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
    await running?.dispose();
    running = undefined;
  };
  return { url: `http://localhost:${port}`, stop, [Symbol.asyncDispose]: stop };
}
