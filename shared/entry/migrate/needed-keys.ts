/** Finds the index keys that stored entries need for a new definition, and writes those that they do not have. */

import type { CompiledSchema } from "../../definition/compile.ts";
import type { Fence } from "../../definition/live-orb.ts";
import type { Deps } from "../../deps.ts";
import { mapInParallel } from "../../kernel/parallel.ts";
import { ahead, entriesSince, formsBefore, scanEntries } from "../index/index.ts";
import {
  isOrderedKey,
  isUniqueKey,
  isWordKey,
  namedEntry,
  nameOfToken,
  type OrbContext,
  orderedKeyParts,
  parseKey,
  type StoredEntry,
  WORDS,
} from "../model/index.ts";
import { buildIndex, type Pair } from "../ordered/index.ts";
import { backfillKeys, backfillWords, keysOf, type MissingKey, missingKeys } from "./backfill.ts";
import { NAMED, type Question } from "./publishing.ts";

export interface Duplicate {
  field: string;
  ids: string[];
}

export interface Claimed {
  entries: number;
  written: number;
  /**
   * Unique values that several entries share. If some are found before the index keys are written, nothing is written.
   * Some may also appear while the keys are written; they are listed too.
   */
  duplicates: Duplicate[];
  /** For each new ordered index that was built as a whole, the sequence number of its root. */
  roots: Record<string, number>;
  /** The new ordered indexes and word indexes that have got keys. */
  filled: string[];
}

/** How keys are found. */
interface Finding {
  /** Indexes that are new. Entries may still store keys of an erased index with that name; these keys do not count. */
  fresh?: ReadonlySet<string>;
  /** Whether new ordered indexes are built as a whole. Only before the definition is active, and of all entries. */
  builds?: boolean;
}

/** Maximum keys that are kept in memory while all schemas are read: about 40 MB. */
const MOST_KEPT = 250_000;

/** Counts the keys that are kept in memory, for all schemas of a publication together. */
export class KeptKeys {
  readonly #most: number;
  #count = 0;

  /** @param most maximum keys to keep */
  constructor(most = MOST_KEPT) {
    this.#most = most;
  }

  add(count: number): void {
    this.#count += count;
  }

  get areTooMany(): boolean {
    return this.#count > this.#most;
  }
}

/**
 * Asks which index keys the entries of a schema need and do not have. The answer is whether all of them were kept.
 * Otherwise, the entries must be read again.
 */
export class NeededKeys implements Question<boolean> {
  readonly #deps: Deps;
  readonly #context: OrbContext;
  readonly #schema: CompiledSchema;
  readonly #finding: Finding;
  readonly #all: KeptKeys;
  #holders = new Holders();
  #missing: MissingKey[] = [];
  #words: MissingKey[] = [];
  /** The pairs of each new ordered index. */
  #pairs = new Map<string, Pair[]>();
  readonly #filled = new Set<string>();
  /** Number of keys of this schema that are kept. */
  #kept = 0;
  #isKept = true;
  #entries = 0;

  /** @param finding.all shared by the schemas of a publication */
  constructor(
    deps: Deps,
    context: OrbContext,
    schema: CompiledSchema,
    { all = new KeptKeys(), ...finding }: Finding & { all?: KeptKeys } = {},
  ) {
    this.#deps = deps;
    this.#context = context;
    this.#schema = schema;
    this.#finding = finding;
    this.#all = all;
  }

  get answer(): boolean {
    return this.#isKept;
  }

