import { type ConnectionOptions, connect, type NatsConnection } from "nats.ws";
import type { ReadSemaphore } from "../read-semaphore.ts";
import { credsOf } from "./creds.ts";
import { inPreferredOrder, type Liveness, livenessOf } from "./liveness.ts";
import { type BrokerSocket, EagerSocket, watchedSocket } from "./socket.ts";

export interface ConnectOptions {
  /** URL of the broker, or several URLs separated by commas. */
  url: string;
  user?: string;
  pass?: string;
  token?: string;
  /** Contents of a NATS credentials file. With it, each new connection computes a signature, which costs CPU time. */
  creds?: string;
  /** Name under which the broker's monitoring lists the connection. */
  name?: string;
  /** Whether to reconnect after the connection is lost. Long-lived processes need this. */
  reconnect?: boolean;
  /** Abort a connection attempt after this many milliseconds of silence. Default 1,500. */
  connectTimeoutMs?: number;
  /** A request times out after this many milliseconds, even if the broker still answers others. Default 4,000. */
  requestTimeoutMs?: number;
  /** If the broker is silent for this many milliseconds, all pending requests fail. Default 3,000. */
  silentMs?: number;
  /** Milliseconds added to the request timeout while the broker still works on earlier requests. Default 0. */
  queueMs?: number;
  /** Maximum bytes of memory for incomplete responses. Default: unlimited. */
  maxHeldBytes?: number;
  room?: ReadSemaphore;
  /**
   * Opens the WebSocket of a long-lived connection.
   * @param heard must be called for each frame that the broker sends
   */
  openSocket?: (url: string, heard: () => void) => BrokerSocket;
  onStatus?: (status: "connected" | "disconnected" | "reconnected" | "closed") => void;
}

interface Dialed {
  connection: NatsConnection;
  introduced: Promise<void>;
}

export async function dial(
  o: ConnectOptions,
  inboxPrefix: string,
  towards: (pulse: Liveness) => void,
): Promise<Dialed> {
  const urls = o.url.split(",").map((url) => url.trim());
  const queueMs = o.queueMs ?? 0;
  // A busy process may read the response late, so allow more silence than the connection timeout.
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
    ...(o.creds === undefined ? {} : { authenticator: credsOf(o.creds) }),
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
  // Send the first requests before the broker's INFO message arrives, which saves a round trip. This is impossible with
  // a credentials file, because its signature needs a nonce from INFO.
  const eager = !o.reconnect && o.creds === undefined;
  if (eager) {
    const socket = new EagerSocket(inPreferredOrder(urls), { silenceMs, patienceMs }, towards);
    introduced = socket.introduced;
    settings.servers = urls.slice(0, 1);
    settings.wsFactory = async () => ({ socket, encrypted: encrypted(urls[0]) });
  }
  // The client library's timeout does not cover a socket that opens and then stays silent.
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
