/** The long-lived host of the streams service: one broker connection and one tail per filter, for all readers. */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { parse as parseCookies } from "hono/utils/cookie";
import { bearerOf } from "../../functions/middleware/session.ts";
import { problemHeaders, problemText, STATUS } from "../../functions/problem.ts";
import { authenticate } from "../../shared/access/authenticate.ts";
import { requireOperator } from "../../shared/access/authorize.ts";
import type { Config, Deps, Log } from "../../shared/deps.ts";
import { AppError } from "../../shared/errors.ts";
import { newId, randomToken, sameSecret } from "../../shared/ids.ts";
import { type Store, StreamMissing } from "../../shared/store/types.ts";
import { authenticateReader } from "../../shared/streams/credentials.ts";
import type { Hub } from "../../shared/streams/hub.ts";
import { single, takeOnly } from "../../shared/streams/query.ts";
import type { Reader } from "../../shared/streams/reader.ts";
import { type Caller, callerOf, listStreams, serveStream } from "../../shared/streams/serve.ts";
import { redeemTicket, TICKET } from "../../shared/streams/ticket.ts";
import { commonHeaders, isPreflight, preflightHeaders } from "./headers.ts";
import { type HttpCounts, METRICS_TYPE, renderMetrics } from "./metrics.ts";
import { beginStream, socketSink } from "./socket.ts";

export interface StreamsServerOptions {
  host: string;
  port: number;
  config: Config;
  log: Log;
  store: Store;
  hub: Hub;
}

export interface StreamsServer {
  readonly port: number;
  /** Ends every answer cleanly, then the server; what does not end within the time is cut. */
  drain(withinMs: number): Promise<void>;
}

type Headers = Record<string, string>;

const PROBLEM = { "content-type": "application/problem+json", "cache-control": "no-store" };
const ALLOW = "GET, HEAD";
const FAMILIES: readonly (string | undefined)[] = ["streams", "health", "metrics"];

/** A cookie as the functions read it. */
const cookieOf = (header: string | undefined, name: string) => parseCookies(header ?? "", name)[name];

/** The token of a request. Several headers are none, as they are to the functions: it would not be clear whose counts. */
const tokenOf = (request: IncomingMessage) => bearerOf(request.headersDistinct.authorization?.join(", "));

/** A segment of a path as the functions' router reads it. */
function decoded(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}

/** One value of a header that may come several times. */
const headerOf = (request: IncomingMessage) => (name: string) => {
  const value = request.headers[name];
  return Array.isArray(value) ? value.join(", ") : value;
};

/** What a failure means to the client. */
function asAppError(error: unknown): AppError {
  if (error instanceof AppError) return error;
  if (error instanceof StreamMissing) {
    return new AppError("unavailable", "storage_not_ready", "The platform's storage is not ready yet.", {
      retryAfter: 1,
    });
  }
  return new AppError("internal", "internal_error", "Something went wrong on our side.");
}

