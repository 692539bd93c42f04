/** Reads of the management API. They show stored entries as they are, with maps of all languages and markets. */
import { z } from "@hono/zod-openapi";
import { principalIn } from "../../shared/access/authorize.ts";
import { revealValues } from "../../shared/entry/index.ts";
import { getManaged, listManaged } from "../../shared/entry/read/index.ts";
import { shapeTag } from "../admin/entry-schemas.ts";
import { matchesTag, revisionTag, withVariant } from "../http/etag.ts";
import { parseQuery } from "../http/router.ts";
import { readingFrom } from "../http/within.ts";
import { StoredGetParameters } from "./definition-parts.ts";
import { type ManagedRequest, searchOf } from "./request.ts";

const StoredGet = z.strictObject(StoredGetParameters);

export async function listStored({
  c,
  actor,
  orb: loading,
  items: pinned,
}: ManagedRequest): Promise<Response> {
  const orb = await loading;
  const { deps, pages } = await readingFrom(c.var.deps, actor, orb, c.req.query(), true);
  return c.json(await listManaged(deps, actor, { orb, parameters: [...searchOf(c)], pages, pinned }), 200);
}

export async function getStored(request: ManagedRequest, { id }: { id: string }): Promise<Response> {
  const { c, actor, orbId, orb, items } = request;
  const query = parseQuery(StoredGet, c.req.queries());
  const { at, reveal, revision } = query;
  const { deps, tag } = await readingFrom(c.var.deps, actor, orb, query, true);
  const found = await getManaged(deps, actor, { orbId, orb, id, revision, at });
  const { newest, context } = found;
  const pinned = items?.request(found.schema);
  const shown = (view: typeof found.view) => pinned?.whole(view) ?? view;
  const etag = withVariant(withVariant(revisionTag(newest), tag?.()), shapeTag(pinned));
  c.header("etag", etag);
  if (reveal === "true") {
    c.header("cache-control", "no-store");
    const caller = principalIn(actor, orbId, context.compiled);
    const values = await revealValues(deps, caller, { ...found, orb: context });
    return c.json(shown({ ...found.view, values }), 200);
  }
  // The ETag is the number of the newest revision. A response with an older revision therefore has no ETag.
  const plain = at === undefined && revision !== "published";
  if (plain && matchesTag(c.req.header("if-none-match"), etag)) return c.body(null, 304);
  return c.json(shown(found.view), 200);
}
