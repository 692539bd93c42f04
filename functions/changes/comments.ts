/** The routes for comments on a change set. */
import { z } from "@hono/zod-openapi";
import { addComment, listComments, resolveComment } from "../../shared/changes/review/index.ts";
import { readCursor, writeCursor } from "../http/cursors.ts";
import { defineRoute } from "../http/router.ts";
import { json, jsonRequest } from "../http/schemas.ts";
import { type ChangeRoutes, PROBLEMS, pathsOf, SetParams } from "./place.ts";
import { CommentPage, CommentQuery, CommentView, commentView, NewComment } from "./schemas.ts";

const CommentParams = SetParams.extend({
  commentId: z.string().openapi({ param: { name: "commentId", in: "path" } }),
});
const OF_WRITES = [...PROBLEMS, 409, 429, 507] as const;

export function addCommentRoutes(place: ChangeRoutes): void {
  const { common, suffix, inOrb, router } = place;
  const path = `${pathsOf(place).one}/comments` as const;
  const list = defineRoute({
    ...common("changes.read"),
    method: "get",
    path,
    operationId: `listChangeComments${suffix}`,
    summary: "List the comments on a change set",
    description: "Oldest first.",
    request: { params: SetParams, query: CommentQuery },
    responses: { 200: json("A page", CommentPage) },
    problems: PROBLEMS,
  });
  const add = defineRoute({
    ...common("changes.comment"),
    method: "post",
    path,
    operationId: `commentChange${suffix}`,
    summary: "Comment on a change set, an entry in it, or a field of the entry",
    request: { params: SetParams, body: jsonRequest(NewComment) },
    responses: { 201: json("The comment", CommentView) },
    problems: OF_WRITES,
  });
  const resolve = defineRoute({
    ...common("changes.comment"),
    method: "post",
    path: `${path}/{commentId}/resolve` as const,
    operationId: `resolveChangeComment${suffix}`,
    summary: "Mark a comment as resolved",
    request: { params: CommentParams },
    responses: { 200: json("The comment", CommentView) },
    problems: [400, ...OF_WRITES],
  });
  router.openapi(list, async (c) => {
    const { limit, cursor } = c.req.valid("query");
    const set = c.req.valid("param").changeId;
    const after = readCursor("comments", cursor);
    const { orb } = inOrb(c);
    const { items, next } = await listComments(c.var.deps, c.var.actor, { orb, set, limit, after });
    return c.json({ items: items.map(commentView), nextCursor: writeCursor("comments", next) }, 200);
  });
  router.openapi(add, async (c) => {
    const input = { ...inOrb(c), set: c.req.valid("param").changeId, ...c.req.valid("json") };
    return c.json(commentView(await addComment(c.var.deps, c.var.actor, input)), 201);
  });
  router.openapi(resolve, async (c) => {
    const { changeId: set, commentId: comment } = c.req.valid("param");
    const resolved = await resolveComment(c.var.deps, c.var.actor, { ...inOrb(c), set, comment });
    return c.json(commentView(resolved), 200);
  });
}
