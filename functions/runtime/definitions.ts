/**
 * Defines the entry routes once for all applications. Values are checked later against the application's own
 * definition.
 */
import { z } from "@hono/zod-openapi";
import type { EntryOperation } from "../../shared/access/credentials/operations.ts";
import { LIST_PARAMETERS } from "../../shared/entry/query/query.ts";
import { MERGE_PATCH, PatchManyBody } from "../admin/entry-schemas.ts";
import { MANY, ManyQuery, ManySchema } from "../http/many.ts";
import { scopesFor } from "../http/prefixes.ts";
import { defineRoute, type ProblemStatus } from "../http/router.ts";
import {
  entryListOf,
  IdempotencyKey,
  IfMatch,
  IfNoneMatch,
  json,
  jsonRequest,
  Location,
  Replayed,
  Search,
  WriteHeaders,
} from "../http/schemas.ts";
import { RuntimeChange, RuntimeEntry, RuntimeNew, RuntimePatch } from "./bodies.ts";
import {
  Answering,
  answer,
  CollectionParams,
  collection,
  common,
  EntryParams,
  Force,
  flag,
  languages,
  one,
  Paging,
  Reading,
  Showing,
  Writing,
} from "./definition-parts.ts";
import { LastEventId, Live, LiveRedirect } from "./live-definition.ts";
import { revisionDefinitions } from "./revision-definitions.ts";

const move = (name: EntryOperation, summary: string, query: z.ZodRawShape, stores: ProblemStatus[] = []) =>
  defineRoute({
    method: "post",
    path: `${one}/${name}`,
    operationId: `${name}EntryOf`,
    summary,
    ...common,
    ...scopesFor(name),
    request: {
      params: EntryParams,
      query: z.strictObject({ ...Answering, ...query }),
      headers: WriteHeaders,
    },
    responses: { 200: answer("The new revision", Replayed) },
    problems: [400, 401, 403, 404, 409, 410, 412, 422, 429, ...stores],
  });

const many = json("Results for the entries of this page", ManySchema);

