import { z } from "@hono/zod-openapi";
import type { EntryOperation } from "../../shared/access/credentials/index.ts";
import { STATUSES } from "../../shared/definition/document/index.ts";
import {
  compareRevisions,
  getRevision,
  listRevisions,
  RECENT,
  recentChanges,
  revertEntry,
  revisionNumber,
} from "../../shared/entry/index.ts";
import { readPlace, writePlace } from "../http/cursors.ts";
import { revisionTag, withVariant } from "../http/etag.ts";
import { type AdminPrefix, entryRoute, shapedRoute } from "../http/prefixes.ts";
import { defineRoute, newRouter } from "../http/router.ts";
import {
  json,
  listOf,
  OrbDefinition,
  pageQuery,
  Replayed,
  RevisionTag,
  WriteHeaders,
  wholeNumber,
} from "../http/schemas.ts";
import {
  answer,
  definition,
  EntryParams,
  entryAnswer,
  entryCall,
  inShape,
  shapeTag,
  ValuesSchema,
} from "./entry-schemas.ts";

const moment = z.iso.datetime().nullable();

const RevisionItemSchema = z
  .object({
    revision: z.int(),
    operation: z.enum([
      "create",
      "update",
      "publish",
      "unpublish",
      "archive",
      "restore",
      "delete",
      "revert",
      "reseal",
    ]),
    status: z.enum([...STATUSES, "DELETED"]),
    publishedRevision: z.int().nullable(),
    validFrom: moment,
    validTo: moment,
    at: z.iso.datetime(),
    by: z.string().openapi({ description: "Account id; `scheduler` if a validity window closed" }),
    through: z.string().optional().openapi({
      description: "Handler through which the account wrote the revision",
      example: "shop.order",
    }),
    change: z
      .string()
      .optional()
      .openapi({ description: "Id of the change set whose publication wrote the revision" }),
    imported: z.literal(true).optional().openapi({
      description: "Set if an import wrote the revision and said who created the entry, when, or its state",
    }),
    opened: z
      .object({ at: z.iso.datetime(), by: z.string() })
      .optional()
      .openapi({ description: "When the scheduler opened this revision's window" }),
  })
  .openapi("EntryRevisionItem");

const RevisionSchema = RevisionItemSchema.extend({
  id: z.string(),
  orb: z.string(),
  module: z.string(),
  schema: z.string(),
  values: ValuesSchema,
}).openapi("EntryRevision");

const ComparisonSchema = z
  .object({
    from: z.int(),
    to: z.int(),
    patch: z.array(z.looseObject({ op: z.string(), path: z.string() })).openapi({
      description:
        "JSON Patch (RFC 6902) from the older to the newer revision: values, status and window. Sensitive values stay masked.",
    }),
    words: z
      .array(
        z.object({
          path: z.string().openapi({
            description: "JSON Pointer to the text, or to the paragraph of rich text, in the newer revision",
            example: "/values/body/2",
          }),
          parts: z.array(z.object({ op: z.enum(["keep", "remove", "add"]), text: z.string() })),
        }),
      )
      .openapi({ description: "Changed texts of several words, word by word" }),
  })
  .openapi("EntryComparison");

/** The query and the response of the routes that list revisions. */
export const listedRevisions = {
  query: pageQuery(["revision", "-revision"]),
  responses: { 200: json("A page", listOf(RevisionItemSchema), RevisionTag) },
};

/** The query and the response of the routes for one revision. */
export const oneRevision = {
  query: z.strictObject({
    against: z.string().optional().openapi({ description: "Compare with this revision" }),
  }),
  responses: {
    200: json("The revision; with `against`, the comparison", z.union([RevisionSchema, ComparisonSchema])),
  },
};

const ChangeSchema = RevisionItemSchema.pick({
  revision: true,
  operation: true,
  status: true,
  at: true,
  by: true,
  through: true,
})
  .extend({ id: z.string(), module: z.string(), schema: z.string() })
  .openapi("EntryChangeItem");

const RevisionParams = EntryParams.extend({
  revision: z.string().openapi({ param: { name: "revision", in: "path" }, example: "3" }),
});

