/** The end of the link that a request holds: a store whose every question is one hop to who keeps the connection. */
import { AppError, unavailable } from "../../kernel/errors.ts";
import { brokerTimeout } from "../client/answers.ts";
import type { Store } from "../types.ts";
import { type Answer, CALLS, type Call, type Parcel, unpack } from "./parcel.ts";

/** What one request asks of the far end. It may be used before it is known to be open. */
export interface LinkSession {
  call(call: Call, args: readonly unknown[]): Promise<Parcel>;
  [Symbol.dispose](): void;
}

/** The far end, as a request sees it. */
export interface LinkStub {
  session(): LinkSession;
}

/** Milliseconds that a call may take: the far end gives up on the broker long before. */
const PATIENCE_MS = 15_000;

/**
 * A store over the link. What listens (live streams, probes) has a connection of its own, as it lasts: it is opened when
 * it is first needed.
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
    // Whatever fails on the way leaves the outcome unknown, as a lost connection does.
    const parcel = await Promise.race([answered(), late])
      .catch((error: unknown) => {
        throw error instanceof AppError ? error : unavailable(error);
      })
      .finally(() => clearTimeout(timer));
    return (await unpack(parcel)) as Answer<C>;
  }

  const linked = Object.fromEntries(
    CALLS.map((call) => [call, (...args: unknown[]) => over(call, args)]),
  ) as unknown as Pick<Store, Call>;
  return {
    ...linked,
    subscribe: (subject, deliver, lost) => ownConnection().subscribe(subject, deliver, lost),
    publish: (subject, data, headers, reply) => ownConnection().publish(subject, data, headers, reply),
    // Whoever listens wants to know that the broker has heard so.
    ping: () => (own === undefined ? linked.ping() : own.ping()),
    close: async () => {
      session?.[Symbol.dispose]();
      await own?.close();
    },
  };
}
