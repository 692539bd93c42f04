/**
 * Parameters, paths and responses of the operations on entries. The names of those that only the management API has
 * begin with `Stored`: it shows stored entries as they are, and addresses them without their schemas.
 */
import { z } from "@hono/zod-openapi";
import { STATUSES } from "../../shared/definition/document/index.ts";
import { RICH_TEXT_FORMS } from "../../shared/entry/model/index.ts";
import { LIST_PARAMETERS, PAGE_SIZE } from "../../shared/entry/query/index.ts";
import { EntrySchema } from "../admin/entry-schemas.ts";
import type { AdminPrefix } from "../http/prefixes.ts";
import {
  ANY_SESSION,
  Cursor,
  entryListOf,
  header,
  json,
  LANGUAGE,
  Limit,
  LOCALE,
  MARKET_NAME,
  Missing,
  OrbIdParam,
  RevisionTag,
  Search,
} from "../http/schemas.ts";
import { InChange } from "../http/within.ts";
import type { AddressKind } from "./address.ts";
import { RuntimeEntry } from "./bodies.ts";

const flag = z.enum(["true", "false"]).optional();
const text = z.string().optional();

const locale = text.openapi(LOCALE);
const market = text.openapi(MARKET_NAME);
const Reading = {
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
const Showing = {
  fields: z.string().optional().openapi({
    description:
      "Fields in the response, separated by commas. Then `values` has only these, although its schema requires others.",
  }),
  expand: z.string().optional().openapi({
    description:
      "Reference fields whose entries are included in `expand`, and file fields whose descriptions are, separated by commas",
  }),
};
/** Reads of one entry. */
export const GetParameters = {
  ...Showing,
  ...Reading,
  at: text.openapi({
    format: "date-time",
    description: "The entry as it was at this time, drafts included, for callers with write access",
  }),
  reveal: flag.openapi({
    description:
      "`true`: decrypted sensitive values, for owners of the orb. The audit log records the request.",
  }),
  ...InChange,
};
export const StoredGetParameters = {
  revision: z
    .enum(["published", "latest"])
    .optional()
    .openapi({ description: "`published`: the live revision instead of the newest" }),
  at: text.openapi({ description: "The entry at this time (ISO 8601)", format: "date-time" }),
  reveal: flag.openapi({
    description: "`true`: decrypted sensitive values. The audit log records the request.",
  }),
  ...InChange,
};

export const Writing = {
  publish: flag.openapi({ description: "`true`: also publishes the new revision" }),
  locale: locale.openapi({
    description:
      "`values` holds translatable values in this language only. `*`: in all languages, as in the response",
  }),
  market: market.openapi({ description: "`values` holds market-specific values of this market only" }),
};
export const StoredWriting = {
  ...Writing,
  locale: text.openapi({
    ...LANGUAGE,
    description: "`values` holds translatable values in this language only",
  }),
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
// Lists only describe these parameters. `parseListQuery` checks them, and reports all errors in one response.
const LIMIT = { type: "integer", minimum: 1, maximum: PAGE_SIZE.max, default: PAGE_SIZE.default } as const;
const FLAG = { enum: ["true", "false"] };
export const Paging = {
  limit: text.openapi({
    ...LIMIT,
    description: "Entries per page. A page may be shorter than `limit`: follow `nextCursor`",
  }),
  cursor: Cursor,
};
const StoredFilter = {
  module: text.openapi({ description: "Only entries of this module" }),
  schema: text.openapi({ description: "Only entries of this schema. Required to filter by its fields." }),
  status: text.openapi({ enum: [...STATUSES] }),
};
/** The entries of a change of many entries. */
export const StoredSelection = { ...StoredFilter, limit: Limit, cursor: Cursor };
export const ListParameters = {
  ...Paging,
  sort: text.openapi({
    description:
      "Field names separated by commas, with a leading `-` for descending order. Default: creation time, oldest first",
    example: "-createdAt",
  }),
  search: Search,
  missing: Missing,
  group: text.openapi({
    description: "With `aggregate`: computes for each value of these fields, separated by commas",
  }),
  count: flag.openapi({ description: "`true` adds `total`" }),
  explain: flag.openapi({
    description: "`true` adds `explain`: how the list was read. For callers who may read every draft",
  }),
  ...Showing,
  ...Reading,
  live: z.enum(["sse"]).optional().openapi({
    description:
      "`sse`: the answer is `text/event-stream`: all entries that match, then each change. Not with `limit`, `cursor`, `count`, `expand` and `aggregate`",
  }),
  ...InChange,
};
export const StoredListParameters = {
  ...StoredFilter,
  schema: text.openapi({
    description: "Only entries of this schema. Required to filter and sort by its fields.",
  }),
  limit: text.openapi(LIMIT),
  cursor: Cursor,
  sort: text.openapi({
    description:
      "Up to 5 field names separated by commas, with a leading `-` for descending order. Default: creation time, oldest first",
  }),
  search: Search,
  missing: Missing,
  fields: text.openapi({ description: "Fields in the response, separated by commas" }),
  expand: Showing.expand,
  count: text.openapi({ ...FLAG, description: "`true` adds `total`" }),
  explain: text.openapi({
    ...FLAG,
    description: "`true` adds `explain`: how the list was read",
  }),
  used: text.openapi({
    ...FLAG,
    description:
      "`false`: only entries to which no other entry of the orb refers; `true`: only the others. Not with `at` and `change`",
  }),
  at: text.openapi({ description: "The list at this time (ISO 8601)", format: "date-time" }),
  ...InChange,
};

/** Returns the names of the parameters that are not those of every list. */
export function furtherNames(parameters: object): string[] {
  const common: readonly string[] = LIST_PARAMETERS;
  return Object.keys(parameters).filter((name) => !common.includes(name));
}

export const Force = { force: flag.openapi({ description: "`true`: even if other entries refer to it" }) };
export const StoredDeleting = {
  ...Force,
  purge: flag.openapi({ description: "`true`: also erases its revisions permanently" }),
};
export const Locales = {
  locales: text.openapi({
    description:
      "Languages with commas between them: publishes only the texts of the draft in these languages. Everything else stays as it is live",
    example: "de,fr",
  }),
};

export const LastEventId = z.object({
  "last-event-id": text.openapi({
    description: "Id of the last received event. A live list continues after it.",
  }),
});

const LiveEvents = z.string().openapi("LiveEvents", {
  description:
    "With `live=sse`: server-sent events. `reset`: forget all entries. `upsert` with an entry as in the list: add or replace it. `leave` with `id`: remove it. `ready`: the list is complete.",
  example: 'event: upsert\nid: 3.x\ndata: {"id":"0"}\n\n',
});

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
export const PATHS: Readonly<Record<AddressKind, string>> = {
  collection,
  entry: one,
  keyed: `${collection}/by/{field}/{value}`,
  operation: `${one}/{operation}`,
  revisions: `${one}/revisions`,
  revision: `${one}/revisions/{revision}`,
  revert: `${one}/revisions/{revision}/restore`,
};

export const PARAMETERS: Readonly<Record<AddressKind, z.ZodObject>> = {
  collection: CollectionParams,
  entry: EntryParams,
  keyed: KeyParams,
  operation: EntryParams,
  revisions: EntryParams,
  revision: RevisionParams,
  revert: RevisionParams,
};

/** Returns the path of an operation in the management API. It names no schema. */
export function storedPath(prefix: AdminPrefix, path: string): string {
  return `${prefix}/{orbId}/entries${path.slice(collection.length).replace("{id}", "{entryId}")}`;
}

const StoredEntryParams = OrbIdParam.extend({
  entryId: z.string().openapi({ param: { name: "entryId", in: "path" } }),
});
const StoredRevisionParams = StoredEntryParams.extend({
  revision: z.string().openapi({ param: { name: "revision", in: "path" }, example: "3" }),
});

/** Returns the parameters of such a path. */
export function storedParameters(at: AddressKind): z.ZodObject {
  if (at === "collection") return OrbIdParam;
  return at === "revision" || at === "revert" ? StoredRevisionParams : StoredEntryParams;
}

const etag = {
  ETag: header("Number of the newest revision, and a hash of everything else that the response depends on", {
    example: '"7-1c"',
  }),
};
const languages = {
  "Content-Language": header("Languages of the translatable values", { example: "en" }),
};
const entry = (description: string, further = {}) =>
  json(description, RuntimeEntry, { ...etag, ...languages, ...further });
const page = json("A page", entryListOf(RuntimeEntry).openapi("RuntimeEntryList"), languages);
const list = { ...page, content: { ...page.content, "text/event-stream": { schema: LiveEvents } } };

/** The responses that show entries: an entry in the caller's language and market, and a page of a list. */
export const SHOWN = { entry, list };
export const STORED = {
  entry: (description: string, further = {}) =>
    json(description, EntrySchema, { ...RevisionTag, ...further }),
  list: json("A page", entryListOf(EntrySchema)),
};