  async see(stored: StoredEntry): Promise<() => void> {
    if (!this.answer) return () => {};
    const { entry, keys } = await neededKeys(this.#deps, this.#context, this.#schema, stored);
    const missing = missingKeys(entry, keys, this.#finding.fresh);
    return () => {
      if (!this.#isKept) return;
      this.#entries++;
      this.#holders.add(entry.head.id, keys);
      for (const one of missing) this.#keep(one);
      if (!this.#all.areTooMany) return;
      this.#isKept = false;
      this.#all.add(-this.#kept);
      this.#kept = 0;
      this.#holders = new Holders();
      this.#missing = [];
      this.#pairs = new Map();
    };
  }

  #keep(one: MissingKey): void {
    this.#kept++;
    this.#all.add(1);
    const { builds = false, fresh } = this.#finding;
    const { key, address } = one;
    if (isWordKey(key)) {
      if (fresh?.has(WORDS) === true) this.#filled.add(WORDS);
      this.#words.push(one);
      return;
    }
    const { field } = parseKey(key);
    if (!isOrderedKey(key) || fresh?.has(field) !== true) {
      this.#missing.push(one);
      return;
    }
    this.#filled.add(field);
    if (!builds) {
      this.#missing.push(one);
      return;
    }
    const pairs = this.#pairs.get(field) ?? [];
    this.#pairs.set(field, pairs);
    pairs.push({ value: orderedKeyParts(key).value, id: address.id });
  }

  /** Writes the words that were found since the last call. Returns the number of messages. */
  async writeWords(): Promise<number> {
    const words = this.#words;
    this.#words = [];
    this.#kept -= words.length;
    this.#all.add(-words.length);
    return backfillWords(this.#deps, this.#context, words);
  }

  /** Writes the missing keys, unless several entries share a unique value. @param fence that of the definition before */
  async write(fence?: Fence): Promise<Claimed> {
    const [deps, context, schema] = [this.#deps, this.#context, this.#schema];
    const entries = this.#entries;
    const filled = [...this.#filled];
    const duplicates = duplicatesIn(schema, this.#holders.shared);
    if (duplicates.length > 0) return { entries, written: 0, duplicates, roots: {}, filled };
    const { written, shared } = await backfillKeys(deps, context, schema, this.#missing, this.#finding.fresh);
    const roots: Record<string, number> = {};
    let pages = 0;
    for (const [field, pairs] of this.#pairs) {
      const seq = await buildIndex(deps, { orb: context.orb, ...schema.home, field }, fence, pairs);
      if (seq !== undefined) roots[field] = seq;
      pages += pairs.length;
    }
    return {
      entries,
      written: written + pages,
      duplicates: duplicatesIn(schema, [...shared]),
      roots,
      filled,
    };
  }
}

/**
 * Adds stored entries to the indexes that a new definition needs. Call it before the definition is activated, and again
 * afterwards for entries that were written between the two.
 * @param options.since reads only entries that were written after this sequence number
 * @param options.upTo reads the entries as they were at this sequence number
 * @param options.fence of the definition before, if new ordered indexes are to be built as a whole
 */
export async function backfillExisting(
  deps: Deps,
  context: OrbContext,
  schema: CompiledSchema,
  {
    since,
    upTo,
    fence,
    ...finding
  }: Finding & { since?: number; upTo?: number | undefined; fence?: Fence | undefined } = {},
): Promise<Claimed> {
  const { home } = schema;
  const { orb } = context;
  const pages =
    since === undefined ? scanEntries(deps, orb, home, upTo) : entriesSince(deps, orb, home, since);
  const needed = new NeededKeys(deps, context, schema, {
    ...finding,
    all: new KeptKeys(Number.POSITIVE_INFINITY),
  });
  let words = 0;
  for await (const page of ahead(pages)) {
    const seen = await mapInParallel(page, (stored) => needed.see(stored));
    for (const add of seen) add();
    // Write the words of each page immediately, because the words of all entries together would take too much memory.
    // If the publication of the definition fails afterwards, these extra words do no harm.
    words += await needed.writeWords();
  }
  const claimed = await needed.write(fence);
  return { ...claimed, written: words + claimed.written };
}

/** The entries that have each unique value. */
class Holders {
  readonly #ids = new Map<string, Set<string>>();

  add(id: string, keys: Iterable<string>): void {
    for (const key of keys) {
      if (!isUniqueKey(key)) continue;
      const ids = this.#ids.get(key);
      if (ids === undefined) this.#ids.set(key, new Set([id]));
      else ids.add(id);
    }
  }

  /** The values that several entries have. */
  get shared(): [string, Set<string>][] {
    return [...this.#ids].filter(([, ids]) => ids.size > 1);
  }
}

/** Returns the index keys that a stored entry needs. */
async function neededKeys(deps: Deps, context: OrbContext, schema: CompiledSchema, stored: StoredEntry) {
  const entry = namedEntry(context.compiled, stored);
  const keys = await keysOf(deps, context, schema, entry);
  // Older versions allowed two entries to have the same unique value in different spellings. Such entries must not
  // block the new definition.
  for (const key of await formsBefore(deps, schema, entry)) keys.delete(key);
  return { entry, keys };
}

function duplicatesIn(
  schema: CompiledSchema,
  holders: readonly (readonly [string, Iterable<string>])[],
): Duplicate[] {
  return holders.slice(0, NAMED).map(([key, ids]) => ({
    field: nameOfToken(schema, parseKey(key).field),
    ids: [...ids].slice(0, NAMED),
  }));
}

/** Which unique values do several entries share? */
export function sharedValues(
  deps: Deps,
  context: OrbContext,
  schema: CompiledSchema,
): Question<readonly Duplicate[]> {
  const holders = new Holders();
  return {
    get answer() {
      return duplicatesIn(schema, holders.shared);
    },
    async see(stored) {
      const { entry, keys } = await neededKeys(deps, context, schema, stored);
      return () => holders.add(entry.head.id, keys);
    },
  };
}
