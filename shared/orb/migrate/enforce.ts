/** Does the work that precedes a new definition: steps, reservations of unique values, and new indexes. */
import { type CompiledOrb, type CompiledSchema, compileOrb } from "../../definition/compile.ts";
import { homeKey } from "../../definition/document/index.ts";
import type { Fence } from "../../definition/live-orb.ts";
import {
  addedTo,
  type EntryWork,
  fenceNow,
  type KeyWork,
  liveRecord,
  orbHead,
  UNFENCED,
} from "../../definition/stored/index.ts";
import type { Deps } from "../../deps.ts";
import { backfillExisting, type Duplicate } from "../../entry/migrate/index.ts";
import { firstChanges } from "../../entry/ordered/index.ts";
import { AppError } from "../../kernel/errors.ts";
import { seesAllWrites } from "../../store/policy.ts";
import { streams } from "../../store/subjects.ts";
import { Conflict } from "../../store/types.ts";
import { type Definition, type Plan, requireAccepted } from "./impact.ts";

/**
 * Rejects a definition that does not fit the stored entries. Otherwise reserves the unique values of these entries, and
 * writes their other index keys.
 * @param current.head sequence number of the revision that the definition replaces
 * @param current.fence the fence that writes expect now
 * @returns the work that is left after the definition is active
 * @throws Conflict if another definition has become active
 */
export async function enforce(
  deps: Deps,
  orb: string,
  { document, names, revision }: Definition & { revision: number },
  plan: Plan,
  current: { head: number; fence: Fence | undefined },
): Promise<EntryWork> {
  requireAccepted(plan.impact);
  const { claims, work, needed } = plan;
  await orWithdraw(deps, plan, async () => {
    for (const step of plan.steps) await step.all(current.fence);
    for (const step of plan.steps) await step.clean?.(current.fence);
  });
  if (claims.length === 0) return work;
  const fence = current.fence ?? (await liveRecord(deps, orb))?.record.fence;
  // The fence protects the new indexes only if it is that of the definition before.
  const [head, now] = await Promise.all([orbHead(deps, orb), fenceNow(deps, orb, fence)]);
  if (head?.seq !== current.head) throw new Conflict();
  // A publication that blocks writes, or that has crashed meanwhile, has moved the fence. Then no batch can expect it.
  const builds = now.seq === (fence ?? UNFENCED).seq;
  // A read that misses writes may find older entries, so that all must be read again. So must those of which keys were
  // found before a number is known.
  const isFound = needed.bySchema.size > 0;
  const info = !isFound && seesAllWrites(deps) ? await deps.store.streamInfo(streams.orb(orb)) : null;
  const since = isFound ? needed.since : info?.state.last_seq;
  const context = { orb, revision, compiled: compileOrb(document, names) };
  const done: KeyWork[] = [];
  for (const schema of claims) {
    const { home } = schema;
    const fresh = addedTo(work, home);
    const found = needed.bySchema.get(homeKey(home));
    const { duplicates, roots, filled } =
      builds && found?.answer === true
        ? await found.write(fence)
        : await backfillExisting(deps, context, schema, { upTo: since, fresh, builds, fence });
    requireUnshared(plan, schema, duplicates);
    if (since === undefined) continue;
    const first = await firstChanges(deps, { orb, ...home }, filled, since);
    done.push({ ...home, since, first, roots });
  }
  return since === undefined ? work : { ...work, claims: done };
}

/** Does work of a publication. If that refuses it, erases what its steps have made. */
export async function orWithdraw(
  deps: Pick<Deps, "log">,
  { steps }: Pick<Plan, "steps">,
  work: () => Promise<void>,
): Promise<void> {
  try {
    await work();
  } catch (error) {
    if (error instanceof AppError && error.kind === "conflict") {
      for (const step of steps)
        await step.withdraw?.().catch((failure: unknown) =>
          deps.log.warn("a refused publication has left entries, which are erased later", {
            error: String(failure),
          }),
        );
    }
    throw error;
  }
}

/**
 * Reserves the unique values of the entries that were written after a sequence number, and adds their missing index keys.
 */
export async function claimValues(
  deps: Deps,
  context: { orb: string; revision: number; compiled: CompiledOrb },
  plan: Plan,
  schemas: readonly CompiledSchema[],
  since: number,
): Promise<void> {
  for (const schema of schemas) {
    const fresh = addedTo(plan.work, schema.home);
    const { duplicates } = await backfillExisting(deps, context, schema, { since, fresh });
    requireUnshared(plan, schema, duplicates);
  }
}

/** Rejects a definition if several entries share a unique value. */
function requireUnshared(
  { impact }: Plan,
  { module, id: schema }: CompiledSchema,
  duplicates: readonly Duplicate[],
): void {
  if (duplicates.length === 0) return;
  const details = duplicates.map((one) => ({ module, schema, ...one }));
  throw new AppError(
    "conflict",
    "unique_conflict",
    "Stored entries share values of a field that becomes unique. Change the duplicates first.",
    { data: { impact: { ...impact, duplicates: details } } },
  );
}
