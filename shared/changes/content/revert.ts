/** Makes a change set that takes back what another one has published. */
import { actorId } from "../../access/actor.ts";
import { isOwn, type Principal, principalIn, requireMay } from "../../access/authorize.ts";
import type { EntryOperation } from "../../access/credentials/index.ts";
import { refusal } from "../../access/refusals.ts";
import type { CompiledSchema } from "../../definition/compile.ts";
import { ADMINS_ONLY } from "../../definition/document/index.ts";
import { fenceGuard } from "../../definition/stored/index.ts";
import type { Deps } from "../../deps.ts";
import {
  type EntrySnapshot,
  effective,
  guard,
  type LoadedEntry,
  namedEntry,
  type OrbContext,
  parseEntry,
  remembered,
  schemaOf,
  snapshotOf,
  withNames,
} from "../../entry/model/index.ts";
import { revisionPlace } from "../../entry/read/index.ts";
import { keepingHidden } from "../../entry/values/index.ts";
import { renewDefinition, retryOnConflict } from "../../entry/write/index.ts";
import { AppError, type Fault, invalid } from "../../kernel/errors.ts";
import { equal } from "../../kernel/json.ts";
import { ofOneWrite } from "../../quotas/guesses.ts";
import { counted, countValues } from "../../quotas/write.ts";
import { ReadBudget } from "../../store/budget.ts";
import { streams, subjects } from "../../store/subjects.ts";
import type { Append } from "../../store/types.ts";
import {
  type DefinitionBack,
  type DefinitionItem,
  definitionBack,
  itemOf,
  proposalMessage,
} from "../definition/index.ts";
import {
  type ChangeSet,
  findSet,
  LONGEST,
  type NewSet,
  newSet,
  nextState,
  openingMessages,
  requireReadable,
  requireSet,
  requireSome,
} from "../record/index.ts";
import {
  addressOfItem,
  type Content,
  contentMessage,
  EMPTY,
  type Item,
  MOST_BYTES,
  readContent,
  type VersionAct,
  withRoom,
} from "./content.ts";
import { type NewVersion, versionMessages, withItem } from "./pend.ts";
import { currentOf, isReached } from "./publication.ts";

/**
 * Opens a set that takes back everything that another set has published: new entries are deleted, others get the values
 * that they had before. Later changes by others stay, unless they are in the same places. So do the values of fields
 * that the caller may not write.
 * @throws AppError `wrong_state` unless the set is published; forbidden if the caller may not write one of the entries
 */
export async function revertSet(
  deps: Deps,
  caller: Principal,
  context: OrbContext,
  { set: id, title }: { set: string; title?: string | undefined },
): Promise<ChangeSet> {
  const { orb } = context;
  const { actor } = caller;
  const first = await revertible(deps, caller, context, id);
  const own = ofOneWrite(deps);
  const run = async (attempt: number) => {
    if (attempt === 0) return revertOnce(own, caller, context, first, title);
    const now = await renewDefinition(own, { orbId: orb });
    const principal = principalIn(actor, orb, now.compiled);
    return revertOnce(own, principal, now, await revertible(own, principal, now, id), title);
  };
  const work = () => retryOnConflict(own, orb, run);
  return withRoom(first.items, () => counted(own, actor, orb, work, Math.max(1, first.items.length)));
}

/** A published set. */
interface PublishedSet {
  set: ChangeSet;
  /** The definition that it published. */
  definition: DefinitionItem | undefined;
  /** What it did with its entries, without those that were taken back. */
  items: readonly Item[];
}

/** Reads a set that the caller may take back. */
async function revertible(
  deps: Deps,
  caller: Principal,
  { orb, compiled }: OrbContext,
  id: string,
): Promise<PublishedSet> {
  const { set } = await requireSet(deps, orb, id);
  requireReadable(caller, compiled, set);
  requireSome(caller, compiled, "changes.write");
  nextState(set.state, "revert");
  const { definition } = (await readContent(deps, orb, id)).content;
  return { set, definition, items: await inEffect(deps, orb, set) };
}

/**
 * Returns what the publication of a set did with its entries, without those that published sets have taken back.
 * @param except ids of sets that do not count, because they are taken back as well
 */
