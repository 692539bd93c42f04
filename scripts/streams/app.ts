/** The HTTP application of the streams process: the middleware of the functions, and one hub for all readers. */
import type { ServerResponse } from "node:http";
import { getRequestListener, type HttpBindings } from "@hono/node-server";
import { RESPONSE_ALREADY_SENT } from "@hono/node-server/utils/response";
import type { Context } from "hono";
import { NO_SHAPE, requireNoDefinition } from "../../functions/http/definition-header.ts";
import { onError } from "../../functions/http/problem.ts";
import { answerUnmatched, newRouter, noRoute } from "../../functions/http/router.ts";
import { readToEnd } from "../../functions/middleware/body.ts";
import { corsWith, securityHeaders } from "../../functions/middleware/headers.ts";
import { knownHost } from "../../functions/middleware/host-name.ts";
import { credentialsOf, scraper } from "../../functions/middleware/session.ts";
import { type AppEnv, context, type Host } from "../../functions/request/context.ts";
import type { Config, Log } from "../../shared/deps.ts";
import { AppError } from "../../shared/kernel/errors.ts";
import { METRICS_TYPE, renderMetrics } from "../../shared/kernel/metrics.ts";
import type { Store } from "../../shared/store/types.ts";
import { type Caller, listerOf, readerOf } from "../../shared/streams/caller.ts";
import { authenticateReader } from "../../shared/streams/credentials.ts";
import { LiveLists } from "../../shared/streams/live/index.ts";
import { requireKnownParameters, single } from "../../shared/streams/protocol/index.ts";
import type { Hub, OpenReader } from "../../shared/streams/read/index.ts";
import { type Answer, listStreams, STREAM_VARY, serveStream } from "../../shared/streams/serve.ts";
import { redeemTicket, TICKET } from "../../shared/streams/ticket.ts";
import { clientAddress } from "../process/forwarded.ts";
import { isLivePath, liveAnswer } from "./live.ts";
import { count, type HttpCounts, streamsMetrics } from "./metrics.ts";
import { beginStream, socketSink } from "./socket.ts";

export interface StreamsOptions {
  config: Config;
  log: Host["log"];
  store: Store;
  hub: Hub;
  /** Whether every request comes through a proxy that reports the client's network address. */
  behindProxy?: boolean;
}

type C = Context<AppEnv>;

/** Events that begin when the middleware has completed the headers of the response. */
interface Events {
  answer: Extract<Answer, { kind: "live" }>;
  log: Log;
  /** Name of the stream or list, for the log. */
  name: string;
}

/** The answer to a client that has disconnected. */
const NO_ONE: Answer = { kind: "whole", status: 204, headers: {}, body: null };

const connectionOf = (c: C) => c.env as unknown as HttpBindings;
const paramsOf = (c: C) => new URL(c.req.url).searchParams;
const methodOf = (c: C) => (c.req.method === "HEAD" ? "HEAD" : "GET");

/**
 * After a redirect, browsers send `Origin: null`. The ticket in the URL then shows that the page may read the
 * response.
 */
const hasTicket = (c: C, origin: string) => origin === "null" && c.req.query(TICKET) !== undefined;

export class StreamsApp {
  readonly #store: Store;
  readonly #hub: Hub;
  readonly #lists: LiveLists;
  readonly #counts: HttpCounts = { statuses: new Map(), ends: new Map() };
  readonly #events = new WeakMap<ServerResponse, Events>();
  readonly #readers = new Set<OpenReader>();
  /** Requests that wait for messages. They get a response immediately when the process stops. */
  readonly #waiting = new Map<ServerResponse, AbortController>();
  #stopping = false;

  constructor({ store, hub }: Pick<StreamsOptions, "store" | "hub">) {
    this.#store = store;
    this.#hub = hub;
    this.#lists = new LiveLists(hub);
  }

