/** Routes that address an entry by the value of a unique field: `…/by/{field}/{value}`. */
import { requireMay } from "../../shared/access/authorize.ts";
import { type EntryKey, ownerOf, putEntry, readKey } from "../../shared/entry/index.ts";
import { comparableBy } from "../../shared/entry/model/index.ts";
import { type ListInput, listVisible, Reading } from "../../shared/entry/read/index.ts";
import { AppError } from "../../shared/kernel/errors.ts";
import { ifMatch } from "../http/etag.ts";
import { puttingTo, type ReadingWithin, readingFrom, selectingFrom } from "../http/within.ts";
import type { Places } from "./address.ts";
import { listQueryOf, readingOf } from "./list-input.ts";
import { get, revisionOf } from "./read.ts";
import type { OrbRequest } from "./request.ts";
import { changeIn, type Named, remove, update } from "./write.ts";

type Keyed = Places["keyed"];

/** Only a field that the caller may compare in lists can be a key, because a key tells whether an entry has a value. */
function keyOf({ schema, caller, pinned }: OrbRequest, { field, value }: Keyed): EntryKey {
  const comparable = comparableBy(schema, caller);
  return readKey(pinned?.compared(comparable) ?? comparable, field, value);
}

const isInChange = ({ c }: OrbRequest) => c.req.query("change") !== undefined;

/**
 * Returns the id of the entry that has a key within a change set; undefined if there is none. A set reserves no unique
 * values, so this looks for the entry as a list does.
 */
async function idWithin(
  request: OrbRequest,
  { field, value }: Keyed,
  reading: ListInput["reading"],
  { deps, pages }: ReadingWithin,
): Promise<string | undefined> {
  const asked = new URLSearchParams([
    [`filter[${field}][eq]`, value],
    ["limit", "1"],
  ]);
  const query = listQueryOf(request, reading, asked, []);
  const { items } = await listVisible(deps, { reading, choice: request.choiceOf({}), query, pages });
  return items[0]?.head.id;
}

const drafts = ({ live, schema, caller }: OrbRequest) => Reading.of(caller, live, schema, true);

/**
 * Returns the id of the entry to write. It is empty if there is none, which leads to the error for a missing entry. A write
 * into a set begins with the live revision, so the entry is looked for by its values. An entry whose value in the set is
 * another one still owns its value. The write checks that the entry has it in the set.
 */
async function ownerIn(request: OrbRequest, address: Keyed, key: EntryKey): Promise<string> {
  const { c, live, schema, caller } = request;
  const owner = async () => (await ownerOf(c.get("deps"), schema, key, "leader")) ?? "";
  if (!isInChange(request)) return owner();
  const within = await selectingFrom(c.get("deps"), caller.actor, live, { change: c.req.query("change") });
  return (await idWithin(request, address, drafts(request), within)) ?? owner();
}

/** Returns what `If-None-Match: *` and `If-Match: *` restrict a PUT to. */
function onlyOf({ c }: OrbRequest): "create" | "update" | undefined {
  const wanted = c.req.header("if-none-match")?.trim();
  if (wanted !== undefined && wanted !== "*")
    throw new AppError("malformed", "invalid_header", "If-None-Match must be *, to create the entry only.");
  const found = c.req.header("if-match");
  if (wanted !== undefined && found !== undefined)
    throw new AppError("malformed", "invalid_header", "Send If-Match or If-None-Match, not both.");
  return wanted !== undefined ? "create" : found !== undefined ? "update" : undefined;
}

export async function getBy(request: OrbRequest, address: Keyed): Promise<Response> {
  const reading = readingOf(request, revisionOf(request));
  const key = keyOf(request, address);
  if (!isInChange(request)) return get(request, { id: key });
  const { c, live, caller } = request;
  const { change } = c.req.query();
  const within = await readingFrom(c.get("deps"), caller.actor, live, { change }, reading.latest);
  return get(request, { id: (await idWithin(request, address, reading, within)) ?? "" });
}

export async function putBy(request: OrbRequest, address: Keyed): Promise<Response> {
  const { c, live, schema, caller } = request;
  requireMay(caller, "readDraft", { access: schema.access, own: true });
  const key = keyOf(request, address);
  const only = onlyOf(request);
  const query = request.query();
  const body = await request.body();
  const find = (within: ReadingWithin) => idWithin(request, address, drafts(request), within);
  const { deps, actor, ...into } = await puttingTo(
    c.get("deps"),
    caller.actor,
    live,
    query,
    { schema, key },
    find,
  );
  const { created, ...written } = await putEntry(deps, actor, {
    ...changeIn(request, body),
    ...into,
    ...request.localeOf(query),
    ...request.of,
    orbId: live.orb,
    orb: live,
    schema,
    key,
    keyName: address.field,
    only,
    ifMatch: ifMatch(c.req.header("if-match")),
    publish: query.publish === "true",
  });
  const collection = c.req.path.split("/").slice(0, -3).join("/");
  return request.answer(written, query, created ? 201 : 200, collection);
}

/** Returns the entry to change. Its key tells whether it exists, so the caller must be allowed to read drafts. */
async function toChange(request: OrbRequest, address: Keyed): Promise<Named> {
  const { caller, schema } = request;
  requireMay(caller, "readDraft", { access: schema.access, own: true });
  const key = keyOf(request, address);
  return { id: await ownerIn(request, address, key), key };
}

export async function updateBy(request: OrbRequest, address: Keyed): Promise<Response> {
  return update(request, await toChange(request, address));
}

export async function removeBy(request: OrbRequest, address: Keyed): Promise<Response> {
  return remove(request, await toChange(request, address));
}
