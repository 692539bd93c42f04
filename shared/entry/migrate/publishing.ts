/** What publishing an orb asks of its entries: how many there are, what a new definition makes of them, and who reads them. */
import type { CompiledSchema } from "../../definition/compile.ts";
import type { Fence } from "../../definition/live-orb.ts";
import { type Values, validateValues } from "../../definition/validate.ts";
import type { Deps } from "../../deps.ts";
import type { Fault } from "../../kernel/errors.ts";
import { indexBytes } from "../../store/budget.ts";
import { type Home, type LiveRole, streams, subjects } from "../../store/subjects.ts";
import { formsBefore, publishedOf } from "../index/held.ts";
import { cancelMessages } from "../index/schedules.ts";
import { entriesSince, walkEntries } from "../index/walk.ts";
import { isUniqueKey, parseKey } from "../model/claims.ts";
import { storedInput } from "../model/known.ts";
import { type OrbContext, orNull } from "../model/resolve.ts";
import { claimLacking, keysOf, type Lack, lacksOf } from "../write/claiming.ts";
import { fenced, moveEntries } from "../write/move.ts";

/** Entries up to this many are counted one by one; more are told by the index alone. */
const EXACT = 500;
/** Messages of one batch. */
const GROUP = 300;

/** How many entries are stored in each place, in the same order. */
export function entryCounts(deps: Deps, orb: string, homes: readonly Home[]): Promise<number[]> {
  return Promise.all(homes.map((home) => entryCount(deps, orb, home)));
}

async function entryCount(deps: Deps, orb: string, home: Home): Promise<number> {
  const filter = subjects.schemaIndex({ orb, ...home });
  const page = await orNull(
    deps.store.scan(streams.orb(orb), filter, { fromSeq: 1, limit: 1, maxBytes: indexBytes(1) }),
  );
  const total = page === null ? 0 : page.messages.length + page.pending;
  // A replica may lag, and a schema without entries may be redefined at will: the leader must confirm that it has none.
  const confirmed = deps.config.replicas === 1 || page === null;
  if (total > EXACT || (total === 0 && confirmed)) return total;
  let count = 0;
  for await (const entries of walkEntries(deps, orb, home)) count += entries.length;
  return count;
}

/** Two or more entries with one value of a field that becomes unique. */
export interface Duplicate {
  field: string;
  ids: string[];
}

/** What claiming found. */
export interface Claimed {
  entries: number;
  /** Messages that were written. */
  written: number;
  /** When there are any, nothing was written; but for those that came while it was. */
  duplicates: Duplicate[];
}

/** How many duplicates are named. */
const NAMED = 50;

/**
 * Makes stored entries hold what a new definition says that they hold: claims of fields that become unique, and index
 * messages. Call it before the definition goes live and, for what was written meanwhile, once more after it.
 * @throws AppError conflict `write_conflict` when others kept writing these entries
 * @param context the new definition, with the revision that it will be live as
 * @param options.dryRun only looks for duplicates
 * @param options.since only looks at entries that were written after this sequence
 */
export async function claimExisting(
  deps: Deps,
  context: OrbContext,
  schema: CompiledSchema,
  options: { dryRun?: boolean; since?: number } = {},
): Promise<Claimed> {
  const home: Home = { type: schema.subjectType, schema: schema.id };
  const { orb } = context;
  const pages =
    options.since === undefined ? walkEntries(deps, orb, home) : entriesSince(deps, orb, home, options.since);
  const holders = new Map<string, Set<string>>();
  const lacks: Lack[] = [];
  let entries = 0;
  for await (const page of pages) {
    entries += page.length;
    for (const entry of page) {
      const keys = await keysOf(deps, context, schema, entry);
      // A value that entries shared in different forms before there was a normal one stands in no definition's way.
      for (const key of await formsBefore(deps, schema, entry)) keys.delete(key);
      for (const key of keys) {
        if (!isUniqueKey(key)) continue;
        const ids = holders.get(key);
        if (ids === undefined) holders.set(key, new Set([entry.head.id]));
        else ids.add(entry.head.id);
      }
      lacks.push(...lacksOf(entry, keys));
    }
  }
  const duplicates = duplicatesIn([...holders].filter(([, ids]) => ids.size > 1));
  if (duplicates.length > 0 || options.dryRun === true) return { entries, written: 0, duplicates };
  const { written, shared } = await claimLacking(deps, context, schema, lacks);
  return { entries, written, duplicates: duplicatesIn([...shared]) };
}

