/** Reads the history of an entry, at both addresses. */
import { compareRevisions, getRevision, listRevisions, revisionNumber } from "../../shared/entry/index.ts";
import { ListedRevisions, OneRevision } from "../admin/entry-revisions.ts";
import { shapeTag } from "../admin/entry-schemas.ts";
import { readPlace, writePlace } from "../http/cursors.ts";
import { revisionTag, withVariant } from "../http/etag.ts";
import { parseQuery } from "../http/router.ts";
import type { EntryRequest } from "./request.ts";

const whichOf = ({ orbId, orb, of, pinned }: EntryRequest, id: string) => ({
  ...{ orbId, orb, id, pinned },
  schema: of.schema,
});

export async function revisions(request: EntryRequest, { id }: { id: string }): Promise<Response> {
  const { c, actor } = request;
  const { limit, cursor, sort, count } = parseQuery(ListedRevisions, c.req.queries());
  const { items, next, total, newest } = await listRevisions(c.get("deps"), actor, {
    ...whichOf(request, id),
    order: sort === "-revision" ? "desc" : "asc",
    limit,
    after: readPlace(sort, cursor),
    count: count === "true",
  });
  const etag = withVariant(revisionTag(newest), shapeTag(request.pinned));
  const nextCursor = writePlace(sort, next);
  const body = { items, nextCursor, ...(total === undefined ? {} : { total }) };
  return c.json(body, 200, { ...request.historyHeaders, etag });
}

/** @param at.revision number of the revision, as written in the URL */
export async function revision(
  request: EntryRequest,
  { id, revision: number }: { id: string; revision: string },
): Promise<Response> {
  const { c, actor } = request;
  const { against } = parseQuery(OneRevision, c.req.queries());
  const deps = c.get("deps");
  const which = { ...whichOf(request, id), revision: revisionNumber(number) };
  const found =
    against === undefined
      ? await getRevision(deps, actor, which)
      : await compareRevisions(deps, actor, { ...which, against: revisionNumber(against) });
  return c.json({ ...found }, 200, request.historyHeaders);
}
