import { connect, type JetStreamClient, type NatsConnection } from "nats";
import type { Platform } from "../../scripts/platform/platform.ts";
import { startSession } from "../../shared/access/sessions.ts";
import type { Deps } from "../../shared/deps.ts";
import { newId, randomToken } from "../../shared/kernel/ids.ts";
import type { Store } from "../../shared/store/types.ts";
import { NO_QUOTAS } from "./entries.ts";

/** The parts of a platform that signing and storing a session need. */
export interface SessionHost {
  bindings: Record<string, string>;
  store(): Store;
}

const silent = {
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
};

/** Returns dependencies for the platform's operations that use this store. */
export function testDeps(store: Store, bindings: Record<string, string>): Deps {
  return {
    store,
    clock: { now: Date.now },
    log: silent,
    config: {
      publicUrl: bindings.PUBLIC_URL ?? "",
      allowedOrigins: [],
      hosts: [],
      replicas: 1,
      jwtSigningKeys: bindings.JWT_SIGNING_KEYS ?? "",
      encryptionKeys: bindings.ENCRYPTION_KEYS ?? "",
      claimKeys: [bindings.CLAIM_KEY ?? ""],
      streamsUrl: undefined,
      longPollMs: 1000,
      metricsToken: undefined,
      fileBytes: 1024 ** 3,
      imagePixels: 20_000_000,
      clientAddress: undefined,
      quotas: NO_QUOTAS,
    },
    request: { requestId: "test", traceparent: undefined, client: "test" },
    newId: () => newId(Date.now()),
    randomToken,
    afterwards: () => undefined,
  };
}

/** Stores a session, as a completed sign-in does. */
export async function signIn(
  host: SessionHost,
  who: { realm?: string; sub?: string; ttl?: number } = {},
): Promise<string> {
  const store = host.store();
  const { realm = "platform", sub = "admin1", ttl = 3600 } = who;
  const role = realm === "platform" ? ("owner" as const) : ("user" as const);
  const session = { realm, sub, role, name: sub, email: null, ttl };
  return (await startSession(testDeps(store, host.bindings), session)).token;
}

/** A client that publishes as another service. */
export interface Publisher extends AsyncDisposable {
  readonly connection: NatsConnection;
  readonly js: JetStreamClient;
}

/** Connects to a platform's broker with the operator's rights. Survives restarts of the broker. */
export async function publisher(platform: Platform): Promise<Publisher> {
  const { user, pass } = platform.operatorAccess;
  const connection = await connect({
    servers: `127.0.0.1:${platform.broker?.port}`,
    ...(user === undefined || pass === undefined ? {} : { user, pass }),
    maxReconnectAttempts: -1,
    reconnectTimeWait: 100,
  });
  return { connection, js: connection.jetstream(), [Symbol.asyncDispose]: () => connection.close() };
}

/** One server-sent event. A comment line becomes an event of type `comment`. */
export interface SentEvent {
  type: string;
  data: string;
  id: string | undefined;
}

/** Data of a control event. */
export interface Control {
  streamNextOffset: string;
  streamCursor: string;
  upToDate?: boolean;
}

/** Parses events while they arrive. Ends with the response; throws if the connection is cut. */
export async function* sentEvents(response: Response): AsyncGenerator<SentEvent> {
  if (response.body === null) return;
  const decoder = new TextDecoder();
  let buffer = "";
  for await (const piece of response.body) {
    buffer += decoder.decode(piece, { stream: true });
    for (let end = buffer.indexOf("\n\n"); end >= 0; end = buffer.indexOf("\n\n")) {
      const event: SentEvent = { type: "message", data: "", id: undefined };
      for (const line of buffer.slice(0, end).split("\n")) {
        const colon = line.indexOf(":");
        const field = line.slice(0, colon);
        const value = line.slice(colon + 1).replace(/^ /, "");
        if (colon === 0) Object.assign(event, { type: "comment", data: value });
        else if (field === "event") event.type = value;
        else if (field === "data") event.data += value;
        else if (field === "id") event.id = value;
      }
      buffer = buffer.slice(end + 2);
      yield event;
    }
  }
  if (buffer !== "") throw new Error(`the response ended within an event: ${buffer.slice(0, 100)}`);
}

/** Reads events until one matches, then disconnects. */
export async function readUntil(
  response: Response,
  enough: (event: SentEvent, all: SentEvent[]) => boolean,
): Promise<SentEvent[]> {
  const all: SentEvent[] = [];
  for await (const event of sentEvents(response)) {
    all.push(event);
    if (enough(event, all)) break;
  }
  return all;
}

export const controlOf = (event: SentEvent): Control => JSON.parse(event.data) as Control;
