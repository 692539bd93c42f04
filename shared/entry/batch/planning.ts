/** Decides writes of several entries, each with the state that all of them leave behind. */

import type { Principal } from "../../access/authorize.ts";
import type { CompiledSchema } from "../../definition/compile.ts";
import type { Deps } from "../../deps.ts";
import { AppError } from "../../kernel/errors.ts";
import { inParallel, mapInParallel } from "../../kernel/parallel.ts";
import { ReadBudget } from "../../store/budget.ts";
import { nullIfMissing } from "../../store/pages.ts";
import { streams, subjects } from "../../store/subjects.ts";
import { Conflict } from "../../store/types.ts";
import { inBatches, refusedValues } from "../index/index.ts";
import {
  addressOf,
  type EntryWrite,
  isUniqueKey,
  keySubject,
  type OrbContext,
  parseEntry,
  type StoredEntry,
} from "../model/index.ts";
import { type Admitted, type Change, type Plan, planChange } from "../write/index.ts";
import type { Act } from "./items.ts";
import { Overlay } from "./overlay.ts";
import type { Refusals } from "./refusals.ts";

/** An entry that is written together with others, and the dependencies of its write. Quotas count each entry. */
export interface Together {
  index: number;
  /** `delete` for all writes that must not leave references to the entry. They are decided last. */
  act: Act;
  schema: CompiledSchema;
  /** Id of the entry, also of a new one. */
  id: string;
  deps: Deps;
}

export interface Stored {
  entry: StoredEntry | null;
  /** Sequence of the message that a new reference to the entry replaces. */
  guardSeq: number;
}

/** A change of a stored entry that the caller may make. */
export interface AdmittedChange {
  change: Change;
  admitted: Admitted;
  ifMatch?: number | undefined;
}

export interface PlanningOptions {
  refusals: Refusals;
  /** Number of earlier attempts. */
  attempt: number;
  /** Whether to look at the owners of all unique values, because no condition of the commit checks them. */
  reserves?: boolean;
  /** Limits the reads of all items together. */
  budget?: ReadBudget;
}

const SMALLER = "Send fewer items, or items of smaller entries.";

/** Reads the entries that items change, and for a deletion what references to them replace. */
export async function readStored(
  deps: Deps,
  orb: string,
  items: readonly Together[],
  budget: ReadBudget,
): Promise<Map<string, Stored>> {
  const store = budget.charging(deps.store);
  const changed = items.filter(({ act }) => act !== "create");
  const wanted = changed.flatMap(({ act, schema, id }) => {
    const log = subjects.entryLog(addressOf(schema, id));
    return act === "delete" ? [log, subjects.referenceGuard(orb, id)] : [log];
  });
  const entries = new Map<string, StoredEntry | null>();
  const guards = new Map<string, number>();
  const read = (some: readonly string[], maxBytes: number) =>
    nullIfMissing(store.getMany(streams.orb(orb), some, { maxBytes }));
  for await (const { result } of inBatches(budget, wanted, read)) {
    budget.require(SMALLER);
    for (const [subject, message] of result ?? []) {
      guards.set(subject, message.seq);
      entries.set(subject, parseEntryAt(subject, message));
    }
  }
  return new Map(
    changed.map(({ schema, id }) => {
      const entry = entries.get(subjects.entryLog(addressOf(schema, id))) ?? null;
      return [id, { entry, guardSeq: guards.get(subjects.referenceGuard(orb, id)) ?? 0 }];
    }),
  );
}

/** Parses an entry. A message that references replace is none. */
function parseEntryAt(subject: string, message: Parameters<typeof parseEntry>[0]): StoredEntry | null {
  return subject.includes(".owner.") ? parseEntry(message) : null;
}

/** The items of one attempt, and what was decided about them. */
export abstract class Planning<T extends Together> {
  protected readonly deps: Deps;
  protected readonly context: OrbContext;
  protected readonly caller: Principal;
  readonly #items: readonly T[];
  readonly #refusals: Refusals;
  protected readonly overlay: Overlay;
  protected readonly attempt: number;
  readonly #budget: ReadBudget;
  readonly #reserves: boolean;
  readonly #plans = new Map<number, Plan>();

  constructor(
    deps: Deps,
    caller: Principal,
    context: OrbContext,
    items: readonly T[],
    { refusals, attempt, reserves = false, budget = new ReadBudget() }: PlanningOptions,
  ) {
    this.deps = deps;
    this.context = context;
    this.caller = caller;
    this.#items = items;
    this.#refusals = refusals;
    this.attempt = attempt;
    this.#reserves = reserves;
    this.#budget = budget;
    this.overlay = new Overlay(context.orb, budget.limiting(deps.store, SMALLER));
  }

  /** Returns the change of an entry; undefined if there is nothing to do. Throws if the caller may not make it. */
  protected abstract admit(one: T, entry: StoredEntry | null): AdmittedChange | undefined;

  /** Decides the creation of an entry. */
  protected abstract planNew(one: T): Promise<Plan>;

  /** Shows the state that an item leads to, as far as checks of references need it, before the item is decided. */
  protected abstract showExpected(one: T, entry: StoredEntry | null): void;

  /** Returns an error with the names that the request has for the fields of an item. */
  protected told(_one: T, error: AppError): AppError {
    return error;
  }

