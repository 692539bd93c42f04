/**
 * Makes entries of objects, for a definition that replaces an object by a reference to an entry of a new schema. Runs
 * before the definition is active, while clients write. The new schema is not served yet, so nobody sees its entries.
 * Their ids follow from the objects, so a repetition changes only what has changed since.
 */

import { system } from "../../access/actor.ts";
import { principalIn } from "../../access/authorize.ts";
import type { CompiledSchema } from "../../definition/compile.ts";
import { splitItems } from "../../definition/names/index.ts";
import { ruleFaults } from "../../definition/rule.ts";
import { validateValues } from "../../definition/validate.ts";
import type { Deps } from "../../deps.ts";
import { AppError, type Fault } from "../../kernel/errors.ts";
import { inParallel } from "../../kernel/parallel.ts";
import { scanPages } from "../../store/pages.ts";
import { type Home, lastToken, streams, subjects } from "../../store/subjects.ts";
import {
  checkTargets,
  publishMessages,
  readPage,
  scanEntries,
  storedPublished,
  withReservations,
} from "../index/index.ts";
import {
  type EntrySnapshot,
  effective,
  hasDraft,
  indexKeysOf,
  isUniqueKey,
  loadEntry,
  madeWithout,
  namedEntry,
  nameOfToken,
  type OrbContext,
  parseKey,
  type StoredEntry,
  type StoredSnapshot,
  schemaOf,
  storedInput,
  withNames,
  withStoredNames,
} from "../model/index.ts";
import { neededFaults } from "../values/index.ts";
import {
  commit,
  deleteEntry,
  type NewEntryWrite,
  planNew,
  restoreEntry,
  retryOnConflict,
  type Target,
  unpublishEntry,
  updateEntry,
} from "../write/index.ts";
import { addLoss, type LossyEntries } from "./publishing.ts";
import { changedEntries, type Schemas, type StepOf, schemasOf } from "./steps.ts";

/** Messages of an index that are read at once. */
const INDEX_PAGE = 4_000;

/** A revision of an entry to make. */
interface Side {
  values: Readonly<Record<string, unknown>>;
  validFrom: string | null;
  validTo: string | null;
}

/** An entry to make of an object. */
interface Wanted {
  id: string;
  createdAt: string;
  createdBy: string;
  live?: Side;
  draft?: Side;
}

/** What a dry run finds. */
export interface SplitEffect {
  /** Number of entries that the publication makes. */
  makes: number;
  /** Entries whose objects cannot become entries. */
  lossy: LossyEntries | undefined;
}

/** Returns the objects of a revision by the ids of the entries that they become. */
function objectsOf({ step }: StepOf, { before, after, target }: Schemas, stored: StoredSnapshot) {
  const made = madeWithout(after, step.field, stored);
  if (made === undefined) return new Map<string, Readonly<Record<string, unknown>>>();
  const value = storedInput(before, withNames(before, stored).values)[step.source];
  const items = splitItems({ id: stored.id, form: made.form }, value);
  const known = (object: Readonly<Record<string, unknown>>) =>
    Object.fromEntries(Object.entries(object).filter(([name]) => target.fields.has(name)));
  return new Map(items.map(({ id, object }) => [id, known(object)]));
}

async function wantedOf(deps: Deps, place: StepOf, schemas: Schemas, entry: StoredEntry): Promise<Wanted[]> {
  const head = effective(entry.head, deps.clock.now());
  if (head.status === "DELETED") return [];
  const live = head.publishedRevision === null ? null : await storedPublished(deps, entry);
  const shown = live === null ? new Map() : objectsOf(place, schemas, live);
  const newest = live !== null && !hasDraft(head) ? new Map() : objectsOf(place, schemas, head);
  const window = { validFrom: head.validFrom, validTo: head.validTo };
  const origin = { createdAt: head.createdAt, createdBy: head.createdBy };
  return [...new Set([...shown.keys(), ...newest.keys()])].map((id) => ({
    id,
    ...origin,
    ...(shown.has(id)
      ? { live: { values: shown.get(id), validFrom: head.liveFrom, validTo: head.liveTo } }
      : {}),
    ...(newest.has(id) ? { draft: { values: newest.get(id), ...window } } : {}),
  }));
}

