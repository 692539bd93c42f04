import { mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";
import { afterAll, inject } from "vitest";
import { type Broker, type LaunchOptions, launchBroker } from "../../scripts/broker/launch.ts";
import { lastingBroker } from "../../scripts/platform/platform.ts";
import { provision } from "../../shared/store/broker/provision.ts";
import { openStore } from "../../shared/store/broker/store.ts";
import type { ConnectOptions } from "../../shared/store/client/connection.ts";
import type { Store } from "../../shared/store/types.ts";
import { countStart } from "./costs.ts";
import { type LookingStore, looking } from "./looking.ts";

/** Creates a temporary folder, which is removed after the test run. */
export function tempDir(name = "dir"): string {
  return mkdtempSync(join(inject("runDir"), "data", `${name}-`));
}

type StoreOptions = Parameters<typeof openStore>[0];

/** Users of a test broker. Their password is their name. */
export type TestUser = "fn" | "streams" | "deploy" | "operator";

/** A real broker with the platform's configuration in its own folder. */
export interface TestBroker extends Broker {
  readonly dir: string;
  /** Returns the connection settings of a user. */
  access(user?: TestUser): ConnectOptions;
  /** Changes the storage limit of the broker. Applies at its next start. */
  allow(maxFileStore: string): void;
  /** Changes the password of the user `fn`. Applies at the broker's next start. */
  rename(password: string): void;
  /** Returns the `nats://` URL with a user's credentials, for TCP clients. */
  tcpUrl(user?: TestUser): string;
  /** Opens a store for a user. The store closes together with the broker. */
  store(user?: TestUser, more?: Partial<StoreOptions>): LookingStore;
}

/**
 * Starts a real nats-server on free ports within milliseconds. Use it with `await using`.
 * @param options.provisioned also creates the platform's streams and buckets (default true)
 */
export async function startBroker(
  options: {
    provisioned?: boolean;
    dir?: string;
    jetstream?: boolean;
    syncInterval?: string;
    maxFileStore?: string;
  } = {},
): Promise<TestBroker> {
  const dir = options.dir ?? tempDir("broker");
  const jetstream = options.jetstream ?? true;
  const launch: LaunchOptions = {
    binary: lastingBroker(),
    dir,
    syncInterval: options.syncInterval ?? "10s",
    passwords: { fn: "fn", streams: "streams", deploy: "deploy", operator: "operator" },
    jetstream,
    maxFileStore: options.maxFileStore,
  };
  countStart("brokers");
  const broker = await launchBroker(launch);
  const stores: Store[] = [];
  const access = (user: TestUser = "fn"): ConnectOptions => ({ url: broker.wsUrl, user, pass: user });
  const stop = async () => {
    for (const store of stores.splice(0)) await store.close().catch(() => undefined);
    await broker.stop();
    if (options.dir === undefined) rmSync(dir, { recursive: true, force: true, maxRetries: 5 });
  };
  const started: TestBroker = Object.create(broker, {
    dir: { value: dir },
    access: { value: access },
    allow: {
      value: (maxFileStore: string) => {
        launch.maxFileStore = maxFileStore;
      },
    },
    rename: {
      value: (password: string) => {
        launch.passwords = { ...launch.passwords, fn: password };
      },
    },
    tcpUrl: { value: (user: TestUser = "operator") => `nats://${user}:${user}@127.0.0.1:${broker.port}` },
    store: {
      value: (user: TestUser = "fn", more: Partial<StoreOptions> = {}) => {
        const store = looking(openStore({ ...access(user), requestTimeoutMs: 20_000, ...more }));
        stores.push(store);
        return store;
      },
    },
    stop: { value: stop },
    [Symbol.asyncDispose]: { value: stop },
  });
  if (jetstream && options.provisioned !== false) {
    const store = openStore(access("deploy"));
    await provision(store, { replicas: 1 }).finally(() => store.close());
  }
  return started;
}

/** Starts a broker for all tests of a file, and stops the broker after them. */
export async function fileBroker(): Promise<TestBroker> {
  const broker = await startBroker();
  afterAll(() => broker.stop());
  return broker;
}
