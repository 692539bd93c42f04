/** Routes that read the history of an entry. */
import { compareRevisions, getRevision, listRevisions, revisionNumber } from "../../shared/entry/index.ts";
import { readPlace, writePlace } from "../http/cursors.ts";
import { revisionTag } from "../http/etag.ts";
import { parseQuery } from "../http/router.ts";
import { completeResponse } from "../middleware/headers.ts";
import { definitions } from "./definitions.ts";
import type { Reading } from "./read.ts";
import { requireWriter } from "./write.ts";

const whichOf = ({ live, schema }: Reading, id: string) => ({ orbId: live.orb, orb: live, schema, id });

function answer({ c }: Reading, body: unknown, headers: Record<string, string> = {}): Response {
  return completeResponse(c, JSON.stringify(body), 200, {
    ...headers,
    "content-type": "application/json",
    "cache-control": "private, no-cache",
    vary: "Authorization, Cookie",
  });
}

export async function revisions(reading: Reading, id: string): Promise<Response> {
  const { c, actor } = reading;
  requireWriter(reading, "readRevisions");
  const { limit, cursor, sort, count } = parseQuery(definitions.revisions.request.query, c.req.query());
  const { items, next, total, newest } = await listRevisions(c.get("deps"), actor, {
    ...whichOf(reading, id),
    order: sort === "-revision" ? "desc" : "asc",
    limit,
    after: readPlace(sort, cursor),
    count: count === "true",
  });
  const nextCursor = writePlace(sort, next);
  return answer(
    reading,
    { items, nextCursor, ...(total === undefined ? {} : { total }) },
    { etag: revisionTag(newest) },
  );
}

/** @param number number of the revision, as written in the URL */
export async function revision(reading: Reading, id: string, number: string): Promise<Response> {
  const { c, actor } = reading;
  requireWriter(reading, "readRevisions");
  const { against } = parseQuery(definitions.revision.request.query, c.req.query());
  const deps = c.get("deps");
  const which = { ...whichOf(reading, id), revision: revisionNumber(number) };
  if (against === undefined) return answer(reading, await getRevision(deps, actor, which));
  return answer(reading, await compareRevisions(deps, actor, { ...which, against: revisionNumber(against) }));
}
