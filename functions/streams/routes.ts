/** F: /api/streams. A connection to the broker per request; or, where a process serves streams, the way to it. */
import { z } from "@hono/zod-openapi";
import type { Context, MiddlewareHandler } from "hono";
import { takeReader } from "../../shared/quotas/readers.ts";
import { authenticateReader } from "../../shared/streams/credentials.ts";
import { parseQuery, single } from "../../shared/streams/protocol/query.ts";
import { Hub } from "../../shared/streams/read/hub.ts";
import { toResponse } from "../../shared/streams/response.ts";
import { callerOf, listStreams, STREAM_VARY, serveStream } from "../../shared/streams/serve.ts";
import { issueTicket, TICKET } from "../../shared/streams/ticket.ts";
import { defineRoute, newRouter } from "../http/router.ts";
import { IfNoneMatch } from "../http/schemas.ts";
import { credentialsOf } from "../middleware/session.ts";
import { type AppEnv, keepStore } from "../request/context.ts";

/** Pages that a function reads at once: a request's processor time is counted there. */
const PAGE = { messages: 2000, bytes: 1_000_000 };

/** The runtime may notice only by writing that a client has gone, and its broker connection is to be free in seconds. */
const KEEP_ALIVE_MS = 2_000;

/** A parameter that the protocol's own code judges, so that both hosts say the same of it. */
const parameter = (description: string, example?: string) =>
  z
    .unknown()
    .optional()
    .openapi({ type: "string", description, ...(example === undefined ? {} : { example }) });

const RealmQuery = z.strictObject({
  realm: parameter("The realm whose cookie counts, without a bearer token (default `auth`)"),
});

/** Clients of the protocol may add parameters of their own: it says that they are ignored. */
const StreamQuery = z.object({
  offset: parameter(
    "`-1`: from the oldest message; `now`: from the end; else one that was given out",
    "00000000000000000042",
  ),
  live: parameter("`sse` or `long-poll`; needs an offset"),
  cursor: parameter("The `Stream-Cursor` that was answered last"),
  ...RealmQuery.shape,
});

const ListingSchema = z
  .object({ name: z.string(), description: z.string(), href: z.string() })
  .openapi("StreamListing");

const RequestHeaders = IfNoneMatch.extend({
  "last-event-id": z
    .string()
    .optional()
    .openapi({ description: "Id of the last received event. The stream continues after it." }),
});
const headers = z.object({
  ETag: z.string().optional().openapi({ description: "Entity tag of a page" }),
  "Stream-Next-Offset": z.string().openapi({ description: "Offset for the next request" }),
  "Stream-Cursor": z.string().optional(),
  "Stream-Up-To-Date": z.string().optional().openapi({ description: "`true` at the end of the stream" }),
});

const redirect = {
  description:
    "The streams process serves it: follow `Location`, which is valid for a minute (and, for an EventSource that comes back with `Last-Event-ID`, as long as the session)",
};

/** Answers of every kind, refusals too. */
const varies: MiddlewareHandler<AppEnv> = async (c, next) => {
  await next();
  c.res.headers.append("vary", STREAM_VARY);
};

/** Signed-in users of any realm. */
const reader: MiddlewareHandler<AppEnv> = async (c, next) => {
  const actor = await authenticateReader(c.var.deps, {
    ...credentialsOf(c),
    realm: single(new URL(c.req.url).searchParams, "realm"),
  });
  callerOf(actor);
  c.set("actor", actor);
  await next();
};

const list = (path: "/api/streams" | "/api/streams/") =>
  defineRoute({
    method: "get",
    path,
    operationId: "listStreams",
    summary: "List available streams",
    tags: ["Streams"],
    security: [{ bearer: [] }, { cookie: [] }],
    middleware: [reader],
    hide: path === "/api/streams",
    request: { query: RealmQuery },
    responses: {
      200: {
        description: "All streams",
        content: { "application/json": { schema: z.array(ListingSchema) } },
      },
      307: redirect,
    },
    problems: [401],
  });

const read = defineRoute({
  method: "get",
  path: "/api/streams/{name}",
  operationId: "readStream",
  summary: "Read a stream",
  description:
    "The read side of the Durable Streams protocol. Without parameters: server-sent events from the start (or after `Last-Event-ID`), one JSON object each. With `offset`: a page as a JSON array; with `live=long-poll` it waits for messages, with `live=sse` it goes on as events that carry arrays. `{userID}` in the stream's filter is the caller.",
  tags: ["Streams"],
  security: [{ bearer: [] }, { cookie: [] }],
  middleware: [reader],
  request: { params: z.object({ name: z.string() }), query: StreamQuery, headers: RequestHeaders },
  responses: {
    200: {
      description: "Messages",
      headers,
      content: {
        "application/json": { schema: z.array(z.unknown()) },
        "text/event-stream": { schema: z.string() },
      },
    },
    204: { description: "No message arrived during the long-poll", headers },
    304: { description: "Not modified" },
    307: redirect,
  },
  problems: [400, 401, 404, 410, 429],
});

/** Sends the client to the streams process, with a ticket that stands for who it is. */
async function handOver(c: Context<AppEnv>, streamsUrl: string, name: string): Promise<Response> {
  const { config, clock } = c.var.deps;
  const ticket = await issueTicket(config, c.var.actor, name, clock.now());
  const target = new URL(c.req.url);
  target.searchParams.delete("realm");
  target.searchParams.set(TICKET, ticket);
  const location = `${streamsUrl.replace(/\/+$/, "")}/api/streams/${encodeURIComponent(name)}${target.search}`;
  return c.body(null, 307, { location, "cache-control": "no-store" });
}

export function streamsRoutes() {
  const router = newRouter();
  router.use("/api/streams/*", varies);
  for (const path of ["/api/streams/", "/api/streams"] as const) {
    router.openapi(list(path), async (c) => {
      const { deps } = c.var;
      if (deps.config.streamsUrl !== undefined) return await handOver(c, deps.config.streamsUrl, "");
      return c.json(await listStreams(new Hub(deps.store)), 200);
    });
  }
  router.openapi(read, async (c) => {
    const { deps, actor } = c.var;
    const { name } = c.req.valid("param");
    if (deps.config.streamsUrl !== undefined) return await handOver(c, deps.config.streamsUrl, name);
    const { signal, method, url } = c.req.raw;
    const hub = new Hub(deps.store, {
      limits: { page: PAGE },
      times: { longPollMs: deps.config.longPollMs, keepAliveMs: KEEP_ALIVE_MS },
      now: deps.clock.now,
    });
    const release = keepStore(c);
    let leave = () => Promise.resolve();
    const ended = (): void => {
      hub.close();
      void leave()
        .catch((error: unknown) => deps.log.warn("a reader still counts", { error: String(error) }))
        .finally(release);
    };
    try {
      const request = {
        method: method === "HEAD" ? ("HEAD" as const) : ("GET" as const),
        name,
        params: new URL(url).searchParams,
        header: (wanted: string) => c.req.header(wanted),
        signal,
      };
      const { mode } = parseQuery(request.params, request.header("last-event-id"));
      if (method !== "HEAD" && mode !== "catch-up") leave = await takeReader(deps, actor);
      const answer = await serveStream(hub, request, callerOf(actor));
      return toResponse(answer, signal, ended);
    } catch (error) {
      ended();
      throw error;
    }
  });
  return router;
}