/** Finds the entries that a split would make, and the objects that cannot become entries. Writes nothing. */
export async function examineSplit(deps: Deps, place: StepOf): Promise<SplitEffect> {
  const schemas = schemasOf(place, place.to);
  const { target } = schemas;
  const losses: LossyEntries = { entries: 0, examples: [] };
  const owners = new Map<string, string>();
  let makes = 0;
  for await (const page of scanEntries(deps, place.to.orb, place.home)) {
    for (const entry of page) {
      const wanted = await wantedOf(deps, place, schemas, entry);
      makes += wanted.length;
      const reasons = wanted.map(({ id, live, draft }) =>
        Promise.all(
          [live, draft].map((side) =>
            side === undefined
              ? undefined
              : refusal(deps, place.to, target, { id, side, owners, publish: side === live }),
          ),
        ),
      );
      const [reason] = (await Promise.all(reasons)).flat().filter((one) => one !== undefined);
      if (reason !== undefined) addLoss(losses, entry.head.id, reason);
    }
  }
  return { makes, lossy: losses.entries === 0 ? undefined : losses };
}

/** Returns why an object cannot become an entry. */
async function refusal(
  deps: Deps,
  by: OrbContext,
  target: CompiledSchema,
  { id, side, owners, publish }: { id: string; side: Side; owners: Map<string, string>; publish: boolean },
): Promise<string | undefined> {
  const place = `${target.module}/${target.id}`;
  const checked = validateValues(target, side.values, { publish });
  const targets = await checkTargets(deps, system, by, target, id, checked.values, {
    ...{ live: publish, held: new Set<string>(), stored: {} },
  });
  const [fault] = [
    ...neededFaults(deps.clock, target, checked),
    ...ruleFaults(target, checked.values),
    ...targets.faults,
  ];
  if (fault !== undefined) return unfit(target, told(fault));
  const keys = target.unique.length === 0 ? [] : await indexKeysOf(deps.config, target, checked.values);
  for (const key of keys.filter(isUniqueKey)) {
    const owner = owners.get(key) ?? id;
    owners.set(key, owner);
    if (owner !== id)
      return `has an object whose ${nameOfToken(target, parseKey(key).field)} another object has too, but it is unique in ${place}`;
  }
  return undefined;
}

const unfit = ({ module, id }: CompiledSchema, reason: string) =>
  `has an object that cannot become an entry of ${module}/${id}: ${reason}`;

const told = ({ path, message }: Fault) =>
  `${path.replace(/^\/values\//, "").replaceAll("/", ".")} ${message}`;

/** Makes the entries of a split. */
export class Split {
  readonly #deps: Deps;
  readonly #place: StepOf;
  readonly #schemas: Schemas;
  /** For each entry with objects, the ids of the entries that they became. */
  readonly #made = new Map<string, readonly string[]>();

  /** Whether entries were looked for that were purged before the first round of changes. */
  #compared = false;

  /** Ids of all entries that splits have made for the new schema. */
  readonly #known: Set<string>;

  readonly #progress: () => Promise<void>;

  /**
   * @param known shared by all splits for the same new schema
   * @param progress called again and again while entries are made
   */
  constructor(deps: Deps, place: StepOf, known: Set<string>, progress: () => Promise<void>) {
    this.#deps = deps;
    this.#place = place;
    this.#progress = progress;
    this.#schemas = schemasOf(place, place.to);
    this.#known = known;
  }

