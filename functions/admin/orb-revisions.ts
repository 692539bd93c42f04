import { z } from "@hono/zod-openapi";
import type { PlatformOperation } from "../../shared/access/credentials/operations.ts";
import { getOrbRevision, listOrbRevisions } from "../../shared/orb/read.ts";
import { listRoutes } from "../../shared/orb/routes.ts";
import { revertOrb, tryRevert } from "../../shared/orb/update.ts";
import { readPlace, writePlace } from "../http/cursors.ts";
import { ifMatch } from "../http/etag.ts";

import { idempotencyOf } from "../http/idempotency.ts";
import { type AdminPrefix, adminRoute, operatorRoute } from "../http/prefixes.ts";
import { defineRoute, newRouter } from "../http/router.ts";
import {
  json,
  OrbIdParam,
  pageQuery,
  Replayed,
  RevisionTag,
  WriteHeaders,
  wholeNumber,
} from "../http/schemas.ts";
import { orbAnswer } from "./orb-headers.ts";
import {
  DryRunFlag,
  ForceFlag,
  outcome,
  PublishFlag,
  RevisionListSchema,
  RevisionSchema,
  RouteSchema,
} from "./orbs-schemas.ts";

const Revision = wholeNumber(Number.MAX_SAFE_INTEGER).openapi({ example: 3 });
const RevisionParam = OrbIdParam.extend({ revision: Revision });

export function orbRevisionRoutes(prefix: AdminPrefix) {
  const shared = (operation: PlatformOperation) => adminRoute(prefix, operation);
  const all = `${prefix}/{orbId}/revisions` as const;
  const router = newRouter();

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
    ...shared("orbs.write"),
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

export function routeListing() {
  const list = defineRoute({
    ...operatorRoute("Discovery", "routes.read"),
    method: "get",
    path: "/api/admin/routes",
    operationId: "listRoutes",
    summary: "List active routes of published orbs",
    responses: { 200: json("All", z.array(RouteSchema)) },
    problems: [400, 401, 403],
  });
  return newRouter().openapi(list, async (c) => c.json(await listRoutes(c.var.deps, c.var.actor), 200));
}
