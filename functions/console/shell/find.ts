/**
 * Searches the content of an application: the entries of all schemas that the caller may read, and the accounts that
 * the caller may see. The browser loads this code at the first search.
 */
import { type Caller, isPlatformAdmin, may } from "../api/caller.ts";
import { type EntryItem, listEntries } from "../api/entries.ts";
import { ADMINS, listPeople, type PeoplePlace, type Person, usersOf } from "../api/people.ts";
import { plainValue } from "../model/cells.ts";
import { type ModuleModel, type OrbModel, type SchemaModel, titleField, titleOf } from "../model/orb.ts";
import { t } from "../texts/t.ts";
import { orbLink } from "./nav.ts";

/** Maximum concurrent requests of a search. */
const AT_ONCE = 4;
/** Maximum number of results of each schema, and of people. */
const EACH = 5;
/** A search ends after this many results. */
const MOST = 50;
/** Maximum number of pages of 200 accounts in which people are searched. */
const PEOPLE_PAGES = 5;

const ENTRY_ID = /^\d[0-9a-z]{19}$/;

export interface Found {
  id: string;
  group: string;
  title: string;
  /** Path below /console. */
  to: string;
}

export interface Progress {
  found: readonly Found[];
  /** Number of schemas that were searched, of `of`. */
  searched: number;
  of: number;
  /** Number of schemas that could not be searched. */
  failed: number;
}

interface Place {
  module: ModuleModel;
  schema: SchemaModel;
}

/** Returns the schemas to search: those with a search index first, because they answer at once. */
function placesOf(orb: OrbModel, caller: Caller): Place[] {
  const admin = isPlatformAdmin(caller);
  const isIndexed = ({ schema }: Place) => schema.fields.some(({ search }) => search === true);
  const places = orb.modules
    .filter(({ type }) => admin || type === "CONTENT" || type === "CONFIG")
    .flatMap((module) =>
      module.schemas
        .filter(({ id }) => may(caller, "read", { module: module.id, schema: id }, true))
        .map((schema) => ({ module, schema })),
    );
  return [...places.filter(isIndexed), ...places.filter((place) => !isIndexed(place))];
}

/** Returns the query that finds entries by a text; undefined if the schema has no field to search in. */
function queryOf({ schema }: Place, text: string): URLSearchParams | undefined {
  const title = titleField(schema);
  const query = new URLSearchParams({ limit: String(EACH), fields: title === undefined ? "id" : title.name });
  if (ENTRY_ID.test(text)) query.set("filter[id]", text);
  else if (schema.fields.some(({ search }) => search === true)) query.set("search", text);
  else if (title !== undefined) query.set(`filter[${title.name}][contains]`, text);
  else return undefined;
  return query;
}

async function findIn(
  orb: OrbModel,
  caller: Caller,
  place: Place,
  text: string,
  signal: AbortSignal,
): Promise<Found[]> {
  const query = queryOf(place, text);
  if (query === undefined) return [];
  const { module, schema } = place;
  const at = { module: module.id, schema: schema.id };
  const managed = isPlatformAdmin(caller);
  const drafts = may(caller, "update", at) || may(caller, "publish", at);
  if (!managed && !drafts) query.set("revision", "published");
  const { items } = await listEntries({ orb: orb.id, ...at, managed }, { query, signal });
  const title = titleField(schema);
  const nameOf = ({ id, values }: EntryItem) =>
    (title === undefined ? "" : plainValue(values[title.name])) || id;
  return items.map((item) => ({
    id: `entry ${schema.id} ${item.id}`,
    group: titleOf(schema),
    title: nameOf(item),
    to: orbLink(orb.id, "entries", module.id, schema.id, item.id),
  }));
}

async function findPeople(
  place: PeoplePlace,
  path: string,
  text: string,
  signal: AbortSignal,
): Promise<Found[]> {
  const words = text.toLowerCase();
  const matches = ({ id, name, email }: Person) =>
    id === text || name.toLowerCase().includes(words) || email?.toLowerCase().includes(words) === true;
  const found: Person[] = [];
  let cursor: string | null | undefined;
  for (let page = 0; page < PEOPLE_PAGES && cursor !== null && found.length < EACH; page++) {
    const query = { limit: 200, ...(cursor === undefined ? {} : { cursor }) };
    const { items, nextCursor } = await listPeople(place, { signal, query });
    found.push(...items.filter(matches));
    cursor = nextCursor;
  }
  return found.slice(0, EACH).map(({ id, name }) => ({
    id: `person ${place.base} ${id}`,
    group: t(place.platform ? "nav.admins" : "nav.people"),
    title: name,
    to: `${path}?person=${encodeURIComponent(id)}`,
  }));
}

/**
 * Searches for a text in everything that the caller may see.
 * @param orb the application of the current page, if there is one
 * @param tell called with the results so far, after each answer
 */
export async function find(
  { orb, caller }: { orb: OrbModel | undefined; caller: Caller },
  text: string,
  { signal, tell }: { signal: AbortSignal; tell: (progress: Progress) => void },
): Promise<void> {
  const jobs: (() => Promise<Found[]>)[] = [];
  const realm = caller.orb?.realm;
  if (orb !== undefined && realm !== undefined && (isPlatformAdmin(caller) || caller.orb?.users !== "none"))
    jobs.push(() => findPeople(usersOf(realm), orbLink(orb.id, "people"), text, signal));
  if (isPlatformAdmin(caller)) jobs.push(() => findPeople(ADMINS, "/admins", text, signal));
  if (orb !== undefined)
    for (const place of placesOf(orb, caller)) jobs.push(() => findIn(orb, caller, place, text, signal));
  let progress: Progress = { found: [], searched: 0, of: jobs.length, failed: 0 };
  const waiting = jobs.reverse();
  const work = async () => {
    for (let job = waiting.pop(); job !== undefined; job = waiting.pop()) {
      const result = await job().catch(() => undefined);
      if (signal.aborted) return;
      const found = [...progress.found, ...(result ?? [])].slice(0, MOST);
      if (found.length >= MOST) waiting.length = 0;
      const failed = progress.failed + (result === undefined ? 1 : 0);
      progress = { ...progress, found, failed, searched: progress.searched + 1 };
      tell(progress);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  tell({ ...progress, searched: progress.of });
}
