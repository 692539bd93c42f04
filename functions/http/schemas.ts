import { z } from "@hono/zod-openapi";
import { MARKET } from "../../shared/definition/document/index.ts";
import { normaliseInstant } from "../../shared/definition/fields/parts/index.ts";
import { CURSOR_FORM, LONGEST_CURSOR } from "../../shared/entry/model/index.ts";
import { PAGE_SIZE, QUERY_LIMITS } from "../../shared/entry/query/index.ts";
import { MOMENT_FORM } from "../../shared/kernel/faults.ts";

export const header = (description: string, more: { example?: string; enum?: string[] } = {}) => ({
  description,
  schema: { type: "string" as const, ...more },
});
type ResponseHeaders = Record<string, ReturnType<typeof header>>;

export const json = <T extends z.ZodType>(description: string, schema: T, headers?: ResponseHeaders) => ({
  description,
  ...(headers === undefined ? {} : { headers }),
  content: { "application/json": { schema } },
});

export const jsonRequest = <T extends z.ZodType>(schema: T, required = true) => ({
  required,
  content: { "application/json": { schema } },
});

/** OpenAPI security requirement: a bearer token or the session cookie of a user. */
export const SESSION = [{ bearer: [] }, { cookie: [] }];
/** A bearer token or the session cookie of a platform admin. */
export const OPERATOR_SESSION = [{ bearer: [] }, { platformCookie: [] }];
/** The credentials of a user or of a platform admin. */
export const ANY_SESSION = [...SESSION, { platformCookie: [] }];

export const FaultSchema = z
  .object({
    path: z.string().openapi({ description: "JSON Pointer to the value", example: "/modules/0/id" }),
    code: z.string(),
    message: z.string(),
  })
  .openapi("Fault");

export const ProblemSchema = z
  .looseObject({
    type: z.string(),
    title: z.string(),
    status: z.int(),
    detail: z.string(),
    code: z.string().openapi({ description: "Stable code for programs" }),
    errors: z.array(FaultSchema).optional(),
  })
  .openapi("Problem", { description: "RFC 9457" });

/** Schema of a whole number in a URL. It accepts only digits, because `Number` accepts `1e3` and spaces too. */
export function wholeNumber(most: number) {
  return z
    .string()
    .regex(/^[1-9]\d{0,15}$/, "must be a whole number of at least 1")
    .transform(Number)
    .pipe(z.int().max(most))
    .openapi({ type: "integer", minimum: 1, maximum: most });
}

/** A moment in a request, in every form that values of fields accept. Becomes UTC with milliseconds. */
export const Moment = z
  .string()
  .transform((text, context) => {
    const instant = normaliseInstant(text);
    if (instant !== undefined) return instant;
    context.addIssue({ code: "custom", message: MOMENT_FORM, params: { code: "format" } });
    return z.NEVER;
  })
  .openapi({ type: "string", format: "date-time" });

export const Limit = wholeNumber(PAGE_SIZE.max)
  .default(PAGE_SIZE.default)
  .openapi({ description: "Items per page", default: PAGE_SIZE.default });

/** Accepts any text. Route handlers check cursors themselves, so every invalid cursor gets the same error. */
export const Cursor = z.string().optional().openapi({
  description: "The `nextCursor` of the previous page",
  pattern: CURSOR_FORM.source,
  minLength: 1,
  maxLength: LONGEST_CURSOR,
});

export const Missing = z.string().optional().openapi({
  description:
    "A language: only entries with a translatable field that has a value in another language and none in this one",
  example: "de",
});

export const Search = z.string().optional().openapi({
  description:
    "Words that an entry must contain in fields with `search: true`. The last one may be the beginning of a word. Without `sort`, the best matches come first",
  maxLength: QUERY_LIMITS.search,
});

/** Query parameters of a paged list. The first item of `orders` is the default order. */
export function pageQuery<const O extends readonly [string, string]>(orders: O) {
  return z.strictObject({
    limit: Limit,
    cursor: Cursor,
    sort: z.enum(orders).default(orders[0]),
    count: z.enum(["true", "false"]).optional(),
  });
}

const SCALAR = z.union([z.string(), z.number(), z.boolean()]).nullable();

