/**
 * Decides when to compact an index, which moves the changes in its log into sorted pages. This happens after many writes,
 * and after a read that found a long log. `keeper.ts` compacts the indexes whose writer has stopped before that.
 */
import type { CompiledSchema } from "../../definition/compile.ts";
import type { Deps } from "../../deps.ts";
import { BoundedMap } from "../../kernel/bounded-map.ts";
import { inParallel } from "../../kernel/parallel.ts";
import { nullOnConflict } from "../../store/pages.ts";
import { type EntryAddress, subjects } from "../../store/subjects.ts";
import { isOrderedKey, type OrbContext, orderedKeyParts, WORDS } from "../model/index.ts";
import { compact, compactFully, LIMITS } from "./compact.ts";
import type { OrderedField } from "./pages.ts";
import { compactWords, compactWordsFully, WORD_LIMITS } from "./word-compact.ts";

/** A log with this many changes is long: a reader that finds it starts a compaction. */
export const LONG_LOG = 64;
/**
 * A process compacts an index (moves the changes in its log into sorted pages) after it has written this many changes,
 * until fewer are left. Each compaction writes the lists of all pages, so more and smaller ones would write more. On a
 * broker without replicas, a compaction takes as long as creating 40 entries, so creating an entry becomes slower by
 * about a sixth on average.
 */
const MANY_WRITTEN = 256;
/**
 * A process compacts a word index after it has written this many changes. With fewer, larger compactions, each posting
 * (a word and an entry id) is merged less often.
 */
const MANY_WORDS_WRITTEN = 512;
/** A round of a compaction that runs longer than this many milliseconds is considered crashed. */
const PATIENCE_MS = 30_000;
/**
 * Milliseconds that a process leaves an index to another one that compacts it. Both would otherwise repeat each other's
 * work.
 */
const YIELD_MS = 5_000;
/** Maximum number of rounds of one compaction. */
const ROUNDS = 1_000;

/** For each index, the time until which this process starts no compaction: one is running, here or elsewhere. */
const busyUntil = new BoundedMap<string, number>(10_000);
/** For each index, the number of changes that this process has written since its last compaction of the index. */
const written = new BoundedMap<string, number>(10_000);

type Definition = Pick<OrbContext, "orb" | "fence">;

/**
 * Compacts an index if its log is long, until it is short. Runs in the background, after the response has been sent.
 * @param logged number of changes in the log; undefined if there are too many to read
 * @param long number of changes from which a log is long
 */
export function tendIndex(
  deps: Deps,
  { fence }: Definition,
  index: OrderedField,
  logged = Number.POSITIVE_INFINITY,
  long = LONG_LOG,
): void {
  if (logged < long || deps.readOnly === true) return;
  const name = subjects.orderedLog(index, index.field);
  const now = Date.now();
  if (now < (busyUntil.get(name) ?? 0)) return;
  const continues = () => {
    busyUntil.set(name, Date.now() + PATIENCE_MS);
    return true;
  };
  continues();
  const work = async () => {
    try {
      const done = await shortenLog(deps, index, fence, continues, long);
      if (done) busyUntil.delete(name);
      else busyUntil.set(name, Date.now() + YIELD_MS);
    } catch (error) {
      busyUntil.delete(name);
      deps.log.warn("an ordered index could not be compacted", { orb: index.orb, error: String(error) });
    }
  };
  deps.afterwards(work());
}

/**
 * Compacts an index until its log is short. While it runs, other writes add changes, so it continues with these. So the
 * log is short at the end, also without a later read or write.
 * @param continues called after each round, which moves a limited number of changes; false ends the compaction
 * @param long number of changes from which a log is long
 * @returns false if another compaction or another definition came first
 */
export async function shortenLog(
  deps: Pick<Deps, "store">,
  index: OrderedField,
  fence: Definition["fence"],
  continues: () => boolean,
  long = LONG_LOG,
): Promise<boolean> {
  const round = () =>
    index.field === WORDS
      ? compactWords({ deps, index, fence, limits: WORD_LIMITS }, long)
      : compact({ deps, index, fence, limits: LIMITS }, long);
  for (let count = 0; count < ROUNDS; count++) {
    const moved = await nullOnConflict(round());
    if (moved === null) return false;
    if (moved === 0 || !continues()) return true;
  }
  return true;
}

/** Counts the changes of a write, and compacts the indexes that this process has changed often. */
export function tendIndexes(
  deps: Deps,
  context: Definition,
  { orb, type, schema }: EntryAddress,
  keys: readonly string[],
): void {
  for (const field of new Set(keys.filter(isOrderedKey).map((key) => orderedKeyParts(key).field))) {
    const index = { orb, type, schema, field };
    const name = subjects.orderedLog(index, index.field);
    const count = (written.get(name) ?? 0) + 1;
    const many = field === WORDS ? MANY_WORDS_WRITTEN : MANY_WRITTEN;
    written.set(name, count < many ? count : 0);
    if (count >= many) tendIndex(deps, context, index, count, many);
  }
}

/** Compacts the ordered indexes and the word indexes of some schemas until their logs are short. */
export async function compactSchemas(
  deps: Pick<Deps, "store">,
  { fence }: Definition,
  schemas: Iterable<CompiledSchema>,
): Promise<void> {
  for (const { orb, home, ordered, searched } of schemas) {
    if (searched.length > 0) {
      const index = { orb, ...home, field: WORDS };
      await compactWordsFully({ deps, index, fence, limits: WORD_LIMITS });
    }
    await inParallel(ordered, ({ indexName }) =>
      compactFully({ deps, index: { orb, ...home, field: indexName }, fence, limits: LIMITS }),
    );
  }
}