  /** Runs the work of one item. Returns undefined if the item is refused. */
  #try<R>(one: T, work: () => R | Promise<R>): Promise<R | undefined> {
    return this.#refusals.try(one.index, async () => {
      try {
        return await work();
      } catch (error) {
        throw error instanceof AppError ? this.told(one, error) : error;
      }
    });
  }

  /** Returns the dependencies with which an item is decided. */
  protected within(one: T): Deps {
    return { ...one.deps, store: this.overlay.store };
  }

  /**
   * Returns the writes of all items, in their order.
   * @throws AppError the reasons why items are refused
   * @throws Conflict if an entry has changed meanwhile
   */
  async run(): Promise<{ plan: Plan; write: EntryWrite }[]> {
    const stored = await readStored(this.deps, this.context.orb, this.#items, this.#budget);
    const changes = new Map<number, AdmittedChange & { seq: number }>();
    for (const one of this.#items) {
      if (one.act === "create") continue;
      await this.#try(one, () => {
        const { entry, guardSeq } = stored.get(one.id) ?? { entry: null, guardSeq: 0 };
        const admitted = this.admit(one, entry);
        if (admitted !== undefined) changes.set(one.index, { ...admitted, seq: guardSeq });
      });
    }
    this.#refusals.throwAny();
    for (const one of this.#items) this.showExpected(one, stored.get(one.id)?.entry ?? null);
    const planOne = (one: T) =>
      this.#try(one, async () => {
        const known = changes.get(one.index);
        if (known === undefined && one.act !== "create") return;
        const plan = known === undefined ? await this.planNew(one) : await this.#planChange(one, known);
        this.#plans.set(one.index, plan);
        this.#note(one, plan);
      });
    // The references of all other items are known when a deletion looks for entries that still refer to its entry.
    await this.#inParts(
      this.#items.filter(({ act }) => act !== "delete"),
      planOne,
    );
    this.#refusals.throwAny();
    for (const one of this.#items) this.#showPlanned(one);
    await this.#inParts(
      this.#items.filter(({ act }) => act === "delete"),
      planOne,
    );
    this.#refusals.throwAny();
    for (const one of this.#items) this.#showPlanned(one);
    this.overlay.forget();
    return this.#reserved();
  }

  /** Runs work for some items at once. Items whose plans depend on those of earlier ones run one after the other. */
  async #inParts(items: readonly T[], work: (one: T) => Promise<unknown>): Promise<void> {
    const inOrder = items.filter(({ schema }) => schema.slugs.length + schema.files.length > 0);
    const others = items.filter((one) => !inOrder.includes(one));
    await inParallel(others, work);
    for (const one of inOrder) await work(one);
  }

  async #planChange(
    one: T,
    { change, admitted, ifMatch, seq }: AdmittedChange & { seq: number },
  ): Promise<Plan> {
    const guardSeq = change.guarded === true ? seq : undefined;
    const plan = await planChange(this.within(one), admitted, { ifMatch }, change, guardSeq);
    if ("write" in plan) return plan;
    throw new AppError("internal", "internal_error", "An item of the batch writes nothing.");
  }

  #showPlanned({ index, schema }: T): void {
    const plan = this.#plans.get(index);
    if (plan === undefined) return;
    this.overlay.showPlanned(schema, plan.write);
  }

  /** Shows an item to the items after it, with the slugs and the records of files that it takes. */
  #note(one: T, { write }: Plan): void {
    const { schema, id } = one;
    const { address } = write;
    // Whether a caller may use a file depends on the entries that have it.
    this.#showPlanned(one);
    const keys = schema.slugs.length === 0 ? [] : write.claims.adds.filter(isUniqueKey);
    const slugs = keys.map((key) => ({ subject: keySubject(address, key), data: id, seq: 0 }));
    const files = (write.guards ?? []).flatMap(({ seq, carriers = [] }) =>
      carriers.slice(0, 1).map((record) => ({ ...record, seq })),
    );
    this.overlay.note([...slugs, ...files]);
  }

  /** Returns the writes after a look at the owners of their unique values, if some of them may be taken. */
  async #reserved(): Promise<{ plan: Plan; write: EntryWrite }[]> {
    const plans = this.#items.flatMap((one) => {
      const plan = this.#plans.get(one.index);
      return plan === undefined ? [] : [{ one, index: one.index, plan }];
    });
    const takers = new Map<string, number>();
    const freed = new Set<string>();
    const adds = plans.flatMap(({ one, plan: { write } }) =>
      write.claims.adds.filter(isUniqueKey).map((key) => ({ one, write, key })),
    );
    for (const { write } of plans.map(({ plan }) => plan))
      for (const key of write.claims.frees) if (isUniqueKey(key)) freed.add(keySubject(write.address, key));
    for (const { one, write, key } of adds) {
      const subject = keySubject(write.address, key);
      if (takers.has(subject))
        this.#refusals.add(one.index, this.told(one, refusedValues(write.schema, [key])));
      takers.set(subject, one.index);
    }
    this.#refusals.throwAny();
    const looksAll =
      this.#reserves || this.attempt > 0 || [...takers.keys()].some((subject) => freed.has(subject));
    const made = await mapInParallel(plans, ({ one, plan }) =>
      this.#try(one, async () => ({
        plan,
        write: looksAll || plan.doubtful ? await plan.reserve(this.within(one)) : plan.write,
      })),
    );
    this.#refusals.throwAny();
    return made.map((one) => {
      if (one === undefined) throw new Conflict();
      return one;
    });
  }
}
