/**
 * Gives entries the values of other entries as an object, for a definition that replaces a reference by such an object.
 * Runs before the definition is active, while clients write: a revision gets the object beside the reference, under a
 * name that the active definition does not show. Entries that already show these values are left as they are.
 */

import { system } from "../../access/actor.ts";
import type { CompiledField } from "../../definition/compile.ts";
import { splitItems } from "../../definition/names/index.ts";
import { valueFault } from "../../definition/validate.ts";
import { KEY, keyOf } from "../../definition/walk.ts";
import type { Deps } from "../../deps.ts";
import { AppError } from "../../kernel/errors.ts";
import { equal, isObject } from "../../kernel/json.ts";
import { inParallel } from "../../kernel/parallel.ts";
import { Conflict } from "../../store/types.ts";
import { publishedOf, publishMessages, scanEntries, storedPublished } from "../index/index.ts";
import {
  type EntrySnapshot,
  effective,
  hasDraft,
  knownValues,
  loadEntry,
  namedEntry,
  type OrbContext,
  type RevisionState,
  type StoredEntry,
  type StoredSnapshot,
  withNames,
  withStoredValue,
} from "../model/index.ts";
import { changeEntry, type Decision, type State, statusOf } from "../write/index.ts";
import { addLoss, type LossyEntries } from "./publishing.ts";
import { changedEntries, type Schemas, type StepOf, schemasOf } from "./steps.ts";

/** The schemas and the field that take part. */
interface Parts extends Schemas {
  field: CompiledField;
}

function partsOf(place: StepOf): Parts {
  const schemas = schemasOf(place, place.from);
  const field = schemas.after.fields.get(place.step.field);
  if (field !== undefined) return { ...schemas, field };
  throw new AppError("internal", "internal_error", "The field of a join is missing.");
}

/** The values that a referenced entry has: the published ones, and the newest ones. */
interface Referenced {
  live: Readonly<Record<string, unknown>> | undefined;
  newest: Readonly<Record<string, unknown>> | undefined;
  /** Undefined if there is no such entry. */
  state: RevisionState | undefined;
}

/** The objects that an entry is to have, in its published and in its newest revision. */
interface Objects {
  live: unknown;
  newest: unknown;
}

/** Returns whether a published entry is visible at times at which one to which it refers is not, from now on. */
function isShownLonger(entry: RevisionState, referenced: RevisionState, now: number): boolean {
  if (entry.publishedRevision === null || referenced.publishedRevision === null) return false;
  const [from, to] = [referenced.liveFrom, referenced.liveTo];
  const begins =
    from !== null &&
    Date.parse(from) > now &&
    (entry.liveFrom === null || Date.parse(entry.liveFrom) < Date.parse(from));
  const ends = to !== null && (entry.liveTo === null || Date.parse(entry.liveTo) > Date.parse(to));
  return begins || ends;
}

const idsIn = (value: unknown): string[] => [value].flat().filter((id) => typeof id === "string");

/** What a dry run finds. */
export interface JoinEffect {
  lossy: LossyEntries | undefined;
  /** The entries whose values become objects. */
  joined: ReadonlySet<string>;
}

/** Joins entries. */
export class Join {
  readonly #deps: Deps;
  readonly #place: StepOf;
  readonly #parts: Parts;
  /** For each entry of the other schema, the ids of those that refer to it. */
  readonly #referrers = new Map<string, Set<string>>();
  /** For each entry, the ids of those to which it refers. */
  readonly #references = new Map<string, ReadonlySet<string>>();
  /** The entries of the other schema, if it is removed because all of them become objects. */
  #taken: Set<string> | undefined;

  constructor(deps: Deps, place: StepOf) {
    this.#deps = deps;
    this.#place = place;
    this.#parts = partsOf(place);
  }

