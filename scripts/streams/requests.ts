/** Serves the requests of the streams process, and keeps track of the responses in progress. */

import type { IncomingMessage, ServerResponse } from "node:http";
import { noRouteDetail, problemHeaders, problemText, STATUS } from "../../functions/http/problem.ts";
import { isKnownHost, unknownHost } from "../../functions/middleware/host-name.ts";
import { cookieOf } from "../../functions/middleware/session.ts";
import { authenticate } from "../../shared/access/authenticate.ts";
import { requireOperator } from "../../shared/access/authorize.ts";
import type { Config, Deps, Log } from "../../shared/deps.ts";
import { AppError } from "../../shared/kernel/errors.ts";
import { newId, randomToken, sameSecret } from "../../shared/kernel/ids.ts";
import { METRICS_TYPE, renderMetrics } from "../../shared/kernel/metrics.ts";
import type { Store } from "../../shared/store/types.ts";
import { type Caller, listerOf, readerOf } from "../../shared/streams/caller.ts";
import { authenticateReader } from "../../shared/streams/credentials.ts";
import { LiveLists } from "../../shared/streams/live/serve.ts";
import { requireKnownParameters, single } from "../../shared/streams/protocol/query.ts";
import type { Hub } from "../../shared/streams/read/hub.ts";
import type { OpenReader } from "../../shared/streams/read/reader.ts";
import { type Answer, listStreams, serveStream } from "../../shared/streams/serve.ts";
import { redeemTicket, TICKET } from "../../shared/streams/ticket.ts";
import { forwardedAddress } from "../process/forwarded.ts";
import { asAppError } from "./errors.ts";
import { commonHeaders, isPreflight, preflightHeaders } from "./headers.ts";
import { decoded, headerOf, tokenOf } from "./incoming.ts";
import { isLivePath, liveAnswer } from "./live.ts";
import { type HttpCounts, streamsMetrics } from "./metrics.ts";
import { beginStream, socketSink } from "./socket.ts";

export interface RequestsOptions {
  config: Config;
  log: Log;
  store: Store;
  hub: Hub;
  /** Whether every request comes through a proxy that reports the client's network address. */
  behindProxy?: boolean;
}

type Headers = Record<string, string>;

const PROBLEM = { "content-type": "application/problem+json", "cache-control": "no-store" };
const ALLOW = "GET, HEAD";
const FAMILIES: readonly (string | undefined)[] = ["streams", "health", "metrics"];

function count<K>(map: Map<K, number>, key: K): void {
  map.set(key, (map.get(key) ?? 0) + 1);
}

export class Requests {
  readonly #config: Config;
  readonly #log: Log;
  readonly #store: Store;
  readonly #hub: Hub;
  readonly #lists: LiveLists;
  readonly #behindProxy: boolean;
  readonly #counts: HttpCounts = { statuses: new Map(), ends: new Map() };
  readonly #readers = new Set<OpenReader>();
  /** Requests that wait for messages. They get a response immediately when the process stops. */
  readonly #waiting = new Set<AbortController>();
  #stopping = false;

  constructor({ config, log, store, hub, behindProxy = false }: RequestsOptions) {
    this.#config = config;
    this.#log = log;
    this.#store = store;
    this.#hub = hub;
    this.#lists = new LiveLists(hub);
    this.#behindProxy = behindProxy;
  }

  handle(request: IncomingMessage, response: ServerResponse): void {
    const common = commonHeaders(this.#config, request);
    const [path = ""] = (request.url ?? "").split("?", 1);
    if (!isKnownHost(request.headers.host ?? "", this.#config, path)) {
      this.#fail(request, response, common, unknownHost());
      return;
    }
    if (isPreflight(request)) {
      this.#reply(response, 204, preflightHeaders(common), null);
      return;
    }
    this.#route(request, response, common).catch((error: unknown) => {
      if (!response.headersSent) this.#fail(request, response, common, error);
      else response.destroy();
    });
  }

