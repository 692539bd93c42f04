/** Decides when to build and when to compact live indexes, and opens them for lists. */
import type { CompiledSchema } from "../../definition/compile.ts";
import type { Deps } from "../../deps.ts";
import { BoundedMap } from "../../kernel/bounded-map.ts";
import { nullOnConflict } from "../../store/pages.ts";
import { isLongLived } from "../../store/policy.ts";
import { subjects } from "../../store/subjects.ts";
import { readPage } from "../index/index.ts";
import { changesListing, type EntryWrite, hasLiveIndex, LIVE, type OrbContext } from "../model/index.ts";
import type { OrderedField } from "../ordered/index.ts";
import { buildLive } from "./build.ts";
import { compactLive, LIVE_LIMITS, type LiveDuty } from "./compact.ts";
import { type OpenedLive, openLive } from "./scan.ts";
import { isLiveComplete } from "./verify.ts";

/** A reader that finds this many changes in the log starts a compaction. */
const LONG_LOG = 64;
/**
 * A process compacts a live index after it has written this many changes. This is more than for other indexes, so that
 * creating a published entry becomes slower by about a twentieth at most.
 */
const MANY_WRITTEN = 1_024;
/** If this many pages must be read, because a `validFrom` or `validTo` has passed, lists and counts start a compaction. */
const MANY_PASSED = 8;
/** A compaction or a build that runs longer than this many milliseconds is considered crashed. */
const PATIENCE_MS = 30_000;
/** A reader builds the index of a schema with up to this many entries. The platform's start builds all others. */
const BUILT_BY_READERS = 20_000;
/** Lists do without an index that is missing for this many milliseconds, before they look for it again. */
const MISSING_MS = { small: 500, large: 60_000 };
const BUILD_ATTEMPTS = 5;

/** Start times of the running builds and compactions of this process, by index. */
const running = new BoundedMap<string, number>(10_000);
/** For each index, the number of changes that this process has written since its last compaction of the index. */
const written = new BoundedMap<string, number>(10_000);
/** For each index that is missing, the time until which lists do without it. */
const missing = new BoundedMap<string, number>(10_000);

type Definition = Pick<OrbContext, "orb" | "fence">;

export function liveIndexOf({ orb, home }: Pick<CompiledSchema, "orb" | "home">): OrderedField | undefined {
  return hasLiveIndex(home.type) ? { orb, ...home, field: LIVE } : undefined;
}

function inBackground(deps: Deps, index: OrderedField, act: () => Promise<unknown>): void {
  if (deps.readOnly === true) return;
  const name = subjects.orderedLog(index, index.field);
  const now = Date.now();
  if (now - (running.get(name) ?? 0) < PATIENCE_MS) return;
  running.set(name, now);
  const work = async () => {
    try {
      await nullOnConflict(act());
    } finally {
      running.delete(name);
    }
  };
  deps.afterwards(
    work().catch((error) => {
      deps.log.warn("the compaction or the build of a live index failed", {
        orb: index.orb,
        error: String(error),
      });
    }),
  );
}

async function compactAll(
  deps: Pick<Deps, "store" | "clock">,
  { fence }: Definition,
  index: OrderedField,
  duty: LiveDuty,
): Promise<void> {
  const compaction = { deps, index, fence, limits: LIVE_LIMITS };
  let moved = await compactLive(compaction, duty);
  while (moved === LIVE_LIMITS.changes) moved = await compactLive(compaction, { least: 1 });
}

async function build(
  deps: Pick<Deps, "store" | "clock">,
  { fence }: Definition,
  index: OrderedField,
): Promise<void> {
  for (let attempt = 0; attempt < BUILD_ATTEMPTS; attempt++)
    if (await buildLive({ deps, index, fence, limits: LIVE_LIMITS })) break;
  missing.delete(subjects.orderedLog(index, index.field));
}

/** Builds a missing index, if it is small enough for this process. */
async function buildIfSmall(deps: Deps, definition: Definition, index: OrderedField): Promise<void> {
  const filter = subjects.schemaIndex(index);
  const { pending } = await readPage(deps.store, index.orb, filter, { fromSeq: 1, limit: 1 });
  if (pending < BUILT_BY_READERS || isLongLived(deps.store)) await build(deps, definition, index);
  else missing.set(subjects.orderedLog(index, index.field), Date.now() + MISSING_MS.large);
}

/**
 * Reads the state of a live index for a list. Builds or compacts the index in the background if necessary.
 * @returns undefined if the list has to do without the index
 */
export async function openLiveTended(
  deps: Deps,
  definition: Definition,
  index: OrderedField,
): Promise<OpenedLive | undefined> {
  if ((missing.get(subjects.orderedLog(index, index.field)) ?? 0) > Date.now()) return undefined;
  const state = await openLive(deps.store, index);
  if (state === "missing") {
    missing.set(subjects.orderedLog(index, index.field), Date.now() + MISSING_MS.small);
    inBackground(deps, index, () => buildIfSmall(deps, definition, index));
    return undefined;
  }
  if (state === "long" || state.logged >= LONG_LOG)
    inBackground(deps, index, () => compactAll(deps, definition, index, { least: LONG_LOG }));
  return state === "long" ? undefined : state;
}

/** Renews the pages of an index if readers have to read many of them, because a `validFrom` or `validTo` has passed. */
export function tendPassed(deps: Deps, definition: Definition, index: OrderedField, pages: number): void {
  if (pages < MANY_PASSED) return;
  inBackground(deps, index, () => compactAll(deps, definition, index, { least: LONG_LOG, renew: true }));
}

/** Counts the changes of a write, and compacts the live index if this process has changed it often. */
export function tendWritten(deps: Deps, definition: Definition, write: EntryWrite): void {
  if (!changesListing(write)) return;
  const { address } = write;
  const name = `${address.orb}.${address.type}.${address.schema}`;
  const count = (written.get(name) ?? 0) + 1;
  written.set(name, count < MANY_WRITTEN ? count : 0);
  if (count < MANY_WRITTEN) return;
  const index: OrderedField = { ...address, field: LIVE };
  inBackground(deps, index, async () => {
    // An upload into an empty schema is the first that needs the index, which is quick to build then.
    if ((await openLive(deps.store, index)) === "missing") await buildIfSmall(deps, definition, index);
    else await compactAll(deps, definition, index, { least: LONG_LOG });
  });
}

/**
 * Completes the live indexes of schemas: builds those that are missing or lack entries, and compacts the others.
 * @param since looks only for entries that were written after this sequence number of the stream. Undefined: looks for
 *   none, and only builds missing indexes
 */
export async function completeLive(
  deps: Pick<Deps, "store" | "clock">,
  definition: Definition,
  schemas: Iterable<CompiledSchema>,
  since?: number,
): Promise<void> {
  const { store, clock } = deps;
  for (const schema of schemas) {
    const index = liveIndexOf(schema);
    if (index === undefined) continue;
    const isMissing = (await openLive(store, index)) === "missing";
    if (!isMissing) await nullOnConflict(compactAll(deps, definition, index, { least: LONG_LOG }));
    const lacks =
      since !== undefined && !isMissing && !(await isLiveComplete(store, index, since, clock.now));
    if (isMissing || lacks) await build(deps, definition, index);
  }
}
