/** Serves streams over one broker connection per request, or redirects to the streams process if one exists. */
import { z } from "@hono/zod-openapi";
import type { Context, MiddlewareHandler } from "hono";
import { takeOrbReader, takeReader } from "../../shared/quotas/readers.ts";
import { listerOf, readerOf, requireReadable } from "../../shared/streams/caller.ts";
import { authenticateReader } from "../../shared/streams/credentials.ts";
import { parseQuery, single } from "../../shared/streams/protocol/query.ts";
import { Hub } from "../../shared/streams/read/hub.ts";
import { toResponse } from "../../shared/streams/response.ts";
import { listStreams, STREAM_VARY, serveStream } from "../../shared/streams/serve.ts";
import { issueTicket, TICKET } from "../../shared/streams/ticket.ts";
import { scopesFor } from "../http/prefixes.ts";
import { defineRoute, newRouter } from "../http/router.ts";
import { ANY_SESSION, IfNoneMatch, json } from "../http/schemas.ts";
import { credentialsOf } from "../middleware/session.ts";
import { type AppEnv, holdConnection } from "../request/context.ts";

/** Maximum size of a page of messages. It is small, because Workers limit the processor time of a request. */
const PAGE_LIMIT = { messages: 2000, bytes: 1_000_000 };

/** Milliseconds between two keep-alive messages. Only a write shows the runtime that the client has disconnected. */
const KEEP_ALIVE_MS = 2_000;

/** Accepts any value. `shared/streams` validates it, so that the functions and the streams process report the same errors. */
const parameter = (description: string, more: { example?: string; pattern?: string } = {}) =>
  z
    .unknown()
    .optional()
    .openapi({ type: "string", description, ...more });

const RealmQuery = z.strictObject({
  realm: parameter("Realm whose cookie is used if there is no bearer token (default `auth`)", {
    pattern: "^[A-Za-z0-9_-]{1,128}$",
  }),
});

/** Accepts unknown parameters, as the Durable Streams protocol requires. */
const StreamQuery = z.object({
  offset: parameter(
    "`-1`: from the oldest message; `now`: from the end; otherwise an offset from an earlier response",
    { example: "00000000000000000042" },
  ),
  live: parameter("`sse` or `long-poll`; requires `offset`"),
  cursor: parameter("The `Stream-Cursor` of the last response"),
  event: parameter(
    "`message`: names the events that carry messages `message` instead of `data`, so that `EventSource.onmessage` receives them",
  ),
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
    "Redirect to the streams process. Follow `Location` within a minute. An EventSource can reconnect to it with `Last-Event-ID` while the session lasts",
};

const varies: MiddlewareHandler<AppEnv> = async (c, next) => {
  await next();
  c.res.headers.append("vary", STREAM_VARY);
};

const reader: MiddlewareHandler<AppEnv> = async (c, next) => {
  const actor = await authenticateReader(c.var.deps, {
    ...credentialsOf(c),
    realm: single(new URL(c.req.url).searchParams, "realm"),
  });
  const name = c.req.param("name");
  // A redirect ends the request here, so check the scopes of an API token first. Without a redirect, the code that
  // serves the stream checks them.
  const redirects = c.var.deps.config.streamsUrl !== undefined;
  if (name === undefined) listerOf(actor);
  else if (actor.kind === "anonymous" || redirects)
    await requireReadable(c.var.deps.store, name, await readerOf(c.var.deps, actor));
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
    security: ANY_SESSION,
    ...scopesFor("stream"),
    middleware: [reader],
    hide: path === "/api/streams",
    request: { query: RealmQuery },
    responses: {
      200: json("All streams", z.array(ListingSchema)),
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
    "The read side of the Durable Streams protocol. Without parameters: server-sent events from the start (or after `Last-Event-ID`), one JSON object each. With `offset`: a page as a JSON array. With `live=long-poll` the request waits for messages; with `live=sse` it continues as events that contain arrays. `{userID}` in the stream's filter is replaced with the caller's id. Public mappings need no session.",
  tags: ["Streams"],
  security: [...ANY_SESSION, {}],
  ...scopesFor("stream"),
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

/** Redirects to the streams process, with a ticket that identifies the caller. */
async function handOver(c: Context<AppEnv>, streamsUrl: string, name: string): Promise<Response> {
  const { config, clock } = c.var.deps;
  const caller = await readerOf(c.var.deps, c.var.actor);
  const ticket = await issueTicket(config, c.var.actor, name, clock.now(), caller);
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
    const caller = await readerOf(deps, actor);
    const { signal, method, url } = c.req.raw;
    const readers: (() => Promise<void>)[] = [];
    const hub = new Hub(deps.store, {
      limits: { page: PAGE_LIMIT },
      times: { longPollMs: deps.config.longPollMs, keepAliveMs: KEEP_ALIVE_MS },
      now: deps.clock.now,
      admitToOrb: async (orb) => void readers.push(await takeOrbReader(deps, orb)),
    });
    const release = holdConnection(c);
    const ended = (): void => {
      hub.close();
      void Promise.all(readers.map((remove) => remove()))
        .catch((error: unknown) =>
          deps.log.warn("a finished reader could not be removed from the count", { error: String(error) }),
        )
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
      if (method !== "HEAD" && mode !== "catch-up")
        readers.push(await takeReader(deps, actor, caller.userId));
      const answer = await serveStream(hub, request, caller);
      return toResponse(answer, signal, ended);
    } catch (error) {
      ended();
      throw error;
    }
  });
  return router;
}
