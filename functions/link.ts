/**
 * The link, an option of deployments (docs/guides/deploy-to-workers.md): Durable Objects that hold the connection to
 * the broker, so that a request spares its own.
 */
import { DurableObject, RpcTarget } from "cloudflare:workers";
import { FarEnd } from "../shared/store/link/far-end.ts";
import { type LinkStub, linkedStore } from "../shared/store/link/near-end.ts";
import type { Parcel } from "../shared/store/link/parcel.ts";
import { openStore } from "../shared/store/store.ts";
import type { Store } from "../shared/store/types.ts";
import { readSettings, type Settings } from "./env.ts";

/** The binding's name in wrangler.toml. */
const BINDING = "BROKER_LINK";

/** How much longer than alone a call waits for a broker that is heard: what many ask goes over one connection. */
const QUEUE_MS = 4_000;

/** Everybody waits for one connection: that it is silent is to be known soon. */
const SILENT_MS = 1_500;

/** An object has 128 MB for everything; a page is in it three times while it is handed on. */
const MAX_HELD_BYTES = 16 * 1024 * 1024;

function farEnd(env: Record<string, unknown>): FarEnd {
  const { broker } = readSettings(env);
  return new FarEnd(
    (broken) =>
      openStore({
        ...broker,
        onStatus: (status) => status === "closed" && broken(),
        name: "link",
        queueMs: QUEUE_MS,
        silentMs: SILENT_MS,
        maxHeldBytes: MAX_HELD_BYTES,
      }),
    { others: broker.url.includes(",") },
  );
}

/** Holds one connection for all who call. The credentials come from its own environment. */
export class BrokerLink extends DurableObject<Record<string, unknown>> {
  #end: FarEnd | undefined;

  session(): Session {
    this.#end ??= farEnd(this.env);
    return new Session(this.#end);
  }
}

/** What one request asks. Its first call travels with the opening, and all of it counts as one request to the object. */
class Session extends RpcTarget {
  readonly #end: FarEnd;

  constructor(end: FarEnd) {
    super();
    this.#end = end;
  }

  call(call: string, args: readonly unknown[]): Promise<Parcel> {
    return this.#end.call(call, args);
  }
}

interface Namespace {
  idFromName(name: string): object;
  get(id: object, options: { locationHint?: string }): LinkStub;
}

/**
 * How requests reach the link; undefined where there is none.
 * @returns opens a store over it; its argument opens a connection of the request's own, for what listens
 */
export function linkOf(
  env: Record<string, unknown>,
  { count, location }: Settings["link"],
): ((direct: () => Store) => Store) | undefined {
  const namespace = env[BINDING] as Namespace | undefined;
  if (namespace === undefined) return undefined;
  const ids = Array.from({ length: count }, (_, i) =>
    // An object stays where it was made: another place is another object.
    namespace.idFromName(`${location ?? "anywhere"}-${i}`),
  );
  const options = location === undefined ? {} : { locationHint: location };
  let next = Math.floor(Math.random() * ids.length);
  return (direct) => {
    next = (next + 1) % ids.length;
    return linkedStore(namespace.get(ids[next] as object, options), direct);
  };
}
