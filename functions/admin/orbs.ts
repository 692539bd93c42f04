import { z } from "@hono/zod-openapi";
import type { PlatformOperation } from "../../shared/access/credentials/index.ts";
import { withdrawDefinition } from "../../shared/changes/proposal/index.ts";
import { orbDocumentSchema, STATUSES } from "../../shared/definition/document/index.ts";
import { lossHeaders } from "../../shared/definition/live-orb.ts";
import { lossesOf } from "../../shared/discovery/losses.ts";
import { orbContents } from "../../shared/orb/contents.ts";
import { createOrb } from "../../shared/orb/create.ts";
import { deleteOrb } from "../../shared/orb/operate.ts";
import { getOrb, listOrbs } from "../../shared/orb/read.ts";
import { patchOrb, tryPatch, tryUpdate, updateOrb } from "../../shared/orb/update.ts";
import { orbItem, orbView } from "../../shared/orb/view.ts";
import { readCursor, writeCursor } from "../http/cursors.ts";
import { ifMatch, matchesTag } from "../http/etag.ts";
import { idempotencyOf } from "../http/idempotency.ts";
import { type AdminPrefix, adminRoute, contentRoute, PREFIXES } from "../http/prefixes.ts";
import { defineRoute, newRouter, type Router } from "../http/router.ts";
import {
  IdempotencyKey,
  IfMatch,
  IfNoneMatch,
  json,
  jsonRequest,
  Location,
  OrbIdParam,
  pageQuery,
  Rebasing,
  Replayed,
  RevisionTag,
} from "../http/schemas.ts";
import { changesRights } from "../middleware/origin.ts";
import { orbAnswer, orbHeaders, proposeWithin, readWithin, rebaseWithin } from "./orb-answers.ts";
import { addLifecycle } from "./orb-lifecycle.ts";
import {
  ChangeInto,
  ChangeWithin,
  ContentsSchema,
  DryRunFlag,
  ForceFlag,
  OrbBody,
  OrbListSchema,
  OrbPatchBody,
  OrbSchema,
  outcome,
  PublishFlag,
} from "./orbs-schemas.ts";

export function orbRoutes(prefix: AdminPrefix) {
  const router = newRouter();
  if (prefix === PREFIXES[0]) router.openAPIRegistry.register("OrbDocument", orbDocumentSchema);
  addCollection(router, prefix);
  addDocument(router, prefix);
  addWrites(router, prefix);
  addDeletion(router, prefix);
  addWithin(router, prefix);
  addContents(router, prefix);
  addLifecycle(router, prefix);
  return router;
}

function addCollection(router: Router, prefix: AdminPrefix): void {
  const shared = (operation: PlatformOperation) => adminRoute(prefix, operation);

  const list = defineRoute({
    ...shared("orbs.list"),
    method: "get",
    path: prefix,
    operationId: "listOrbs",
    summary: "List orbs in order of creation",
    request: {
      query: pageQuery(["createdAt", "-createdAt"]).extend({ "filter[status]": z.enum(STATUSES).optional() }),
    },
    responses: { 200: json("A page", OrbListSchema) },
    problems: [400, 401, 403, 422],
  });
  router.openapi(list, async (c) => {
    const { limit, cursor, sort, count, "filter[status]": status } = c.req.valid("query");
    const page = await listOrbs(c.var.deps, c.var.actor, {
      limit,
      after: readCursor(sort, cursor),
      descending: sort === "-createdAt",
      status,
      count: count === "true",
    });
    return c.json(
      {
        items: page.orbs.map(orbItem),
        nextCursor: writeCursor(sort, page.next),
        ...(page.total === undefined ? {} : { total: page.total }),
      },
      200,
    );
  });

  const create = defineRoute({
    ...changesRights(shared("orbs.create")),
    method: "post",
    path: prefix,
    operationId: "createOrb",
    summary: "Create an orb",
    request: {
      headers: IdempotencyKey,
      query: z.strictObject({ publish: PublishFlag }),
      body: jsonRequest(OrbBody),
    },
    responses: { 201: json("Created", OrbSchema, { ...RevisionTag, ...Location, ...Replayed }) },
    problems: [401, 403, 409],
  });
  router.openapi(create, async (c) => {
    const orb = await createOrb(c.var.deps, c.var.actor, {
      document: await c.req.json<unknown>(),
      publish: c.req.valid("query").publish,
      idempotency: idempotencyOf(c),
    });
    c.header("location", `${prefix}/${orb.document.id}`);
    return c.json(orbAnswer(c, orb), 201);
  });
}