  /** Rejects new requests, and ends the wait of requests that wait for messages. */
  refuse(): void {
    this.#stopping = true;
    for (const request of this.#waiting) request.abort();
  }

  endStreams(): void {
    for (const reader of [...this.#readers]) reader.end("shutdown");
  }

  #reply(response: ServerResponse, status: number, headers: Headers, body: Uint8Array | string | null): void {
    count(this.#counts.statuses, status);
    this.#log.debug("request", { requestId: headers["x-request-id"], status });
    const length = body === null ? {} : { "content-length": String(Buffer.byteLength(body)) };
    const last = this.#stopping ? { connection: "close" } : {};
    // Disconnect a client that receives no data.
    response.setTimeout(this.#hub.times.stallMs, () => response.destroy());
    response.writeHead(status, { ...headers, ...length, ...last });
    response.end(body ?? undefined);
  }

  #fail(request: IncomingMessage, response: ServerResponse, common: Headers, error: unknown): void {
    const known = asAppError(error);
    if (known.kind === "internal") this.#log.error("unexpected error", { error: String(error) });
    const status = STATUS[known.kind];
    const headers = { ...common, ...PROBLEM, ...problemHeaders(known) };
    const body = problemText(status, known.code, known.detail, known);
    this.#reply(response, status, headers, request.method === "HEAD" ? null : body);
  }

  #clientOf(request: IncomingMessage): string {
    const header = this.#behindProxy ? String(request.headers["x-forwarded-for"] ?? "") : "";
    return forwardedAddress(header) ?? request.socket.remoteAddress ?? "unknown";
  }

  #depsOf(request: IncomingMessage, common: Headers): Deps {
    return {
      store: this.#store,
      clock: { now: Date.now },
      log: this.#log,
      config: this.#config,
      request: {
        requestId: common["x-request-id"] ?? "",
        traceparent: common.traceparent,
        client: this.#clientOf(request),
      },
      newId: () => newId(Date.now()),
      randomToken,
      readOnly: true,
      afterwards: (work) => {
        work.catch((error: unknown) =>
          this.#log.error("background work after a response failed", { error: String(error) }),
        );
      },
    };
  }

  async #callerOfRequest(
    request: IncomingMessage,
    common: Headers,
    params: URLSearchParams,
    name: string,
  ): Promise<Caller> {
    const ticket = params.get(TICKET);
    const deps = this.#depsOf(request, common);
    if (ticket !== null) return redeemTicket(deps, ticket, name, Boolean(request.headers["last-event-id"]));
    const actor = await authenticateReader(deps, {
      bearer: tokenOf(request),
      cookies: (wanted) => cookieOf(request.headers.cookie, wanted),
      realm: single(params, "realm"),
    });
    return name === "" ? listerOf(actor) : readerOf(deps, actor);
  }

