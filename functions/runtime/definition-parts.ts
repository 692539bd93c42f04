/** Parameters and responses that several entry routes share. */
import { z } from "@hono/zod-openapi";
import { RICH_TEXT_FORMS } from "../../shared/entry/model/index.ts";
import { PAGE_SIZE } from "../../shared/entry/query/index.ts";
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
  fallback: z.enum(["none"]).optional().openapi({
    description:
      "`none`: a value that is missing in the language or market is null, although its schema may require one, instead of the value of another one",
  }),
  richText: z.enum(RICH_TEXT_FORMS).optional().openapi({
    description:
      "How to show rich text: then its values are texts, although their schemas describe Portable Text. `html` is safe to insert into a page. Not with `live`",
  }),
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
  expand: z.string().optional().openapi({
    description:
      "Reference fields whose entries are included in `expand`, and file fields whose descriptions are, separated by commas",
  }),
};
/** What only reads of one entry take. */
export const Getting = {
  at: z.string().optional().openapi({
    format: "date-time",
    description: "The entry as it was at this time, drafts included, for callers with write access",
  }),
  reveal: flag.openapi({
    description:
      "`true`: decrypted sensitive values, for owners of the orb. The audit log records the request.",
  }),
};
export const Writing = {
  publish: flag.openapi({ description: "`true`: also publishes the new revision" }),
  locale: locale.openapi({
    description:
      "`values` holds translatable values in this language only. `*`: in all languages, as in the response",
  }),
  market: market.openapi({ description: "`values` holds market-specific values of this market only" }),
};
const richText = z.enum(RICH_TEXT_FORMS).optional().openapi({
  description: "How the response shows rich text: then its values are texts instead of Portable Text",
});
/** A write of one entry, whose response shows the entry. */
export const WritingOne = { ...Writing, richText };
/** Such an operation concerns all languages and markets, so it takes no other `locale`, and no `market`. */
export const Answering = {
  locale: z.enum(["*"]).optional().openapi({
    description:
      "`*`: the response has maps of all languages and markets. Without it, `Accept-Language` chooses the language of the response",
  }),
  richText,
};
/** Only documents the parameters. `parseListQuery` validates them, and accepts `filter[…]` and `aggregate[…]` too. */
export const Group = {
  group: z.string().optional().openapi({
    description: "With `aggregate`: computes for each value of these fields, separated by commas",
  }),
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
const collection = "/api/{orbId}/{moduleId}/{schemaId}";
const one = `${collection}/{id}`;
const CollectionParams = z.object({ orbId: z.string(), moduleId: z.string(), schemaId: z.string() });
const EntryParams = CollectionParams.extend({
  id: z.string().openapi({ description: "The entry's id" }),
});
const KeyParams = CollectionParams.extend({
  field: z
    .string()
    .openapi({ description: "A unique field, neither sensitive, translatable nor market-specific" }),
  value: z.string().openapi({ description: "The entry's value of this field" }),
});
const RevisionParams = EntryParams.extend({ revision: z.string().openapi({ example: "3" }) });

/** The generic path of each kind of address. */
export const PATHS = {
  collection,
  entry: one,
  keyed: `${collection}/by/{field}/{value}`,
  operation: `${one}/{operation}`,
  revisions: `${one}/revisions`,
  revision: `${one}/revisions/{revision}`,
  revert: `${one}/revisions/{revision}/restore`,
};
export type AddressKind = keyof typeof PATHS;

export const PARAMETERS = {
  collection: CollectionParams,
  entry: EntryParams,
  keyed: KeyParams,
  operation: EntryParams,
  revisions: EntryParams,
  revision: RevisionParams,
  revert: RevisionParams,
} as const satisfies Record<AddressKind, z.ZodObject>;

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
