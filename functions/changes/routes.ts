/** The routes for change sets: `/api/{orbId}/changes` and its twins of the management API. */
import type { Context } from "hono";
import { releaseClosed, requireEach } from "../../shared/changes/content/index.ts";
import {
  approveSet,
  closeSet,
  getSet,
  listSets,
  openSet,
  type ReviewedSet,
  rejectSet,
  requestReview,
  updateSet,
} from "../../shared/changes/review/index.ts";
import { readCursor, writeCursor } from "../http/cursors.ts";
import { revisionTag } from "../http/etag.ts";
import { defineRoute } from "../http/router.ts";
import { IfMatch, json, jsonRequest, Location, RevisionTag } from "../http/schemas.ts";
import type { AppEnv } from "../request/context.ts";
import { addCommentRoutes } from "./comments.ts";
import {
  type ChangeRoutes,
  OF_WRITES,
  Params,
  PROBLEMS,
  pathsOf,
  readContent,
  releaseOverdue,
  SetParams,
  target,
} from "./place.ts";
import {
  Approving,
  ChangePage,
  ChangeUpdate,
  ChangeView,
  changeView,
  ListQuery,
  listedChange,
  NewChange,
  Rejecting,
} from "./schemas.ts";

const one = (description: string) => json(description, ChangeView, RevisionTag);

/** Adds the routes of one place to a router. */
export function addChangeRoutes(place: ChangeRoutes): void {
  addCollection(place);
  addSet(place);
  addReview(place);
  addCommentRoutes(place);
}

function answer(c: Context<AppEnv>, found: ReviewedSet) {
  c.header("etag", revisionTag(found.set.revision));
  return c.json(changeView(found), 200);
}

function addCollection(place: ChangeRoutes): void {
  const { common, suffix, inOrb, router } = place;
  const paths = pathsOf(place);
  const list = defineRoute({
    ...common("changes.read"),
    method: "get",
    path: paths.all,
    operationId: `listChanges${suffix}`,
    summary: "List change sets",
    description: "Newest first. A caller who may read no drafts of others sees only their own sets.",
    request: { params: Params, query: ListQuery },
    responses: { 200: json("A page", ChangePage) },
    problems: PROBLEMS,
  });
  const open = defineRoute({
    ...common("changes.write"),
    method: "post",
    path: paths.all,
    operationId: `openChange${suffix}`,
    summary: "Open a change set",
    request: { params: Params, body: jsonRequest(NewChange) },
    responses: { 201: json("The new set", ChangeView, { ...RevisionTag, ...Location }) },
    problems: [...PROBLEMS, 409, 429, 507],
  });
  router.openapi(list, async (c) => {
    const query = c.req.valid("query");
    const { items, next } = await listSets(c.var.deps, c.var.actor, {
      orb: inOrb(c).orb,
      state: query["filter[state]"],
      author: query["filter[author]"],
      entry: query["filter[entry]"],
      mentions: query["filter[mentions]"],
      limit: query.limit,
      after: readCursor("changes", query.cursor),
    });
    releaseOverdue(c, inOrb(c).orbId, items);
    return c.json({ items: items.map(listedChange), nextCursor: writeCursor("changes", next) }, 200);
  });
  router.openapi(open, async (c) => {
    const of = inOrb(c);
    const input = { ...of, ...c.req.valid("json") };
    const opened = await openSet(c.var.deps, c.var.actor, input, readContent);
    c.header("etag", revisionTag(1));
    c.header("location", `${c.req.path.replace(/\/$/, "")}/${opened.set.id}`);
    return c.json(changeView(opened), 201);
  });
}

