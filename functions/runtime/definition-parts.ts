/** Parameters and responses that several entry routes share. */
import { z } from "@hono/zod-openapi";
import { PAGE_SIZE } from "../../shared/entry/query/query.ts";
import { ANY_SESSION, Cursor, header, json, LOCALE, MARKET_NAME } from "../http/schemas.ts";
import { RuntimeEntry } from "./bodies.ts";

export const flag = z.enum(["true", "false"]).optional();

const locale = z.string().optional().openapi(LOCALE);
const market = z.string().optional().openapi(MARKET_NAME);
export const Reading = {
  locale: locale.openapi({
    description:
      "Language of translatable values, instead of `Accept-Language`. `*` returns a map of all languages.",
    example: "en",
  }),
  market: market.openapi({ description: "Market of market-specific values" }),
  revision: z
    .enum(["published", "latest"])
    .optional()
    .openapi({ description: "`latest`: the newest draft, for callers with write access" }),
};
export const Showing = {
  fields: z.string().optional().openapi({
    description:
      "Fields in the response, separated by commas. Then `values` has only these, although its schema requires others.",
  }),
  expand: z
    .string()
    .optional()
    .openapi({ description: "Reference fields whose entries are included in `expand`, separated by commas" }),
};
export const Writing = {
  publish: flag.openapi({ description: "`true`: also publishes the new revision" }),
  locale: locale.openapi({
    description:
      "`values` holds translatable values in this language only. `*`: in all languages, as in the response",
  }),
  market: market.openapi({ description: "`values` holds market-specific values of this market only" }),
};
export const Answering = {
  locale: locale.openapi({ description: "Language of the response" }),
  market: market.openapi({ description: "Market of the response" }),
};
export const Paging = {
  limit: z.string().optional().openapi({
    type: "integer",
    minimum: 1,
    maximum: PAGE_SIZE.max,
    default: PAGE_SIZE.default,
    description: "Entries per page. A page may be shorter than `limit`: follow `nextCursor`",
  }),
  cursor: Cursor,
};
export const Force = { force: flag.openapi({ description: "`true`: even if other entries refer to it" }) };

export const common = { tags: ["Entries of orbs"], security: [{}, ...ANY_SESSION] };
export const collection = "/api/{orbId}/{moduleId}/{schemaId}";
export const one = `${collection}/{id}` as const;
export const CollectionParams = z.object({ orbId: z.string(), moduleId: z.string(), schemaId: z.string() });
export const EntryParams = CollectionParams.extend({
  id: z.string().openapi({ description: "The entry's id" }),
});

const etag = {
  ETag: header("Number of the newest revision, and a hash of everything else that the response depends on", {
    example: '"7-1c"',
  }),
};
export const languages = {
  "Content-Language": header("Languages of the translatable values", { example: "en" }),
};
export const answer = (description: string, further = {}) =>
  json(description, RuntimeEntry, { ...etag, ...languages, ...further });
