/**
 * Searches the content of an application: the entries of all schemas that the caller may read, and the accounts that
 * the caller may see. The browser loads this code at the first search.
 */
import type { FoundEntry } from "../../../shared/client/found.ts";
import { type Caller, isPlatformAdmin, maySome } from "../api/caller.ts";
import { searchEntries } from "../api/entries.ts";
import { ADMINS, listPeople, type PeoplePlace, type Person, usersOf } from "../api/people.ts";
import { type OrbModel, schemaOf, titleOf } from "../model/orb.ts";
import { changeIn } from "../state/change.ts";
import { t } from "../texts/t.ts";
import { orbLink } from "./nav.ts";

/** Maximum number of people. */
const EACH = 5;
/** Maximum number of entries. */
const MOST = 30;
/** Maximum characters of a search for entries. */
const LONGEST = 200;
/** Maximum number of pages of 200 accounts in which people are searched. */
const PEOPLE_PAGES = 5;

export interface Found {
  id: string;
  group: string;
  title: string;
  /** A piece of a text with the words that were searched for. */
  snippet?: FoundEntry["snippet"];
  /** Path below /console. */
  to: string;
}

export interface Progress {
  found: readonly Found[];
  /** Number of parts that were searched, of `of`: entries, users, admins. */
  searched: number;
  of: number;
  /** Number of parts that could not be searched. */
  failed: number;
}

/** Searches the entries of an application. Those of one schema are together, the schema of the best match first. */
async function findEntries(
  orb: OrbModel,
  caller: Caller,
  text: string,
  signal: AbortSignal,
): Promise<Found[]> {
  const place = {
    orb: orb.id,
    managed: isPlatformAdmin(caller),
    drafts: maySome(caller, ["update", "publish"], true),
    change: changeIn(orb.id),
  };
  const { items } = await searchEntries(place, text.slice(0, LONGEST), { limit: MOST, signal });
  const places = items.map(({ module, schema }) => `${module}/${schema}`);
  const grouped = [...new Set(places)].flatMap((place) => items.filter((_, at) => places[at] === place));
  return grouped.map(({ module, schema, id, title, snippet }) => {
    const model = schemaOf(orb, module, schema);
    return {
      id: `entry ${schema} ${id}`,
      group: model === undefined ? schema : titleOf(model),
      title: title ?? id,
      snippet,
      to: orbLink(orb.id, "entries", module, schema, id),
    };
  });
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
  if (orb !== undefined) jobs.push(() => findEntries(orb, caller, text, signal));
  let progress: Progress = { found: [], searched: 0, of: jobs.length, failed: 0 };
  const work = async (job: () => Promise<Found[]>) => {
    const result = await job().catch(() => undefined);
    if (signal.aborted) return;
    progress = {
      ...progress,
      found: [...progress.found, ...(result ?? [])],
      failed: progress.failed + (result === undefined ? 1 : 0),
      searched: progress.searched + 1,
    };
    tell(progress);
  };
  await Promise.all(jobs.map(work));
}