function addSet(place: ChangeRoutes): void {
  const { common, suffix, router } = place;
  const path = pathsOf(place).one;
  const get = defineRoute({
    ...common("changes.read"),
    method: "get",
    path,
    operationId: `getChange${suffix}`,
    summary: "Get a change set",
    request: { params: SetParams },
    responses: { 200: one("The set") },
    problems: PROBLEMS,
  });
  const update = defineRoute({
    ...common("changes.write"),
    method: "patch",
    path,
    operationId: `updateChange${suffix}`,
    summary: "Change the title, the description or the planned time of a change set",
    request: { params: SetParams, headers: IfMatch, body: jsonRequest(ChangeUpdate) },
    responses: { 200: one("The set") },
    problems: OF_WRITES,
  });
  const close = defineRoute({
    ...common("changes.write"),
    method: "delete",
    path,
    operationId: `closeChange${suffix}`,
    summary: "Close a change set without publishing it",
    description: "The set stays readable, in the state `CLOSED`.",
    request: { params: SetParams, headers: IfMatch },
    responses: { 204: { description: "Closed" } },
    problems: [400, ...OF_WRITES],
  });
  router.openapi(get, async (c) => {
    const { set, orb, orbId } = target(place, c, c.req.valid("param"), {});
    const found = await getSet(c.var.deps, c.var.actor, { orb, set }, readContent);
    releaseOverdue(c, orbId, [found.set]);
    return answer(c, found);
  });
  router.openapi(update, async (c) => {
    const of = target(place, c, c.req.valid("param"), c.req.valid("header"));
    return answer(
      c,
      await updateSet(c.var.deps, c.var.actor, { ...of, ...c.req.valid("json") }, readContent, requireEach),
    );
  });
  router.openapi(close, async (c) => {
    const of = target(place, c, c.req.valid("param"), c.req.valid("header"));
    await closeSet(c.var.deps, c.var.actor, of);
    await releaseClosed(c.var.deps, await of.orb, of.set);
    return c.body(null, 204);
  });
}

function addReview(place: ChangeRoutes): void {
  const { common, suffix, router } = place;
  const path = pathsOf(place).one;
  const review = defineRoute({
    ...common("changes.write"),
    method: "post",
    path: `${path}/review`,
    operationId: `reviewChange${suffix}`,
    summary: "Ask for a review of a change set",
    description: "Approvals of earlier content end.",
    request: { params: SetParams, headers: IfMatch },
    responses: { 200: one("The set") },
    problems: [400, ...OF_WRITES],
  });
  const approve = defineRoute({
    ...common("changes.approve"),
    method: "post",
    path: `${path}/approve`,
    operationId: `approveChange${suffix}`,
    summary: "Approve the content of a change set",
    description:
      "The approval holds for the present content only. The state becomes `APPROVED` once all review rules are met.",
    request: { params: SetParams, headers: IfMatch, body: jsonRequest(Approving, false) },
    responses: { 200: one("The set") },
    problems: OF_WRITES,
  });
  const reject = defineRoute({
    ...common("changes.approve"),
    method: "post",
    path: `${path}/reject`,
    operationId: `rejectChange${suffix}`,
    summary: "Send a change set back to its authors",
    description: "All approvals of the set end.",
    request: { params: SetParams, headers: IfMatch, body: jsonRequest(Rejecting) },
    responses: { 200: one("The set") },
    problems: OF_WRITES,
  });
  router.openapi(review, async (c) => {
    const of = target(place, c, c.req.valid("param"), c.req.valid("header"));
    return answer(c, await requestReview(c.var.deps, c.var.actor, of, readContent));
  });
  router.openapi(approve, async (c) => {
    const of = target(place, c, c.req.valid("param"), c.req.valid("header"));
    const { hash, comment } = c.req.valid("json");
    return answer(c, await approveSet(c.var.deps, c.var.actor, { ...of, hash, comment }, readContent));
  });
  router.openapi(reject, async (c) => {
    const of = target(place, c, c.req.valid("param"), c.req.valid("header"));
    const { comment } = c.req.valid("json");
    return answer(c, await rejectSet(c.var.deps, c.var.actor, { ...of, comment }, readContent));
  });
}