  async #health(response: ServerResponse, common: Headers, params: URLSearchParams): Promise<void> {
    requireKnownParameters(params, { probe: ["ready", "read", "live"] });
    const broker = params.get("probe") === "live" ? {} : { broker: await this.#brokerHealth() };
    const body = { status: "ok", ...broker, subscribers: this.#hub.readers };
    this.#reply(response, 200, { ...common, "content-type": "application/json" }, JSON.stringify(body));
  }

  async #brokerHealth(): Promise<{ version: string; roundTripMs: number }> {
    this.#hub.requireConnection();
    const { version } = await this.#store.server();
    return { version, roundTripMs: await this.#store.ping() };
  }

  /** Answers requests for metrics. The client must send the metrics token, or belong to a platform admin. */
  async #metrics(
    request: IncomingMessage,
    response: ServerResponse,
    common: Headers,
    params: URLSearchParams,
  ): Promise<void> {
    const wanted = this.#config.metricsToken;
    const bearer = tokenOf(request);
    if (wanted === undefined || bearer === undefined || !(await sameSecret(bearer, wanted))) {
      const deps = this.#depsOf(request, common);
      const actor = await authenticate(deps, { bearer, cookies: () => undefined }, { platform: true });
      requireOperator(actor, "metrics.read");
    }
    requireKnownParameters(params, {});
    this.#reply(
      response,
      200,
      { ...common, "content-type": METRICS_TYPE },
      renderMetrics(streamsMetrics(this.#hub, this.#counts)),
    );
  }

  async #stream(
    request: IncomingMessage,
    response: ServerResponse,
    common: Headers,
    params: URLSearchParams,
    name: string,
  ): Promise<void> {
    const gone = new AbortController();
    this.#waiting.add(gone);
    response.once("close", () => {
      this.#waiting.delete(gone);
      gone.abort();
    });
    const caller = await this.#callerOfRequest(request, common, params, name);
    const method = request.method === "HEAD" ? "HEAD" : "GET";
    const asked = { method, name, params, header: headerOf(request), signal: gone.signal } as const;
    const answer = await serveStream(this.#hub, asked, caller);
    await this.#send(request, response, common, answer, name);
  }

  /** @param name name of the stream or list, for the log */
  async #send(
    request: IncomingMessage,
    response: ServerResponse,
    common: Headers,
    answer: Answer,
    name: string,
  ): Promise<void> {
    const headers = { ...common, ...answer.headers };
    if (answer.kind === "whole") {
      response.once("close", () => answer.sent?.());
      if (response.destroyed) answer.sent?.();
      return this.#reply(response, answer.status, headers, answer.body);
    }
    count(this.#counts.statuses, 200);
    const socket = await beginStream(request, response, headers);
    const started = Date.now();
    const reader: OpenReader = answer.start(socketSink(socket), (reason) => {
      this.#readers.delete(reader);
      count(this.#counts.ends, reason);
      const requestId = common["x-request-id"];
      this.#log.info("stream ended", { requestId, stream: name, reason, durationMs: Date.now() - started });
    });
    this.#readers.add(reader);
    socket.once("close", () => reader.abandon());
    if (this.#stopping) reader.end("shutdown");
    else if (socket.destroyed) reader.abandon();
  }

  /** Answers requests for live lists (lists that send each change): `/api/{orb}/{module}/{schema}?live=sse`. */
  async #live(
    request: IncomingMessage,
    response: ServerResponse,
    common: Headers,
    { pathname, searchParams }: URL,
  ): Promise<void> {
    const deps = this.#depsOf(request, common);
    const answer = await liveAnswer(this.#lists, deps, {
      method: request.method === "HEAD" ? "HEAD" : "GET",
      pathname,
      params: searchParams,
      header: headerOf(request),
      credentials: {
        bearer: tokenOf(request),
        cookies: (wanted) => cookieOf(request.headers.cookie, wanted),
      },
    });
    const vary = `Accept-Language, ${common.vary ?? ""}`;
    await this.#send(request, response, { ...common, vary }, answer, pathname);
  }

  async #route(request: IncomingMessage, response: ServerResponse, common: Headers): Promise<void> {
    if (this.#stopping)
      throw new AppError(
        "unavailable",
        "stopping",
        "The streams process is shutting down. Try again in a second.",
        { retryAfter: 1 },
      );
    const target = URL.parse(request.url ?? "/", "http://streams");
    if (target === null)
      throw new AppError("malformed", "invalid_address", "The request address cannot be parsed.");
    const { pathname, searchParams } = target;
    const [, api, family, ...rest] = pathname.split("/").map(decoded);
    const [name = "", ...more] = rest;
    if (searchParams.has("live") && isLivePath(pathname)) {
      if (request.method === "GET" || request.method === "HEAD")
        return this.#live(request, response, common, target);
    }
    const known = family === "streams" ? more.length === 0 : rest.length === 0;
    if (api !== "api" || !FAMILIES.includes(family) || !known)
      throw new AppError("not_found", "route_not_found", noRouteDetail(pathname));
    if (request.method !== "GET" && request.method !== "HEAD") {
      const body = problemText(
        405,
        "method_not_allowed",
        `This method is not supported at this address. Use ${ALLOW}.`,
      );
      return this.#reply(response, 405, { ...common, ...PROBLEM, allow: ALLOW }, body);
    }
    if (family === "health") return this.#health(response, common, searchParams);
    if (family === "metrics") return this.#metrics(request, response, common, searchParams);
    if (name !== "") return this.#stream(request, response, common, searchParams, name);
    await this.#callerOfRequest(request, common, searchParams, "");
    searchParams.delete(TICKET);
    requireKnownParameters(searchParams, { realm: null });
    const body = JSON.stringify(await listStreams(this.#hub));
    this.#reply(response, 200, { ...common, "content-type": "application/json" }, body);
  }
}
