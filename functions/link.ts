/**
 * The link, an option for deployments with a distant broker (docs/guides/deploy-to-workers.md): Durable Objects hold the
 * connection to the broker, so that requests do not open their own.
 */
import { DurableObject, RpcTarget } from "cloudflare:workers";
import { openStore } from "../shared/store/broker/store.ts";
import { ReadSemaphore } from "../shared/store/client/read-semaphore.ts";
import { type LinkStub, linkedStore } from "../shared/store/link/link-client.ts";
import { LinkServer } from "../shared/store/link/link-server.ts";
import type { RpcMessage } from "../shared/store/link/rpc-message.ts";
import type { Store } from "../shared/store/types.ts";
import { readSettings, type Settings } from "./env.ts";

/** Name of the Durable Object binding in wrangler.toml. */
const BINDING = "BROKER_LINK";

/** Multiplies the time limit of a call while the broker is alive: many requests share one connection and queue up. */
const QUEUE_MS = 4_000;

/** All requests share one connection, so detect a silent broker early. */
const SILENT_MS = 1_500;

/** An object has 128 MB in total, and a page is in memory three times while it is forwarded. */
const MAX_HELD_BYTES = 16 * 1024 * 1024;

/** Large reads wait for each other well before that limit, which fails them. */
const ROOM_BYTES = 4 * 1024 * 1024;

function linkServer(env: Record<string, unknown>): LinkServer {
  const { broker } = readSettings(env);
  const room = new ReadSemaphore(ROOM_BYTES);
  return new LinkServer(
    (broken) =>
      openStore({
        ...broker,
        onStatus: (status) => status === "closed" && broken(),
        name: "link",
        queueMs: QUEUE_MS,
        silentMs: SILENT_MS,
        maxHeldBytes: MAX_HELD_BYTES,
        room,
      }),
    { others: broker.url.includes(",") },
  );
}

/** Holds one connection for all callers. The broker credentials come from its own environment. */
export class BrokerLink extends DurableObject<Record<string, unknown>> {
  #end: LinkServer | undefined;

  session(): Session {
    this.#end ??= linkServer(this.env);
    return new Session(this.#end);
  }
}

/**
 * The calls of one request. The first call travels with the opening, and all calls are billed as one request to the
 * object.
 */
class Session extends RpcTarget {
  readonly #end: LinkServer;

  constructor(end: LinkServer) {
    super();
    this.#end = end;
  }

  call(call: string, args: readonly unknown[]): Promise<RpcMessage> {
    return this.#end.call(call, args);
  }
}

interface Namespace {
  idFromName(name: string): object;
  get(id: object, options: { locationHint?: string }): LinkStub;
}

/**
 * Returns a function that opens a store over the link; undefined without a link. Its argument opens a separate
 * connection for subscriptions.
 */
export function linkOf(
  env: Record<string, unknown>,
  { count, location }: Settings["link"],
): ((direct: () => Store) => Store) | undefined {
  const namespace = env[BINDING] as Namespace | undefined;
  if (namespace === undefined) return undefined;
  const ids = Array.from({ length: count }, (_, i) =>
    // A Durable Object stays where it was created, so another location needs another object.
    namespace.idFromName(`${location ?? "anywhere"}-${i}`),
  );
  const options = location === undefined ? {} : { locationHint: location };
  let next = Math.floor(Math.random() * ids.length);
  return (direct) => {
    next = (next + 1) % ids.length;
    return linkedStore(namespace.get(ids[next] as object, options), direct);
  };
}
