import { setTimeout as delay } from "node:timers/promises";
import { ensureBootstrap } from "../../shared/access/bootstrap.ts";
import { AppError } from "../../shared/kernel/errors.ts";
import { storeBuiltInMessages } from "../../shared/library/definitions.ts";
import { openStore, provision } from "../../shared/store/broker/index.ts";
import type { ConnectOptions } from "../../shared/store/client/index.ts";
import type { Store } from "../../shared/store/types.ts";
import { checkBroker, hostsOf, LastingFailure } from "../broker/check.ts";
import type { Settings } from "../config/settings.ts";
import { Failure, why } from "../process/failure.ts";
import { scriptDeps } from "./deps.ts";

const ELECTION_LIMIT_MS = 30_000;
/** Milliseconds for one request to a cluster that may have no leader yet. */
const PROBE_MS = 1_000;

export async function withStore<T>(
  access: ConnectOptions,
  replicas: number,
  act: (store: Store) => Promise<T>,
): Promise<T> {
  // The option `reconnect` is needed here: without it, the store does not report why the broker rejects a connection.
  const store = openStore({ ...access, replicas, reconnect: true, connectTimeoutMs: 5_000 });
  try {
    return await act(store);
  } finally {
    await store.close().catch(() => undefined);
  }
}

/**
 * Waits until the broker responds to requests of JetStream, and checks it. The brokers of a cluster that starts leave
 * such requests without an answer until they have elected a leader, so each request has a short time.
 * @param brokers number of brokers that share the data; a single one is checked once
 * @throws Failure if the broker cannot be used
 */
export async function readyBroker(access: ConnectOptions, replicas: number, brokers: number): Promise<void> {
  const isCluster = brokers > 1;
  const deadline = Date.now() + ELECTION_LIMIT_MS;
  await withStore(
    { ...access, ...(isCluster ? { requestTimeoutMs: PROBE_MS } : {}) },
    replicas,
    async (store) => {
      for (;;) {
        try {
          return await checkBroker(store, access.url);
        } catch (error) {
          if (!isCluster || error instanceof LastingFailure || Date.now() > deadline) throw error;
          await delay(200);
        }
      }
    },
  );
}

/**
 * Creates missing streams and buckets on a broker that is ready.
 * @returns the invitation for the first platform admin, if there is none
 */
export function prepareBroker(
  settings: Settings,
  access: ConnectOptions,
  variables: Record<string, string>,
): ReturnType<typeof ensureBootstrap> {
  return withStore(access, settings.replicas, async (store) => {
    await provision(store, { replicas: settings.replicas, patienceMs: 10_000 }).catch((error: unknown) => {
      if (!(error instanceof AppError)) throw error;
      throw new Failure(
        `The broker at ${hostsOf(access.url)} could not create the platform's streams${why(error)}. Check its disk, its limits, the user's permissions, and that NATS_REPLICAS is not higher than its number of servers.`,
      );
    });
    const deps = scriptDeps(store, variables);
    const [bootstrap] = await Promise.all([ensureBootstrap(deps), storeBuiltInMessages(deps)]);
    return bootstrap;
  });
}
