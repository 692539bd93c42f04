import { setTimeout as delay } from "node:timers/promises";
import { ensureBootstrap } from "../shared/access/bootstrap.ts";
import { storeBuiltInMessages } from "../shared/definitions/definitions.ts";
import { AppError } from "../shared/errors.ts";
import { provision } from "../shared/store/provision.ts";
import { openStore } from "../shared/store/store.ts";
import type { Store } from "../shared/store/types.ts";
import type { ConnectOptions } from "../shared/store/wire.ts";
import { checkBroker } from "./broker/check.ts";
import { scriptDeps } from "./deps.ts";
import { Failure, why } from "./failure.ts";
import type { Settings } from "./settings.ts";

const ELECTION_LIMIT_MS = 30_000;

/** Runs `act` with a store that is closed afterwards. */
export async function withStore<T>(
  access: ConnectOptions,
  replicas: number,
  act: (store: Store) => Promise<T>,
): Promise<T> {
  // A lasting connection is one that tells why it was refused.
  const store = openStore({ ...access, replicas, reconnect: true, connectTimeoutMs: 5_000 });
  try {
    return await act(store);
  } finally {
    await store.close().catch(() => undefined);
  }
}

/** Hosts of an address for messages, without its credentials. */
function hostsOf(url: string): string {
  return url
    .split(",")
    .map((one) => new URL(one).host)
    .join(", ");
}

/** A cluster elects its leaders first: until then JetStream answers nobody. */
async function settled(brokers: number, check: () => Promise<void>): Promise<void> {
  const deadline = Date.now() + ELECTION_LIMIT_MS;
  for (;;) {
    try {
      await check();
      return;
    } catch (error) {
      if (brokers < 2 || Date.now() > deadline) throw error;
      await delay(200);
    }
  }
}

/**
 * Checks a broker and creates what the platform needs there; what is there already stays as it is.
 * @param access of a user who may create streams
 * @param variables what the functions get
 * @returns the first operator's invitation, while there is none
 */
export function prepareBroker(
  settings: Settings,
  access: ConnectOptions,
  variables: Record<string, string>,
  brokers: number,
): ReturnType<typeof ensureBootstrap> {
  return withStore(access, settings.replicas, async (store) => {
    await settled(brokers, () => checkBroker(store, hostsOf(access.url)));
    await provision(store, { replicas: settings.replicas, patienceMs: 10_000 }).catch((error: unknown) => {
      if (!(error instanceof AppError)) throw error;
      throw new Failure(
        `The broker at ${hostsOf(access.url)} could not create the platform's streams${why(error)}: check its disk, its limits, the user's rights, and that NATS_REPLICAS is not more than its servers.`,
      );
    });
    const deps = scriptDeps(store, variables);
    const [bootstrap] = await Promise.all([ensureBootstrap(deps), storeBuiltInMessages(deps)]);
    return bootstrap;
  });
}
