/**
 * Decides when to compact an index, which moves the changes in its log into sorted pages. This happens after a read
 * that found a long log, and after many writes.
 */
import type { CompiledSchema } from "../../definition/compile.ts";
import type { Deps } from "../../deps.ts";
import { BoundedMap } from "../../kernel/bounded-map.ts";
import { nullOnConflict } from "../../store/pages.ts";
import { type EntryAddress, subjects } from "../../store/subjects.ts";
import { isOrderedKey, orderedKeyParts } from "../model/index-keys.ts";
import type { OrbContext } from "../model/resolve.ts";
import { WORDS } from "../model/word-keys.ts";
import { compact, compactFully, LIMITS } from "./compact.ts";
import type { OrderedField } from "./pages.ts";
import { compactWords, compactWordsFully, WORD_LIMITS } from "./word-compact.ts";

/** A reader that finds this many changes in the log of an index starts a compaction. */
const LONG_LOG = 64;
/**
 * A process compacts an index (moves the changes in its log into sorted pages) after it has written this many changes.
 * On a broker without replicas, a compaction takes as long as creating 40 entries, so creating an entry becomes slower
 * by about a sixth on average.
 */
const MANY_WRITTEN = 256;
/**
 * A process compacts a word index after it has written this many changes. With fewer, larger compactions, each posting
 * (a word and an entry id) is merged less often.
 */
const MANY_WORDS_WRITTEN = 512;
/** A compaction that runs longer than this many milliseconds is considered crashed. */
const PATIENCE_MS = 30_000;
/** Maximum number of compactions of a word index in a row. */
const WORD_ROUNDS = 1_000;

/** Start times of the running compactions of this process, by index. */
const running = new BoundedMap<string, number>(10_000);
/** For each index, the number of changes that this process has written since its last compaction of the index. */
const written = new BoundedMap<string, number>(10_000);

type Definition = Pick<OrbContext, "orb" | "fence">;

/**
 * Compacts an index if its log is long. Runs in the background, after the response has been sent.
 * @param logged number of changes in the log; undefined if there are too many to read
 */
export function tendIndex(
  deps: Deps,
  { fence }: Definition,
  index: OrderedField,
  logged = Number.POSITIVE_INFINITY,
): void {
  if (logged < LONG_LOG || deps.readOnly === true) return;
  const name = subjects.orderedLog(index, index.field);
  const now = Date.now();
  if (now - (running.get(name) ?? 0) < PATIENCE_MS) return;
  running.set(name, now);
  const work = async () => {
    try {
      await nullOnConflict(compactOnce(deps, index, fence));
    } finally {
      running.delete(name);
    }
  };
  deps.afterwards(
    work().catch((error) => {
      deps.log.warn("an ordered index could not be compacted", { orb: index.orb, error: String(error) });
    }),
  );
}

async function compactOnce(deps: Deps, index: OrderedField, fence: Definition["fence"]): Promise<void> {
  if (index.field !== WORDS) {
    await compact({ deps, index, fence, limits: LIMITS }, LONG_LOG);
    return;
  }
  // One compaction handles a limited number of words, so a long log may need several.
  for (let round = 0; round < WORD_ROUNDS; round++)
    if ((await compactWords({ deps, index, fence, limits: WORD_LIMITS }, LONG_LOG)) === 0) return;
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
    if (count >= many) tendIndex(deps, context, index);
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
    for (const { name } of ordered) {
      await compactFully({ deps, index: { orb, ...home, field: name }, fence, limits: LIMITS });
    }
  }
}