export const definitions = {
  list: defineRoute({
    method: "get",
    path: collection,
    operationId: "listEntriesOf",
    summary: "List entries",
    ...common,
    ...scopesFor("read"),
    request: {
      params: CollectionParams,
      query: z.strictObject({
        ...Paging,
        sort: z.string().optional().openapi({
          description:
            "Field names separated by commas, with a leading `-` for descending order. Default: creation time, oldest first",
          example: "-createdAt",
        }),
        search: Search,
        count: flag.openapi({ description: "`true` adds `total`" }),
        explain: flag.openapi({
          description: "`true` adds `explain`: how the list was read. For callers who may read every draft",
        }),
        ...Showing,
        ...Reading,
        ...Live,
      }),
      headers: LastEventId,
    },
    responses: {
      200: json("A page", entryListOf(RuntimeEntry).openapi("RuntimeEntryList"), languages),
      307: LiveRedirect,
    },
    problems: [400, 401, 403, 404, 422, 429],
  }),
  get: defineRoute({
    method: "get",
    path: one,
    operationId: "getEntryOf",
    summary: "Get an entry",
    ...common,
    ...scopesFor("read"),
    request: {
      params: EntryParams,
      query: z.strictObject({
        ...Showing,
        ...Reading,
        at: z.string().optional().openapi({
          format: "date-time",
          description: "The entry as it was at this time, drafts included, for callers with write access",
        }),
        reveal: flag.openapi({
          description:
            "`true`: decrypted sensitive values, for owners of the orb. The audit log records the request.",
        }),
      }),
      headers: IfNoneMatch,
    },
    responses: { 200: answer("The entry"), 304: { description: "Not modified" } },
    problems: [400, 401, 403, 404],
  }),
  create: defineRoute({
    method: "post",
    path: collection,
    operationId: "createEntryOf",
    summary: "Create an entry",
    ...common,
    ...scopesFor("create"),
    request: {
      params: CollectionParams,
      query: z.strictObject(Writing),
      headers: IdempotencyKey,
      body: jsonRequest(RuntimeNew),
    },
    responses: { 201: answer("Created", { ...Location, ...Replayed }) },
    problems: [401, 403, 404, 409, 410, 429, 507],
  }),
  update: defineRoute({
    method: "put",
    path: one,
    operationId: "updateEntryOf",
    summary: "Update an entry",
    description:
      "Writes a new revision. The live revision does not change until the entry is published, here with `publish=true` or later. The body can be an edited response of `GET`, with the same `locale` and `market`.",
    ...common,
    ...scopesFor("update"),
    request: {
      params: EntryParams,
      query: z.strictObject(Writing),
      headers: IfMatch,
      body: jsonRequest(RuntimeChange),
    },
    responses: { 200: answer("The new revision") },
    problems: [401, 403, 404, 409, 412, 429, 507],
  }),
  patch: defineRoute({
    method: "patch",
    path: one,
    operationId: "patchEntryOf",
    summary: "Change some values of an entry",
    description: MERGE_PATCH,
    ...common,
    ...scopesFor("update"),
    request: {
      params: EntryParams,
      query: z.strictObject(Writing),
      headers: IfMatch,
      body: jsonRequest(RuntimePatch),
    },
    responses: { 200: answer("The new revision") },
    problems: [401, 403, 404, 409, 412, 429, 507],
  }),
  remove: defineRoute({
    method: "delete",
    path: one,
    operationId: "deleteEntryOf",
    summary: "Delete an entry",
    ...common,
    ...scopesFor("delete"),
    request: { params: EntryParams, query: z.strictObject(Force), headers: IfMatch },
    responses: { 204: { description: "Deleted" } },
    problems: [400, 401, 403, 404, 409, 412, 429],
  }),
  patchMany: defineRoute({
    method: "patch",
    path: collection,
    operationId: "patchEntriesOf",
    summary: "Change some values of many entries",
    description: `${MERGE_PATCH} ${MANY}`,
    ...common,
    ...scopesFor("update"),
    request: {
      params: CollectionParams,
      query: z.strictObject({ ...Paging, ...ManyQuery, ...Writing }),
      body: jsonRequest(PatchManyBody),
    },
    responses: { 200: many },
    problems: [400, 401, 403, 404, 422, 429, 507],
  }),
  removeMany: defineRoute({
    method: "delete",
    path: collection,
    operationId: "deleteEntriesOf",
    summary: "Delete many entries",
    description: MANY,
    ...common,
    ...scopesFor("delete"),
    request: { params: CollectionParams, query: z.strictObject({ ...Paging, ...ManyQuery, ...Force }) },
    responses: { 200: many },
    problems: [400, 401, 403, 404, 422, 429],
  }),
  publish: move("publish", "Publish the newest draft of an entry", {}, [507]),
  unpublish: move("unpublish", "Unpublish an entry", {}),
  archive: move("archive", "Archive an entry", Force),
  restore: move("restore", "Restore an archived entry as unpublished", {}),
  ...revisionDefinitions,
} as const;

type Defined = (typeof definitions)[keyof typeof definitions];

export function parameterNames(definition: Defined): string[] {
  return Object.keys(definition.request.query.shape);
}

export function furtherNames(definition: Defined): string[] {
  const common: readonly string[] = LIST_PARAMETERS;
  return parameterNames(definition).filter((name) => !common.includes(name));
}

export const bodies = {
  create: RuntimeNew,
  update: RuntimeChange,
  patch: RuntimePatch,
  patchMany: PatchManyBody,
} as const;

export function methodsOf(operations: readonly (keyof typeof definitions)[]): string[] {
  const methods = operations.map((name) => definitions[name].method.toUpperCase());
  if (methods.includes("GET")) methods.push("HEAD");
  return [...new Set(methods)].sort();
}
