/** Reads change sets: one with what its review needs, or a list. */

import type { Actor } from "../../access/actor.ts";
import { mayWith, type Principal, principalIn } from "../../access/authorize.ts";
import type { Deps } from "../../deps.ts";
import { type OrbContext, snapshotOf } from "../../entry/model/index.ts";
import { AppError, notFound } from "../../kernel/errors.ts";
import { nullIfMissing } from "../../store/pages.ts";
import { streams, subjects } from "../../store/subjects.ts";
import {
  type ChangeSet,
  findSet,
  isReadable,
  parseSet,
  requireReadable,
  requireSet,
  requireSome,
  type SetState,
  takenBackBy,
} from "../record/index.ts";
import { type ReadContent, type ReviewedSet, reviewed } from "./content.ts";
import type { OfSet } from "./input.ts";
import { type Listed, listInOrder } from "./listed.ts";
import { setsMentioning } from "./mentions.ts";

/** Returns a change set. */
export async function getSet(
  deps: Deps,
  actor: Actor,
  { orb, set: id }: Pick<OfSet, "orb" | "set">,
  read: ReadContent,
): Promise<ReviewedSet> {
  const context = await orb;
  const principal = principalIn(actor, context.orb, context.compiled);
  requireSome(principal, context.compiled, "changes.read");
  const { set } = await requireSet(deps, context.orb, id);
  requireReadable(principal, context.compiled, set);
  return reviewed(context, set, await read(deps, context, set));
}

export interface ListSets {
  orb: OrbContext | Promise<OrbContext>;
  state?: SetState | undefined;
  /** Id of the account that opened the sets. */
  author?: string | undefined;
  /** An entry that the sets contain, or have published: `module/schema/id`. */
  entry?: string | undefined;
  /** Id of an account that open comments on the sets mention. */
  mentions?: string | undefined;
  limit: number;
  /** Place of the last set of the previous page. */
  after?: number | undefined;
}

/**
 * Returns the ids of the sets that have a version of an entry. None if the caller may not read the entry, as if there were
 * no such entry.
 * @throws AppError schema_not_found
 */
async function setsWith(
  deps: Deps,
  principal: Principal,
  { orb, compiled }: OrbContext,
  entry: string,
): Promise<ReadonlySet<string>> {
  const [module = "", schema = "", id = ""] = entry.split("/");
  const of = compiled.schema(module, schema);
  if (of === undefined) throw notFound("schema");
  const { home, access } = of;
  const filter = subjects.changesOfEntry(orb, id);
  const found = await nullIfMissing(deps.store.subjects(streams.orb(orb), filter));
  // `<orb>._change.<set>.entry.<type>.<schema>.<id>`
  const parts = (found?.subjects ?? []).map((subject) => subject.split("."));
  const here = parts.filter(([, , , , type, token]) => type === home.type && token === home.schema);
  const sets = new Set(here.map(([, , set = ""]) => set));
  const [first] = sets;
  if (first === undefined) return sets;
  const address = { orb, ...home, id };
  const stream = streams.orb(orb);
  const [stored, version] = await Promise.all([
    deps.store.get(stream, subjects.entryLog(address)),
    deps.store.get(stream, subjects.changeVersion(first, address)),
  ]);
  // A new entry is in sets only.
  const head = snapshotOf(stored) ?? snapshotOf(version);
  if (head === null) return new Set();
  const { createdBy, status } = head;
  const isLive = status !== "DELETED" && head.publishedRevision !== null && stored !== null;
  const operations = isLive ? (["read", "readDraft"] as const) : (["readDraft"] as const);
  return operations.some((one) => mayWith(principal, one, { access, createdBy })) ? sets : new Set();
}

/** Maximum number of sets that one set takes back, and of pages that are read to find them. */
const MOST_UNDONE = 50;
const MOST_PAGES = 10;
const SETS_AT_ONCE = 1_000;

/**
 * Returns the newest published sets that an API token has opened or published, as far as the caller may read them, and
 * those that they have taken back.
 * @returns `more` is whether there may be others: earlier ones, or those that the caller may not read; `tooFar` is the
 * error if there is nothing else to take back, and too many sets of others are newer than those of the token
 */
