/** Prepares stored entries for a new definition: counts and validates them, and adds missing index keys. */

import type { CompiledSchema } from "../../definition/compile.ts";
import type { Fence } from "../../definition/live-orb.ts";
import { type Values, validateValues } from "../../definition/validate.ts";
import type { Deps } from "../../deps.ts";
import type { Fault } from "../../kernel/errors.ts";
import { mapInParallel } from "../../kernel/parallel.ts";
import { indexBytes } from "../../store/budget.ts";
import { nullIfMissing } from "../../store/pages.ts";
import { seesAllWrites } from "../../store/policy.ts";
import { type Home, type LiveRole, streams, subjects } from "../../store/subjects.ts";
import { ahead, cancelMessages, entriesSince, scanEntries, storedPublished } from "../index/index.ts";
import {
  namesWithValue,
  type StoredEntry,
  type StoredSnapshot,
  storedInput,
  unconverted,
  withNames,
} from "../model/index.ts";
import { neededFaults } from "../values/index.ts";
import { fenced, moveEntries } from "../write/index.ts";

/**
 * Up to this number, entries are counted one by one. Beyond it, the size of the index is used, which may include
 * deleted entries.
 */
const EXACT = 500;
const GROUP = 300;

/** Returns the number of stored entries for each schema in `homes`, in the same order. */
export function entryCounts(deps: Deps, orb: string, homes: readonly Home[]): Promise<number[]> {
  return Promise.all(homes.map((home) => entryCount(deps, orb, home)));
}

async function entryCount(deps: Deps, orb: string, home: Home): Promise<number> {
  const filter = subjects.schemaIndex({ orb, ...home });
  const page = await nullIfMissing(
    deps.store.scan(streams.orb(orb), filter, { fromSeq: 1, limit: 1, maxBytes: indexBytes(1) }),
  );
  const total = page === null ? 0 : page.messages.length + page.pending;
  // A count of 0 must be exact, because a schema without entries may be changed in any way. A read could miss new
  // entries, so read them all.
  const confirmed = seesAllWrites(deps) || page === null;
  if (total > EXACT || (total === 0 && confirmed)) return total;
  let count = 0;
  for await (const entries of scanEntries(deps, orb, home)) count += entries.length;
  return count;
}

/** Entries that a report names. */
export const NAMED = 50;

/**
 * Moves the published copies of a schema to another subject, when a new definition changes who may read them.
 * @param fence identifies the new definition: once a later definition is active, the broker rejects further moves
 */
export async function moveLive(
  deps: Deps,
  orb: string,
  home: Home,
  { from, to, fence }: { from: LiveRole | null; to: LiveRole; fence?: Fence | undefined },
): Promise<number> {
  if (from === to) return 0;
  let moved = 0;
  for await (const page of scanEntries(deps, orb, home)) {
    const live = page.filter((entry) => entry.head.publishedRevision !== null);
    for (let i = 0; i < live.length; i += GROUP / 4) {
      moved += await moveEntries(deps, live.slice(i, i + GROUP / 4), { from, to, fence });
    }
  }
  return moved;
}

/**
 * Cancels the scheduled publications of a removed schema, because the broker would otherwise publish its entries at
 * `validFrom`.
 */
export async function cancelScheduled(
  deps: Deps,
  orb: string,
  home: Home,
  fence: Fence | undefined,
): Promise<void> {
  for await (const page of scanEntries(deps, orb, home)) {
    const messages = page.flatMap(({ address, head }) => cancelMessages(address, head));
    for (let i = 0; i < messages.length; i += GROUP)
      await deps.store.batch(streams.orb(orb), fenced(orb, fence, messages.slice(i, i + GROUP)));
  }
}

export interface InvalidEntries {
  /** Number of validated entries, at most 10,000. */
  checked: number;
  invalid: number;
  examples: { id: string; errors: Fault[] }[];
}

const CHECKED = 10_000;
const EXAMPLES = 10;

