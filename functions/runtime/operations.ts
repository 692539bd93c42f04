/**
 * The operations on entries of orbs: one table that the dispatch of requests, the parsing of their parameters, the check
 * of rights and the OpenAPI description use, at both addresses. The first is `/api/{orbId}/{moduleId}/{schemaId}`, where
 * published orbs show entries in the caller's language and market. The second is `/api/admin/orbs/{orbId}/entries`, where
 * platform admins see stored entries. `managed` says what differs there. Values are checked later against the orb's own
 * definition.
 */
import { z } from "@hono/zod-openapi";
import { archiveEntry, publishEntry, restoreEntry, unpublishEntry } from "../../shared/entry/index.ts";
import { ActivityPage, ActivityQuery, activity, TrashPage, TrashQuery, trash } from "../admin/activity.ts";
import { BulkLines, BulkQuery, createMany } from "../admin/entries-bulk.ts";
import { RekeySchema, rekey } from "../admin/entries-rekey.ts";
import { ListedRevisions, OneRevision, oneRevision, revisionPage } from "../admin/entry-revisions.ts";
import {
  EntryBody,
  EntryPatchBody,
  MERGE_PATCH,
  NewEntryBody,
  PatchManyBody,
} from "../admin/entry-schemas.ts";
import { MANY, ManyQuery, ManySchema } from "../http/many.ts";
import type { ProblemStatus } from "../http/router.ts";
import {
  header,
  IdempotencyKey,
  IfMatch,
  IfNoneMatch,
  json,
  Location,
  OrbDefinition,
  Replayed,
  WriteHeaders,
} from "../http/schemas.ts";
import { IntoChange } from "../http/within.ts";
import type { AddressKind, Move } from "./address.ts";
import { RuntimeChange, RuntimeNew, RuntimePatch } from "./bodies.ts";
import {
  Answering,
  Force,
  GetParameters,
  LastEventId,
  ListParameters,
  Locales,
  PATHS,
  Paging,
  StoredDeleting,
  StoredGetParameters,
  StoredListParameters,
  StoredSelection,
  StoredWriting,
  Writing,
  WritingOne,
} from "./definition-parts.ts";
import { getBy, putBy, removeBy, updateBy } from "./keyed.ts";
import { getStored, listStored } from "./managed.ts";
import { managedOperation, type Operation, operation, type Row } from "./operation.ts";
import { get, list } from "./read.ts";
import { revision, revisions } from "./revisions.ts";
import { searchStored } from "./search.ts";
import { create, moving, remove, removeMany, revert, update, updateMany, type Verb } from "./write.ts";

const PUT =
  "Writes a new revision. The live revision does not change until the entry is published, here with `publish=true` or later. The body can be an edited response of `GET`";
const AT_ONCE = ["Entries: many at once"];

const none = z.object({});
const deleted = { 204: { description: "Deleted" } };
const many = { 200: json("Results for the entries of this page", ManySchema) };

const Unchanged = {
  "Entry-Unchanged": header("`true`: nothing was written, because the entry already has these values", {
    enum: ["true"],
  }),
};
const PutHeaders = IfMatch.extend({
  "if-none-match": z.enum(["*"]).optional().openapi({ description: "`*`: 412 if there is already an entry" }),
});

type Responses = Row<"entry">["responses"];
const found: Responses = ({ entry }) => ({ 200: entry("The entry"), 304: { description: "Not modified" } });
const created: Responses = ({ entry }) => ({ 201: entry("Created", { ...Location, ...Replayed }) });
const changed: Responses = ({ entry }) => ({ 200: entry("The new revision", Replayed) });
const unchanged: Responses = ({ entry }) => ({ 200: entry("The newest revision", Unchanged) });

/** An operation that changes the status of an entry. */
const move = (
  name: Move,
  verb: Verb,
  {
    summary,
    query = {},
    stores = [],
  }: { summary: string; query?: Row<"operation">["query"]; stores?: ProblemStatus[] },
) =>
  operation("operation", name, {
    method: "post",
    path: PATHS.operation.replace("{operation}", name),
    id: `${name}EntryOf`,
    summary,
    query: { ...Answering, ...query, ...IntoChange },
    headers: WriteHeaders,
    responses: changed,
    problems: [400, 401, 403, 404, 409, 410, 412, 422],
    quotas: [429, ...stores],
    serve: moving(name, verb),
    managed: { id: `${name}Entry`, query: { ...query, ...IntoChange } },
  });

