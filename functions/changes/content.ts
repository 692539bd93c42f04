/** The routes for the content of change sets: comparison, publication, and the entries in a set. */
import { z } from "@hono/zod-openapi";
import type { Context } from "hono";
import { type Principal, principalIn } from "../../shared/access/authorize.ts";
import {
  diffSet,
  publishSet,
  rebaseEntry,
  revertSet,
  takeOut,
  undoSets,
} from "../../shared/changes/content/index.ts";
import { definitionDiff } from "../../shared/changes/definition/index.ts";
import { LONGEST } from "../../shared/changes/record/index.ts";
import { publishedWith, reviewed } from "../../shared/changes/review/index.ts";
import type { OrbContext } from "../../shared/entry/model/index.ts";
import { readCursor, readId, writeCursor, writeId } from "../http/cursors.ts";
import { revisionTag } from "../http/etag.ts";
import { defineRoute } from "../http/router.ts";
import { IfMatch, json, jsonRequest, Location, Rebasing, RevisionTag } from "../http/schemas.ts";
import type { AppEnv } from "../request/context.ts";
import { Diff, DiffQuery, Published, Publishing, Rebased } from "./content-schemas.ts";
import {
  type ChangeRoutes,
  OF_WRITES,
  Params,
  PROBLEMS,
  pathsOf,
  readContent,
  SetParams,
  target,
} from "./place.ts";
import { ChangeView, changeView, UndoneToken, UndoQuery } from "./schemas.ts";

const EntryInSet = SetParams.extend({
  entryId: z.string().openapi({ param: { name: "entryId", in: "path" }, description: "The entry's id" }),
});

const TokenParams = Params.extend({
  tokenId: z.string().openapi({ param: { name: "tokenId", in: "path" }, description: "The token's id" }),
});

interface Within {
  context: OrbContext;
  caller: Principal;
}

async function within(place: ChangeRoutes, c: Context<AppEnv>): Promise<Within> {
  const context = await place.inOrb(c).orb;
  return { context, caller: principalIn(c.var.actor, context.orb, context.compiled) };
}

/** Adds the routes of one place to a router. */
export function addContentRoutes(place: ChangeRoutes): void {
  addDiff(place);
  addPublication(place);
  addUndo(place);
  addEntries(place);
}

function addDiff(place: ChangeRoutes): void {
  const { common, suffix, router } = place;
  const diff = defineRoute({
    ...common("changes.read"),
    method: "get",
    path: `${pathsOf(place).one}/diff` as const,
    operationId: `diffChange${suffix}`,
    summary: "Compare a change set with the orb",
    description: "In order of the entries' ids, without the entries and fields that the caller may not read.",
    request: { params: SetParams, query: DiffQuery },
    responses: { 200: json("A page", Diff) },
    problems: PROBLEMS,
  });
  router.openapi(diff, async (c) => {
    const { changeId } = c.req.valid("param");
    const { limit, cursor } = c.req.valid("query");
    const kind = `changes-${changeId}`;
    const { context, caller } = await within(place, c);
    const input = { set: changeId, limit, after: readId(kind, cursor) };
    const { deps, actor } = c.var;
    const { next, ...page } = await diffSet(deps, caller, context, input);
    const isFirst = input.after === undefined;
    const definition = isFirst ? await definitionDiff(deps, actor, context, changeId) : null;
    return c.json({ ...page, definition, nextCursor: writeId(kind, next) }, 200);
  });
}

function addPublication(place: ChangeRoutes): void {
  const { common, suffix, router } = place;
  const paths = pathsOf(place);
  const publish = defineRoute({
    ...common("changes.publish"),
    method: "post",
    path: `${paths.one}/publish` as const,
    operationId: `publishChange${suffix}`,
    summary: "Publish a change set",
    description:
      "All entries become live together, or none does. So does the definition of the orb, if the set contains one. What others have changed meanwhile stays, unless it is in the same places: then 409 `change_conflict` lists these.",
    request: { params: SetParams, headers: IfMatch, body: jsonRequest(Publishing, false) },
    responses: { 200: json("What was published", Published, RevisionTag) },
    problems: [...OF_WRITES, 413],
  });
  const revert = defineRoute({
    ...common("changes.write"),
    method: "post",
    path: `${paths.one}/revert` as const,
    operationId: `revertChange${suffix}`,
    summary: "Take back what a change set has published",
    description:
      "Opens a new set, which is reviewed and published like any other. What has no room in it, or is taken out of it, can be taken back by another request.",
    request: { params: SetParams },
    responses: { 201: json("The new set", ChangeView, { ...RevisionTag, ...Location }) },
    problems: [400, ...PROBLEMS, 409, 413, 422, 429, 507],
  });
  router.openapi(publish, async (c) => {
    const of = target(place, c, c.req.valid("param"), c.req.valid("header"));
    const { hash } = c.req.valid("json");
    const { set, content, entries } = await publishSet(c.var.deps, c.var.actor, { ...of, hash });
    c.header("etag", revisionTag(set.revision));
    return c.json({ change: changeView(reviewed(await of.orb, set, content)), items: entries }, 200);
  });
  router.openapi(revert, async (c) => {
    const { orbId, changeId } = c.req.valid("param");
    const { context, caller } = await within(place, c);
    const set = await revertSet(c.var.deps, caller, context, { set: changeId });
    c.header("etag", revisionTag(set.revision));
    c.header("location", `${paths.all.replace("{orbId}", orbId)}/${set.id}`);
    return c.json(changeView(reviewed(context, set, await readContent(c.var.deps, context, set))), 201);
  });
}

