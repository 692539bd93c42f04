/**
 * The operations on entries of applications: one table that the dispatch of requests, the parsing of their parameters,
 * the check of rights and the OpenAPI description use. Values are checked later against the application's own
 * definition.
 */
import { type RouteConfig, z } from "@hono/zod-openapi";
import type { EntryOperation } from "../../shared/access/credentials/index.ts";
import { LIST_PARAMETERS } from "../../shared/entry/query/index.ts";
import { MOVES, type Move } from "../admin/entries.ts";
import { listedRevisions, oneRevision } from "../admin/entry-revisions.ts";
import { MERGE_PATCH, PatchManyBody } from "../admin/entry-schemas.ts";
import { MANY, ManyQuery, ManySchema } from "../http/many.ts";
import { scopesFor } from "../http/prefixes.ts";
import { defineRoute, type ProblemStatus } from "../http/router.ts";
import {
  entryListOf,
  header,
  IdempotencyKey,
  IfMatch,
  IfNoneMatch,
  json,
  jsonRequest,
  Location,
  Missing,
  OrbDefinition,
  Replayed,
  Search,
  WriteHeaders,
} from "../http/schemas.ts";
import { InChange, IntoChange } from "../http/within.ts";
import { RuntimeChange, RuntimeEntry, RuntimeNew, RuntimePatch } from "./bodies.ts";
import {
  type AddressKind,
  Answering,
  answer,
  common,
  Force,
  flag,
  Getting,
  Group,
  languages,
  PARAMETERS,
  PATHS,
  Paging,
  Reading,
  Showing,
  Writing,
  WritingOne,
} from "./definition-parts.ts";

/** The parameter of live lists, which send changes until the client disconnects. */
const Live = {
  live: z.enum(["sse"]).optional().openapi({
    description:
      "`sse`: the answer is `text/event-stream`: all entries that match, then each change. Not with `limit`, `cursor`, `count`, `expand` and `aggregate`",
  }),
};

const LastEventId = z.object({
  "last-event-id": z
    .string()
    .optional()
    .openapi({ description: "Id of the last received event. A live list continues after it." }),
});

const LiveRedirect = { description: "Redirect of a live list to the streams process" };

const LiveEvents = z.string().openapi("LiveEvents", {
  description:
    "With `live=sse`: server-sent events. `reset`: forget all entries. `upsert` with an entry as in the list: add or replace it. `leave` with `id`: remove it. `ready`: the list is complete.",
  example: 'event: upsert\nid: 3.x\ndata: {"id":"0"}\n\n',
});

/** Adds the events of a live list to the response of a list. */
function followed<R extends { content: object }>(response: R) {
  const content = { ...response.content, "text/event-stream": { schema: LiveEvents } };
  return {
    ...response,
    content: content as R["content"] & { "text/event-stream": { schema: typeof LiveEvents } },
  };
}

interface Described<Q extends z.ZodRawShape> {
  method: "get" | "post" | "put" | "patch" | "delete";
  id: string;
  summary: string;
  description?: string;
  query: Q;
  headers?: z.ZodObject;
  body?: z.ZodType;
  responses: RouteConfig["responses"];
  problems: readonly ProblemStatus[];
  /** The path, if it is not the one of all operations on the target. */
  path?: string;
}

/**
 * Describes an operation.
 * @param at what the path leads to
 * @param right what the caller must be allowed to do
 */
function operation<T extends AddressKind, Q extends z.ZodRawShape>(
  at: T,
  right: EntryOperation,
  {
    method,
    id,
    summary,
    description,
    headers = z.object({}),
    body,
    responses,
    problems,
    path,
    ...rest
  }: Described<Q>,
) {
  const query = z.strictObject(rest.query);
  const route = defineRoute({
    method,
    path: path ?? PATHS[at],
    operationId: id,
    summary,
    ...(description === undefined ? {} : { description }),
    ...common,
    ...scopesFor(right),
    request: {
      params: PARAMETERS[at],
      query,
      headers: headers.extend(OrbDefinition.shape),
      ...(body === undefined ? {} : { body: jsonRequest(body) }),
    },
    responses,
    problems,
  });
  return { at, right, method: method.toUpperCase(), id, query, route };
}

/** An operation that changes the status of an entry. */
const move = (name: Move, stores: ProblemStatus[] = []) =>
  operation("operation", name, {
    method: "post",
    path: PATHS.operation.replace("{operation}", name),
    id: `${name}EntryOf`,
    summary: MOVES[name].summary,
    query: { ...Answering, ...MOVES[name].query, ...IntoChange },
    headers: WriteHeaders,
    responses: { 200: answer("The new revision", Replayed) },
    problems: [400, 401, 403, 404, 409, 410, 412, 422, 429, ...stores],
  });

