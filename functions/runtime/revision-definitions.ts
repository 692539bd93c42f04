/** Defines the routes for the history of entries. */
import { z } from "@hono/zod-openapi";
import { listedRevisions, oneRevision } from "../admin/entry-revisions.ts";
import { scopesFor } from "../http/prefixes.ts";
import { defineRoute } from "../http/router.ts";
import { Replayed, WriteHeaders } from "../http/schemas.ts";
import { Answering, answer, common, EntryParams, one } from "./definition-parts.ts";

const path = `${one}/revisions` as const;
const RevisionParams = EntryParams.extend({ revision: z.string().openapi({ example: "3" }) });

/** The properties that both routes below share. */
const reading = {
  method: "get",
  ...common,
  ...scopesFor("readRevisions"),
  problems: [400, 401, 403, 404],
} as const;

export const revisionDefinitions = {
  revisions: defineRoute({
    ...reading,
    path,
    operationId: "listRevisionsOf",
    summary: "List revisions of an entry",
    description: "Oldest first, or newest first with `sort=-revision`.",
    request: { params: EntryParams, query: listedRevisions.query },
    responses: listedRevisions.responses,
  }),
  revision: defineRoute({
    ...reading,
    path: `${path}/{revision}`,
    operationId: "getRevisionOf",
    summary: "Get a revision of an entry, or compare it with another one",
    description:
      "`values` has maps of all languages and markets, without the fields that the caller may not read.",
    request: { params: RevisionParams, query: oneRevision.query },
    responses: oneRevision.responses,
  }),
  revert: defineRoute({
    method: "post",
    path: `${path}/{revision}/restore`,
    operationId: "revertEntryOf",
    summary: "Restore an older revision as a new draft",
    description: "Fields that the caller may not read or not set keep their newest values.",
    ...common,
    ...scopesFor("update"),
    request: { params: RevisionParams, query: z.strictObject(Answering), headers: WriteHeaders },
    responses: { 200: answer("The new revision", Replayed) },
    problems: [400, 401, 403, 404, 409, 410, 412, 422, 429, 507],
  }),
} as const;
