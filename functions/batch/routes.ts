/** `POST /api/{orbId}/batch` and its twins of the management API. */
import { z } from "@hono/zod-openapi";
import type { Context } from "hono";
import type { Actor } from "../../shared/access/actor.ts";
import { principalIn, requireAct, requireScope } from "../../shared/access/authorize.ts";
import type { LiveOrb } from "../../shared/definition/live-orb.ts";
import { requireLive } from "../../shared/definition/stored/index.ts";
import { writeBatch } from "../../shared/entry/index.ts";
import { PinnedItems } from "../../shared/entry/pinned/index.ts";
import { invalid } from "../../shared/kernel/errors.ts";
import { BATCH_SEGMENT } from "../../shared/orb/routes.ts";
import { definition, keyPath, pinnedItems } from "../admin/entry-schemas.ts";
import { idempotencyOf } from "../http/idempotency.ts";
import { PREFIXES, scopesFor, shapedRoute } from "../http/prefixes.ts";
import { faultsOf, wrongMethod } from "../http/problem.ts";
import { defineRoute, newRouter, parseQuery } from "../http/router.ts";
import {
  ANY_SESSION,
  IdempotencyKey,
  json,
  jsonRequest,
  OrbDefinition,
  OrbIdParam,
  Replayed,
} from "../http/schemas.ts";
import { askingIn, definitionIn, IntoChange, writingTo } from "../http/within.ts";
import { readJson } from "../middleware/body.ts";
import { completeResponse } from "../middleware/headers.ts";
import type { AppEnv } from "../request/context.ts";
import {
  answerOf,
  BatchAnswer,
  BatchBody,
  BatchCreate,
  BatchDelete,
  BatchUpdate,
  itemsIn,
} from "./schemas.ts";

const described = {
  method: "post",
  summary: "Write several entries at once",
  description:
    "Creates, changes and deletes entries in one atomic write: all of them, or none. Each item has the rights, hooks and checks of a write of its own, and is checked with what the other items leave behind. `add` and `if` use the newest revision; the platform repeats the batch if another request comes first. If an item is refused, the problem has its index as `item`, and paths such as `/do/1/values/title`.",
  responses: { 200: json("What became of each item", BatchAnswer, Replayed) },
  problems: [401, 403, 404, 409, 410, 412, 429, 502, 507],
} as const;

const Query = z.strictObject(IntoChange);

export const BATCH_PATH = `/api/{orbId}/${BATCH_SEGMENT}`;

/** Describes the route of published applications. */
export const batchRoute = defineRoute({
  ...described,
  path: BATCH_PATH,
  operationId: "writeBatchOf",
  tags: ["batches"],
  security: [{}, ...ANY_SESSION],
  "x-role": "public",
  ...scopesFor("update"),
  request: {
    params: z.object({ orbId: z.string() }),
    query: Query,
    headers: IdempotencyKey.extend(OrbDefinition.shape),
    body: jsonRequest(BatchBody),
  },
});

/**
 * Serves the route of published applications.
 * @param revision of the definition, if the request names one
 */
export async function callBatch(
  c: Context<AppEnv>,
  live: LiveOrb,
  actor: Actor,
  revision?: number,
): Promise<Response> {
  if (c.req.method !== "POST") return wrongMethod(c, ["POST"]);
  const asking = askingIn(actor, c.req.query());
  requireScope(asking, "update", live.orb);
  requireAct(principalIn(asking, live.orb, live.compiled), "entries:write");
  const query = parseQuery(Query, c.req.queries());
  const body = await readJson(c, true);
  const parsed = BatchBody.safeParse(body);
  if (!parsed.success) throw invalid(faultsOf(parsed.error, body));
  const to = await writingTo(c.var.deps, actor, live, query);
  // Keys of requests in the shape of another revision are other ones.
  const shape = revision === undefined ? "" : `@${revision}`;
  const { items, replayed } = await writeBatch(to.deps, to.actor, {
    orbId: live.orb,
    orb: live,
    renew: async () => definitionIn(c.var.deps, await requireLive(c.var.deps, live.orb), query.change),
    into: to.together,
    items: itemsIn(parsed.data.do),
    routed: true,
    pinned: revision === undefined ? undefined : new PinnedItems(c.var.deps, revision, true),
    idempotency: idempotencyOf(c, `/api/${live.orb}/${BATCH_SEGMENT}${shape}`),
  });
  return completeResponse(c, JSON.stringify(answerOf(items)), 200, {
    "content-type": "application/json",
    "cache-control": "no-store",
    ...(replayed ? { "idempotent-replayed": "true" } : {}),
  });
}

export function adminBatchRoutes() {
  const router = newRouter();
  for (const [name, schema] of Object.entries({ BatchCreate, BatchUpdate, BatchDelete }))
    router.openAPIRegistry.register(name, schema);
  for (const prefix of PREFIXES) {
    const route = defineRoute({
      ...shapedRoute(prefix, "update"),
      ...described,
      tags: ["Entries: many at once"],
      path: `${prefix}/{orbId}/${BATCH_SEGMENT}` as const,
      operationId: "writeBatch",
      request: {
        params: OrbIdParam,
        query: Query,
        headers: IdempotencyKey.extend(OrbDefinition.shape),
        body: jsonRequest(BatchBody),
      },
    });
    router.openapi(route, async (c) => {
      const { orbId } = c.req.valid("param");
      const orb = definition(c, orbId);
      const pinned = await pinnedItems(c, orb);
      const to = await writingTo(c.var.deps, c.var.actor, orb, c.req.valid("query"));
      const { items, replayed } = await writeBatch(to.deps, to.actor, {
        orbId,
        orb,
        into: to.together,
        items: itemsIn(c.req.valid("json").do),
        routed: false,
        pinned,
        idempotency: idempotencyOf(c, keyPath(c, pinned)),
      });
      if (replayed) c.header("idempotent-replayed", "true");
      return c.json(answerOf(items), 200);
    });
  }
  return router;
}
