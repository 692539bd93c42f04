import { z } from "@hono/zod-openapi";
import { principalIn } from "../../shared/access/authorize.ts";
import { STATUSES } from "../../shared/definition/document/index.ts";
import { revealValues } from "../../shared/entry/index.ts";
import { PAGE_SIZE } from "../../shared/entry/query/index.ts";
import { getManaged, listManaged } from "../../shared/entry/read/index.ts";
import { matchesTag, revisionTag, withVariant } from "../http/etag.ts";
import { withNewest } from "../http/newest-definition.ts";
import { type AdminPrefix, shapedRoute } from "../http/prefixes.ts";
import { defineRoute, newRouter } from "../http/router.ts";
import {
  Cursor,
  entryListOf,
  IfNoneMatch,
  json,
  Missing,
  OrbDefinition,
  OrbIdParam,
  Search,
} from "../http/schemas.ts";
import { InChange, readingFrom } from "../http/within.ts";
import { definition, EntryParams, EntrySchema, entryAnswer, pinnedItems, shapeTag } from "./entry-schemas.ts";

/** Only documents the parameters. `parseListQuery` validates them, and reports all errors in one response. */
const ListQuery = z.looseObject({
  module: z.string().optional().openapi({ description: "Only entries of this module" }),
  schema: z
    .string()
    .optional()
    .openapi({ description: "Only entries of this schema. Required to filter and sort by its fields." }),
  status: z
    .string()
    .optional()
    .openapi({ enum: [...STATUSES] }),
  limit: z
    .string()
    .optional()
    .openapi({ type: "integer", minimum: 1, maximum: PAGE_SIZE.max, default: PAGE_SIZE.default }),
  cursor: Cursor,
  sort: z.string().optional().openapi({
    description:
      "Up to 5 field names separated by commas, with a leading `-` for descending order. Default: creation time, oldest first",
  }),
  search: Search,
  missing: Missing,
  fields: z.string().optional().openapi({ description: "Fields in the response, separated by commas" }),
  expand: z.string().optional().openapi({
    description:
      "Reference fields whose entries are included in `expand`, and file fields whose descriptions are, separated by commas",
  }),
  count: z
    .string()
    .optional()
    .openapi({ enum: ["true", "false"], description: "`true` adds `total`" }),
  explain: z
    .string()
    .optional()
    .openapi({ enum: ["true", "false"], description: "`true` adds `explain`: how the list was read" }),
  at: z.string().optional().openapi({ description: "The list at this time (ISO 8601)", format: "date-time" }),
  ...InChange,
});

const flag = z.enum(["true", "false"]).optional();

const OneQuery = z.strictObject({
  revision: z
    .enum(["published", "latest"])
    .optional()
    .openapi({ description: "`published`: the live revision instead of the newest" }),
  at: z
    .string()
    .optional()
    .openapi({ description: "The entry at this time (ISO 8601)", format: "date-time" }),
  reveal: flag.openapi({
    description: "`true`: decrypted sensitive values. The audit log records the request.",
  }),
  ...InChange,
});

export function entryReadRoutes(prefix: AdminPrefix) {
  const common = shapedRoute(prefix, "entries.read");
  const path = `${prefix}/{orbId}/entries` as const;

  const list = defineRoute({
    ...common,
    method: "get",
    path,
    operationId: "listEntries",
    summary: "List entries of an orb, including drafts",
    description:
      "Fields of the schema can be filtered too: `filter[field]=value`, `filter[field][operator]=value`, in groups `filter[or][0][field]=value` and `filter[not][field]=value`. `aggregate[name]=sum(field)&group=field` computes instead of listing. The description of the orb lists them. A condition on a translatable or market-specific field matches if any of its values matches.",
    request: { params: OrbIdParam, query: ListQuery, headers: OrbDefinition },
    responses: { 200: json("A page", entryListOf(EntrySchema)) },
    problems: [400, 401, 403, 404, 422],
  });
  const one = defineRoute({
    ...common,
    method: "get",
    path: `${path}/{entryId}`,
    operationId: "getEntry",
    summary: "Get the newest revision of an entry",
    request: {
      params: EntryParams,
      query: OneQuery,
      headers: IfNoneMatch.extend(OrbDefinition.shape),
    },
    responses: { 200: entryAnswer("The entry"), 304: { description: "Not modified" } },
    problems: [400, 401, 403, 404],
  });

  return newRouter()
    .openapi(list, async (c) => {
      const renew = () => definition(c, c.req.valid("param").orbId);
      const parameters = [...new URL(c.req.url).searchParams];
      const page = await withNewest(c.var.deps, renew(), renew, async (read) => {
        const pinned = await pinnedItems(c, Promise.resolve(read));
        const orb = await read;
        const { deps, pages } = await readingFrom(c.var.deps, c.var.actor, orb, c.req.query(), true);
        return listManaged(deps, c.var.actor, { orb, parameters, pages, pinned });
      });
      return c.json(page, 200);
    })
    .openapi(one, async (c) => {
      const { orbId, entryId } = c.req.valid("param");
      const query = c.req.valid("query");
      const { revision, at, reveal } = query;
      const { actor } = c.var;
      const renew = () => definition(c, orbId);
      const { tag, items, ...found } = await withNewest(c.var.deps, renew(), renew, async (orb) => {
        const items = await pinnedItems(c, Promise.resolve(orb));
        const { deps, tag } = await readingFrom(c.var.deps, actor, orb, query, true);
        return { tag, items, ...(await getManaged(deps, actor, { orbId, orb, id: entryId, revision, at })) };
      });
      const { newest, context } = found;
      const pinned = items?.request(found.schema);
      const view = pinned?.whole(found.view) ?? found.view;
      const etag = withVariant(withVariant(revisionTag(newest), tag?.()), shapeTag(pinned));
      c.header("etag", etag);
      if (reveal === "true") {
        const values = await revealValues(c.var.deps, principalIn(actor, orbId, context.compiled), {
          ...found,
          orb: context,
        });
        c.header("cache-control", "no-store");
        const shown = { ...found.view, values };
        return c.json(pinned?.whole(shown) ?? shown, 200);
      }
      // The ETag is the number of the newest revision. A response with an older revision therefore has no ETag.
      const plain = at === undefined && revision !== "published";
      if (plain && matchesTag(c.req.valid("header")["if-none-match"], etag)) return c.body(null, 304);
      return c.json(view, 200);
    });
}
