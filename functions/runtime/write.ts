/** Writes of entries, at both addresses. The request says how the addresses differ. */
import {
  type archiveEntry,
  createEntry,
  deleteEntry,
  type publishEntry,
  requirePatch,
  revertEntry,
  revisionNumber,
  type Target,
  updateEntry,
} from "../../shared/entry/index.ts";
import type { PinnedRequest } from "../../shared/entry/pinned/index.ts";
import { ofOneWrite } from "../../shared/quotas/guesses.ts";
import { ifMatch } from "../http/etag.ts";
import { idempotencyOf, isKeyedUpdate } from "../http/idempotency.ts";
import { changePage, selectionOf } from "../http/many.ts";
import { selectingFrom, writingTo } from "../http/within.ts";
import type { EntryContent, EntryRequest } from "./request.ts";

/** The entry that a request names: by its id, or by a unique value that it must have. */
export type Named = Pick<Target, "id" | "key">;

/** @param keyed what the write does, as a part of the path of its keys. Without it, the write ignores the header `Idempotency-Key`. */
function targetOf(request: EntryRequest, { id, key }: Named, keyed?: string): Target {
  const { c, orbId, orb, of } = request;
  return {
    ...{ orbId, orb, id, key, ...of },
    ifMatch: ifMatch(c.req.header("if-match")),
    idempotency: keyed === undefined ? undefined : idempotencyOf(c, request.keyPath(`/${id}/${keyed}`)),
  };
}

/** Returns where a write goes: into the change set that the query names, or else into the entry. */
const destinationOf = ({ c, actor, orb }: EntryRequest) => writingTo(c.var.deps, actor, orb, c.req.query());

export async function create(request: EntryRequest): Promise<Response> {
  const { c, orbId, orb, of } = request;
  const query = request.query();
  const body = await request.body();
  const { module, schema } = await request.placeOf(body);
  const to = await destinationOf(request);
  const written = await createEntry(to.deps, to.actor, {
    ...{ orbId, orb, module, schema },
    ...{ values: body.values, validFrom: body.validFrom, validTo: body.validTo },
    ...request.localeOf(query),
    into: to.into,
    publish: query.publish === "true",
    renew: of.renew,
    shaping: request.pinned?.shaping,
    idempotency: idempotencyOf(c, request.keyPath("")),
  });
  return request.answer(written, query, 201);
}

/** Returns what a body changes. Its module and schema have the names of the live definition. */
export function changeIn({ pinned }: EntryRequest, body: EntryContent) {
  const { values, add, validFrom, validTo, id, orb, module, schema, fallback, revision } = body;
  const place = { id, orb, module, schema };
  return {
    ...{ values, add, validFrom, validTo },
    place: pinned?.place(place) ?? place,
    read: { fallback, ...(typeof revision === "number" ? { revision } : {}) },
    shaping: pinned?.shaping,
  };
}

/** Replaces all values of an entry. For a PATCH, the body contains only those to change. */
export async function update(request: EntryRequest, { id, key }: Named): Promise<Response> {
  const { c } = request;
  const query = request.query();
  const isKeyed = key === undefined && isKeyedUpdate(c);
  const target = targetOf(request, { id, key }, isKeyed ? c.req.method : undefined);
  const body = await request.body();
  const to = await destinationOf(request);
  const written = await updateEntry(to.deps, to.actor, {
    ...changeIn(request, body),
    ...request.localeOf(query),
    ...target,
    into: to.into,
    merge: c.req.method === "PATCH",
    // A client that names an entry by a key may send the same data again and again.
    skipsUnchanged: key !== undefined,
    publish: query.publish === "true",
  });
  return request.answer(written, query);
}

export async function remove(request: EntryRequest, named: Named): Promise<Response> {
  const { force, purge } = request.query();
  const to = await destinationOf(request);
  await deleteEntry(to.deps, to.actor, {
    ...targetOf(request, named),
    into: to.into,
    force: force === "true",
    purge: purge === "true",
  });
  return request.c.body(null, 204);
}

/** Changes the status of an entry. */
export type Verb = typeof archiveEntry | typeof publishEntry;

/** Returns what changes the status of an entry. */
export const moving =
  (name: string, verb: Verb) =>
  async (request: EntryRequest, { id }: { id: string }): Promise<Response> => {
    const query = request.query();
    const to = await destinationOf(request);
    const written = await verb(to.deps, to.actor, {
      ...targetOf(request, { id }, name),
      into: to.into,
      force: query.force === "true",
      locales: query.locales?.split(","),
    });
    return request.answer(written, query);
  };

/** @param at.revision number of the revision, as written in the URL */
export async function revert(
  request: EntryRequest,
  { id, revision }: { id: string; revision: string },
): Promise<Response> {
  const query = request.query();
  const written = await revertEntry(request.c.get("deps"), request.actor, {
    ...targetOf(request, { id }, `revisions/${revision}/restore`),
    revision: revisionNumber(revision),
  });
  return request.answer(written, query);
}

/** Query parameters that select the entries of a change of many entries. The others say how to change them. */
const SELECTING = ["module", "schema", "status", "limit", "cursor"];

/**
 * Changes the entries that the filters find among the newest revisions, each in a write of its own.
 * @param change changes one entry, and returns false if nothing had to change
 */
async function changeMany(
  request: EntryRequest,
  change: (
    target: Target & { dryRun: boolean },
    to: Awaited<ReturnType<typeof destinationOf>>,
    pinned: PinnedRequest | undefined,
  ) => Promise<boolean>,
): Promise<Response> {
  const { c, actor, orbId, orb, of } = request;
  const [selecting, own] = [true, false].map((isSelecting) =>
    [...request.operation.parameters.keys()].filter((name) => SELECTING.includes(name) === isSelecting),
  );
  const selection = selectionOf(c, own ?? [], selecting ?? []);
  const page = await request.select(selection, () => selectingFrom(c.var.deps, actor, orb, c.req.query()));
  const dryRun = c.req.query("dryRun") === "true";
  const target = { orbId, orb, ...of, dryRun };
  // Each write needs its own view of a change set.
  const shapes = new Map(page.items.map(({ id, shape }) => [id, shape]));
  const one = async (id: string) =>
    change({ ...target, id }, await destinationOf(request), shapes.get(id)?.());
  return c.json(await changePage(page, dryRun, one), 200);
}

export async function updateMany(request: EntryRequest): Promise<Response> {
  const query = request.c.req.query();
  const change = await request.body();
  requirePatch(change);
  return changeMany(request, async (target, to, pinned) => {
    const written = await updateEntry(ofOneWrite(to.deps), to.actor, {
      ...{ values: change.values, validFrom: change.validFrom, validTo: change.validTo },
      ...target,
      ...request.localeOf(query),
      shaping: pinned?.shaping,
      into: to.into,
      merge: true,
      skipsUnchanged: true,
      publish: query.publish === "true",
    }).catch((error: unknown) => {
      throw pinned?.error(error) ?? error;
    });
    return written.unchanged !== true;
  });
}

export async function removeMany(request: EntryRequest): Promise<Response> {
  const force = request.c.req.query("force") === "true";
  return changeMany(request, async (target, to) => {
    await deleteEntry(to.deps, to.actor, { ...target, force, into: to.into });
    return true;
  });
}
