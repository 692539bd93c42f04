/** Routes that read the history of an entry. */
import { compareRevisions, getRevision, listRevisions, revisionNumber } from "../../shared/entry/index.ts";
import { readPlace, writePlace } from "../http/cursors.ts";
import { revisionTag } from "../http/etag.ts";
import { parseQuery } from "../http/router.ts";
import { completeResponse } from "../middleware/headers.ts";
import { operations } from "./operations.ts";
import type { EntryRequest } from "./read.ts";

const whichOf = ({ live, schema, pinned }: EntryRequest, id: string) => ({
  orbId: live.orb,
  orb: live,
  schema,
  id,
  pinned,
});

function answer({ c, pinned }: EntryRequest, body: unknown, headers: Record<string, string> = {}): Response {
  return completeResponse(c, JSON.stringify(body), 200, {
    ...headers,
    "content-type": "application/json",
    "cache-control": "private, no-cache",
    vary: pinned === undefined ? "Authorization, Cookie" : "Authorization, Cookie, Orb-Definition",
  });
}

export async function revisions(request: EntryRequest, { id }: { id: string }): Promise<Response> {
  const { c, caller } = request;
  const { limit, cursor, sort, count } = parseQuery(operations.revisions.query, c.req.queries());
  const { items, next, total, newest } = await listRevisions(c.get("deps"), caller.actor, {
    ...whichOf(request, id),
    order: sort === "-revision" ? "desc" : "asc",
    limit,
    after: readPlace(sort, cursor),
    count: count === "true",
  });
  const nextCursor = writePlace(sort, next);
  return answer(
    request,
    { items, nextCursor, ...(total === undefined ? {} : { total }) },
    { etag: revisionTag(newest) },
  );
}

/** @param at.revision number of the revision, as written in the URL */
export async function revision(
  request: EntryRequest,
  { id, revision: number }: { id: string; revision: string },
): Promise<Response> {
  const { c, caller } = request;
  const { against } = parseQuery(operations.revision.query, c.req.queries());
  const deps = c.get("deps");
  const which = { ...whichOf(request, id), revision: revisionNumber(number) };
  if (against === undefined) return answer(request, await getRevision(deps, caller.actor, which));
  return answer(
    request,
    await compareRevisions(deps, caller.actor, { ...which, against: revisionNumber(against) }),
  );
}
