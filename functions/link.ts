/** Durable Objects that keep connections to a distant broker open. Optional: see docs/guides/deploy-to-workers.md. */
import { DurableObject, RpcTarget } from "cloudflare:workers";
import { openStore } from "../shared/store/broker/index.ts";
import { LinkServer, type LinkStub, linkedStore, type RpcMessage } from "../shared/store/link/index.ts";
import { ReadSemaphore } from "../shared/store/read-semaphore.ts";
import type { Store } from "../shared/store/types.ts";
import { readSettings, type Settings } from "./env.ts";

const BINDING = "BROKER_LINK";

/** Additional milliseconds before a broker call times out, because calls queue up on the shared connection. */
const QUEUE_MS = 4_000;

/**
 * Maximum milliseconds of silence from the broker before its connection counts as lost. The limit is low, because all
 * requests share this connection.
 */
const SILENT_MS = 1_500;

/**
 * Maximum bytes of simultaneous reads. A Durable Object has 128 MB of memory, and forwarding a page of data needs three
 * times the page's size.
 */
const MAX_HELD_BYTES = 16 * 1024 * 1024;

/** While large reads hold more than this many bytes, further large reads wait. Beyond `MAX_HELD_BYTES`, they fail. */
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

export class BrokerLink extends DurableObject<Record<string, unknown>> {
  #end: LinkServer | undefined;

  session(): Session {
    this.#end ??= linkServer(this.env);
    return new Session(this.#end);
  }
}

/** The broker calls of one request. Cloudflare bills them as a single request to the Durable Object. */
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
 * Returns a function that opens a store over a Durable Object, or undefined if there are no Durable Objects. The
 * parameter `direct` opens a separate broker connection for subscriptions.
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