export const operations = {
  list: operation("collection", "read", {
    method: "get",
    id: "listEntriesOf",
    summary: "List entries",
    query: ListParameters,
    filtered: true,
    headers: LastEventId,
    responses: ({ list }) => ({
      200: list,
      307: { description: "Redirect of a live list to the streams process" },
    }),
    problems: [400, 401, 403, 404, 422],
    quotas: [429],
    serve: list,
    managed: {
      id: "listEntries",
      summary: "List entries of an orb, including drafts",
      description:
        "Fields of the schema can be filtered too: `filter[field]=value`, `filter[field][operator]=value`, in groups `filter[or][0][field]=value` and `filter[not][field]=value`. `aggregate[name]=sum(field)&group=field` computes instead of listing. The description of the orb lists them. A condition on a translatable or market-specific field matches if any of its values matches.",
      query: StoredListParameters,
      headers: none,
      responses: ({ list }) => ({ 200: list }),
      serve: listStored,
    },
  }),
  get: operation("entry", "read", {
    method: "get",
    id: "getEntryOf",
    summary: "Get an entry",
    query: GetParameters,
    headers: IfNoneMatch,
    responses: found,
    problems: [400, 401, 403, 404],
    serve: get,
    managed: {
      id: "getEntry",
      summary: "Get the newest revision of an entry",
      query: StoredGetParameters,
      serve: getStored,
    },
  }),
  create: operation("collection", "create", {
    method: "post",
    id: "createEntryOf",
    summary: "Create an entry",
    query: { ...WritingOne, ...IntoChange },
    headers: IdempotencyKey,
    body: RuntimeNew,
    responses: created,
    problems: [401, 403, 404, 409, 410],
    quotas: [429, 507],
    serve: create,
    managed: { id: "createEntry", query: { ...StoredWriting, ...IntoChange }, body: NewEntryBody },
  }),
  update: operation("entry", "update", {
    method: "put",
    id: "updateEntryOf",
    summary: "Update an entry",
    description: `${PUT}, with the same \`locale\` and \`market\`.`,
    query: { ...WritingOne, ...IntoChange },
    headers: WriteHeaders,
    body: RuntimeChange,
    responses: changed,
    problems: [401, 403, 404, 409, 410, 412],
    quotas: [429, 507],
    serve: update,
    managed: {
      id: "updateEntry",
      description: `${PUT}.`,
      query: { ...StoredWriting, ...IntoChange },
      body: EntryBody,
    },
  }),
  patch: operation("entry", "update", {
    method: "patch",
    id: "patchEntryOf",
    summary: "Change some values of an entry",
    description: MERGE_PATCH,
    query: { ...WritingOne, ...IntoChange },
    headers: WriteHeaders,
    body: RuntimePatch,
    responses: changed,
    problems: [401, 403, 404, 409, 410, 412],
    quotas: [429, 507],
    serve: update,
    managed: { id: "patchEntry", query: { ...StoredWriting, ...IntoChange }, body: EntryPatchBody },
  }),
  remove: operation("entry", "delete", {
    method: "delete",
    id: "deleteEntryOf",
    summary: "Delete an entry",
    query: { ...Force, ...IntoChange },
    headers: IfMatch,
    responses: () => deleted,
    problems: [400, 401, 403, 404, 409, 412],
    quotas: [429],
    serve: remove,
    managed: {
      id: "deleteEntry",
      description: "Its revisions stay readable. `purge=true` erases them, even after the deletion.",
      query: { ...StoredDeleting, ...IntoChange },
    },
  }),
  patchMany: operation("collection", "update", {
    method: "patch",
    id: "patchEntriesOf",
    summary: "Change some values of many entries",
    description: `${MERGE_PATCH} ${MANY}`,
    query: { ...Paging, ...ManyQuery, ...Writing, ...IntoChange },
    filtered: true,
    body: PatchManyBody,
    responses: () => many,
    problems: [400, 401, 403, 404, 422],
    quotas: [429, 507],
    serve: updateMany,
    managed: {
      id: "patchEntries",
      tags: AT_ONCE,
      query: { ...StoredSelection, ...ManyQuery, ...StoredWriting, ...IntoChange },
    },
  }),
  removeMany: operation("collection", "delete", {
    method: "delete",
    id: "deleteEntriesOf",
    summary: "Delete many entries",
    description: MANY,
    query: { ...Paging, ...ManyQuery, ...Force, ...IntoChange },
    filtered: true,
    responses: () => many,
    problems: [400, 401, 403, 404, 422],
    quotas: [429],
    serve: removeMany,
    managed: {
      id: "deleteEntries",
      tags: AT_ONCE,
      query: { ...StoredSelection, ...ManyQuery, ...Force, ...IntoChange },
    },
  }),
  publish: move("publish", publishEntry, {
    summary: "Publish the newest draft of an entry",
    query: Locales,
    stores: [507],
  }),
  unpublish: move("unpublish", unpublishEntry, { summary: "Unpublish an entry" }),
  archive: move("archive", archiveEntry, { summary: "Archive an entry", query: Force }),
  restore: move("restore", restoreEntry, { summary: "Restore an archived or deleted entry as unpublished" }),
  getBy: operation("keyed", "read", {
    method: "get",
    id: "getEntryByKey",
    summary: "Get the entry with a unique value",
    query: GetParameters,
    headers: IfNoneMatch,
    responses: found,
    problems: [400, 401, 403, 404],
    serve: getBy,
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
    responses: (shown) => ({ ...unchanged(shown), 201: shown.entry("Created", Location) }),
    problems: [400, 401, 403, 404, 409, 410, 412],
    quotas: [429, 507],
    serve: putBy,
  }),
  patchBy: operation("keyed", "update", {
    method: "patch",
    id: "patchEntryByKey",
    summary: "Change some values of the entry with a unique value",
    description: `${MERGE_PATCH} Writes nothing if nothing would change.`,
    query: { ...WritingOne, ...IntoChange },
    headers: IfMatch,
    body: RuntimePatch,
    responses: unchanged,
    problems: [400, 401, 403, 404, 409, 412],
    quotas: [429, 507],
    serve: updateBy,
  }),
  removeBy: operation("keyed", "delete", {
    method: "delete",
    id: "deleteEntryByKey",
    summary: "Delete the entry with a unique value",
    query: { ...Force, ...IntoChange },
    headers: IfMatch,
    responses: () => deleted,
    problems: [400, 401, 403, 404, 409, 412],
    quotas: [429],
    serve: removeBy,
  }),
  revisions: operation("revisions", "readRevisions", {
    method: "get",
    id: "listRevisionsOf",
    summary: "List revisions of an entry",
    description: "Oldest first, or newest first with `sort=-revision`.",
    query: ListedRevisions.shape,
    responses: () => revisionPage,
    problems: [400, 401, 403, 404],
    serve: revisions,
    managed: {
      id: "listEntryRevisions",
      description:
        "Oldest first, or newest first with `sort=-revision`. Revisions of a deleted entry stay readable until it is purged.",
    },
  }),
  revision: operation("revision", "readRevisions", {
    method: "get",
    id: "getRevisionOf",
    summary: "Get a revision of an entry, or compare it with another one",
    description:
      "`values` has maps of all languages and markets, without the fields that the caller may not read.",
    query: OneRevision.shape,
    responses: () => oneRevision,
    problems: [400, 401, 403, 404],
    serve: revision,
    managed: { id: "getEntryRevision", description: undefined },
  }),
  revert: operation("revert", "update", {
    method: "post",
    id: "revertEntryOf",
    summary: "Restore an older revision as a new draft",
    description: "Fields that the caller may not read or not set keep their newest values.",
    query: Answering,
    headers: WriteHeaders,
    responses: changed,
    problems: [400, 401, 403, 404, 409, 410, 412, 422],
    quotas: [429, 507],
    serve: revert,
    managed: { id: "revertEntry", description: undefined, query: {} },
  }),
} as const;

