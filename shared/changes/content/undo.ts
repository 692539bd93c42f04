/** Makes a change set that takes back several published sets, such as all of one API token. */
import { type Principal, principalIn } from "../../access/authorize.ts";
import type { Deps } from "../../deps.ts";
import {
  type EntrySnapshot,
  namedEntry,
  type OrbContext,
  parseEntry,
  schemaOf,
  snapshotOf,
  withNames,
} from "../../entry/model/index.ts";
import { revisionPlace } from "../../entry/read/index.ts";
import { renewDefinition, retryOnConflict } from "../../entry/write/index.ts";
import { AppError } from "../../kernel/errors.ts";
import { ofOneWrite } from "../../quotas/guesses.ts";
import { counted } from "../../quotas/write.ts";
import { streams, subjects } from "../../store/subjects.ts";
import type { ChangeSet } from "../record/index.ts";
import { addressOfItem, type Item, MOST_ENTRIES } from "./content.ts";
import { type SearchLimits, TokenWrites } from "./direct.ts";
import { mergeContent } from "./publication.ts";
import { inEffect, nothingLeft, openReverting, type Taken, takenOf } from "./revert.ts";

export interface UndoInput {
  /** Sets that were published, which the caller may read. Those that were reverted come with the set that did it. */
  sets: readonly ChangeSet[];
  title: string;
  /** The API token, to take back also what it has published without a set. */
  token?: string | undefined;
  /** The error if there is nothing to take back. Default: `change_empty`. */
  nothing?: AppError | undefined;
  /** Where an earlier search for writes without a set ended. */
  after?: number | undefined;
  /** Default: those of {@link TokenWrites}. */
  limits?: SearchLimits | undefined;
  /** Returns the cursor that goes on at a place. Default: the place. */
  cursorOf?(next: number): string | null;
}

/**
 * Opens a set that takes back everything that other sets have published, and that an API token has published without one.
 * What others have changed in between stays.
 * @returns `isWhole`: whether it takes back all that was found; a set that is too large leaves entries. `next`: where to
 *   go on with the writes without a set
 * @throws AppError forbidden if the caller may not write one of the entries; `change_empty`
 */
export async function undoSets(
  deps: Deps,
  caller: Principal,
  context: OrbContext,
  { sets, title, token, after, nothing = nothingLeft(), limits, cursorOf }: UndoInput,
): Promise<{ set: ChangeSet; isWhole: boolean; next: number | null }> {
  const { orb } = context;
  const { actor } = caller;
  const { chains, next } = await chainsOf(deps, orb, { sets, token, after, limits });
  if (chains.length === 0) throw next === null ? nothing : nothingSoFar(cursorOf?.(next) ?? `${next}`);
  const own = ofOneWrite(deps);
  const undone = sets.map(({ id }) => id);
  const about = {
    title,
    ...(undone.length === 0 ? {} : { undoes: undone }),
    ...(token === undefined ? {} : { undoesToken: token }),
  };
  const run = async (attempt: number) => {
    const now = attempt === 0 ? context : await renewDefinition(own, { orbId: orb });
    const principal = attempt === 0 ? caller : principalIn(actor, orb, now.compiled);
    return openReverting(own, principal, now, about, {
      ids: chains.flatMap(([newest]) => newest?.id ?? []),
      async *read(reader) {
        for (const chain of chains) yield await composed(reader, now, chain);
      },
    });
  };
  const made = await counted(own, actor, orb, () => retryOnConflict(own, orb, run), chains.length);
  return { ...made, next };
}

/** Error 409 if what was read leaves nothing to take back, although there may be more. */
function nothingSoFar(cursor: string): AppError {
  const detail = `The newest writes of the API token are drafts, or taken back already. To look at earlier ones, send the request again with cursor=${cursor}`;
  return new AppError("conflict", "change_empty", detail);
}

/** Returns what the sets, and the token without a set, did with each entry, newest first. */
async function chainsOf(
  deps: Deps,
  orb: string,
  { sets, token, after, limits }: Pick<UndoInput, "sets" | "token" | "after" | "limits">,
): Promise<{ chains: Item[][]; next: number | null }> {
  const chains = new Map<string, Item[]>();
  const ids = new Set(sets.map(({ id }) => id));
  for (const set of sets)
    for (const item of await inEffect(deps, orb, set, ids))
      chains.set(item.id, [...(chains.get(item.id) ?? []), item]);
  const writes = token === undefined ? undefined : new TokenWrites(deps, orb, token, limits);
  const found = await writes?.find({ after, most: MOST_ENTRIES });
  for (const [id, items] of chains) {
    const [first] = items;
    const more = found?.items.get(id) ?? (first === undefined ? undefined : await writes?.itemsOf(first));
    items.push(...(more ?? []));
  }
  for (const [id, items] of found?.items ?? []) if (!chains.has(id)) chains.set(id, items);
  const revision = ({ done }: Item) => done?.revision ?? 0;
  // The clocks of two hosts may differ, so the times of the publications say less than the revisions.
  const sorted = [...chains.values()].map((chain) => chain.toSorted((a, b) => revision(b) - revision(a)));
  return { chains: sorted, next: found?.next ?? null };
}

/** Returns what an entry is taken back to: the state before all publications, with what others have changed in between. */
async function composed(
  deps: Deps,
  context: OrbContext,
  [newest, ...older]: readonly Item[],
): Promise<Taken | undefined> {
  const first = newest === undefined ? undefined : await takenOf(deps, context, newest);
  if (first === undefined) return undefined;
  let { item, old } = first;
  /** The publication before which `old` was. */
  let reached = item;
  for (const earlier of older) {
    const before = await takenOf(deps, context, earlier);
    if (before === undefined || item.done === undefined || earlier.done === undefined) break;
    if (follows(reached, earlier)) {
      item = { ...item, done: { ...item.done, before: earlier.done.before } };
      old = before.old;
      reached = earlier;
      continue;
    }
    if (old === null) break;
    const merged = await withoutEarlier(deps, context, earlier, before.old, old);
    if (merged === undefined) break;
    old = merged;
  }
  return { item, old };
}

/** Returns whether nothing happened to an entry between two publications. */
function follows({ done }: Item, { act, done: earlier }: Item): boolean {
  if (done === undefined || earlier === undefined) return false;
  if (done.before !== null) return done.before.revision === earlier.revision;
  // The entry was created again after its deletion.
  return act === "delete" && done.revision === earlier.revision + 1;
}

/**
 * Returns a revision by others without what a publication before it has changed. Where they have changed the same, their
 * values stay. Undefined if the publication did something else than an update.
 */
async function withoutEarlier(
  deps: Deps,
  { orb, compiled }: OrbContext,
  { act, done, ...item }: Item,
  before: EntrySnapshot | null,
  theirs: EntrySnapshot,
): Promise<EntrySnapshot | undefined> {
  const address = addressOfItem(orb, { act, ...item });
  const schema = schemaOf(compiled, address);
  const stream = streams.orb(orb);
  const entry = namedEntry(compiled, parseEntry(await deps.store.get(stream, subjects.entryLog(address))));
  if (before === null || act !== "publish" || schema === undefined || entry === null || done === undefined)
    return undefined;
  const place = await revisionPlace(deps, entry, done.revision);
  const published = place === null ? null : snapshotOf(await deps.store.getSeq(stream, place.seq));
  if (published === null) return undefined;
  const merged = await mergeContent(schema, withNames(schema, published), theirs, before, () => true);
  return { ...theirs, values: merged.values, validFrom: merged.validFrom, validTo: merged.validTo };
}