  /** Makes the entries of all objects. @param by the definition to be, with the fence that writes expect now */
  async makeAll(by: OrbContext): Promise<void> {
    for await (const page of scanEntries(this.#deps, by.orb, this.#place.home)) {
      await this.#progress();
      await inParallel(page, (entry) => this.#make(by, entry));
    }
  }

  /**
   * Erases the entries of an interrupted split whose objects are gone, with their history. Call it after all splits have made theirs, and
   * only if the new schema was never published.
   */
  async removeOthers(by: OrbContext): Promise<void> {
    for await (const page of scanEntries(this.#deps, by.orb, this.#place.step.target))
      await inParallel(page, async ({ head }) => {
        if (!this.#known.has(head.id)) await this.#remove(by, head.id, true);
      });
  }

  /** Makes the entries of the objects that were written after a sequence number, and removes those that are gone. */
  async makeChanged(by: OrbContext, since: number): Promise<void> {
    const { home } = this.#place;
    const purged = this.#compared ? [] : await this.#purged(by);
    this.#compared = true;
    const changed = changedEntries(this.#deps, by.orb, home, since, (id) => purged.push(id));
    for await (const page of changed) {
      await this.#progress();
      await inParallel(page, (entry) => this.#make(by, entry));
    }
    await inParallel(purged, (id) => this.#erase(by, id));
  }

  /** Returns the entries that were purged since their objects were read. Their marks may have expired already. */
  async #purged(by: OrbContext): Promise<string[]> {
    const { store } = this.#deps;
    const { home } = this.#place;
    const filter = subjects.schemaIndex({ orb: by.orb, ...home });
    const left = new Set(this.#made.keys());
    const pages = scanPages((fromSeq) => readPage(store, by.orb, filter, { fromSeq, limit: INDEX_PAGE }));
    for await (const messages of pages)
      for (const { subject, size } of messages) if (size > 0) left.delete(lastToken(subject));
    const found = [...left].map(async (id) =>
      (await loadEntry(this.#deps, by.orb, id, this.#schemas.before)) === null ? [id] : [],
    );
    return (await Promise.all(found)).flat();
  }

  /** Erases the entries that were made of the objects of a purged entry, with their history. */
  async #erase(by: OrbContext, id: string): Promise<void> {
    for (const made of this.#made.get(id) ?? []) await this.#remove(by, made, true);
    this.#made.delete(id);
  }

  async #make(by: OrbContext, entry: StoredEntry): Promise<void> {
    const { id } = entry.head;
    const wanted = await wantedOf(this.#deps, this.#place, this.#schemas, entry);
    for (const one of wanted) {
      await this.#ensure(by, one).catch((error: unknown) => {
        throw asRefusal(error, id, this.#schemas.target);
      });
      this.#known.add(one.id);
    }
    const now = wanted.map((one) => one.id);
    for (const before of this.#made.get(id) ?? []) if (!now.includes(before)) await this.#remove(by, before);
    this.#made.set(id, now);
  }

  #target({ orb, ...context }: OrbContext, id: string) {
    const by = { orb, ...context };
    return { orbId: orb, orb: by, id, schema: this.#schemas.target, renew: async () => by };
  }

  #remove(by: OrbContext, id: string, purge = false): Promise<void> {
    return removeEntry(this.#deps, { ...this.#target(by, id), purge });
  }

  /** Creates an entry, or gives it the values that its object has now. */
  async #ensure(by: OrbContext, wanted: Wanted): Promise<void> {
    const deps = this.#deps;
    const { target: schema } = this.#schemas;
    const found = await retryOnConflict(deps, by.orb, async () => {
      const stored = await loadEntry(deps, by.orb, wanted.id, schema);
      if (stored !== null && stored.head.status !== "DELETED") return namedEntry(by.compiled, stored);
      await this.#create(by, wanted, stored);
      return undefined;
    });
    if (found === undefined && (wanted.live === undefined || wanted.draft === undefined)) return;
    const target = this.#target(by, wanted.id);
    if (found?.head.status === "ARCHIVED") await restoreEntry(deps, system, target);
    // Fields that the object does not have stay as they are.
    const kept = Object.entries(found === undefined ? {} : storedInput(schema, found.head.values)).filter(
      ([name]) => !this.#hasMember(name),
    );
    const content = ({ values, ...window }: Side) => ({
      ...window,
      values: { ...Object.fromEntries(kept), ...values },
      skipsUnchanged: true,
    });
    if (found !== undefined && wanted.live !== undefined)
      await updateEntry(deps, system, { ...target, ...content(wanted.live), publish: true });
    const isLive = found !== undefined && effective(found.head, deps.clock.now()).publishedRevision !== null;
    if (isLive && wanted.live === undefined) await unpublishEntry(deps, system, target);
    if (wanted.draft !== undefined) await updateEntry(deps, system, { ...target, ...content(wanted.draft) });
  }

  #hasMember(name: string): boolean {
    const { before } = this.#schemas;
    return before.fields.get(this.#place.step.source)?.shapes?.get("")?.has(name) === true;
  }

  /** @param gone the entry if it was made earlier, and deleted since */
  async #create(by: OrbContext, wanted: Wanted, gone: StoredEntry | null): Promise<void> {
    const deps = this.#deps;
    const { id, live, draft, createdAt, createdBy } = wanted;
    const { target: schema } = this.#schemas;
    const side = live ?? draft;
    if (side === undefined) return;
    const caller = principalIn(system, by.orb, by.compiled);
    const entry = {
      ...{ module: schema.module, schema: schema.id, publish: live !== undefined },
      ...side,
      origin: { createdAt, createdBy },
    };
    const plan = await planNew(deps, caller, by, schema, entry, id, { hooks: false });
    const write = gone === null ? plan : afterDeletion(plan, gone, deps.clock.now());
    await commit(deps, by, await withReservations(deps, by, schema, write), { atomic: true });
  }
}

async function removeEntry(deps: Deps, target: Target & { purge: boolean }): Promise<void> {
  try {
    await deleteEntry(deps, system, { ...target, force: true });
  } catch (error) {
    if (!(error instanceof AppError) || error.code !== "entry_not_found") throw error;
  }
}

/**
 * Erases the entries that were made for a schema, with their history. Entries of an earlier schema of that name, which
 * were deleted before and made again, are only deleted again.
 * @param by a definition that has the schema, with the fence that writes expect now
 * @param since sequence number of the stream before the first entry was made
 */
export async function eraseMade(deps: Deps, by: OrbContext, home: Home, since: number): Promise<void> {
  const schema = schemaOf(by.compiled, home);
  const target = { orbId: by.orb, orb: by, schema, renew: async () => by };
  for await (const page of changedEntries(deps, by.orb, home, since))
    await inParallel(page, async ({ address, head: { id } }) => {
      const log = subjects.entryLog(address);
      const first = await deps.store.nextMessage(streams.orb(by.orb), log, 1);
      await removeEntry(deps, { ...target, id, purge: first !== null && first.seq > since });
    });
}

/** Returns the write that creates an entry again, whose revisions follow those from before its deletion. */
function afterDeletion(plan: NewEntryWrite, { head, seq }: StoredEntry, now: number): NewEntryWrite {
  const { address, schema } = plan;
  const [made] = plan.snapshots;
  const revision = head.revision + 1;
  const isLive = made.publishedRevision !== null;
  const snapshot: EntrySnapshot = { ...made, revision, publishedRevision: isLive ? revision : null };
  const live =
    isLive && schema !== undefined
      ? publishMessages(address, schema.liveRole, withStoredNames(schema, snapshot), null, now)
      : [];
  return { ...plan, headSeq: seq, snapshots: [snapshot], live };
}

/** Codes of errors that say why the values of an object cannot become an entry. */
const UNFIT: ReadonlySet<string> = new Set(["unique_conflict", "reference_not_live", "entry_too_large"]);

/** Returns an error that names the entry with an object that does not fit the new schema. */
function asRefusal(error: unknown, id: string, target: CompiledSchema): unknown {
  if (!(error instanceof AppError) || (error.kind !== "invalid" && !UNFIT.has(error.code))) return error;
  const [fault] = error.errors ?? [];
  const reason = unfit(target, fault === undefined ? error.message : told(fault));
  const message = `${id} ${reason}. Change this entry first.`;
  return new AppError("conflict", "incompatible_change", message);
}