export async function inEffect(
  deps: Deps,
  orb: string,
  { id, revertedInPart = [] }: ChangeSet,
  except: ReadonlySet<string> = new Set(),
): Promise<Item[]> {
  const gone = new Set<string>();
  for (const later of revertedInPart) {
    const found = except.has(later) ? null : await findSet(deps, orb, later);
    if (found?.set.state !== "PUBLISHED") continue;
    for (const item of await inEffect(deps, orb, found.set, except)) gone.add(item.id);
  }
  const { content } = await readContent(deps, orb, id);
  return content.items.filter((item) => item.done !== undefined && !gone.has(item.id));
}

async function revertOnce(
  deps: Deps,
  caller: Principal,
  context: OrbContext,
  { set, items, definition }: PublishedSet,
  title = `Take back: ${set.title}`.slice(0, LONGEST.title),
): Promise<ChangeSet> {
  const isOwn = definition?.done !== undefined;
  const back = isOwn ? await definitionBack(deps, caller.actor, context, definition) : undefined;
  const description = isOwn && back === undefined ? { description: DEFINITION_STAYS } : {};
  const source: Source = {
    ids: items.map(({ id }) => id),
    async *read(reader) {
      for (const item of items) yield await takenOf(reader, back?.context ?? context, item);
    },
  };
  const about = { title, ...description, reverts: set.id };
  return (await openReverting(deps, caller, context, about, source, back)).set;
}

const DEFINITION_STAYS =
  "The definition of the orb stays as it is, because another one was published since. Only the entries are taken back.";

/** What the publication of an entry is taken back to. */
export interface Taken {
  item: Item;
  /** The revision before the publication; null if there was no entry. */
  old: EntrySnapshot | null;
}

/** Reads what a publication has replaced. Returns undefined if it did nothing, or if that revision is gone. */
export async function takenOf(
  { store }: Pick<Deps, "store">,
  { orb, compiled }: OrbContext,
  item: Item,
): Promise<Taken | undefined> {
  const { done } = item;
  if (done === undefined) return undefined;
  if (done.before === null) return { item, old: null };
  const was = snapshotOf(await store.getSeq(streams.orb(orb), done.before.seq));
  if (was === null) return undefined;
  return { item, old: withNames(schemaOf(compiled, addressOfItem(orb, item)), was) };
}

/** Entries that can be taken back. */
export interface Source {
  ids: readonly string[];
  /** Yields what each entry is taken back to, in order of `ids`. The reads of the given dependencies are limited. */
  read: (reader: Deps) => AsyncIterable<Taken | undefined>;
}

/**
 * Opens a set that takes back publications of entries: as many as a set can have.
 * @returns `isWhole`: whether it takes back all
 */
export async function openReverting(
  deps: Deps,
  caller: Principal,
  context: OrbContext,
  about: NewSet,
  source: Source,
  back?: DefinitionBack,
): Promise<{ set: ChangeSet; isWhole: boolean }> {
  const { orb, fence } = context;
  const start = await started(deps, caller, back?.context ?? context, source, about);
  const { items } = start.content;
  const [item] = items;
  if (back !== undefined) return openWithDefinition(deps, caller, context, start, back);
  if (item === undefined) throw nothingLeft();
  const bytes = items.reduce((sum, one) => sum + one.bytes, 0);
  await countValues(deps, caller.actor, orb, { bytes, publish: false, guesses: NO_GUESSES });
  const messages = [
    ...start.versions,
    contentMessage(orb, start.set.id, start.content, 0),
    ...openingMessages(orb, start.set),
  ];
  const guarded = guard(addressOfItem(orb, item), messages, [fenceGuard(orb, fence)]);
  await deps.store.batch(streams.orb(orb), guarded);
  return { set: start.set, isWhole: start.content.takes?.length === items.length };
}