export function entryRevisionRoutes(prefix: AdminPrefix) {
  const common = (operation: EntryOperation) => shapedRoute(prefix, operation);
  const path = `${prefix}/{orbId}/entries/{entryId}/revisions` as const;

  const recent = defineRoute({
    ...entryRoute(prefix, "entries.read"),
    method: "get",
    path: `${prefix}/{orbId}/activity`,
    operationId: "listEntryChanges",
    summary: "List the newest changes of all entries of an orb",
    description: "Newest first. The list is read from the end of the orb's stream, and has no further page.",
    request: {
      params: z.object({ orbId: z.string() }),
      query: z.strictObject({
        limit: wholeNumber(RECENT.limit).default(10),
      }),
    },
    responses: { 200: json("The changes", z.object({ items: z.array(ChangeSchema) })) },
    problems: [400, 401, 403, 404],
  });
  const list = defineRoute({
    ...common("readRevisions"),
    method: "get",
    path,
    operationId: "listEntryRevisions",
    summary: "List revisions of an entry",
    description:
      "Oldest first, or newest first with `sort=-revision`. Revisions of a deleted entry stay readable until it is purged.",
    request: { params: EntryParams, query: listedRevisions.query, headers: OrbDefinition },
    responses: listedRevisions.responses,
    problems: [400, 401, 403, 404],
  });
  const one = defineRoute({
    ...common("readRevisions"),
    method: "get",
    path: `${path}/{revision}`,
    operationId: "getEntryRevision",
    summary: "Get a revision of an entry, or compare it with another one",
    request: { params: RevisionParams, query: oneRevision.query, headers: OrbDefinition },
    responses: oneRevision.responses,
    problems: [400, 401, 403, 404],
  });
  const revert = defineRoute({
    ...common("update"),
    method: "post",
    path: `${path}/{revision}/restore`,
    operationId: "revertEntry",
    summary: "Restore an older revision as a new draft",
    request: { params: RevisionParams, headers: WriteHeaders.extend(OrbDefinition.shape) },
    responses: { 200: entryAnswer("The new revision", Replayed) },
    problems: [400, 401, 403, 404, 409, 410, 412, 422],
  });

  return newRouter()
    .openapi(recent, async (c) => {
      const { orbId } = c.req.valid("param");
      const { limit } = c.req.valid("query");
      await definition(c, orbId);
      return c.json({ items: await recentChanges(c.var.deps, c.var.actor, { orbId, limit }) }, 200);
    })
    .openapi(list, async (c) => {
      const { orbId, entryId } = c.req.valid("param");
      const { limit, cursor, sort, count } = c.req.valid("query");
      const { target, pinned } = await entryCall(c, { orbId, entryId });
      const page = await listRevisions(c.var.deps, c.var.actor, {
        ...target,
        pinned,
        order: sort === "-revision" ? "desc" : "asc",
        limit,
        after: readPlace(sort, cursor),
        count: count === "true",
      });
      c.header("etag", withVariant(revisionTag(page.newest), shapeTag(pinned)));
      const { items, next, total } = page;
      const nextCursor = writePlace(sort, next);
      return c.json({ items, nextCursor, ...(total === undefined ? {} : { total }) }, 200);
    })
    .openapi(one, async (c) => {
      const { orbId, entryId, revision } = c.req.valid("param");
      const { against } = c.req.valid("query");
      const { target, pinned } = await entryCall(c, { orbId, entryId });
      const which = { ...target, pinned, revision: revisionNumber(revision) };
      if (against === undefined) return c.json(await getRevision(c.var.deps, c.var.actor, which), 200);
      const comparison = await compareRevisions(c.var.deps, c.var.actor, {
        ...which,
        against: revisionNumber(against),
      });
      return c.json({ ...comparison, patch: comparison.patch.map((step) => ({ ...step })) }, 200);
    })
    .openapi(revert, async (c) => {
      const { revision, ...params } = c.req.valid("param");
      const call = await entryCall(c, params, c.req.valid("header"));
      const answered = await inShape(call.pinned, async () => {
        const target = { ...call.target, revision: revisionNumber(revision) };
        return answer(c, call, await revertEntry(c.var.deps, c.var.actor, target));
      });
      return c.json(answered, 200);
    });
}
