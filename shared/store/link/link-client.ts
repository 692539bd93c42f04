/**
 * The link client: a store for one request. Each call is one RPC to the link server, which keeps the connection to the
 * broker.
 */
import { AppError, unavailable } from "../../kernel/errors.ts";
import { brokerTimeout } from "../client/pending-requests.ts";
import type { Store } from "../types.ts";
import { type Answer, CALLS, type Call, decodeResult, type RpcMessage } from "./rpc-message.ts";

/** The remote methods that a request calls. May be used before the link is known to be open. */
export interface LinkSession {
  call(call: Call, args: readonly unknown[]): Promise<RpcMessage>;
  [Symbol.dispose](): void;
}

/** The link server, as a request sees it. */
export interface LinkStub {
  session(): LinkSession;
}

/** Milliseconds until a call times out. The link server gives up on the broker long before. */
const PATIENCE_MS = 15_000;

/**
 * Returns a store over the link. Subscriptions (live streams, probes) outlive a call, so they use a connection of their
 * own, opened on first use.
 * @param direct opens that connection
 */
export function linkedStore(far: LinkStub, direct: () => Store): Store {
  let session: LinkSession | undefined;
  let own: Store | undefined;
  const ownConnection = () => {
    own ??= direct();
    return own;
  };

  async function over<C extends Call>(call: C, args: readonly unknown[]): Promise<Answer<C>> {
    const asked = call === "request" ? ((args[2] as { timeoutMs?: number }).timeoutMs ?? 0) : 0;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const late = new Promise<never>((_, reject) => {
      timer = setTimeout(() => reject(brokerTimeout()), PATIENCE_MS + asked);
    });
    const answered = async () => {
      session ??= far.session();
      return session.call(call, args);
    };
    // Any failure of the link leaves the outcome unknown, like a lost connection.
    const result = await Promise.race([answered(), late])
      .catch((error: unknown) => {
        throw error instanceof AppError ? error : unavailable(error);
      })
      .finally(() => clearTimeout(timer));
    return decodeResult(result) as Answer<C>;
  }

  const linked = Object.fromEntries(
    CALLS.map((call) => [call, (...args: unknown[]) => over(call, args)]),
  ) as unknown as Pick<Store, Call>;
  return {
    ...linked,
    subscribe: (subject, deliver, lost) => ownConnection().subscribe(subject, deliver, lost),
    publish: (subject, data, headers, reply) => ownConnection().publish(subject, data, headers, reply),
    // A subscriber pings to know that its own connection's subscription is registered.
    ping: () => (own === undefined ? linked.ping() : own.ping()),
    close: async () => {
      session?.[Symbol.dispose]();
      await own?.close();
    },
  };
}