const WriteQuery = z.strictObject({
  publish: PublishFlag,
  dryRun: DryRunFlag,
  force: ForceFlag,
  change: ChangeInto,
});

function addDocument(router: Router, prefix: AdminPrefix): void {
  const shared = (operation: PlatformOperation) => adminRoute(prefix, operation);
  const one = `${prefix}/{orbId}` as const;

  const get = defineRoute({
    ...shared("orbs.read"),
    method: "get",
    path: one,
    operationId: "getOrb",
    summary: "Get an orb with all modules and schemas",
    request: {
      params: OrbIdParam,
      headers: IfNoneMatch,
      query: z.strictObject({
        revision: z
          .enum(["latest", "published"])
          .default("latest")
          .openapi({ description: "The newest revision or the live one" }),
        change: ChangeWithin,
      }),
    },
    responses: {
      200: json("The orb", OrbSchema, RevisionTag),
      304: { description: "Not modified" },
    },
    problems: [400, 401, 403, 404, 409],
  });
  router.openapi(get, async (c) => {
    const { revision, change } = c.req.valid("query");
    const published = revision === "published";
    const { orbId } = c.req.valid("param");
    if (change !== undefined) return c.json(await readWithin(c, orbId, { change, revision }), 200);
    const { orb, newest, loss } = await getOrb(c.var.deps, c.var.actor, { orb: orbId, published });
    c.set("lossHeaders", lossHeaders(loss));
    const variant = [published ? "published" : [], loss === undefined ? [] : `damaged-${loss.at}`].flat();
    const etag = orbHeaders(c, orb, newest, variant.length === 0 ? undefined : variant.join("-"));
    if (matchesTag(c.req.header("if-none-match"), etag)) return c.body(null, 304);
    const damaged = loss === undefined ? {} : { damaged: await lossesOf(c.var.deps, orbId) };
    return c.json({ ...orbView(orb), ...damaged }, 200);
  });
}

function addWrites(router: Router, prefix: AdminPrefix): void {
  const shared = (operation: PlatformOperation) => adminRoute(prefix, operation);
  const one = `${prefix}/{orbId}` as const;

  const put = defineRoute({
    ...changesRights(shared("orbs.write")),
    method: "put",
    path: one,
    operationId: "updateOrb",
    summary: "Update an orb",
    description:
      "Replaces the whole document. Writes a new revision and does not change the live one, unless `publish=true`. With `dryRun=true` it writes nothing and returns the change log and the effects on stored entries. With `change`, the document goes into a change set, and becomes live together with the set's entries.",
    request: {
      params: OrbIdParam,
      headers: IfMatch,
      query: WriteQuery,
      body: jsonRequest(OrbBody),
    },
    responses: {
      200: outcome(RevisionTag),
    },
    problems: [401, 403, 404, 409, 412],
  });
  router.openapi(put, async (c) => {
    const { dryRun, change, ...options } = c.req.valid("query");
    const document = await c.req.json<unknown>();
    const { orbId } = c.req.valid("param");
    if (change !== undefined)
      return c.json(await proposeWithin(c, orbId, { change, dryRun, ...options }, { document }), 200);
    const input = {
      orb: orbId,
      document,
      ifMatch: ifMatch(c.req.header("if-match")),
      ...options,
    };
    if (dryRun === true) return c.json(await tryUpdate(c.var.deps, c.var.actor, input), 200);
    const orb = await updateOrb(c.var.deps, c.var.actor, input);
    return c.json(orbAnswer(c, orb), 200);
  });

  const patch = defineRoute({
    ...changesRights(shared("orbs.write")),
    method: "patch",
    path: one,
    operationId: "patchOrb",
    summary: "Change parts of an orb",
    description:
      "JSON Merge Patch (RFC 7396). Writes a new revision that differs from the newest one only in what the body names. An array, such as `modules`, replaces the whole array. Null removes a property. The content type is `application/merge-patch+json` or `application/json`.",
    request: {
      params: OrbIdParam,
      headers: IfMatch,
      query: WriteQuery,
      body: jsonRequest(OrbPatchBody),
    },
    responses: { 200: outcome(RevisionTag) },
    problems: [401, 403, 404, 409, 412],
  });
  router.openapi(patch, async (c) => {
    const { dryRun, change, ...options } = c.req.valid("query");
    const { orbId } = c.req.valid("param");
    const patch = c.req.valid("json");
    if (change !== undefined)
      return c.json(await proposeWithin(c, orbId, { change, dryRun, ...options }, { patch }), 200);
    const input = {
      orb: orbId,
      patch,
      ifMatch: ifMatch(c.req.header("if-match")),
      ...options,
    };
    if (dryRun === true) return c.json(await tryPatch(c.var.deps, c.var.actor, input), 200);
    return c.json(orbAnswer(c, await patchOrb(c.var.deps, c.var.actor, input)), 200);
  });
}

