/**
 * Requests about the entries of an application. Requests of platform admins use the management API, which includes
 * drafts, history and all module types. Requests of an application's users use the runtime API of the published
 * application. Both APIs return values as maps of all languages and markets.
 */
import type { FoundEntries } from "../../../shared/client/found.ts";
import { followList } from "../../../shared/client/live.ts";
import { isProblem } from "../../../shared/client/problem.ts";
import { isPassing, newKey } from "../../../shared/client/transport.ts";
import type { Entry, RevisionItem, Status } from "../../../shared/client/types.ts";
import { get, pathOf, post, put, type ReadOptions, remove, send, sessionEnded, transport } from "./http.ts";
import { orbPath, type Page } from "./orbs.ts";

export type { RevisionItem } from "../../../shared/client/types.ts";

export interface EntryItem extends Omit<Entry<Readonly<Record<string, unknown>>>, "status"> {
  status: Status | "DELETED";
}

export interface EntryChange {
  values?: Readonly<Record<string, unknown>>;
  validFrom?: string | null;
  validTo?: string | null;
}

/** The entries of one schema. */
export interface EntryPlace {
  orb: string;
  module: string;
  schema: string;
  /** Whether the caller is a platform admin. */
  managed: boolean;
  /** Id of the change set in which the caller reads and writes; undefined to read and write the entries themselves. */
  change?: string | undefined;
}

export type EntryMove = "publish" | "unpublish" | "archive" | "restore";

const collectionPath = ({ orb, module, schema, managed }: EntryPlace) =>
  managed ? `${orbPath(orb)}/entries` : `/api${pathOf(orb, module, schema)}`;
const entryPath = (place: EntryPlace, id: string) => `${collectionPath(place)}${pathOf(id)}`;

/** Query parameters for values in all languages, which the runtime API returns only on request, and for the change set. */
const everything = ({ managed, change }: EntryPlace): Record<string, string> => ({
  ...(managed ? {} : { locale: "*" }),
  ...(change === undefined ? {} : { change }),
});

/**
 * Lists entries, including drafts. `query` accepts `filter[name][op]`, `sort`, `limit`, `cursor` and `count`. For
 * platform admins, it also accepts `status` and `at`. Users who may not read drafts must set `revision` to `published`.
 */
export function listEntries(
  place: EntryPlace,
  { query, signal }: { query?: URLSearchParams; signal?: AbortSignal } = {},
): Promise<Page<EntryItem>> {
  const search = new URLSearchParams(query);
  if (place.managed) {
    search.set("module", place.module);
    search.set("schema", place.schema);
  } else {
    search.set("locale", "*");
    if (!search.has("revision")) search.set("revision", "latest");
  }
  if (place.change !== undefined) search.set("change", place.change);
  return get(collectionPath(place), { query: search, signal });
}

/**
 * Receives changes of a list live, through the runtime API even for platform admins. The entries contain their state
 * but no values.
 * @param render called with all entries after the first complete load, and after each change
 * @param onRefused called if the platform rejects the request; the argument tells whether the client will retry
 * @returns a function that stops following
 */
export function followEntries(
  { orb, module, schema }: EntryPlace,
  options: {
    filter: Readonly<Record<string, unknown>>;
    search: string | undefined;
    missing: string | undefined;
    drafts: boolean;
  },
  render: (items: readonly EntryItem[]) => void,
  onRefused: (again: boolean) => void,
): () => void {
  const { filter, search, missing, drafts } = options;
  return followList(
    transport,
    `/api${pathOf(orb, module, schema)}`,
    {
      filter,
      fields: ["id"],
      locale: "*",
      revision: drafts ? "latest" : "published",
      ...(search === undefined ? {} : { search }),
      ...(missing === undefined ? {} : { missing }),
    },
    (items) => render(items as EntryItem[]),
    {
      onError({ status }) {
        if (status === 401) sessionEnded.value = true;
        onRefused(isPassing(status));
      },
    },
  );
}

/**
 * Returns the number of entries that the caller sees; undefined if the platform would have to read too many.
 * @param drafts whether the caller may read drafts
 */
export async function countVisible(
  place: EntryPlace,
  drafts: boolean,
  signal?: AbortSignal,
): Promise<number | undefined> {
  const query = new URLSearchParams({ count: "true", limit: "1", fields: "id" });
  query.set("revision", drafts ? "latest" : "published");
  const { total, totalExact } = await listEntries(place, { query, ...(signal ? { signal } : {}) });
  return totalExact === false ? undefined : total;
}

/** Counts the entries that lack a language. `exact` is false if there are more than the request could count. */
export async function countMissing(
  place: EntryPlace,
  language: string,
  signal?: AbortSignal,
): Promise<{ count: number; exact: boolean }> {
  const query = new URLSearchParams({ count: "true", limit: "1", missing: language });
  const { total, totalExact } = await listEntries(place, { query, ...(signal ? { signal } : {}) });
  return { count: total ?? 0, exact: totalExact !== false };
}