  /** Returns the listener of a server. */
  listener({ config, log, behindProxy = false }: StreamsOptions): ReturnType<typeof getRequestListener> {
    const app = this.#routes({
      config,
      log,
      lend: () => ({ store: this.#store, readOnly: true, release: async () => undefined }),
      client: (c) => clientAddress(connectionOf(c).incoming, behindProxy),
      observe: ({ status }) => count(this.#counts.statuses, status),
    });
    return getRequestListener(async (request, bindings) => {
      const connection = bindings as HttpBindings;
      const { outgoing } = connection;
      const response = await app.fetch(request, { ...connection });
      // Also for a request that has waited until the process stopped. Otherwise its client would use the connection again.
      if (this.#stopping) outgoing.shouldKeepAlive = false;
      const events = this.#events.get(outgoing);
      if (events === undefined) return response;
      this.#events.delete(outgoing);
      await this.#send(events, connection, Object.fromEntries(response.headers));
      return RESPONSE_ALREADY_SENT;
    });
  }

  /** Rejects new requests, and ends the wait of requests that wait for messages. */
  refuse(): void {
    this.#stopping = true;
    for (const request of this.#waiting.values()) request.abort();
  }

  endStreams(): void {
    for (const reader of [...this.#readers]) reader.end("shutdown");
  }

  #routes(host: Host) {
    const app = newRouter();
    app.use(
      "*",
      readToEnd,
      context(() => host),
      securityHeaders,
      knownHost,
      corsWith(hasTicket),
    );
    app.use("*", async (c, next) => {
      await next();
      c.res.headers.append("vary", STREAM_VARY);
    });
    app.use("*", (_, next) => {
      if (!this.#stopping) return next();
      const detail = "The streams process is shutting down. Try again in a second.";
      throw new AppError("unavailable", "stopping", detail, { retryAfter: 1 });
    });
    app.onError(onError);
    answerUnmatched(app);
    app.get("/api/health", (c) => this.#health(c));
    app.get("/api/metrics", scraper, (c) => {
      requireKnownParameters(paramsOf(c), {});
      const text = renderMetrics(streamsMetrics(this.#hub, this.#counts));
      return c.body(text, 200, { "content-type": METRICS_TYPE });
    });
    for (const path of ["/api/streams", "/api/streams/"]) app.get(path, (c) => this.#listing(c));
    app.get("/api/streams/:name", (c) => this.#stream(c, c.req.param("name")));
    app.all("/api/:orbId/:module/:schema?", (c) => this.#live(c));
    return app;
  }

  async #callerOf(c: C, params: URLSearchParams, name: string): Promise<Caller> {
    const ticket = params.get(TICKET);
    const { deps } = c.var;
    if (ticket !== null) return redeemTicket(deps, ticket, name, Boolean(c.req.header("last-event-id")));
    const actor = await authenticateReader(deps, { ...credentialsOf(c), realm: single(params, "realm") });
    c.set("actor", actor);
    return name === "" ? listerOf(actor) : readerOf(deps, actor);
  }

  async #health(c: C): Promise<Response> {
    c.set("route", "/api/health");
    const params = paramsOf(c);
    requireKnownParameters(params, { probe: ["ready", "read", "live"] });
    const broker = params.get("probe") === "live" ? {} : { broker: await this.#brokerHealth() };
    return c.json({ status: "ok", ...broker, subscribers: this.#hub.readers });
  }

  async #brokerHealth(): Promise<{ version: string; roundTripMs: number }> {
    this.#hub.requireConnection();
    const { version } = await this.#store.server();
    return { version, roundTripMs: await this.#store.ping() };
  }

  async #listing(c: C): Promise<Response> {
    c.set("route", "/api/streams");
    const params = paramsOf(c);
    await this.#callerOf(c, params, "");
    params.delete(TICKET);
    requireKnownParameters(params, { realm: null });
    return c.json(await listStreams(this.#hub));
  }

  /** Returns a signal that is aborted when the client disconnects, or the process stops. */
  #signalOf(outgoing: ServerResponse): AbortSignal {
    const gone = new AbortController();
    this.#waiting.set(outgoing, gone);
    outgoing.once("close", () => {
      this.#waiting.delete(outgoing);
      gone.abort();
    });
    return gone.signal;
  }

  async #stream(c: C, name: string): Promise<Response> {
    c.set("route", "/api/streams/{name}");
    requireNoDefinition(c, NO_SHAPE.stream);
    const { outgoing } = connectionOf(c);
    const signal = this.#signalOf(outgoing);
    const params = paramsOf(c);
    const caller = await this.#callerOf(c, params, name);
    const header = (wanted: string) => c.req.header(wanted);
    const asked = { method: methodOf(c), name, params, header, signal } as const;
    const answer = await serveStream(this.#hub, asked, caller).catch((error: unknown) => {
      // A page was refused because its client has disconnected. Do not report that as a failure of the broker.
      if (outgoing.destroyed) return NO_ONE;
      throw error;
    });
    return this.#answer(c, answer, name);
  }

  /** Answers requests for live lists (lists that send each change): `/api/{orb}/{module}/{schema}?live=sse`. */
  async #live(c: C): Promise<Response> {
    const { pathname, searchParams } = new URL(c.req.url);
    const isRead = c.req.method === "GET" || c.req.method === "HEAD";
    if (!isRead || !searchParams.has("live") || !isLivePath(c)) return noRoute(c);
    c.set("route", "/api/{orbId}/{module}/{schema}");
    const answer = await liveAnswer(this.#lists, c, methodOf(c), searchParams);
    const response = this.#answer(c, answer, pathname);
    response.headers.set("vary", "Accept-Language, Orb-Definition");
    return response;
  }

  #answer(c: C, answer: Answer, name: string): Response {
    const { outgoing } = connectionOf(c);
    if (answer.kind === "live") {
      this.#events.set(outgoing, { answer, log: c.var.deps.log, name });
      return new Response(null, { headers: answer.headers });
    }
    outgoing.once("close", () => answer.sent?.());
    if (outgoing.destroyed) answer.sent?.();
    // The type cast is safe: these bytes are never in shared memory.
    const body = answer.body as Uint8Array<ArrayBuffer> | null;
    return new Response(body, { status: answer.status, headers: answer.headers });
  }

  async #send(
    { answer, log, name }: Events,
    { incoming, outgoing }: HttpBindings,
    headers: Record<string, string>,
  ): Promise<void> {
    const socket = await beginStream(incoming, outgoing, headers);
    // The response waits no longer. Its listeners would keep the request in memory for as long as it is open.
    this.#waiting.delete(outgoing);
    outgoing.removeAllListeners("close");
    const started = Date.now();
    const reader: OpenReader = answer.start(socketSink(socket), (reason) => {
      this.#readers.delete(reader);
      count(this.#counts.ends, reason);
      log.info("stream ended", { stream: name, reason, durationMs: Date.now() - started });
    });
    this.#readers.add(reader);
    socket.once("close", () => reader.abandon());
    if (this.#stopping) reader.end("shutdown");
    else if (socket.destroyed) reader.abandon();
  }
}