/** Adds the route that takes back what an API token has published. */
function addUndo(place: ChangeRoutes): void {
  const { common, suffix, router } = place;
  const { all } = pathsOf(place);
  const undo = defineRoute({
    ...common("changes.write"),
    method: "post",
    path: `${all}/tokens/{tokenId}/undo` as const,
    operationId: `undoToken${suffix}`,
    summary: "Take back all change sets of an API token",
    description:
      "Opens a new set, which takes back the newest 50 published sets that the token has opened or published, and what it has published without a set.",
    request: { params: TokenParams, query: UndoQuery },
    responses: { 201: json("The new set", UndoneToken, { ...RevisionTag, ...Location }) },
    problems: [400, ...PROBLEMS, 409, 413, 422, 429, 507],
  });
  router.openapi(undo, async (c) => {
    const { orbId, tokenId } = c.req.valid("param");
    const { cursor } = c.req.valid("query");
    const kind = `undo-${tokenId}`;
    const after = readCursor(kind, cursor);
    const { context, caller } = await within(place, c);
    const found = await publishedWith(c.var.deps, caller, context, tokenId);
    const { sets, more, tooFar } = found;
    const title = `Take back: API token ${tokenId}`.slice(0, LONGEST.title);
    const cursorOf = (next: number) => writeCursor(kind, next);
    const input = { sets, title, token: tokenId, after, nothing: tooFar, cursorOf };
    const { set, isWhole, next } = await undoSets(c.var.deps, caller, context, input);
    c.header("etag", revisionTag(set.revision));
    c.header("location", `${all.replace("{orbId}", orbId)}/${set.id}`);
    const view = changeView(reviewed(context, set, await readContent(c.var.deps, context, set)));
    const nextCursor = isWhole ? writeCursor(kind, next) : (cursor ?? null);
    return c.json({ ...view, more: more || !isWhole || next !== null, nextCursor }, 201);
  });
}

function addEntries(place: ChangeRoutes): void {
  const { common, suffix, router } = place;
  const path = `${pathsOf(place).one}/entries/{entryId}` as const;
  const remove = defineRoute({
    ...common("changes.write"),
    method: "delete",
    path,
    operationId: `removeFromChange${suffix}`,
    summary: "Take an entry out of a change set",
    request: { params: EntryInSet },
    responses: { 204: { description: "Taken out" } },
    problems: [400, ...PROBLEMS, 409, 429],
  });
  const rebase = defineRoute({
    ...common("changes.write"),
    method: "post",
    path: `${path}/rebase` as const,
    operationId: `rebaseInChange${suffix}`,
    summary: "Solve the conflicts of an entry in a change set",
    description:
      "The version in the set then starts from the live revision of now. `keep` names a value for each conflict.",
    request: { params: EntryInSet, headers: IfMatch, body: jsonRequest(Rebasing, false) },
    responses: { 200: json("The version in the set", Rebased, RevisionTag) },
    problems: OF_WRITES,
  });
  router.openapi(remove, async (c) => {
    const { changeId, entryId } = c.req.valid("param");
    const { context, caller } = await within(place, c);
    await takeOut(c.var.deps, caller, context, { set: changeId, entry: entryId });
    return c.body(null, 204);
  });
  router.openapi(rebase, async (c) => {
    const param = c.req.valid("param");
    const { ifMatch } = target(place, c, param, c.req.valid("header"));
    const { keep = {} } = c.req.valid("json");
    const { context, caller } = await within(place, c);
    const input = { set: param.changeId, entry: param.entryId, keep, ifMatch };
    const { snapshot } = await rebaseEntry(c.var.deps, caller, context, input);
    const { module, schema, id, revision } = snapshot;
    c.header("etag", revisionTag(revision));
    return c.json({ module, schema, id, revision }, 200);
  });
}