/** Reads up to 100 entries of any schema by id. Leaves out those that are gone. Platform admins only. */
export async function readNamed(
  orb: string,
  ids: readonly string[],
  signal?: AbortSignal,
): Promise<ReadonlyMap<string, EntryItem>> {
  if (ids.length === 0) return new Map();
  const query = { "filter[id][in]": ids.join(","), limit: ids.length };
  const { items } = await get<Page<EntryItem>>(`${orbPath(orb)}/entries`, { query, signal });
  return new Map(items.map((item) => [item.id, item]));
}

/**
 * Searches the entries of all schemas, in all languages.
 * @param place.drafts whether the caller may read drafts of some schema
 */
export function searchEntries(
  { orb, managed, drafts, change }: Pick<EntryPlace, "orb" | "managed" | "change"> & { drafts: boolean },
  text: string,
  { limit, signal }: { limit: number; signal: AbortSignal },
): Promise<FoundEntries> {
  const revision = drafts ? "latest" : "published";
  const query = { q: text, limit, change, ...(managed ? {} : { locale: "*", revision }) };
  return get(`${managed ? orbPath(orb) : `/api${pathOf(orb)}`}/search`, { query, signal });
}

/** Returns the revision on which a change is based. In a set, a draft beside the live version does not count. */
export const revisionIn = (
  { change }: EntryPlace,
  { revision, publishedRevision }: Pick<EntryItem, "revision" | "publishedRevision">,
): number => (change === undefined ? revision : Math.min(revision, publishedRevision ?? revision));

/**
 * Reads an entry: its newest revision, or in a change set the entry as the set will leave it. `query` accepts
 * `revision`, and outside of a set `reveal` and `at`.
 */
export async function readEntry(
  place: EntryPlace,
  id: string,
  options: ReadOptions = {},
): Promise<EntryItem> {
  const given = options.query as Record<string, string> | undefined;
  const read = (query: Record<string, string>) =>
    get<EntryItem>(entryPath(place, id), { ...options, query: { ...query, ...everything(place), ...given } });
  // A time in the past selects the revision itself.
  if (given?.at !== undefined) return read({});
  const newest = await read({ revision: "latest" });
  return given?.revision !== undefined || revisionIn(place, newest) === newest.revision
    ? newest
    : read({ revision: "published" });
}

export function createEntry(place: EntryPlace, change: EntryChange, publish = false): Promise<EntryItem> {
  const query = { ...everything(place), ...(publish ? { publish } : {}) };
  const { module, schema } = place;
  return post(collectionPath(place), place.managed ? { module, schema, ...change } : change, { query });
}

/** An entry that an import has created. */
export type Made = Pick<EntryItem, "id" | "revision">;

/**
 * Creates an entry from JSON text, which is sent as it is.
 * @param options.key idempotency key
 * @returns the entry, and whether an earlier request with this key had created it
 */
export async function createText(
  place: EntryPlace,
  body: string,
  { key, publish }: { key: string; publish: boolean },
): Promise<{ replayed: boolean; made: Made }> {
  const response = await send("POST", collectionPath(place), undefined, {
    query: { ...everything(place), ...(publish ? { publish } : {}) },
    headers: { "idempotency-key": key },
    text: { body, type: "application/json" },
  });
  const made = (await response.json()) as Made;
  return { replayed: response.headers.get("idempotent-replayed") === "true", made };
}

/** The result for a line of a bulk upload. */
export interface LineResult {
  line: number;
  status: number;
  id?: string;
  revision?: number;
  replayed?: boolean;
  /** With `match`, what became of the entry. */
  act?: "created" | "updated" | "unchanged" | "skipped";
  code?: string;
  detail?: string;
  errors?: readonly { path: string; code: string; message: string }[];
}

/**
 * Changes the entry with a unique value as by a JSON Merge Patch, or creates it. For callers of the runtime API.
 * @param body JSON of a new entry, which is sent as it is
 * @returns the entry if it was created, otherwise what became of it
 */
export async function writeMatched(
  place: EntryPlace,
  [field, value]: readonly [string, string],
  body: string,
  { key, publish }: { key: string; publish: boolean },
): Promise<Made | "updated" | "unchanged"> {
  const path = `${collectionPath(place)}/by/${encodeURIComponent(field)}/${encodeURIComponent(value)}`;
  const query = { ...everything(place), ...(publish ? { publish } : {}) };
  const text = { body, type: "application/json" };
  const change = async () => {
    const response = await send("PATCH", path, undefined, { query, text });
    return response.headers.get("entry-unchanged") === "true" ? "unchanged" : "updated";
  };
  try {
    return await change();
  } catch (error) {
    if (!isProblem(error, "entry_not_found")) throw error;
  }
  try {
    return (await createText(place, body, { key, publish })).made;
  } catch (error) {
    // Another client has created the entry meanwhile.
    if (!isProblem(error, "unique_conflict")) throw error;
    return change();
  }
}

/**
 * Creates entries from lines of JSON, which are sent as they are, in their order. Only for platform admins.
 * @param match unique field: a line with the value of an entry changes that entry
 * @returns the results, in the order of the lines. If the request ends early, the last ones are missing.
 */