function addDeletion(router: Router, prefix: AdminPrefix): void {
  const remove = defineRoute({
    ...adminRoute(prefix, "orbs.write"),
    method: "delete",
    path: `${prefix}/{orbId}` as const,
    operationId: "deleteOrb",
    summary: "Delete an orb with its entries and users",
    description: "Its revisions stay readable. Repeat the request to resume a deletion that was interrupted.",
    request: { params: OrbIdParam, headers: IfMatch },
    responses: { 204: { description: "Deleted" } },
    problems: [401, 403, 404, 409, 412],
  });
  router.openapi(remove, async (c) => {
    await deleteOrb(c.var.deps, c.var.actor, {
      orb: c.req.valid("param").orbId,
      ifMatch: ifMatch(c.req.header("if-match")),
    });
    return c.body(null, 204);
  });
}

const DefinitionParams = OrbIdParam.extend({
  changeId: z.string().openapi({ param: { name: "changeId", in: "path" }, description: "The set's id" }),
});

/** Adds the routes for the definition in a change set. */
function addWithin(router: Router, prefix: AdminPrefix): void {
  const path = `${prefix}/{orbId}/changes/{changeId}/definition` as const;
  const remove = defineRoute({
    ...adminRoute(prefix, "orbs.write"),
    tags: ["Change sets"],
    method: "delete",
    path,
    operationId: "removeDefinitionFromChange",
    summary: "Take the orb's document out of a change set",
    description: "The entries of the set stay in it.",
    request: { params: DefinitionParams },
    responses: { 204: { description: "Taken out" } },
    problems: [401, 403, 404, 409, 429],
  });
  const rebase = defineRoute({
    ...adminRoute(prefix, "orbs.write"),
    tags: ["Change sets"],
    method: "post",
    path: `${path}/rebase` as const,
    operationId: "rebaseDefinitionInChange",
    summary: "Merge the orb's document in a change set with the live one",
    description:
      "The document in the set then starts from the live one of now, and has what only the orb has changed since. `keep` names a side for each conflict. Approvals of the set end. Changes nothing if the orb has published no other document.",
    request: { params: DefinitionParams, headers: IfMatch, body: jsonRequest(Rebasing, false) },
    responses: { 200: json("The document in the set", OrbSchema, RevisionTag) },
    problems: [400, 401, 403, 404, 409, 412, 422, 429],
  });
  router.openapi(remove, async (c) => {
    const { orbId, changeId } = c.req.valid("param");
    await withdrawDefinition(c.var.deps, c.var.actor, { orb: orbId, set: changeId });
    return c.body(null, 204);
  });
  router.openapi(rebase, async (c) => {
    const { orbId, changeId } = c.req.valid("param");
    const { keep } = c.req.valid("json");
    return c.json(await rebaseWithin(c, orbId, { change: changeId, keep }), 200);
  });
}

function addContents(router: Router, prefix: AdminPrefix): void {
  const read = defineRoute({
    ...contentRoute(prefix, "orbs.read"),
    method: "get",
    path: `${prefix}/{orbId}/contents` as const,
    operationId: "countOrb",
    summary: "Count the entries, users and files of an orb",
    description: "Tells what a deletion would erase.",
    request: { params: OrbIdParam },
    responses: { 200: json("The counts", ContentsSchema) },
    problems: [401, 403, 404],
  });
  router.openapi(read, async (c) =>
    c.json(await orbContents(c.var.deps, c.var.actor, c.req.valid("param").orbId), 200),
  );
}