const many = json("Results for the entries of this page", ManySchema);
const changed = answer("The new revision", Replayed);
const deleted = { 204: { description: "Deleted" } };

const Unchanged = {
  "Entry-Unchanged": header("`true`: nothing was written, because the entry already has these values", {
    enum: ["true"],
  }),
};
const unchanged = answer("The newest revision", Unchanged);
const PutHeaders = IfMatch.extend({
  "if-none-match": z.enum(["*"]).optional().openapi({ description: "`*`: 412 if there is already an entry" }),
});

/** The properties that both reads of one entry share. */
const reading = {
  method: "get",
  query: { ...Showing, ...Reading, ...Getting, ...InChange },
  headers: IfNoneMatch,
  responses: { 200: answer("The entry"), 304: { description: "Not modified" } },
  problems: [400, 401, 403, 404],
} as const;

/** The properties that both reads of revisions share. */
const readingRevisions = { method: "get", problems: [400, 401, 403, 404] } as const;

export const operations = {
  list: operation("collection", "read", {
    method: "get",
    id: "listEntriesOf",
    summary: "List entries",
    query: {
      ...Paging,
      sort: z.string().optional().openapi({
        description:
          "Field names separated by commas, with a leading `-` for descending order. Default: creation time, oldest first",
        example: "-createdAt",
      }),
      search: Search,
      missing: Missing,
      ...Group,
      count: flag.openapi({ description: "`true` adds `total`" }),
      explain: flag.openapi({
        description: "`true` adds `explain`: how the list was read. For callers who may read every draft",
      }),
      ...Showing,
      ...Reading,
      ...Live,
      ...InChange,
    },
    headers: LastEventId,
    responses: {
      200: followed(json("A page", entryListOf(RuntimeEntry).openapi("RuntimeEntryList"), languages)),
      307: LiveRedirect,
    },
    problems: [400, 401, 403, 404, 422, 429],
  }),
  get: operation("entry", "read", {
    ...reading,
    id: "getEntryOf",
    summary: "Get an entry",
  }),
  create: operation("collection", "create", {
    method: "post",
    id: "createEntryOf",
    summary: "Create an entry",
    query: { ...WritingOne, ...IntoChange },
    headers: IdempotencyKey,
    body: RuntimeNew,
    responses: { 201: answer("Created", { ...Location, ...Replayed }) },
    problems: [401, 403, 404, 409, 410, 429, 507],
  }),
  update: operation("entry", "update", {
    method: "put",
    id: "updateEntryOf",
    summary: "Update an entry",
    description:
      "Writes a new revision. The live revision does not change until the entry is published, here with `publish=true` or later. The body can be an edited response of `GET`, with the same `locale` and `market`.",
    query: { ...WritingOne, ...IntoChange },
    headers: WriteHeaders,
    body: RuntimeChange,
    responses: { 200: changed },
    problems: [401, 403, 404, 409, 410, 412, 429, 507],
  }),
  patch: operation("entry", "update", {
    method: "patch",
    id: "patchEntryOf",
    summary: "Change some values of an entry",
    description: MERGE_PATCH,
    query: { ...WritingOne, ...IntoChange },
    headers: WriteHeaders,
    body: RuntimePatch,
    responses: { 200: changed },
    problems: [401, 403, 404, 409, 410, 412, 429, 507],
  }),
  remove: operation("entry", "delete", {
    method: "delete",
    id: "deleteEntryOf",
    summary: "Delete an entry",
    query: { ...Force, ...IntoChange },
    headers: IfMatch,
    responses: deleted,
    problems: [400, 401, 403, 404, 409, 412, 429],
  }),
  patchMany: operation("collection", "update", {
    method: "patch",
    id: "patchEntriesOf",
    summary: "Change some values of many entries",
    description: `${MERGE_PATCH} ${MANY}`,
    query: { ...Paging, ...ManyQuery, ...Writing, ...IntoChange },
    body: PatchManyBody,
    responses: { 200: many },
    problems: [400, 401, 403, 404, 422, 429, 507],
  }),
  removeMany: operation("collection", "delete", {
    method: "delete",
    id: "deleteEntriesOf",
    summary: "Delete many entries",
    description: MANY,
    query: { ...Paging, ...ManyQuery, ...Force, ...IntoChange },
    responses: { 200: many },
    problems: [400, 401, 403, 404, 422, 429],
  }),
  publish: move("publish", [507]),
  unpublish: move("unpublish"),
  archive: move("archive"),
  restore: move("restore"),
  getBy: operation("keyed", "read", {
    ...reading,
    id: "getEntryByKey",
    summary: "Get the entry with a unique value",
  }),
  putBy: operation("keyed", "update", {
    method: "put",
    id: "putEntryByKey",
    summary: "Create or update the entry with a unique value",
    description:
      "Creates the entry if no entry has the value. Otherwise writes a new revision, or nothing if the newest revision already has these values. The body may omit the unique value. Of several concurrent requests, one creates the entry.",
    query: { ...WritingOne, ...IntoChange },
    headers: PutHeaders,
    body: RuntimeChange,
    responses: { 200: unchanged, 201: answer("Created", Location) },
    problems: [400, 401, 403, 404, 409, 410, 412, 429, 507],
  }),
  patchBy: operation("keyed", "update", {
    method: "patch",
    id: "patchEntryByKey",
    summary: "Change some values of the entry with a unique value",
    description: `${MERGE_PATCH} Writes nothing if nothing would change.`,
    query: { ...WritingOne, ...IntoChange },
    headers: IfMatch,
    body: RuntimePatch,
    responses: { 200: unchanged },
    problems: [400, 401, 403, 404, 409, 412, 429, 507],
  }),
  removeBy: operation("keyed", "delete", {
    method: "delete",
    id: "deleteEntryByKey",
    summary: "Delete the entry with a unique value",
    query: { ...Force, ...IntoChange },
    headers: IfMatch,
    responses: deleted,
    problems: [400, 401, 403, 404, 409, 412, 429],
  }),
  revisions: operation("revisions", "readRevisions", {
    ...readingRevisions,
    id: "listRevisionsOf",
    summary: "List revisions of an entry",
    description: "Oldest first, or newest first with `sort=-revision`.",
    query: listedRevisions.query.shape,
    responses: listedRevisions.responses,
  }),
  revision: operation("revision", "readRevisions", {
    ...readingRevisions,
    id: "getRevisionOf",
    summary: "Get a revision of an entry, or compare it with another one",
    description:
      "`values` has maps of all languages and markets, without the fields that the caller may not read.",
    query: oneRevision.query.shape,
    responses: oneRevision.responses,
  }),
  revert: operation("revert", "update", {
    method: "post",
    id: "revertEntryOf",
    summary: "Restore an older revision as a new draft",
    description: "Fields that the caller may not read or not set keep their newest values.",
    query: Answering,
    headers: WriteHeaders,
    responses: { 200: answer("The new revision", Replayed) },
    problems: [400, 401, 403, 404, 409, 410, 412, 422, 429, 507],
  }),
} as const;

