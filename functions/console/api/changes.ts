/** Requests about change sets: pending versions of entries that are reviewed and published together. */
import type { ListedChange } from "../../../shared/client/changes.ts";
import { get, pathOf, post, remove, send } from "./http.ts";
import { orbPath, type Page } from "./orbs.ts";

export { CHANGE_STATES, type ChangeState, type ListedChange } from "../../../shared/client/changes.ts";

/** The change sets of an application. */
export interface ChangesPlace {
  orb: string;
  /** Whether the caller is a platform admin. */
  managed: boolean;
}

export type Approval = ListedChange["approvals"][number];

export interface ReviewRule {
  approvals: number;
  /** Approvals of the present content that count. */
  given: number;
  /** Roles whose accounts may approve. */
  by: readonly string[];
  module?: string;
  schema?: string;
  /** Whether the authors of the set may not approve. */
  notAuthor: boolean;
}

export interface ChangeSet extends ListedChange {
  /** Hash of the content. Each write into the set changes it. */
  hash: string;
  /** Number of entries in the set. */
  entries: number;
  /** Ids of the accounts that have written into the set. */
  authors: readonly string[];
  review: readonly ReviewRule[];
  /** Null unless the set contains a definition of the orb. */
  definition: { revision: number; base: number } | null;
}

/** A place that a set changes in the definition of the orb. A value is null if there is none. */
export interface PlaceDiff {
  /** JSON Pointer with the names of modules, schemas and fields. */
  path: string;
  base: unknown;
  now: unknown;
  proposed: unknown;
}

/** What a set changes in the definition of the orb. */
export interface DefinitionDiff {
  /** Number of the version within the set. */
  revision: number;
  /** Whether modules and schemas with stored entries may be removed. */
  force: boolean;
  /** Whether the orb has published another definition since. */
  conflict: boolean;
  /** Revision of the live definition of now. */
  now: number;
  differences: readonly PlaceDiff[];
  /** Paths of `differences` that both the set and the orb have changed. */
  conflicts: readonly string[];
}

export type ChangeAct = "publish" | "unpublish" | "archive" | "restore" | "delete";

/** A field that a set changes. */
export interface FieldDiff {
  /** The field, or `validFrom` or `validTo`. */
  name: string;
  base: unknown;
  now: unknown;
  proposed: unknown;
}

/** An entry in a set, compared with the orb. */
export interface EntryDiff {
  module: string;
  schema: string;
  id: string;
  act: ChangeAct;
  /** Number of the version within the set. */
  revision: number;
  /** Number of the revision from which the version was made; null for a new entry. */
  base: number | null;
  /** The entry as it is; null if there is none. */
  now: { revision: number; status: string } | null;
  changedAt: string;
  changedBy: string;
  through?: string;
  fields: readonly FieldDiff[];
  /** JSON Pointers of what was changed both in the set and in the orb. An empty one means the whole entry. */
  conflicts: readonly string[];
}

export interface DiffPage extends Page<EntryDiff> {
  /** Number of entries of the page that the caller may not read. */
  hidden: number;
  /** Null if the set changes none, on later pages, and for callers who may not read definitions. */
  definition: DefinitionDiff | null;
}

export interface ChangeComment {
  id: string;
  text: string;
  /** The entry that it is about, as `module/schema/id`, and the field of the entry. */
  entry: string | null;
  field: string | null;
  /** Ids of the accounts that it mentions. */
  mentions: readonly string[];
  at: string;
  by: string;
  through?: string;
  token?: string;
  resolved: { by: string; at: string } | null;
}

const changesPath = ({ orb, managed }: ChangesPlace): string =>
  managed ? `${orbPath(orb)}/changes` : `/api${pathOf(orb, "changes")}`;
const changePath = (place: ChangesPlace, id: string): string => `${changesPath(place)}${pathOf(id)}`;

/**
 * Lists the sets that the caller may read, newest first.
 * @param options.entry only sets that contain this entry: `module/schema/id`
 * @param options.mentions only sets with open comments that mention this account
 */
export const listChanges = (
  place: ChangesPlace,
  options: {
    state?: string | undefined;
    entry?: string | undefined;
    mentions?: string | undefined;
    limit: number;
    cursor?: string | undefined;
  },
  signal?: AbortSignal,
): Promise<Page<ListedChange>> => {
  const { state, entry, mentions, ...query } = options;
  const filters = { "filter[state]": state, "filter[entry]": entry, "filter[mentions]": mentions };
  return get(changesPath(place), { query: { ...query, ...filters }, signal });
};

/** Pages that a list of all sets reads at most. */
const MOST_PAGES = 20;