  /** Finds the entries that would lose something. Writes nothing. */
  async examine(): Promise<JoinEffect> {
    const losses: LossyEntries = { entries: 0, examples: [] };
    const joined = new Set<string>();
    const { from, home } = this.#place;
    for await (const page of scanEntries(this.#deps, from.orb, home))
      await inParallel(page, async (entry) => {
        const reason = await this.#refusal(from, entry, joined);
        if (reason !== undefined) addLoss(losses, entry.head.id, reason);
      });
    return { lossy: losses.entries === 0 ? undefined : losses, joined };
  }

  /** Says that the other schema is removed, so that each of its entries must become an object. */
  takeAll(ids: ReadonlySet<string>): void {
    this.#taken = new Set(ids);
  }

  /**
   * Returns why the references of an entry cannot become objects.
   * @param joined gets the ids of the existing entries to which it refers
   */
  async #refusal(by: OrbContext, entry: StoredEntry, joined: Set<string>): Promise<string | undefined> {
    const { after, field, before } = this.#parts;
    const now = this.#deps.clock.now();
    const head = effective(entry.head, now);
    const stored = await storedPublished(this.#deps, { ...entry, head });
    const revisions = [head, ...(stored === null ? [] : [stored])];
    const ids = revisions.flatMap((one) => idsIn(withNames(before, one).values[this.#place.step.source]));
    const reasons = await Promise.all(
      [...new Set(ids)].map(async (id) => {
        const { live, newest, state } = await this.#referenced(by, id);
        if (state === undefined) return undefined;
        joined.add(id);
        return (
          this.#unfit(id, { ...live, ...newest }) ??
          (isShownLonger(head, state, now) ? this.#shownLonger(id) : undefined)
        );
      }),
    );
    const objects = await this.#objectsOf(by, entry);
    const fault = [objects.live, objects.newest]
      .map((object) => valueFault(after, field, object))
      .find((one) => one !== undefined && one.code !== "required");
    const [reason] = [
      ...reasons.filter((one) => one !== undefined),
      ...(fault === undefined ? [] : [`would have a value of ${field.name} that ${fault.message}`]),
      ...(before.fields.has(field.stored) ? [`has a field ${field.stored}`] : []),
    ];
    return reason;
  }

  #shownLonger(id: string): string {
    const { target } = this.#parts;
    return `refers to ${id} of ${target.module}/${target.id}, which is visible at other times. An object is visible with its entry`;
  }

  /** Returns why the values of an entry cannot become an object. */
  #unfit(id: string, values: Readonly<Record<string, unknown>>): string | undefined {
    const { target, field } = this.#parts;
    const members = field.shapes?.get("");
    const lost = Object.entries(values).find(
      ([name, value]) => value !== null && members?.has(name) !== true,
    );
    return (
      lost &&
      `refers to ${id} of ${target.module}/${target.id}, which has a value of ${lost[0]}. ${field.name} has no such field`
    );
  }

  /** Joins all entries. @param by the active definition, with the fence that writes expect now */
  async joinAll(by: OrbContext): Promise<void> {
    for await (const page of scanEntries(this.#deps, by.orb, this.#place.home))
      await inParallel(page, (entry) => this.#join(by, entry));
  }

  /** Joins the entries of which either side was written after a sequence number. */
  async joinChanged(by: OrbContext, since: number): Promise<void> {
    const { home, step } = this.#place;
    for await (const page of changedEntries(this.#deps, by.orb, home, since))
      await inParallel(page, (entry) => this.#joinWritten(by, entry));
    for await (const page of changedEntries(this.#deps, by.orb, step.target, since)) {
      const ids = page.flatMap(({ head }) => [...(this.#referrers.get(head.id) ?? [])]);
      await inParallel([...new Set(ids)], async (id) => {
        const entry = await loadEntry(this.#deps, by.orb, id, this.#parts.before);
        if (entry !== null) await this.#joinWritten(by, entry);
      });
      for (const { head } of page)
        if (head.status === "DELETED") this.#taken?.delete(head.id);
        else this.#taken?.add(head.id);
    }
    // An entry became one to which nothing refers. The next attempt finds out what the publication would hide.
    for (const id of this.#taken ?? []) if ((this.#referrers.get(id)?.size ?? 0) === 0) throw new Conflict();
  }

  /** Joins an entry of which either side was written meanwhile. @throws AppError conflict if that would lose something */
  async #joinWritten(by: OrbContext, entry: StoredEntry): Promise<void> {
    if (entry.head.status === "DELETED") {
      this.#refer(entry.head.id, []);
      return;
    }
    const reason = await this.#refusal(by, entry, new Set());
    if (reason !== undefined)
      throw new AppError(
        "conflict",
        "incompatible_change",
        `${entry.head.id}, which was written meanwhile, ${reason}. Change this entry first.`,
      );
    await this.#join(by, entry);
  }

  #refer(id: string, ids: readonly string[]): void {
    const now = new Set(ids);
    for (const one of this.#references.get(id) ?? []) if (!now.has(one)) this.#referrers.get(one)?.delete(id);
    for (const one of now) this.#referrers.set(one, (this.#referrers.get(one) ?? new Set()).add(id));
    this.#references.set(id, now);
  }

  async #referenced(by: OrbContext, id: string): Promise<Referenced> {
    const { target } = this.#parts;
    const stored = await loadEntry(this.#deps, by.orb, id, target);
    const found = namedEntry(by.compiled, stored);
    if (found === null || found.head.status === "DELETED")
      return { live: undefined, newest: undefined, state: undefined };
    const head = effective(found.head, this.#deps.clock.now());
    const live = await publishedOf(this.#deps, target, { ...found, head });
    return {
      live: live === null ? undefined : knownValues(target, live.values),
      newest: knownValues(target, head.values),
      state: head,
    };
  }

  async #objectsOf(by: OrbContext, entry: StoredEntry): Promise<Objects> {
    const { before } = this.#parts;
    const head = effective(entry.head, this.#deps.clock.now());
    const live = await storedPublished(this.#deps, { ...entry, head });
    const revisions = [head, ...(live === null ? [] : [live])].map((one) => withNames(before, one));
    const { source } = this.#place.step;
    this.#refer(
      head.id,
      revisions.flatMap((one) => idsIn(one.values[source])),
    );
    const [newest, shown] = await Promise.all([
      this.#object(by, withNames(before, head), "newest"),
      live === null ? undefined : this.#object(by, withNames(before, live), "live"),
    ]);
    return { newest, live: shown };
  }

  /** Returns the object that a revision is to have. */
  async #object(by: OrbContext, revision: EntrySnapshot, side: "live" | "newest"): Promise<unknown> {
    const { field } = this.#parts;
    const ids = idsIn(revision.values[this.#place.step.source]);
    const members = field.shapes?.get("") ?? new Map<string, CompiledField>();
    const objects = await Promise.all(
      ids.map(async (id) => {
        const values = (await this.#referenced(by, id))[side];
        if (values === undefined) return undefined;
        const known = Object.entries(values).filter(([name, value]) => members.has(name) && value !== null);
        return { id, object: Object.fromEntries(known) };
      }),
    );
    const found = objects.filter((one) => one !== undefined);
    if (!field.list) return found[0]?.object ?? null;
    const keys = this.#keysOf(revision);
    return found.map(({ id, object }) => ({ [KEY]: keys.get(id) ?? id, ...object }));
  }

  /** Returns the keys of the items that became entries, by the ids of these. */
  #keysOf(revision: EntrySnapshot): Map<string, string> {
    const { before, field } = this.#parts;
    const made = before.made.find(({ name }) => name === this.#place.step.source);
    const items = revision.values[field.stored];
    if (made === undefined || !Array.isArray(items)) return new Map();
    return new Map(
      items.flatMap((item) => {
        const [only] = splitItems({ id: revision.id, form: made.form }, [item]);
        const key = keyOf(item);
        return only === undefined || key === undefined ? [] : [[only.id, key] as const];
      }),
    );
  }

  /** Returns whether a revision shows an object under the definition to be. */
  #shows(stored: StoredSnapshot, object: unknown): boolean {
    const { after, field } = this.#parts;
    return equal(bare(withNames(after, stored).values[field.name] ?? null), bare(object));
  }

  async #join(by: OrbContext, entry: StoredEntry): Promise<void> {
    if (entry.head.status === "DELETED") return;
    const { newest, live } = await this.#objectsOf(by, entry);
    const published = await storedPublished(this.#deps, entry);
    const isShown =
      this.#shows(entry.head, newest) &&
      (published === null || live === undefined || this.#shows(published, live));
    if (isShown) return;
    const { before } = this.#parts;
    try {
      await changeEntry(
        this.#deps,
        system,
        { orbId: by.orb, orb: by, id: entry.head.id, schema: before, renew: async () => by },
        {
          acts: ["update"],
          request: "join",
          upkeep: true,
          publishing: (state, made, role) =>
            publishMessages(state.entry.address, role, made, state.entry.head, state.now),
          decide: (state) => this.#decide(by, state),
        },
      );
    } catch (error) {
      if (!(error instanceof AppError) || error.code !== "entry_not_found") throw error;
    }
  }

  /** Returns the revisions that have the object beside the reference. */
  async #decide(by: OrbContext, state: State): Promise<Decision> {
    const { base, entry, held } = state;
    const { before, after, field } = this.#parts;
    const status = statusOf(base);
    const live = base.publishedRevision === null ? null : await publishedOf(this.#deps, before, entry);
    const newest = await this.#object(by, base, "newest");
    const beside = (values: EntrySnapshot["values"], object: unknown) => ({
      ...values,
      ...withStoredValue(after, field, object),
    });
    const values = beside(base.values, newest);
    if (live === null) return { operation: "update", status, values, live: "keep" };
    const shown = await this.#object(by, live, "live");
    const published = beside(live.values, shown);
    const isDraft = hasDraft(base) || !equal(bare(newest), bare(shown));
    return {
      operation: "publish",
      status,
      values: published,
      claims: hasDraft(base) ? (held.liveClaims ?? []) : held.claims,
      validFrom: base.liveFrom,
      validTo: base.liveTo,
      live: "publish",
      updates: true,
      ...(isDraft
        ? {
            draft: {
              ...{ values, claims: held.claims, guards: [], unchanged: false },
              ...{ validFrom: base.validFrom, validTo: base.validTo },
            },
          }
        : {}),
    };
  }
}

/** Returns a value without members that are null. */
function bare(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(bare);
  if (!isObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).flatMap(([name, one]) => (one === null ? [] : [[name, bare(one)]])),
  );
}