/** Opens a set that also takes back a definition. */
async function openWithDefinition(
  deps: Deps,
  { actor }: Principal,
  { orb, fence }: OrbContext,
  { set, content, versions }: Start,
  { proposal }: DefinitionBack,
): Promise<{ set: ChangeSet; isWhole: boolean }> {
  const { items, authors } = content;
  const bytes = items.reduce((sum, one) => sum + one.bytes, 0);
  await countValues(deps, actor, orb, { bytes, publish: false, guesses: NO_GUESSES });
  const all = {
    ...content,
    authors: [...new Set([...authors, actorId(actor)])],
    definition: await itemOf(proposal),
  };
  await deps.store.batch(streams.orb(orb), [
    { ...proposalMessage(orb, set.id, proposal), expect: fenceGuard(orb, fence) },
    ...versions,
    contentMessage(orb, set.id, all, 0),
    ...openingMessages(orb, set),
  ]);
  return { set, isWhole: content.takes?.length === items.length };
}

const NO_GUESSES = { secret: [], unread: [] };

/** A new set, its content, and the messages that store its versions. */
interface Start {
  set: ChangeSet;
  content: Content;
  versions: Append[];
}

async function started(
  deps: Deps,
  caller: Principal,
  context: OrbContext,
  { ids, read }: Source,
  about: NewSet,
): Promise<Start> {
  const { actor } = caller;
  const set = newSet(deps, actor, about);
  const store = new ReadBudget(2 * MOST_BYTES).limiting(deps.store, "Take back fewer entries, one by one.");
  const reader = { ...deps, store };
  let next = EMPTY;
  const versions: Append[] = [];
  let done = 0;
  try {
    for await (const taken of read(reader)) {
      const version = taken === undefined ? undefined : await before(reader, caller, context, taken);
      if (taken !== undefined && version !== undefined) {
        const { item: added, messages } = await versionMessages(set.id, version, 0);
        next = withItem(next, taken.item.id, added, actorId(actor));
        versions.push(...messages);
      }
      done += 1;
    }
  } catch (error) {
    // The rest can be taken back once this set is published.
    if (versions.length === 0 || !isTooMuch(error)) throw error;
  }
  const takes = [...next.items.map(({ id }) => id), ...ids.slice(done)];
  return { set, content: { ...next, takes }, versions };
}

const isTooMuch = (error: unknown) =>
  error instanceof AppError && (error.code === "change_too_large" || error.code === "too_broad");

export function nothingLeft(): AppError {
  return new AppError(
    "conflict",
    "change_empty",
    "There is nothing to take back: the entries of the change set are gone, or as they were before, or you may not write what it has changed.",
  );
}

/** Returns the version that takes back what the publication did with an entry; undefined if there is nothing to do. */
async function before(
  deps: Deps,
  caller: Principal,
  context: OrbContext,
  { item, old }: Taken,
): Promise<NewVersion | undefined> {
  const stream = streams.orb(context.orb);
  const address = addressOfItem(context.orb, item);
  const schema = schemaOf(context.compiled, address);
  const message = await deps.store.get(stream, subjects.entryLog(address));
  const entry = namedEntry(context.compiled, parseEntry(message));
  const undone =
    entry === null || entry.head.status === "DELETED"
      ? recreated(caller, schema, item, old)
      : await restored(deps, caller, schema, entry, item, old);
  if (undone === undefined) return undefined;
  const updatedAt = new Date(deps.clock.now()).toISOString();
  const { snapshot, pending } = undone;
  return {
    write: { address, schema, headSeq: 0 },
    snapshot: { ...snapshot, updatedAt, updatedBy: actorId(caller.actor) },
    pending,
  };
}

type Undone = Pick<NewVersion, "snapshot" | "pending">;

/** Returns the version that creates a deleted entry again, in the state before its deletion. */
function recreated(
  caller: Principal,
  schema: CompiledSchema | undefined,
  { act, done }: Item,
  old: EntrySnapshot | null,
): Undone | undefined {
  if (act !== "delete" || old === null || !done?.before) return undefined;
  requireWrite(caller, schema, "create", old);
  // Without the fields that the caller may not write, another entry would come back than the one that was deleted.
  if (!equal(writable(caller, schema, old, {}), old.values)) throw refusal(caller.actor);
  const { status } = done.before;
  if (status === "PUBLISHED") return { snapshot: shown(old, 1), pending: { act: "publish", base: null } };
  return { snapshot: { ...hidden(old, 1), status }, pending: { act: "restore", base: null } };
}

