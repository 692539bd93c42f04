/**
 * A store for Workers far from the broker. Each method is one RPC to a Durable Object that is connected to the broker.
 */
import { AppError, unavailable } from "../../kernel/errors.ts";
import { brokerTimeout } from "../client/index.ts";
import type { Store } from "../types.ts";
import { type Answer, CALLS, type Call, decodeResult, type RpcMessage } from "./rpc-message.ts";

export interface LinkSession {
  call(call: Call, args: readonly unknown[]): Promise<RpcMessage>;
  [Symbol.dispose](): void;
}

export interface LinkStub {
  session(): LinkSession;
}

/** Milliseconds until an RPC times out. Must be longer than every timeout inside the Durable Object. */
const PATIENCE_MS = 15_000;

/**
 * Characters of a batch from which it takes the direct connection. The RPC system copies at most 32 MiB per value, and
 * a character takes up to two bytes there.
 */
const LARGE_BATCH = 12 * 1024 * 1024;

/**
 * Returns a store that calls the methods of the Durable Object `far`. Subscriptions and large batches are exceptions:
 * they use a direct connection to the broker.
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
    batch: (stream, messages) =>
      messages.reduce((length, { data }) => length + data.length, 0) > LARGE_BATCH
        ? ownConnection().batch(stream, messages)
        : linked.batch(stream, messages),
    subscribe: (subject, deliver, lost) => ownConnection().subscribe(subject, deliver, lost),
    publish: (subject, data, headers, reply) => ownConnection().publish(subject, data, headers, reply),
    ping: () => (own === undefined ? linked.ping() : own.ping()),
    close: async () => {
      session?.[Symbol.dispose]();
      await own?.close();
    },
  };
}
