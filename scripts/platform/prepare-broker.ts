import { setTimeout as delay } from "node:timers/promises";
import { ensureBootstrap } from "../../shared/access/bootstrap.ts";
import { AppError } from "../../shared/kernel/errors.ts";
import { storeBuiltInMessages } from "../../shared/library/definitions.ts";
import { provision } from "../../shared/store/broker/provision.ts";
import { openStore } from "../../shared/store/broker/store.ts";
import type { ConnectOptions } from "../../shared/store/client/connection.ts";
import type { Store } from "../../shared/store/types.ts";
import { checkBroker, hostsOf, LastingFailure } from "../broker/check.ts";
import type { Settings } from "../config/settings.ts";
import { Failure, why } from "../process/failure.ts";
import { scriptDeps } from "./deps.ts";

const ELECTION_LIMIT_MS = 30_000;

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

/** Repeats a check until it succeeds, because a new cluster must elect its leaders before JetStream responds. */
async function settled(brokers: number, check: () => Promise<void>): Promise<void> {
  const deadline = Date.now() + ELECTION_LIMIT_MS;
  for (;;) {
    try {
      await check();
      return;
    } catch (error) {
      if (brokers < 2 || error instanceof LastingFailure || Date.now() > deadline) throw error;
      await delay(200);
    }
  }
}

export async function withReadyBroker(
  access: ConnectOptions,
  replicas: number,
  brokers: number,
  act: (store: Store) => Promise<void>,
): Promise<void> {
  await withStore(access, replicas, async (store) => {
    await settled(brokers, () => checkBroker(store, access.url));
    await act(store);
  });
}

/**
 * Checks a broker and creates missing streams and buckets.
 * @returns the invitation for the first platform admin, if there is none
 */
export function prepareBroker(
  settings: Settings,
  access: ConnectOptions,
  variables: Record<string, string>,
  brokers: number,
): ReturnType<typeof ensureBootstrap> {
  return withStore(access, settings.replicas, async (store) => {
    await settled(brokers, () => checkBroker(store, access.url));
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
