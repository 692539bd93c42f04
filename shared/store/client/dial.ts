/** Opens a connection to the broker. */
import { type ConnectionOptions, connect, credsAuthenticator, type NatsConnection } from "nats.ws";
import { inPreferredOrder, type Liveness, livenessOf } from "./liveness.ts";
import type { ReadSemaphore } from "./read-semaphore.ts";
import { type BrokerSocket, EagerSocket, watchedSocket } from "./socket.ts";

/** Address and credentials of the broker. */
export interface ConnectOptions {
  /** `ws://` or `wss://`; several URLs separated by commas. */
  url: string;
  user?: string;
  pass?: string;
  token?: string;
  /** Content of a credentials file. Signing costs processor time. */
  creds?: string;
  /** Connection name in the broker's monitoring. */
  name?: string;
  /** Reconnect after failures, for long-lived processes. Otherwise a lost connection is final. */
  reconnect?: boolean;
  /** Milliseconds of silence after which an attempt to connect fails. Default 1,500. */
  connectTimeoutMs?: number;
  /** Milliseconds after which a request fails although the broker is alive. Default 4,000. */
  requestTimeoutMs?: number;
  /** Milliseconds of silence after which all pending requests fail. Default 3,000. */
  silentMs?: number;
  /**
   * Additional milliseconds for connecting and for requests while the broker is alive: it may be busy with many other
   * requests of ours. Default 0.
   */
  queueMs?: number;
  /** Maximum bytes of pages in flight. A single larger page is always allowed. Default: unlimited. */
  maxHeldBytes?: number;
  /** Where large reads wait for those of others. Default: they do not wait. */
  room?: ReadSemaphore;
  /**
   * Opens the socket of a long-lived connection, if the host has a better one than the runtime's.
   * @param heard call this for each frame from the broker
   */
  openSocket?: (url: string, heard: () => void) => BrokerSocket;
  /** Receives reconnections and errors of the connection, for logs and metrics. */
  onStatus?: (status: "connected" | "disconnected" | "reconnected" | "closed") => void;
}

/** A connection, and a promise for the broker's INFO message. */
interface Dialed {
  connection: NatsConnection;
  introduced: Promise<void>;
}

/**
 * Connects.
 * @param towards called with each server that is tried
 */
export async function dial(
  o: ConnectOptions,
  inboxPrefix: string,
  towards: (pulse: Liveness) => void,
): Promise<Dialed> {
  const urls = o.url.split(",").map((url) => url.trim());
  const queueMs = o.queueMs ?? 0;
  // A process that is busy with many requests may not read from the socket for a while, although all is well.
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
      const pulse = livenessOf(url);
      towards(pulse);
      const socket = o.openSocket?.(url, () => {
        pulse.heard++;
      });
      return { socket: socket ?? watchedSocket(url), encrypted: encrypted(url) };
    },
  };
  let introduced = Promise.resolve();
  // Signing needs the broker's nonce, and a long-lived connection gains nothing from the shortcut.
  const eager = !o.reconnect && o.creds === undefined;
  if (eager) {
    const socket = new EagerSocket(inPreferredOrder(urls), { silenceMs, patienceMs }, towards);
    introduced = socket.introduced;
    settings.servers = urls.slice(0, 1);
    settings.wsFactory = async () => ({ socket, encrypted: encrypted(urls[0]) });
  }
  // The library's own timeout does not cover a socket that opens and then stays silent.
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