/** Lists all sets that fit, newest first, as far as they are not too many. */
export async function listAllChanges(
  place: ChangesPlace,
  options: { state?: string; entry?: string },
  signal?: AbortSignal,
): Promise<{ items: ListedChange[]; hasMore: boolean }> {
  const items: ListedChange[] = [];
  let cursor: string | null = null;
  for (let page = 0; page < MOST_PAGES; page++) {
    const found = await listChanges(place, { ...options, limit: 100, cursor: cursor ?? undefined }, signal);
    items.push(...found.items);
    cursor = found.nextCursor;
    if (cursor === null) break;
  }
  return { items, hasMore: cursor !== null };
}

export const readChange = (place: ChangesPlace, id: string, signal?: AbortSignal): Promise<ChangeSet> =>
  get(changePath(place, id), { signal });

export const openChange = (
  place: ChangesPlace,
  set: { title: string; description?: string },
): Promise<ChangeSet> => post(changesPath(place), set);

type Found = Pick<ListedChange, "id" | "revision">;

/**
 * Changes the title and the description of a set, or the time at which it is to be published.
 * @param change.hash the content that the caller has seen
 */
export async function updateChange(
  place: ChangesPlace,
  { id, revision }: Found,
  change: { title: string; description: string | null } | { publishAt: string | null; hash?: string },
): Promise<void> {
  await send("PATCH", changePath(place, id), change, { revision });
}

export const closeChange = (place: ChangesPlace, { id, revision }: Found): Promise<void> =>
  remove(changePath(place, id), { revision });

export const requestReview = (place: ChangesPlace, id: string): Promise<ChangeSet> =>
  post(`${changePath(place, id)}/review`);

/** Returns whether a set can still be changed and published. */
export const isActive = ({ state }: Pick<ListedChange, "state">): boolean =>
  state === "OPEN" || state === "IN_REVIEW" || state === "APPROVED" || state === "SCHEDULED";

/** @param hash the content that the caller has seen */
export const approveChange = (
  place: ChangesPlace,
  { id, hash }: Pick<ChangeSet, "id" | "hash">,
  comment: string | undefined,
): Promise<ChangeSet> => post(`${changePath(place, id)}/approve`, { hash, comment });

export const rejectChange = (place: ChangesPlace, id: string, comment: string): Promise<ChangeSet> =>
  post(`${changePath(place, id)}/reject`, { comment });

/** @param hash the content that the caller has seen */
export const publishChange = (
  place: ChangesPlace,
  { id, hash }: Pick<ChangeSet, "id" | "hash">,
): Promise<{ items: readonly unknown[] }> => post(`${changePath(place, id)}/publish`, { hash });

/** Opens a set that takes back what a published set has changed. */
export const revertChange = (place: ChangesPlace, id: string): Promise<ChangeSet> =>
  post(`${changePath(place, id)}/revert`);

/** Compares a page of the entries of a set with those of the orb. */
export const diffChange = (
  place: ChangesPlace,
  id: string,
  options: { limit: number; cursor?: string | undefined },
  signal?: AbortSignal,
): Promise<DiffPage> => get(`${changePath(place, id)}/diff`, { query: options, signal });

export const takeOut = (place: ChangesPlace, id: string, entry: string): Promise<void> =>
  remove(`${changePath(place, id)}/entries${pathOf(entry)}`);

/** Solves the conflicts of an entry. @param keep for each conflict, which value stays */
export const rebaseEntry = (
  place: ChangesPlace,
  set: string,
  { id, revision }: Pick<EntryDiff, "id" | "revision">,
  keep: Readonly<Record<string, "change" | "live">>,
): Promise<void> => post(`${changePath(place, set)}/entries${pathOf(id)}/rebase`, { keep }, { revision });

const definitionPath = (orb: string, set: string) => `${orbPath(orb)}/changes${pathOf(set)}/definition`;

/** Merges the definition in a set with the live one. Platform admins only. @param keep for each conflict, which side stays */
export const rebaseDefinition = (
  orb: string,
  set: string,
  revision: number,
  keep: Readonly<Record<string, "change" | "live">>,
): Promise<void> => post(`${definitionPath(orb, set)}/rebase`, { keep }, { revision });

/** Takes the definition of the orb out of a set. Platform admins only. */
export const withdrawDefinition = (orb: string, set: string): Promise<void> =>
  remove(definitionPath(orb, set));

export const listComments = (
  place: ChangesPlace,
  id: string,
  cursor: string | undefined,
  signal?: AbortSignal,
): Promise<Page<ChangeComment>> =>
  get(`${changePath(place, id)}/comments`, { query: { limit: 200, cursor }, signal });

export const addComment = (
  place: ChangesPlace,
  id: string,
  comment: {
    text: string;
    entry?: string | undefined;
    field?: string | undefined;
    mentions?: readonly string[];
  },
): Promise<ChangeComment> => post(`${changePath(place, id)}/comments`, comment);

export const resolveComment = (place: ChangesPlace, id: string, comment: string): Promise<ChangeComment> =>
  post(`${changePath(place, id)}/comments${pathOf(comment)}/resolve`);