/** A server that listens already. */
export async function startStreamsServer(options: StreamsServerOptions): Promise<StreamsServer> {
  const { config, hub, log, store } = options;
  const readers = new Set<Reader>();
  const counts: HttpCounts = { statuses: new Map(), ends: new Map() };
  /** Requests that may wait for messages: those that a stop wakes. */
  const waiting = new Set<AbortController>();
  let stopping = false;
  const count = <K>(map: Map<K, number>, key: K) => map.set(key, (map.get(key) ?? 0) + 1);

  function reply(
    response: ServerResponse,
    status: number,
    headers: Headers,
    body: Uint8Array | string | null,
  ): void {
    count(counts.statuses, status);
    log.debug("request", { requestId: headers["x-request-id"], status });
    const length = body === null ? {} : { "content-length": String(Buffer.byteLength(body)) };
    const last = stopping ? { connection: "close" } : {};
    response.writeHead(status, { ...headers, ...length, ...last });
    response.end(body ?? undefined);
  }

  function fail(request: IncomingMessage, response: ServerResponse, common: Headers, error: unknown): void {
    const known = asAppError(error);
    if (known.kind === "internal") log.error("unexpected error", { error: String(error) });
    const status = STATUS[known.kind];
    const headers = { ...common, ...PROBLEM, ...problemHeaders(known) };
    const body = problemText(status, known.code, known.detail, known);
    reply(response, status, headers, request.method === "HEAD" ? null : body);
  }

  function depsOf(request: IncomingMessage, common: Headers): Deps {
    return {
      store,
      clock: { now: Date.now },
      log,
      config,
      request: {
        requestId: common["x-request-id"] ?? "",
        traceparent: common.traceparent,
        client: request.socket.remoteAddress ?? "unknown",
      },
      newId: () => newId(Date.now()),
      randomToken,
      afterwards: (work) => {
        work.catch((error: unknown) => log.error("work after an answer failed", { error: String(error) }));
      },
    };
  }

  async function callerOfRequest(
    request: IncomingMessage,
    common: Headers,
    params: URLSearchParams,
    name: string,
  ): Promise<Caller> {
    const ticket = params.get(TICKET);
    if (ticket !== null) return redeemTicket(config, ticket, name, Date.now());
    const actor = await authenticateReader(depsOf(request, common), {
      bearer: tokenOf(request),
      cookies: (wanted) => cookieOf(request.headers.cookie, wanted),
      realm: single(params, "realm"),
    });
    return callerOf(actor);
  }

  async function health(response: ServerResponse, common: Headers, params: URLSearchParams): Promise<void> {
    takeOnly(params, { probe: ["ready", "live"] });
    const broker = params.get("probe") === "live" ? {} : { broker: await brokerHealth() };
    const body = { status: "ok", ...broker, subscribers: hub.readers };
    reply(response, 200, { ...common, "content-type": "application/json" }, JSON.stringify(body));
  }

  async function brokerHealth(): Promise<{ version: string; roundTripMs: number }> {
    hub.requireConnection();
    const { version } = await store.server();
    return { version, roundTripMs: await store.ping() };
  }

  /** For whoever brings the scrape token, and platform admins. */
  async function metrics(
    request: IncomingMessage,
    response: ServerResponse,
    common: Headers,
    params: URLSearchParams,
  ): Promise<void> {
    const wanted = config.metricsToken;
    const bearer = tokenOf(request);
    if (wanted === undefined || bearer === undefined || !(await sameSecret(bearer, wanted))) {
      const deps = depsOf(request, common);
      const actor = await authenticate(deps, { bearer, cookies: () => undefined }, { platform: true });
      requireOperator(actor, "metrics.read");
    }
    takeOnly(params, {});
    reply(response, 200, { ...common, "content-type": METRICS_TYPE }, renderMetrics(hub, counts));
  }

  async function stream(
    request: IncomingMessage,
    response: ServerResponse,
    common: Headers,
    params: URLSearchParams,
    name: string,
  ): Promise<void> {
    const gone = new AbortController();
    waiting.add(gone);
    response.once("close", () => {
      waiting.delete(gone);
      gone.abort();
    });
    const caller = await callerOfRequest(request, common, params, name);
    const method = request.method === "HEAD" ? "HEAD" : "GET";
    const asked = { method, name, params, header: headerOf(request), signal: gone.signal } as const;
    const answer = await serveStream(hub, asked, caller);
    const headers = { ...common, ...answer.headers };
    if (answer.kind === "whole") return reply(response, answer.status, headers, answer.body);
    count(counts.statuses, 200);
    const socket = await beginStream(request, response, headers);
    const started = Date.now();
    const reader: Reader = answer.start(socketSink(socket), (reason) => {
      readers.delete(reader);
      count(counts.ends, reason);
      const requestId = common["x-request-id"];
      log.info("stream ended", { requestId, stream: name, reason, durationMs: Date.now() - started });
    });
    readers.add(reader);
    socket.once("close", () => reader.abandon());
    if (stopping) reader.end("shutdown");
    else if (gone.signal.aborted) reader.abandon();
  }

  async function handle(request: IncomingMessage, response: ServerResponse, common: Headers): Promise<void> {
    if (stopping)
      throw new AppError("unavailable", "stopping", "The streams service is shutting down.", {
        retryAfter: 1,
      });
    const target = URL.parse(request.url ?? "/", "http://streams");
    if (target === null) throw new AppError("malformed", "invalid_address", "This is not an address.");
    const { pathname, searchParams } = target;
    const [, api, family, ...rest] = pathname.split("/").map(decoded);
    const [name = "", ...more] = rest;
    const known = family === "streams" ? more.length === 0 : rest.length === 0;
    if (api !== "api" || !FAMILIES.includes(family) || !known)
      throw new AppError("not_found", "route_not_found", "There is nothing at this address.");
    if (request.method !== "GET" && request.method !== "HEAD") {
      const body = problemText(405, "method_not_allowed", `This address takes ${ALLOW}.`);
      return reply(response, 405, { ...common, ...PROBLEM, allow: ALLOW }, body);
    }
    if (family === "health") return health(response, common, searchParams);
    if (family === "metrics") return metrics(request, response, common, searchParams);
    if (name !== "") return stream(request, response, common, searchParams, name);
    await callerOfRequest(request, common, searchParams, "");
    takeOnly(searchParams, { realm: null, [TICKET]: null });
    const body = JSON.stringify(await listStreams(hub));
    reply(response, 200, { ...common, "content-type": "application/json" }, body);
  }

  const server: Server = createServer(
    { keepAliveTimeout: 10_000, headersTimeout: 10_000, requestTimeout: 15_000 },
    (request, response) => {
      const common = commonHeaders(config, request);
      if (isPreflight(request)) return reply(response, 204, preflightHeaders(common), null);
      handle(request, response, common).catch((error: unknown) => {
        if (!response.headersSent) fail(request, response, common, error);
        else response.destroy();
      });
    },
  );
  // Beside those that stream, there must be room to be told that there is no room, and to ask for pages.
  server.maxConnections = hub.limits.total * 2 + 1000;
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen({ host: options.host, port: options.port, backlog: 4096 }, resolve);
  });

  return {
    port: (server.address() as AddressInfo).port,
    async drain(withinMs) {
      stopping = true;
      for (const request of waiting) request.abort();
      const closed = new Promise((resolve) => server.close(resolve));
      for (const reader of [...readers]) reader.end("shutdown");
      server.closeIdleConnections();
      const timer = setTimeout(() => server.closeAllConnections(), withinMs);
      await closed;
      clearTimeout(timer);
    },
  };
}