export type OperationName = keyof typeof operations;

/** The request bodies, by operation. Operations by a unique value take the same ones. */
export const bodies = {
  create: RuntimeNew,
  update: RuntimeChange,
  patch: RuntimePatch,
  patchMany: PatchManyBody,
} as const;

const NAMES = Object.keys(operations) as OperationName[];

/**
 * Returns the operation that a request asks for, or undefined if the path does not support the method.
 * @param named the operation that the path names, if it names one
 */
export function operationAt(
  at: AddressKind,
  method: string,
  named?: OperationName,
): OperationName | undefined {
  const asked = method === "HEAD" ? "GET" : method;
  return NAMES.find((name) => {
    const found = operations[name];
    return found.at === at && found.method === asked && (named ?? name) === name;
  });
}

/** Returns the operation with an `operationId`. */
export function operationWithId(id: string): (typeof operations)[OperationName] | undefined {
  return Object.values(operations).find((found) => found.id === id);
}

/** Returns the allowed methods of a kind of address. */
export function methodsOf(at: AddressKind): string[] {
  const methods = Object.values(operations).flatMap((found) => (found.at === at ? [found.method] : []));
  if (methods.includes("GET")) methods.push("HEAD");
  return [...new Set(methods)].sort();
}

/** Returns the values that the description of an operation allows for a query parameter. Undefined: any text. */
function allowedValues(described: z.ZodType | undefined): readonly string[] | undefined {
  const schema = described instanceof z.ZodOptional ? described.unwrap() : described;
  return schema instanceof z.ZodEnum ? schema.options.map(String) : undefined;
}

const parameters = new Map(
  NAMES.map((name) => {
    const shape: Readonly<Record<string, z.ZodType>> = operations[name].query.shape;
    return [name, new Map(Object.entries(shape).map(([key, each]) => [key, allowedValues(each)]))] as const;
  }),
);

/** Returns the query parameters of an operation, and the values that its description allows for each. */
export function parametersOf(operation: OperationName): ReadonlyMap<string, readonly string[] | undefined> {
  return parameters.get(operation) ?? new Map();
}

/** Returns the query parameters of an operation that are not those of every list. */
export function furtherNames(operation: OperationName): string[] {
  const common: readonly string[] = LIST_PARAMETERS;
  return [...parametersOf(operation).keys()].filter((name) => !common.includes(name));
}
