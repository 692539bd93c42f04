import { readFileSync } from "node:fs";
import { afterAll, inject } from "vitest";
import {
  lastingBroker,
  type Platform,
  type StartOptions,
  startPlatform as start,
} from "../../scripts/platform.ts";
import { freePort } from "../../scripts/ports.ts";
import { type Environment, readSettings } from "../../scripts/settings.ts";
import { openStore } from "../../shared/store/store.ts";
import type { Store } from "../../shared/store/types.ts";
import type { ConnectOptions } from "../../shared/store/wire.ts";
import { tempDir } from "./broker.ts";
import { leaksIn, secretsOf } from "./logs.ts";
import { type LookingStore, looking } from "./looking.ts";

/** A whole platform for a test: real broker, real functions in workerd, on free ports and in a folder of its own. */
export interface TestPlatform extends Platform {
  /** Every log line of the functions and of the streams process so far. */
  readonly logs: string[];
  /** Origin for requests and for the browser: `http://localhost:<port>`. */
  readonly origin: string;
  /** A store with the provisioning user's rights; it is closed with the platform. */
  store(): LookingStore;
  /** A store that may do everything; it is closed with the platform. */
  operatorStore(): LookingStore;
}

/** What a test may choose. */
export interface TestPlatformOptions {
  /** Settings as environment variables; ports, DATA_DIR and PUBLIC_URL have fitting defaults. */
  env?: Environment;
  /** Starts the streams process too (default false). */
  streams?: boolean;
  /** What serves the functions, when it is not workerd. */
  serve?: StartOptions["serve"];
}

function bundle(): string {
  const made = inject("bundle");
  if ("error" in made) throw new Error(`The functions cannot be bundled: ${made.error}`);
  return readFileSync(made.path, "utf8");
}

/** Starts a platform of the test's own. Use it with `await using`. */
export async function startPlatform(options: TestPlatformOptions = {}): Promise<TestPlatform> {
  const env: Environment = {
    PORT: String(await freePort()),
    STREAMS_PORT: String(await freePort()),
    DATA_DIR: options.env?.DATA_DIR ?? tempDir("platform"),
    // `NATS_BROKERS=3 npm test -- test/http` runs everything on a cluster, `NATS_LINK=durable-object` over the link.
    ...(process.env.TEST_BROKERS === undefined ? {} : { NATS_BROKERS: process.env.TEST_BROKERS }),
    ...(process.env.TEST_LINK === undefined ? {} : { NATS_LINK: process.env.TEST_LINK }),
    ...options.env,
  };
  const logs: string[] = [];
  const platform = await start(readSettings(env), {
    natsServer: lastingBroker(),
    streams: options.streams ?? false,
    bundle: bundle(),
    // `PLATFORM_HOST=node npm test -- test/http` runs everything on the long-lived host.
    ...(process.env.TEST_HOST === "node"
      ? { serve: (await import("../../scripts/host/node.ts")).serveNode }
      : {}),
    ...(options.serve === undefined ? {} : { serve: options.serve }),
    say: (line) => logs.push(line),
    log: (line) => logs.push(line),
  });
  const stores: Store[] = [];
  const stop = async () => {
    for (const store of stores.splice(0)) await store.close().catch(() => undefined);
    await platform.stop();
    const leaks = leaksIn(logs.join("\n"), secretsOf(platform.bindings));
    if (leaks.length > 0) throw new Error(`The platform's log holds secrets: ${leaks.join(", ")}`);
  };
  const open = (access: ConnectOptions): LookingStore => {
    const store = looking(openStore(access));
    stores.push(store);
    return store;
  };
  return {
    ...platform,
    logs,
    origin: platform.settings.publicUrl,
    store: () => open(platform.brokerAccess),
    operatorStore: () => open(platform.operatorAccess),
    stop,
    [Symbol.asyncDispose]: stop,
  };
}

let shared: Promise<TestPlatform> | undefined;

/**
 * One platform for all tests of a file that do not mind each other: orbs of different names, say. It is stopped
 * when the file ends.
 */
export function sharedPlatform(): Promise<TestPlatform> {
  shared ??= startPlatform();
  return shared;
}

// Of whatever file has loaded this; it comes after what the file itself does when it ends.
afterAll(async () => {
  const running = shared;
  shared = undefined;
  if (running !== undefined) await (await running).stop();
});
