import { z } from "@hono/zod-openapi";
import type { PlatformOperation } from "../../shared/access/credentials/index.ts";
import type { PublishedOrbs } from "../../shared/discovery/published-orbs.ts";
import { listUses, MOST_USES, USED_DAYS } from "../../shared/entry/pinned/index.ts";
import { getOrbRevision, listOrbRevisions } from "../../shared/orb/read.ts";
import { listRoutes } from "../../shared/orb/routes.ts";
import { revertOrb, tryRevert } from "../../shared/orb/update.ts";
import { readOrbPlace, readPlace, writeOrbPlace, writePlace } from "../http/cursors.ts";
import { ifMatch } from "../http/etag.ts";

import { idempotencyOf } from "../http/idempotency.ts";
import { type AdminPrefix, adminRoute, operatorRoute } from "../http/prefixes.ts";
import { defineRoute, newRouter } from "../http/router.ts";
import {
  Cursor,
  json,
  OrbIdParam,
  pageQuery,
  Replayed,
  RevisionTag,
  WriteHeaders,
  wholeNumber,
} from "../http/schemas.ts";
import { changesRights } from "../middleware/origin.ts";
import { orbAnswer } from "./orb-answers.ts";
import {
  DryRunFlag,
  ForceFlag,
  outcome,
  PublishFlag,
  RevisionListSchema,
  RevisionSchema,
  RouteListSchema,
  UsedListSchema,
} from "./orbs-schemas.ts";

const Revision = wholeNumber(Number.MAX_SAFE_INTEGER).openapi({ example: 3 });
const RevisionParam = OrbIdParam.extend({ revision: Revision });

/** Returns a router with the route that lists the revisions in use. */
function usedRoutes(prefix: AdminPrefix) {
  const used = defineRoute({
    ...adminRoute(prefix, "orbs.read"),
    method: "get",
    path: `${prefix}/{orbId}/definitions/used` as const,
    operationId: "listUsedDefinitions",
    summary: "List revisions that callers name",
    description: `Revisions that requests named in the header \`Orb-Definition\`, or by their API token, in the last ${USED_DAYS} days, and by whom. Recorded once a day. After ${MOST_USES} uses of an orb, further callers count together as \`others\`.`,
    request: { params: OrbIdParam },
    responses: { 200: json("The newest revision first", UsedListSchema) },
    problems: [401, 403, 404],
  });
  return newRouter().openapi(used, async (c) =>
    c.json(await listUses(c.var.deps, c.var.actor, c.req.valid("param").orbId), 200),
  );
}

export function orbRevisionRoutes(prefix: AdminPrefix) {
  const shared = (operation: PlatformOperation) => adminRoute(prefix, operation);
  const all = `${prefix}/{orbId}/revisions` as const;
  const router = usedRoutes(prefix);

  const list = defineRoute({
    ...shared("orbs.read"),
    method: "get",
    path: all,
    operationId: "listOrbRevisions",
    summary: "List revisions of an orb",
    description:
      "Revisions outlive the orb. If an orb with the same id is created again, their numbers continue.",
    request: {
      params: OrbIdParam,
      query: pageQuery(["revision", "-revision"]),
    },
    responses: { 200: json("A page", RevisionListSchema) },
    problems: [400, 401, 403, 404],
  });
  router.openapi(list, async (c) => {
    const { limit, cursor, sort, count } = c.req.valid("query");
    const page = await listOrbRevisions(c.var.deps, c.var.actor, {
      orb: c.req.valid("param").orbId,
      limit,
      descending: sort === "-revision",
      after: readPlace(sort, cursor),
    });
    const nextCursor = writePlace(sort, page.next);
    return c.json({ items: page.items, nextCursor, ...(count === "true" ? { total: page.total } : {}) }, 200);
  });

  const get = defineRoute({
    ...shared("orbs.read"),
    method: "get",
    path: `${all}/{revision}` as const,
    operationId: "getOrbRevision",
    summary: "Get a revision of an orb with its changes",
    request: {
      params: RevisionParam,
      query: z.strictObject({
        against: Revision.optional().openapi({
          description: "Compare with this revision instead of the previous one",
        }),
      }),
    },
    responses: { 200: json("The revision", RevisionSchema) },
    problems: [400, 401, 403, 404],
  });
  router.openapi(get, async (c) => {
    const { orbId, revision } = c.req.valid("param");
    const { against } = c.req.valid("query");
    const found = await getOrbRevision(c.var.deps, c.var.actor, { orb: orbId, revision, against });
    return c.json(found, 200);
  });

  const restore = defineRoute({
    ...changesRights(shared("orbs.write")),
    method: "post",
    path: `${all}/{revision}/restore` as const,
    operationId: "restoreOrbRevision",
    summary: "Restore an older document as a new revision",
    request: {
      params: RevisionParam,
      headers: WriteHeaders,
      query: z.strictObject({ publish: PublishFlag, dryRun: DryRunFlag, force: ForceFlag }),
    },
    responses: {
      200: outcome({
        ...RevisionTag,
        ...Replayed,
      }),
    },
    problems: [400, 401, 403, 404, 409, 412, 422],
  });
  router.openapi(restore, async (c) => {
    const { orbId: orb, revision } = c.req.valid("param");
    const { dryRun, ...options } = c.req.valid("query");
    const input = { orb, ifMatch: ifMatch(c.req.header("if-match")), ...options };
    if (dryRun === true) {
      return c.json(await tryRevert(c.var.deps, c.var.actor, { ...input, revision }), 200);
    }
    const made = await revertOrb(c.var.deps, c.var.actor, {
      ...input,
      revision,
      idempotency: idempotencyOf(c),
    });
    return c.json(orbAnswer(c, made), 200);
  });
  return router;
}

/** Kind of the cursors of the list of routes. */
const ROUTES = "routes";
const ROUTES_PER_PAGE = { default: 500, max: 1_000 };

export function routeListing(published: PublishedOrbs) {
  const list = defineRoute({
    ...operatorRoute("Discovery", "routes.read"),
    method: "get",
    path: "/api/admin/routes",
    operationId: "listRoutes",
    summary: "List active routes of published orbs",
    description: "In order of the orbs' ids. With `orb`, only the routes of this orb.",
    request: {
      query: z.strictObject({
        orb: z.string().optional().openapi({ description: "Only this orb", example: "shop" }),
        limit: wholeNumber(ROUTES_PER_PAGE.max)
          .default(ROUTES_PER_PAGE.default)
          .openapi({ description: "Items per page", default: ROUTES_PER_PAGE.default }),
        cursor: Cursor,
      }),
    },
    responses: { 200: json("A page", RouteListSchema) },
    problems: [400, 401, 403],
  });
  return newRouter().openapi(list, async (c) => {
    const { orb, limit, cursor } = c.req.valid("query");
    const { deps, actor } = c.var;
    const after = readOrbPlace(ROUTES, cursor);
    const all = (await published.list(deps)).map((one) => one.orb);
    const orbs = orb === undefined ? all : all.filter((one) => one === orb);
    const { routes, next } = await listRoutes(deps, actor, { orbs, limit, after });
    return c.json({ items: routes, nextCursor: writeOrbPlace(ROUTES, next) }, 200);
  });
}
