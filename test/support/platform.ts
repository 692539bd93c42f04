import { connect } from "nats";
import { childrenOf } from "../../scripts/bench/measure.ts";
import { type Environment, readSettings } from "../../scripts/config/settings.ts";
import {
  lastingBroker,
  type Platform,
  type StartOptions,
  startPlatform as start,
} from "../../scripts/platform/platform.ts";
import { freePort } from "../../scripts/process/ports.ts";
import { openStore } from "../../shared/store/broker/store.ts";
import type { ConnectOptions } from "../../shared/store/client/connection.ts";
import type { Store } from "../../shared/store/types.ts";
import { tempDir } from "./broker.ts";
import { countStart } from "./costs.ts";
import { leaksIn, secretsOf } from "./logs.ts";
import { type LookingStore, looking } from "./looking.ts";
import { testPrograms } from "./programs.ts";
import { tidy } from "./tidy.ts";

/** A complete platform: real broker and real functions in workerd, on free ports in its own folder. */
export interface TestPlatform extends Platform {
  /** Log lines that the functions and the streams process have written so far. */
  readonly logs: string[];
  /** `http://localhost:<port>`, for requests and browsers. */
  readonly origin: string;
  /** Process ids of workerd that serve this platform. Other platforms of the worker have processes of their own. */
  runtimes(): number[];
  /** A store with the provisioning user's rights, closed together with the platform. */
  store(): LookingStore;
  /** A store with all rights, closed together with the platform. */
  operatorStore(more?: Partial<ConnectOptions>): LookingStore;
  /**
   * Ends what a test file had from this platform: closes its stores, and forgets its log lines.
   * @throws Error if the log lines hold secrets
   */
  release(): Promise<void>;
}

/** Options of {@link startPlatform}. */
export interface TestPlatformOptions {
  /** Settings as environment variables. Ports, DATA_DIR and PUBLIC_URL have suitable defaults. */
  env?: Environment;
  /** Also starts the streams process (default false). */
  streams?: boolean;
  /** Also starts the hooks process (default false). */
  hooks?: boolean;
  /** Starts a host that serves the functions instead of workerd. */
  serve?: StartOptions["serve"];
  /**
   * Whether the functions in workerd keep their connection to the broker in a Durable Object (default false). Otherwise
   * each request opens a connection, which takes a quarter of the processor time of workerd and half of the broker's.
   */
  link?: boolean;
}

/** Starts a platform. Use it with `await using`. */
export async function startPlatform(options: TestPlatformOptions = {}): Promise<TestPlatform> {
  const env: Environment = {
    PORT: String(await freePort()),
    STREAMS_PORT: String(await freePort()),
    DATA_DIR: options.env?.DATA_DIR ?? tempDir("platform"),
    ...(options.link === true ? { NATS_LINK: "durable-object" } : {}),
    // `NATS_BROKERS=3 npm test -- test/http` runs everything on a cluster, `NATS_LINK=durable-object` over the link, and
    // `NATS_LINK=none` nothing.
    ...(process.env.TEST_BROKERS === undefined ? {} : { NATS_BROKERS: process.env.TEST_BROKERS }),
    ...(process.env.TEST_LINK === undefined ? {} : { NATS_LINK: process.env.TEST_LINK }),
    ...options.env,
  };
  const logs: string[] = [];
  countStart("platforms");
  const platform = await start(readSettings(env), {
    natsServer: lastingBroker(),
    streams: options.streams ?? false,
    hooks: options.hooks ?? false,
    programs: testPrograms(),
    // `PLATFORM_HOST=node npm test -- test/http` runs everything on the long-lived host.
    ...(process.env.TEST_HOST === "node"
      ? { serve: (await import("../../scripts/host/process.ts")).serveProcess }
      : {}),
    ...(options.serve === undefined ? {} : { serve: options.serve }),
    say: (line) => logs.push(line),
    log: (line) => logs.push(line),
  });
  const stores: Store[] = [];
  const closeStores = async () => {
    for (const store of stores.splice(0)) await store.close().catch(() => undefined);
  };
  const requireNoLeak = (lines: readonly string[]) => {
    const leaks = leaksIn(lines.join("\n"), secretsOf(platform.bindings));
    if (leaks.length > 0) throw new Error(`The platform's log holds secrets: ${leaks.join(", ")}`);
  };
  const stop = async () => {
    await closeStores();
    await platform.stop();
    requireNoLeak(logs);
  };
  const open = (access: ConnectOptions, more: Partial<ConnectOptions> = {}): LookingStore => {
    // On a busy machine, requests of a test that prepares much data take longer than those of a client may.
    const store = looking(openStore({ ...access, requestTimeoutMs: 20_000, silentMs: 20_000, ...more }));
    stores.push(store);
    return store;
  };
  return {
    ...platform,
    logs,
    origin: platform.settings.publicUrl,
    runtimes: () =>
      childrenOf(process.pid, new RegExp(`workerd.*entry=[\\d.]+:${platform.settings.port}\\D`)),
    store: () => open(platform.brokerAccess),
    operatorStore: (more) => open(platform.operatorAccess, more),
    release: async () => {
      await closeStores();
      requireNoLeak(logs.splice(0));
    },
    stop,
    [Symbol.asyncDispose]: stop,
  };
}