function duplicatesIn(holders: readonly (readonly [string, Iterable<string>])[]): Duplicate[] {
  return holders
    .slice(0, NAMED)
    .map(([key, ids]) => ({ field: parseKey(key).field, ids: [...ids].slice(0, NAMED) }));
}

/**
 * Moves what is live of a schema to another audience's subjects, with what is scheduled.
 * Call it right after the new definition went live: its readers are judged by the definition from then on, and a
 * missing copy is read from the log.
 * @param fence of that definition: the broker refuses to move more once another definition is in force
 * @returns how many entries were moved
 * @throws Conflict
 */
export async function moveLive(
  deps: Deps,
  orb: string,
  home: Home,
  { from, to, fence }: { from: LiveRole | null; to: LiveRole; fence?: Fence | undefined },
): Promise<number> {
  if (from === to) return 0;
  let moved = 0;
  for await (const page of walkEntries(deps, orb, home)) {
    const live = page.filter((entry) => entry.head.publishedRevision !== null);
    for (let i = 0; i < live.length; i += GROUP / 4) {
      moved += await moveEntries(deps, live.slice(i, i + GROUP / 4), { from, to, fence });
    }
  }
  return moved;
}

/**
 * Cancels what is scheduled for the live entries of a schema that goes: an opening would bring a copy of it to light.
 * @param fence of the definition without the schema: once another one is in force, the broker refuses to cancel more
 * @throws Conflict
 */
export async function cancelScheduled(
  deps: Deps,
  orb: string,
  home: Home,
  fence: Fence | undefined,
): Promise<void> {
  for await (const page of walkEntries(deps, orb, home)) {
    const messages = page.flatMap(({ address, head }) => cancelMessages(address, head));
    for (let i = 0; i < messages.length; i += GROUP)
      await deps.store.batch(streams.orb(orb), fenced(orb, fence, messages.slice(i, i + GROUP)));
  }
}

/** What a new definition makes of stored values. */
export interface InvalidEntries {
  /** How many entries were checked: at most 10,000. */
  checked: number;
  invalid: number;
  /** Some of them, with their faults. */
  examples: { id: string; errors: Fault[] }[];
}

const CHECKED = 10_000;
const EXAMPLES = 10;

/** How many stored entries of a schema hold a value of each field, in their newest or their live revision. */
export async function valuesStored(
  deps: Deps,
  orb: string,
  home: Home,
  fields: readonly string[],
): Promise<Map<string, number>> {
  const counts = new Map(fields.map((field) => [field, 0]));
  for await (const page of walkEntries(deps, orb, home)) {
    for (const entry of page) {
      const { head } = entry;
      const live = head.publishedRevision === head.revision ? head : await publishedOf(deps, entry);
      for (const field of fields) {
        const some = [head, live].some((one) => (one?.values[field] ?? null) !== null);
        if (some) counts.set(field, (counts.get(field) ?? 0) + 1);
      }
    }
  }
  return counts;
}

/** How many stored entries of a schema a new definition would refuse on their next write. */
export async function invalidEntries(
  deps: Deps,
  orb: string,
  schema: CompiledSchema,
): Promise<InvalidEntries> {
  const result: InvalidEntries = { checked: 0, invalid: 0, examples: [] };
  for await (const page of walkEntries(deps, orb, { type: schema.subjectType, schema: schema.id })) {
    for (const { head } of page) {
      if (result.checked >= CHECKED) return result;
      result.checked++;
      const { faults } = validateValues(schema, storedInput(schema, head.values), {
        existing: head.values as Values,
      });
      if (faults.length === 0) continue;
      result.invalid++;
      if (result.examples.length < EXAMPLES)
        result.examples.push({ id: head.id, errors: faults.slice(0, 10) });
    }
  }
  return result;
}
