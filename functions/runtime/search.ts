/** `GET /api/{orbId}/search` and its twins of the management API: searches the entries of all schemas. */
import { z } from "@hono/zod-openapi";
import type { Context } from "hono";
import type { Actor } from "../../shared/access/actor.ts";
import { principalIn, requireAct, requireScope } from "../../shared/access/authorize.ts";
import type { LiveOrb } from "../../shared/definition/live-orb.ts";
import { choose, isLocale, isMarket } from "../../shared/entry/model/index.ts";
import { QUERY_LIMITS } from "../../shared/entry/query/index.ts";
import {
  NEWEST_COMPARED,
  SEARCH_LIMITS,
  searchManaged,
  searchVisible,
} from "../../shared/entry/read/index.ts";
import { SEARCH_SEGMENT } from "../../shared/orb/routes.ts";
import { definition } from "../admin/entry-schemas.ts";
import { withNewest } from "../http/newest-definition.ts";
import { scopesFor } from "../http/prefixes.ts";
import { wrongMethod } from "../http/problem.ts";
import { defineRoute, parseQuery } from "../http/router.ts";
import { ANY_SESSION, Cursor, json, LOCALE, MARKET_NAME, wholeNumber } from "../http/schemas.ts";
import { InChange, readingFrom } from "../http/within.ts";
import { completeResponse } from "../middleware/headers.ts";
import type { AppEnv } from "../request/context.ts";

const Found = z
  .object({
    module: z.string(),
    schema: z.string(),
    id: z.string(),
    title: z.string().nullable().openapi({ description: "Value of the field that names the entry" }),
    field: z.string().nullable().openapi({
      description: "The field that contains the words. Null if the search is the id of the entry",
    }),
    language: z.string().optional().openapi({ description: "Language of the field's value", example: "en" }),
    snippet: z
      .array(z.object({ text: z.string(), match: z.literal(true).optional() }))
      .openapi({ description: "A piece of the field's value. `match`: words that were searched for" }),
  })
  .openapi("FoundEntry");

const FoundPage = z
  .object({
    items: z.array(Found),
    nextCursor: z.string().nullable().openapi({
      description:
        "Pass it as `cursor` to get the next page; null at the end. A page may be shorter than `limit`: follow `nextCursor`",
    }),
    complete: z.boolean().openapi({
      description: `False if only the newest ${NEWEST_COMPARED} entries of some schema were compared, and it has more`,
    }),
  })
  .openapi("FoundEntries");

const Common = {
  q: z.string().min(1).max(QUERY_LIMITS.search).openapi({
    description:
      "Words that an entry must contain. The last one may be the beginning of a word. Or the id of an entry",
    example: "red chair",
  }),
  limit: wholeNumber(SEARCH_LIMITS.mostOnPage)
    .default(SEARCH_LIMITS.page)
    .openapi({ description: "Entries per page", default: SEARCH_LIMITS.page }),
  cursor: Cursor,
  ...InChange,
};
const StoredQuery = z.strictObject(Common);
const Query = StoredQuery.extend({
  revision: z.enum(["published", "latest"]).optional().openapi({
    description: "`latest`: the newest draft of entries whose drafts the caller may read",
  }),
  locale: z
    .string()
    .refine(isLocale, "must be a language tag such as en or de-CH, or *")
    .optional()
    .openapi({
      ...LOCALE,
      description: "Language of the texts, instead of `Accept-Language`. `*`: searches in all languages",
    }),
  market: z.string().refine(isMarket, "must be the name of a market").optional().openapi(MARKET_NAME),
});

const described = {
  method: "get",
  summary: "Search the entries of all schemas",
  description: `Best matches first, then the newest entries. Searches the fields with \`search: true\`, and the titles of the newest ${NEWEST_COMPARED} entries of each schema.`,
  responses: { 200: json("A page", FoundPage) },
  problems: [400, 401, 403, 404],
} as const;

export const SEARCH_PATH = `/api/{orbId}/${SEARCH_SEGMENT}`;

/** Describes the route of published applications. */
export const searchRoute = defineRoute({
  ...described,
  path: SEARCH_PATH,
  operationId: "searchEntriesOf",
  tags: ["searches"],
  security: [{}, ...ANY_SESSION],
  "x-role": "public",
  ...scopesFor("read"),
  request: { params: z.object({ orbId: z.string() }), query: Query },
});

/** Serves the route of published applications. */
export async function searchOrb(c: Context<AppEnv>, live: LiveOrb, actor: Actor): Promise<Response> {
  if (c.req.method !== "GET" && c.req.method !== "HEAD") return wrongMethod(c, ["GET", "HEAD"]);
  requireScope(actor, "read", live.orb);
  const caller = principalIn(actor, live.orb, live.compiled);
  requireAct(caller, "entries:read");
  const query = parseQuery(Query, c.req.queries());
  const { q: text, limit, cursor } = query;
  const latest = query.revision === "latest";
  const choice = choose(live.compiled, { ...query, acceptLanguage: c.req.header("accept-language") });
  const { deps, find } = await readingFrom(c.var.deps, actor, live, { change: query.change }, latest);
  const input = { orb: live, text, limit, cursor, find };
  const page = await searchVisible(deps, caller, input, { latest, choice });
  return completeResponse(c, JSON.stringify(page), 200, {
    "content-type": "application/json",
    "cache-control": "private, no-cache",
    vary: "Accept-Language, Authorization, Cookie",
  });
}

/** The route of the management API. */
export const searchStored = {
  ...described,
  tags: ["Entries: searches"],
  operationId: "searchEntries",
  description: `${described.description} Searches the newest revisions in all languages, drafts included.`,
  query: StoredQuery,
  async serve(c: Context<AppEnv>): Promise<Response> {
    const query = parseQuery(StoredQuery, c.req.queries());
    const { q: text, limit, cursor } = query;
    const renew = () => definition(c);
    return withNewest(c.var.deps, renew(), renew, async (loading) => {
      const orb = await loading;
      const { deps, find } = await readingFrom(c.var.deps, c.var.actor, orb, { change: query.change }, true);
      return c.json(await searchManaged(deps, c.var.actor, { orb, text, limit, cursor, find }), 200);
    });
  },
};