/** Returns the index of the broker that leads a stream. @param timeout milliseconds to wait for the cluster's answer */
export async function leaderOf(platform: TestPlatform, stream: string, timeout: number): Promise<number> {
  const { user: name, pass } = platform.operatorAccess;
  const client = await connect({
    servers: platform.brokers.map((broker) => `127.0.0.1:${broker.port}`),
    ...(name === undefined ? {} : { user: name }),
    ...(pass === undefined ? {} : { pass }),
  });
  try {
    const manager = await client.jetstreamManager({ timeout });
    const leader = (await manager.streams.info(stream)).cluster?.leader ?? "";
    return Number(leader.replace("n", "")) - 1;
  } finally {
    await client.close();
  }
}

/** The platform that the files of this worker share, one after the other. */
let ofWorker: Promise<TestPlatform> | undefined;
/** Whether the running file has asked for {@link ofWorker}. */
let isUsed = false;
/** The platform of the running file alone. */
let ofFile: Promise<TestPlatform> | undefined;

/**
 * Returns a platform for all tests of a file. Tests that share it must not affect each other, so their orbs need
 * different ids.
 *
 * Without options, it is the platform of the worker, which runs over the link. A start takes seconds of the processor,
 * so the files of a worker share one, and their orbs need different ids too. After each file, its orbs, services and
 * limits are removed. Its accounts and the audit log stay.
 * @param options give the file a platform of its own, which stops after the last test. A file needs one, even with the
 *   options `{}`, if it looks at all of the platform (its admins, its figures, its log), if it needs an orb id that
 *   another file has, or if it stops a part of the platform. The first call of the file decides.
 */
export function sharedPlatform(options?: TestPlatformOptions): Promise<TestPlatform> {
  if (ofFile !== undefined || options !== undefined) {
    ofFile ??= startPlatform(options);
    return ofFile;
  }
  isUsed = true;
  ofWorker ??= startForWorker();
  return ofWorker;
}

async function startForWorker(): Promise<TestPlatform> {
  const platform = await startPlatform({ link: true });
  // A worker ends by a signal. Kill the broker, so that it does not write into the folder of the run while that is removed.
  process.once("exit", () => {
    for (const { pid } of platform.brokers) if (pid !== undefined) process.kill(pid, "SIGKILL");
  });
  process.once("SIGTERM", () => process.exit());
  return platform;
}

/** Leaves the worker's platform as the next file expects it. Stops it if that fails. */
async function leaveWorkerPlatform(): Promise<void> {
  const platform = ofWorker;
  if (!isUsed || platform === undefined) return;
  isUsed = false;
  try {
    await tidy(await platform);
    await (await platform).release();
  } catch (error) {
    ofWorker = undefined;
    await platform.then((one) => one.stop()).catch(() => undefined);
    throw error;
  }
}

/** Ends the file's use of platforms. The set-up of each file calls this after the file's own `afterAll` hooks. */
export async function leavePlatforms(): Promise<void> {
  const own = ofFile;
  ofFile = undefined;
  await leaveWorkerPlatform();
  if (own !== undefined) await (await own).stop();
}
