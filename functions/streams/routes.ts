/** Serves streams over one broker connection per request, or redirects to the streams process if one exists. */
import { z } from "@hono/zod-openapi";
import type { MiddlewareHandler } from "hono";
import { listerOf, readerOf, requireReadable } from "../../shared/streams/caller.ts";
import { authenticateReader } from "../../shared/streams/credentials.ts";
import { parseQuery, single } from "../../shared/streams/protocol/index.ts";
import { Hub } from "../../shared/streams/read/index.ts";
import { listStreams, STREAM_VARY, serveStream } from "../../shared/streams/serve.ts";
import { scopesFor } from "../http/prefixes.ts";
import { defineRoute, newRouter } from "../http/router.ts";
import { ANY_SESSION, IfNoneMatch, json } from "../http/schemas.ts";
import { credentialsOf } from "../middleware/session.ts";
import type { AppEnv } from "../request/context.ts";
import { handOver, serveReader } from "./reader.ts";

/** Maximum size of a page of messages. It is small, because Workers limit the processor time of a request. */
const PAGE_LIMIT = { messages: 2000, bytes: 1_000_000 };

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

export function streamsRoutes() {
  const router = newRouter();
  router.use("/api/streams/*", varies);
  for (const path of ["/api/streams/", "/api/streams"] as const) {
    router.openapi(list(path), async (c) => {
      const { deps, actor } = c.var;
      const { streamsUrl } = deps.config;
      if (streamsUrl !== undefined)
        return await handOver(c, actor, { streamsUrl, path: "/api/streams/", name: "" });
      return c.json(await listStreams(new Hub(deps.store)), 200);
    });
  }
  router.openapi(read, async (c) => {
    const { deps, actor } = c.var;
    const { name } = c.req.valid("param");
    const { streamsUrl } = deps.config;
    if (streamsUrl !== undefined)
      return await handOver(c, actor, { streamsUrl, path: `/api/streams/${encodeURIComponent(name)}`, name });
    const method = c.req.method === "HEAD" ? "HEAD" : "GET";
    const { searchParams: params } = new URL(c.req.url);
    const header = (wanted: string) => c.req.header(wanted);
    const { mode } = parseQuery(params, header("last-event-id"));
    const waits = method === "GET" && mode !== "catch-up";
    return await serveReader(c, actor, { waits, limits: { page: PAGE_LIMIT } }, async (hub) => {
      const request = { method, name, params, header, signal: c.req.raw.signal } as const;
      return serveStream(hub, request, await readerOf(deps, actor));
    });
  });
  return router;
}
