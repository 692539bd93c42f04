/** How a connection to the broker comes about. */
import { type ConnectionOptions, connect, credsAuthenticator, type NatsConnection } from "nats.ws";
import { inOrder, type Pulse, pulseOf } from "./pulse.ts";
import type { ReadRoom } from "./room.ts";
import { type BrokerSocket, EagerSocket, watchedSocket } from "./socket.ts";

/** How to reach the broker. */
export interface ConnectOptions {
  /** `ws://` or `wss://`, several separated by commas. */
  url: string;
  user?: string;
  pass?: string;
  token?: string;
  /** Contents of a credentials file. Signing costs processor time: see README. */
  creds?: string;
  /** Shown by the broker's monitoring. */
  name?: string;
  /** Stay connected through failures (long-lived processes); without it, a lost connection is final. */
  reconnect?: boolean;
  /** Milliseconds of silence until an attempt to connect is given up. Default 1,500. */
  connectTimeoutMs?: number;
  /** Milliseconds until a request is given up, if the broker is not silent altogether. Default 4,000. */
  requestTimeoutMs?: number;
  /** Milliseconds of silence until what is under way is given up. Default 3,000. */
  silentMs?: number;
  /**
   * Milliseconds that connecting or a request may take longer, as long as the broker is heard: it may be busy with many
   * requests of ours. Default 0.
   */
  queueMs?: number;
  /** Bytes of pages that may be on their way at once; one alone may always be larger. Default: any number. */
  maxHeldBytes?: number;
  /** Where large reads wait for those of others. Default: they do not wait. */
  room?: ReadRoom;
  /**
   * Opens the socket of a connection that lives long, where the host has a better one than the runtime's.
   * @param heard to be called with each frame from the broker
   */
  openSocket?: (url: string, heard: () => void) => BrokerSocket;
  /** Told of reconnections and of what the connection reports, for logs and metrics. */
  onStatus?: (status: "connected" | "disconnected" | "reconnected" | "closed") => void;
}

/** A connection, and what resolves when the broker has told its limits itself. */
interface Dialed {
  connection: NatsConnection;
  introduced: Promise<void>;
}

/**
 * Connects.
 * @param towards told of each server that is tried
 */
export async function dial(
  o: ConnectOptions,
  inboxPrefix: string,
  towards: (pulse: Pulse) => void,
): Promise<Dialed> {
  const urls = o.url.split(",").map((url) => url.trim());
  const queueMs = o.queueMs ?? 0;
  // A machine that many of our own requests keep busy may hear nothing for a while, though all are well.
  const silenceMs = (o.connectTimeoutMs ?? 1500) + Math.min(queueMs / 4, 2500);
  const patienceMs = 2 * silenceMs + queueMs;
  const encrypted = (url: string | undefined) => url?.startsWith("wss:") === true;
  const settings: ConnectionOptions & { wsFactory: (url: string) => Promise<unknown> } = {
    servers: urls,
    inboxPrefix,
    noAsyncTraces: true,
    timeout: silenceMs,
    name: o.name ?? "platform",
    ...(o.user === undefined ? {} : { user: o.user }),
    ...(o.pass === undefined ? {} : { pass: o.pass }),
    ...(o.token === undefined ? {} : { token: o.token }),
    ...(o.creds === undefined
      ? {}
      : { authenticator: credsAuthenticator(new TextEncoder().encode(o.creds)) }),
    ...(o.reconnect
      ? {
          reconnect: true,
          maxReconnectAttempts: -1,
          reconnectTimeWait: 250,
          reconnectJitter: 100,
          pingInterval: 2500,
          maxPingOut: 2,
        }
      : { reconnect: false, ignoreClusterUpdates: true, maxReconnectAttempts: 0, pingInterval: 3_600_000 }),
    async wsFactory(url) {
      const pulse = pulseOf(url);
      towards(pulse);
      const socket = o.openSocket?.(url, () => {
        pulse.heard++;
      });
      return { socket: socket ?? watchedSocket(url), encrypted: encrypted(url) };
    },
  };
  let introduced = Promise.resolve();
  // Signing needs the broker's nonce, and a connection that lives long gains nothing.
  const eager = !o.reconnect && o.creds === undefined;
  if (eager) {
    const socket = new EagerSocket(inOrder(urls), { silenceMs, patienceMs }, towards);
    introduced = socket.introduced;
    settings.servers = urls.slice(0, 1);
    settings.wsFactory = async () => ({ socket, encrypted: encrypted(urls[0]) });
  }
  // The library's own limit does not cover a socket that opens and then says nothing.
  let timer: ReturnType<typeof setTimeout> | undefined;
  const attempt = connect(settings);
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(
      () => reject(new Error("connecting took too long")),
      (eager ? patienceMs : silenceMs) + 100,
    );
  });
  const connection = await Promise.race([attempt, late])
    .catch((error: unknown) => {
      attempt.then((c) => c.close()).catch(() => undefined);
      throw error;
    })
    .finally(() => clearTimeout(timer));
  return { connection, introduced };
}