export async function createLines(
  place: EntryPlace,
  lines: readonly string[],
  publish: boolean,
  match?: string,
): Promise<LineResult[]> {
  const { module, schema, change } = place;
  const response = await send("POST", `${collectionPath(place)}/bulk`, undefined, {
    // In a change set, the lines go into the set.
    query: { module, schema, match, change, ...(publish ? { publish } : {}) },
    text: { body: lines.join("\n"), type: "application/x-ndjson" },
    once: match === undefined,
  });
  const results = (await response.text()).trim().split("\n");
  // The last line has the totals.
  return results.slice(0, -1).map((line) => JSON.parse(line) as LineResult);
}

/**
 * Changes an entry.
 * @param entry id of the entry, and the revision that the change is based on
 */
export function updateEntry(
  place: EntryPlace,
  entry: { id: string; revision: number },
  change: EntryChange,
  publish = false,
): Promise<EntryItem> {
  const query = { ...everything(place), ...(publish ? { publish } : {}) };
  // The idempotency key lets a retry find what an earlier attempt has stored, instead of a conflict with it.
  const headers = { "idempotency-key": newKey() };
  return put(entryPath(place, entry.id), change, { query, revision: entry.revision, headers });
}

/** A change of some values of an entry, in one of several writes. */
export interface ValuesPatch {
  id: string;
  revision: number;
  /** A JSON Merge Patch of the values in all languages and markets. */
  values: Readonly<Record<string, unknown>>;
  publish?: boolean;
}

/** Changes entries of one schema in one atomic write. Returns their new revisions, in the order of the patches. */
export async function patchTogether(
  { orb, module, schema, managed, change }: EntryPlace,
  patches: readonly ValuesPatch[],
): Promise<readonly { id: string; revision: number }[]> {
  const body = {
    do: patches.map(({ id, revision, ...patch }) => ({
      ...{ update: `${module}/${schema}/${id}`, ifMatch: String(revision), ...patch },
    })),
  };
  const path = `${managed ? orbPath(orb) : `/api${pathOf(orb)}`}/batch`;
  const headers = { "idempotency-key": newKey() };
  return (
    await post<{ items: { id: string; revision: number }[] }>(path, body, { query: { change }, headers })
  ).items;
}

export function moveEntry(
  place: EntryPlace,
  entry: { id: string; revision: number },
  move: EntryMove,
  force = false,
): Promise<EntryItem> {
  const query = { ...everything(place), ...(force ? { force } : {}) };
  return post(`${entryPath(place, entry.id)}/${move}`, undefined, { query, revision: entry.revision });
}

export function removeEntry(
  place: EntryPlace,
  entry: { id: string; revision: number },
  force = false,
): Promise<void> {
  const { change } = place;
  return remove(entryPath(place, entry.id), {
    query: { change, ...(force ? { force } : {}) },
    revision: entry.revision,
  });
}

/** Reads a referenced entry: its newest revision for platform admins, its published one for users. */
export function readTarget(place: EntryPlace, id: string, signal?: AbortSignal): Promise<EntryItem> {
  return get(entryPath(place, id), { query: everything(place), signal });
}

/**
 * Finds entries that a reference field can point to. Without a search text, returns the newest ones.
 * @param field the field that contains an entry's name
 */
export function findEntries(
  place: EntryPlace,
  { text, field, signal }: { text: string; field: string | undefined; signal: AbortSignal },
): Promise<Page<EntryItem>> {
  const wanted = text.trim();
  const query: Record<string, string | number> = { limit: 8, ...everything(place) };
  if (place.managed) Object.assign(query, { module: place.module, schema: place.schema });
  if (/^\d[0-9a-z]{19}$/.test(wanted)) query["filter[id]"] = wanted;
  else if (wanted !== "" && field !== undefined) query[`filter[${field}][contains]`] = wanted;
  else query.sort = "-createdAt";
  return get(collectionPath(place), { query, signal });
}

export type EntryRevision = RevisionItem & Pick<EntryItem, "id" | "values">;

/** Lists the history of an entry, the newest revision first. */
export function listRevisions(
  place: EntryPlace,
  id: string,
  { cursor, signal }: { cursor?: string | undefined; signal?: AbortSignal } = {},
): Promise<Page<RevisionItem>> {
  return get(`${entryPath(place, id)}/revisions`, {
    query: { sort: "-revision", limit: 30, cursor },
    signal,
  });
}

/** Reads one revision. */
export function readRevision(
  place: EntryPlace,
  id: string,
  revision: number,
  signal?: AbortSignal,
): Promise<EntryRevision> {
  return get(`${entryPath(place, id)}/revisions/${revision}`, { signal });
}

/** Creates a draft with the values, `validFrom` and `validTo` of an older revision. */
export function restoreRevision(
  place: EntryPlace,
  entry: { id: string; revision: number },
  revision: number,
): Promise<EntryItem> {
  return post(`${entryPath(place, entry.id)}/revisions/${revision}/restore`, undefined, {
    query: everything(place),
    revision: entry.revision,
  });
}
