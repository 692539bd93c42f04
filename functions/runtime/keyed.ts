/** Routes that address an entry by the value of a unique field: `…/by/{field}/{value}`. */
import { requireMay } from "../../shared/access/authorize.ts";
import { type EntryKey, ownerOf, putEntry, readKey } from "../../shared/entry/index.ts";
import { comparableBy } from "../../shared/entry/model/fields.ts";
import { parseListQuery } from "../../shared/entry/query/query.ts";
import { listVisible } from "../../shared/entry/read/list.ts";
import { Reading } from "../../shared/entry/read/reading.ts";
import { AppError } from "../../shared/kernel/errors.ts";
import { ifMatch } from "../http/etag.ts";
import { readingFrom } from "../http/within.ts";
import type { Address } from "./address.ts";
import { readingOf } from "./list-input.ts";
import { bodies } from "./operations.ts";
import { choiceOf, type EntryRequest, get } from "./read.ts";
import {
  answer,
  bodyOf,
  changeIn,
  extrasOf,
  localeOf,
  type Named,
  remove,
  renewal,
  update,
} from "./write.ts";

type Keyed = Extract<Address, { kind: "keyed" }>;

/** Only a field that the caller may compare in lists can be a key, because a key tells whether an entry has a value. */
function keyOf({ schema, caller, pinned }: EntryRequest, { field, value }: Keyed): EntryKey {
  const comparable = comparableBy(schema, caller);
  return readKey(pinned?.compared(comparable) ?? comparable, field, value);
}

const isInChange = ({ c }: EntryRequest) => c.req.query("change") !== undefined;

/**
 * Returns the id of the entry that has a key within the change set of a request; empty if there is none. A set reserves
 * no unique values, so this looks for the entry as a list does.
 */
async function idInChange(
  { c, live, schema, caller }: EntryRequest,
  { field, value }: Keyed,
  reading: Reading,
): Promise<string> {
  const { change } = c.req.query();
  const { deps, pages } = await readingFrom(c.get("deps"), caller.actor, live, { change });
  const asked = new URLSearchParams([
    [`filter[${field}][eq]`, value],
    ["limit", "1"],
  ]);
  const list = {
    reading,
    choice: choiceOf(c, schema, {}),
    query: parseListQuery(asked, reading.readable, [], reading.comparable),
    pages,
  };
  const { items } = await listVisible(deps, list);
  return items[0]?.head.id ?? "";
}

/**
 * Returns the id of the entry to write. It is empty if there is none, which leads to the error for a missing entry. A write
 * into a set begins with the published revision, whose value may differ from that of a draft beside it. A list of the
 * newest revisions misses this value, but the entry still owns it. The write checks that the entry has it in the set.
 */
async function ownerIn(request: EntryRequest, address: Keyed, key: EntryKey): Promise<string> {
  const { c, live, schema, caller } = request;
  const owner = async () => (await ownerOf(c.get("deps"), schema, key, "leader")) ?? "";
  if (!isInChange(request)) return owner();
  return (await idInChange(request, address, Reading.of(caller, live, schema, true))) || owner();
}

/** Returns what `If-None-Match: *` and `If-Match: *` restrict a PUT to. */
function onlyOf({ c }: EntryRequest): "create" | "update" | undefined {
  const wanted = c.req.header("if-none-match")?.trim();
  if (wanted !== undefined && wanted !== "*")
    throw new AppError("malformed", "invalid_header", "If-None-Match must be *, to create the entry only.");
  const found = c.req.header("if-match");
  if (wanted !== undefined && found !== undefined)
    throw new AppError("malformed", "invalid_header", "Send If-Match or If-None-Match, not both.");
  return wanted !== undefined ? "create" : found !== undefined ? "update" : undefined;
}

export async function getBy(request: EntryRequest, address: Keyed): Promise<Response> {
  const reading = readingOf(request, request.c.req.query("revision"));
  const key = keyOf(request, address);
  return get(request, isInChange(request) ? await idInChange(request, address, reading) : key);
}

export async function putBy(request: EntryRequest, address: Keyed): Promise<Response> {
  const { c, live, schema, caller } = request;
  requireMay(caller, "readDraft", { access: schema.access, own: true });
  const key = keyOf(request, address);
  const only = onlyOf(request);
  const { publish, ...extra } = extrasOf(request);
  const { created, ...written } = await putEntry(c.get("deps"), caller.actor, {
    ...changeIn(request, await bodyOf(c, bodies.update)),
    ...localeOf(extra),
    orbId: live.orb,
    orb: live,
    schema,
    key,
    keyName: address.field,
    only,
    renew: renewal(request),
    ifMatch: ifMatch(c.req.header("if-match")),
    publish: publish === "true",
  });
  const collection = c.req.path.split("/").slice(0, -3).join("/");
  return answer(request, written, extra, created ? 201 : 200, collection);
}

/** Returns the entry to change. Its key tells whether it exists, so the caller must be allowed to read drafts. */
async function toChange(request: EntryRequest, address: Keyed): Promise<Named> {
  const { caller, schema } = request;
  requireMay(caller, "readDraft", { access: schema.access, own: true });
  const key = keyOf(request, address);
  return { id: await ownerIn(request, address, key), key };
}

export async function updateBy(request: EntryRequest, address: Keyed): Promise<Response> {
  return update(request, await toChange(request, address));
}

export async function removeBy(request: EntryRequest, address: Keyed): Promise<Response> {
  return remove(request, await toChange(request, address));
}