export async function publishedWith(
  deps: Deps,
  principal: Principal,
  { orb, compiled }: OrbContext,
  token: string,
): Promise<{ sets: ChangeSet[]; more: boolean; tooFar?: AppError }> {
  requireSome(principal, compiled, "changes.write");
  let isHidden = false;
  const isOf = (set: ChangeSet) => {
    if (set.token !== token && set.published?.token !== token) return false;
    if (isReadable(principal, compiled, set)) return true;
    isHidden = true;
    return false;
  };
  const published: ChangeSet[] = [];
  let after: number | null | undefined;
  for (let page = 0; page < MOST_PAGES && after !== null; page++) {
    const { items, next } = await listInOrder(deps, {
      orb,
      order: subjects.changeOrder(orb),
      subjectOf: (id) => subjects.changeRecord(orb, id),
      newestFirst: true,
      after,
      limit: SETS_AT_ONCE,
      take(message) {
        const { set } = parseSet(message);
        return set.state === "PUBLISHED" && isOf(set) ? set : undefined;
      },
    });
    published.push(...items);
    after = next;
  }
  // A set that was opened earlier may have been published later.
  const at = (set: ChangeSet) => Date.parse(set.published?.at ?? "");
  const sets: ChangeSet[] = [];
  for (const set of published.toSorted((a, b) => at(b) - at(a))) {
    const group = await withReverted(deps, orb, set, isOf);
    if (sets.length > 0 && sets.length + group.length > MOST_UNDONE) return { sets, more: true };
    sets.push(...group);
  }
  const isTooFar = sets.length === 0 && after !== null;
  return { sets, more: isHidden || after !== null, ...(isTooFar ? { tooFar: tooFarBack() } : {}) };
}

/** Error 422: the newest sets that are read to find those of a token contain none. There may be earlier ones. */
function tooFarBack(): AppError {
  const detail =
    "None of the newest change sets is of this API token, and earlier ones are not searched. Take them back one by one, with POST …/revert.";
  return new AppError("invalid", "too_broad", detail);
}

/**
 * Returns a set, and the sets of the same token that it has taken back. To take back only the newest one would bring back
 * what the others have published.
 */
async function withReverted(
  deps: Deps,
  orb: string,
  set: ChangeSet,
  isOf: (set: ChangeSet) => boolean,
): Promise<ChangeSet[]> {
  const found = await Promise.all(takenBackBy(set).map((id) => findSet(deps, orb, id)));
  const reverted = found.flatMap((read) =>
    read !== null && read.set.revertedBy === set.id && isOf(read.set) ? [read.set] : [],
  );
  const groups = await Promise.all(reverted.map((earlier) => withReverted(deps, orb, earlier, isOf)));
  return [set, ...groups.flat()];
}

/** Lists the change sets that the caller may read, newest first. A page may be shorter than `limit`. */
export async function listSets(
  deps: Deps,
  actor: Actor,
  { orb, state, author, entry, mentions, limit, after }: ListSets,
): Promise<Listed<ChangeSet>> {
  const context = await orb;
  const principal = principalIn(actor, context.orb, context.compiled);
  requireSome(principal, context.compiled, "changes.read");
  const chosen = await Promise.all([
    entry === undefined ? undefined : setsWith(deps, principal, context, entry),
    mentions === undefined ? undefined : setsMentioning(deps, context.orb, mentions),
  ]);
  const [among, ...others] = chosen.filter((sets) => sets !== undefined);
  if (among?.size === 0) return { items: [], next: null };
  return listInOrder(deps, {
    orb: context.orb,
    order: subjects.changeOrder(context.orb),
    subjectOf: (id) => subjects.changeRecord(context.orb, id),
    newestFirst: true,
    after,
    limit,
    among,
    take(message) {
      const { set } = parseSet(message);
      const fits =
        (state === undefined || set.state === state) &&
        (author === undefined || set.createdBy === author) &&
        others.every((sets) => sets.has(set.id));
      return fits && isReadable(principal, context.compiled, set) ? set : undefined;
    },
  });
}