/** Properties that only responses with lists of entries have. */
const entryListMembers = {
  totalExact: z.literal(false).optional().openapi({
    description: "`false`: the list has at least `total` entries, and more than one request can count",
  }),
  read: z
    .object({ entries: z.int().openapi({ description: "Entries that the page compared" }) })
    .optional()
    .openapi({ description: "Only if the page ended early, because it read as much as it may" }),
  explain: z
    .object({
      index: z.enum(["none", "id", "unique", "reference", "equality", "ordered", "search"]),
      fields: z.array(z.string()).openapi({ description: "Fields whose index was used" }),
      order: z.enum(["creation", "memory", "index", "rank"]),
      candidates: z
        .int()
        .nullable()
        .openapi({ description: "Entries that the index named, if it was read as a whole" }),
      read: z.int().openapi({ description: "Entries that were read" }),
      dropped: z.int().openapi({ description: "Entries that were read and are not part of the list" }),
    })
    .optional()
    .openapi({ description: "With `explain=true`" }),
  groups: z
    .array(
      z.object({
        key: z.record(z.string(), SCALAR).openapi({ description: "The values that these entries share" }),
        values: z.record(z.string(), SCALAR).openapi({ description: "The aggregates by name" }),
      }),
    )
    .optional()
    .openapi({ description: "With `aggregate`, when `items` is empty" }),
  complete: z.boolean().optional().openapi({
    description: "With `aggregate`: `false` if `groups` are running totals, which `nextCursor` continues",
  }),
};

/** A page of entries. */
export function entryListOf<T extends z.ZodType>(item: T) {
  return listOf(item).extend(entryListMembers);
}

export function listOf<T extends z.ZodType>(item: T) {
  return z.object({
    items: z.array(item),
    nextCursor: z.string().nullable().openapi({
      description:
        "Pass it as `cursor` to get the next page; null at the end. A page may be shorter than `limit`: follow `nextCursor`",
    }),
    total: z.int().optional().openapi({ description: "With `count=true`" }),
  });
}

/** Pattern for common language tags. It does not cover tags with extensions, which are valid too. */
const TAG =
  "([A-Za-z]{2,3}|[A-Za-z]{5,8})(-[A-Za-z]{4})?(-([A-Za-z]{2}|[0-9]{3}))?(-([0-9A-Za-z]{5,8}|[0-9][0-9A-Za-z]{3}))?";
/** Describes a parameter with a language tag. */
export const LANGUAGE = { maxLength: 35, pattern: `^${TAG}$` };
/** Describes a parameter with a language tag, or `*` for all languages and markets. */
export const LOCALE = { maxLength: 35, pattern: `^(\\*|${TAG})$` };
export const MARKET_NAME = { maxLength: 32, pattern: MARKET.source };

/** Matches one ETag of this platform, or `*`. */
const IF_MATCH = '^(\\*|(W/)?"[1-9][0-9]{0,14}(-[!#-~]*)?")$';

export const IfMatch = z.object({
  "if-match": z.string().optional().openapi({
    description: 'ETag of the newest revision, e.g. `"7"`; 412 when it is not',
    pattern: IF_MATCH,
    example: '"7"',
  }),
});
export const IfNoneMatch = z.object({
  "if-none-match": z
    .string()
    .optional()
    .openapi({ description: "ETag of a known response; 304 if it is still current" }),
});
export const IdempotencyKey = z.object({
  "idempotency-key": z.string().min(1).max(255).optional().openapi({
    description: "A repeated request with the same key and body gets the same response for 24 hours",
  }),
});

/** For requests about the entries of a published orb. */
export const OrbDefinition = z.object({
  "orb-definition": z.string().optional().openapi({
    description:
      "Number of a published revision of the orb's definition. Then the request and the response have the shape of that revision, not the one described here. If the current definition has another shape, the response has the header `Deprecation`",
    pattern: "^[1-9][0-9]{0,8}$",
    example: "12",
  }),
});

export const WriteHeaders = IfMatch.extend(IdempotencyKey.shape);

/** Accepts unknown query parameters, which other sites may add when they link to a page. */
export const AnyQuery = z.looseObject({});

export const RevisionTag = { ETag: header("Number of the newest revision", { example: '"7"' }) };
export const VersionTag = { ETag: header("The version's number", { example: '"3"' }) };
export const Location = { Location: header("Path of the created object") };

/** Describes an answer that sends the browser elsewhere. */
export const redirect = (description: string) => ({
  description,
  headers: { Location: header("Where to go") },
});
export const Replayed = {
  "Idempotent-Replayed": header("Marks the response to an earlier request with the same Idempotency-Key", {
    enum: ["true"],
  }),
};

export const OrbIdParam = z.object({
  orbId: z.string().openapi({ param: { name: "orbId", in: "path" }, example: "shop" }),
});

/** The body of a rebase within a change set. */
export const Rebasing = z
  .strictObject({
    keep: z
      .record(z.string(), z.enum(["change", "live"]))
      .optional()
      .openapi({
        description: "For each conflict, by its JSON Pointer: which value stays",
        example: { "/values/title/en": "change" },
      }),
  })
  .openapi("ChangeSetRebase");