/** Returns the newest revision of an entry and, if it is another one, the published one. */
async function revisionsOf(deps: Deps, entry: StoredEntry): Promise<StoredSnapshot[]> {
  const { head } = entry;
  const live = head.publishedRevision === head.revision ? null : await storedPublished(deps, entry);
  return live === null ? [head] : [head, live];
}

/** A question about the stored entries of a schema. */
export interface Question<T> {
  /**
   * Looks at an entry. Calls for several entries run in parallel.
   * @param revisions its newest revision and, if it is another one, the published one
   * @returns adds what was seen to the answer; called in the order of the entries
   */
  see(entry: StoredEntry, revisions: readonly StoredSnapshot[]): Promise<() => void>;
  /** The answer, once all entries were seen. */
  readonly answer: T;
}

/**
 * Answers questions about the entries of a schema. Reads the entries once for all questions.
 * @param since reads only entries that were written after this sequence number
 */
export async function answer(
  deps: Deps,
  orb: string,
  home: Home,
  questions: readonly Question<unknown>[],
  since?: number,
): Promise<void> {
  if (questions.length === 0) return;
  const pages = since === undefined ? scanEntries(deps, orb, home) : entriesSince(deps, orb, home, since);
  for await (const page of ahead(pages)) {
    const seen = await mapInParallel(page, async (entry) => {
      const revisions = await revisionsOf(deps, entry);
      return Promise.all(questions.map((question) => question.see(entry, revisions)));
    });
    for (const add of seen.flat()) add();
  }
}

/**
 * How many entries have a value of a field?
 * @param fields for each field, its stored names
 */
export function valuesStored<T>(fields: ReadonlyMap<T, readonly string[]>): Question<Map<T, number>> {
  const counts = new Map([...fields.keys()].map((field) => [field, 0]));
  const names = [...new Set([...fields.values()].flat())];
  return {
    answer: counts,
    async see(_entry, revisions) {
      const present = new Set(revisions.flatMap((one) => namesWithValue(one, names)));
      return () => {
        for (const [field, stored] of fields)
          if (stored.some((name) => present.has(name))) counts.set(field, (counts.get(field) ?? 0) + 1);
      };
    },
  };
}

/** Entries that would lose a value, because a field changes its type. */
export interface LossyEntries {
  entries: number;
  /** Some of the entries, each with the reason. */
  examples: { id: string; reason: string }[];
}

/** Adds an entry to those that would lose something. */
export function addLoss(losses: LossyEntries, id: string, reason: string): void {
  losses.entries++;
  if (losses.examples.length < NAMED) losses.examples.push({ id, reason });
}

/** Which values cannot be converted to the types of a definition? The answer is by the names of the fields. */
export function lossyEntries(schema: CompiledSchema): Question<Map<string, LossyEntries>> {
  const found = new Map<string, LossyEntries>();
  return {
    answer: found,
    async see({ head }, revisions) {
      const lost = new Map(
        revisions.flatMap((one) => unconverted(schema, one).map(({ field, reason }) => [field, reason])),
      );
      return () => {
        for (const [field, reason] of lost) {
          const all = found.get(field) ?? { entries: 0, examples: [] };
          found.set(field, all);
          addLoss(all, head.id, reason);
        }
      };
    },
  };
}

/** How many entries break the rules of the new definition, so that their next write would fail? */
export function invalidEntries(deps: Deps, schema: CompiledSchema): Question<InvalidEntries> {
  const result: InvalidEntries = { checked: 0, invalid: 0, examples: [] };
  return {
    answer: result,
    async see(stored) {
      if (result.checked >= CHECKED) return () => {};
      const head = withNames(schema, stored.head);
      const checked = validateValues(schema, storedInput(schema, head.values), {
        existing: head.values as Values,
      });
      const faults = neededFaults(deps.clock, schema, checked);
      return () => {
        if (result.checked >= CHECKED) return;
        result.checked++;
        if (faults.length === 0) return;
        result.invalid++;
        if (result.examples.length < EXAMPLES)
          result.examples.push({ id: head.id, errors: faults.slice(0, 10) });
      };
    },
  };
}