/** The operations that only the management API has. */
export const managedOnly = [
  managedOperation("create", "/entries/bulk", {
    method: "post",
    operationId: "createEntries",
    tags: AT_ONCE,
    summary: "Create many entries",
    description:
      "Send JSON Lines. Each line is a body of `POST …/entries` and may also contain `publish`, `locale`, `market` and `idempotencyKey`. With the rights `write`, `publish` and `manage`, a line may also contain `status`, `createdAt` and `createdBy`: the state of the entry, and when and by whom it was created elsewhere. `updatedAt` and `updatedBy` always say when the line was imported, and by whom. The response is JSON Lines too: one result per line, in order, as soon as it is written, then a last line with the totals. Entries are created in the order of the lines. Lines are independent: a failed line does not affect the others, unless `stopOnError` is set. Your access is checked again for every group of lines. If it ends, the upload stops and the last line reports status 401. With an Idempotency-Key, a repeated request writes no line twice. A line with an `idempotencyKey` of its own is written once per key and Idempotency-Key, whatever its position.",
    query: BulkQuery,
    headers: IdempotencyKey.extend(OrbDefinition.shape),
    shaped: true,
    body: { required: true, content: { "application/x-ndjson": { schema: z.string() } } },
    responses: {
      200: {
        description: "One result per line, then the totals: `{ done, total, created, failed }`",
        content: { "application/x-ndjson": { schema: BulkLines } },
      },
    },
    problems: [400, 401, 403, 404, 413, 415],
    serve: createMany,
  }),
  managedOperation("entries.rekey", "/entries/rekey", {
    method: "post",
    operationId: "rekeyEntries",
    summary: "Encrypt sensitive values with the current keys",
    description: "For a whole platform or a large orb, use `npm run rekey`. The request can be repeated.",
    responses: { 200: json("Done", RekeySchema) },
    problems: [400, 401, 403, 404],
    serve: rekey,
  }),
  managedOperation("entries.read", "/search", searchStored),
  managedOperation("entries.read", "/activity", {
    method: "get",
    operationId: "listActivity",
    tags: ["Orbs: content"],
    summary: "List what happened in an orb",
    description:
      "Newest first: changes of entries, change sets and comments, uploads and descriptions of files, revisions of the document, and changes of accounts and their rights. Without values of entries. An upload is listed until an entry uses the file. Needs the right `manage` for names of accounts, for purges, for reveals and for the kind `access`.",
    query: ActivityQuery,
    responses: { 200: json("A page", ActivityPage) },
    problems: [400, 401, 403, 404],
    serve: activity,
  }),
  managedOperation("entries.read", "/trash", {
    method: "get",
    operationId: "listTrash",
    tags: ["Orbs: content"],
    summary: "List the deleted entries of an orb",
    description:
      "Those that were deleted last come first, each as it was before its deletion. `POST …/entries/{id}/restore` brings an entry back as a draft, `DELETE …/entries/{id}?purge=true` erases it.",
    query: TrashQuery,
    responses: { 200: json("A page", TrashPage) },
    problems: [400, 401, 403, 404],
    serve: trash,
  }),
] as const;

/** The rows of the table. */
const ROWS: readonly Operation[] = Object.values(operations);

/**
 * Returns the operation that a request asks for, or undefined if the path does not support the method.
 * @param move the change of the status that the path names, if it names one
 */
export function operationAt(at: AddressKind, method: string, move?: Move): Operation | undefined {
  const asked = method === "HEAD" ? "GET" : method;
  return move === undefined
    ? ROWS.find((row) => row.at === at && row.method === asked)
    : [operations[move]].find((row) => row.method === asked);
}

/** Returns the operation with an `operationId`. */
export function operationWithId(id: string): Operation | undefined {
  return ROWS.find((row) => row.id === id);
}

/** Returns the allowed methods of a kind of address. */
export function methodsOf(at: AddressKind): string[] {
  const methods = ROWS.flatMap((row) => (row.at === at ? [row.method] : []));
  if (methods.includes("GET")) methods.push("HEAD");
  return [...new Set(methods)].sort();
}