/** Returns the version that gives an entry the values and the state that it had before the publication. */
async function restored(
  deps: Deps,
  caller: Principal,
  schema: CompiledSchema | undefined,
  entry: LoadedEntry,
  item: Item,
  old: EntrySnapshot | null,
): Promise<Undone | undefined> {
  const newest = effective(entry.head, deps.clock.now());
  const { live } = await currentOf(deps, schema, { base: newest, entry });
  const act = actBack(item, old);
  requireWrite(caller, schema, act === "publish" || act === "unpublish" ? "update" : act, newest);
  // Start from the published revision, so that the merge keeps later changes in other places.
  const place = item.done === undefined ? null : await revisionPlace(deps, entry, item.done.revision);
  const stored =
    place === null ? null : snapshotOf(await deps.store.getSeq(streams.orb(entry.address.orb), place.seq));
  if (place === null || stored === null) return undefined;
  const published = withNames(schema, stored);
  const base = { revision: published.revision, seq: place.seq, live: item.act === "publish" };
  const pending = { act, base };
  const revision = live.revision + 1;
  if (old === null || act === "delete")
    return { snapshot: { ...hidden(live, revision), status: "DELETED", values: {}, claims: [] }, pending };
  if (act === "restore") return { snapshot: { ...hidden(live, revision), status: "UNPUBLISHED" }, pending };
  const kept = { ...old, values: writable(caller, schema, old, published.values) };
  const isSame =
    equal(kept.values, published.values) &&
    kept.validFrom === published.validFrom &&
    kept.validTo === published.validTo;
  // The publication has changed nothing, or nothing that the caller may take back.
  if (isSame && (act === "publish" ? item.act === "publish" : isReached(act, newest))) return undefined;
  if (act === "publish") return { snapshot: shown(kept, revision), pending };
  const status = act === "archive" ? "ARCHIVED" : "UNPUBLISHED";
  const edited = isSame ? {} : { edited: true as const };
  return { snapshot: { ...hidden(kept, revision), status }, pending: { ...pending, ...edited } };
}

/** Returns what takes back the publication of an entry that still exists. */
function actBack({ act, done }: Item, old: EntrySnapshot | null): VersionAct {
  if (old === null || !done?.before) return "delete";
  const { status } = done.before;
  if (status === "PUBLISHED") return "publish";
  if (status === "ARCHIVED") return "archive";
  return act === "archive" ? "restore" : "unpublish";
}

function requireWrite(
  caller: Principal,
  schema: CompiledSchema | undefined,
  act: EntryOperation,
  { createdBy }: EntrySnapshot,
): void {
  const access = schema?.access ?? ADMINS_ONLY;
  requireMay(caller, act, { access, own: isOwn(caller.actor, createdBy) });
}

/** Returns old values, with the stored ones in all fields that the caller may not read or may not write. */
function writable(
  caller: Principal,
  schema: CompiledSchema | undefined,
  { id, createdBy, values }: EntrySnapshot,
  stored: EntrySnapshot["values"],
): EntrySnapshot["values"] {
  if (schema === undefined) return values;
  const faults: Fault[] = [];
  const kept = keepingHidden(schema, { caller, createdBy }, values, stored, faults);
  if (faults.length === 0) return remembered(kept, values);
  throw invalid(
    faults.map((fault) => ({ ...fault, path: `/${schema.module}/${schema.id}/${id}${fault.path}` })),
  );
}

function hidden(head: EntrySnapshot, revision: number): EntrySnapshot {
  const none = {
    publishedRevision: null,
    publishedSeq: null,
    liveFrom: null,
    liveTo: null,
    liveClaims: null,
  };
  return { ...head, ...none, revision };
}

function shown(old: EntrySnapshot, revision: number): EntrySnapshot {
  const { validFrom, validTo } = old;
  const live = {
    status: "PUBLISHED",
    publishedRevision: revision,
    liveFrom: validFrom,
    liveTo: validTo,
  } as const;
  return { ...hidden(old, revision), ...live };
}
