/**
 * Blocks writes of entries while an application gets a new definition. Before the change, the platform checks that the
 * stored entries fit the new definition. A concurrent write could make this check wrong, for example with a duplicate
 * of a value that becomes unique. So each application has a fence: some messages in its stream. A write fails if they
 * have changed since it was validated. The platform changes the fence, which blocks writes, and then checks the entries
 * that were written since the first check. This is omitted if no write could make the check wrong.
 */
import type { PlacedChange, SchemaChange } from "../../definition/changes.ts";
import { compareDefinitions } from "../../definition/compat.ts";
import { compileOrb } from "../../definition/compile.ts";
import { homeKey } from "../../definition/document/index.ts";
import type { Fence } from "../../definition/live-orb.ts";
import { compareRetired, type Retired } from "../../definition/retired.ts";
import {
  lastReopening,
  liveRecord,
  moveFence,
  repairFence,
  unlessReopened,
} from "../../definition/stored/index.ts";
import type { Deps } from "../../deps.ts";
import { createOrbStream } from "../../store/broker/index.ts";
import { type Home, streams, subjects } from "../../store/subjects.ts";
import { type Append, Conflict } from "../../store/types.ts";
import { claimValues } from "./enforce.ts";
import { type Definition, type Plan, requireLossless } from "./impact.ts";

/** State of an application's stream before its stored entries were checked. */
export interface Before {
  /** Last sequence number of the application's stream. */
  seq: number;
  /** Sequence number of the message that last unblocked writes. */
  reopened: number;
  fence: Fence | undefined;
  /** All entries that were written up to this sequence number are checked. */
  checked?: number;
}

/** The state while writes are blocked, until the new revision is committed. */
export interface Closed {
  fence: Fence;
  /** A message for the batch that commits the new revision. The batch fails if another process has unblocked writes. */
  guard: Append;
}

/** Returns whether a change of a schema is allowed only while the schema has no entries. */
function needsNone({ severity, code }: SchemaChange): boolean {
  return severity === "removal" || severity === "dangerous" || code === "removed_field";
}

/**
 * Returns the state of the stream before the entries are checked. {@link close} compares it with the state after the
 * check. Returns null if no concurrent write can make the check wrong, so that writes need not be blocked.
 */
export async function beforeJudging(
  deps: Deps,
  orb: string,
  from: Definition,
  to: Definition,
  retired: readonly Retired[],
): Promise<Before | null> {
  const names = { from: from.names, to: to.names };
  const again = compareRetired(retired, to.document, to.names, from);
  const changes = [
    ...compareDefinitions(from.document, to.document, names),
    ...again.filter(({ mayLose }) => mayLose === true),
  ];
  const needsFence = (change: PlacedChange) =>
    needsNone(change) || change.severity === "claim" || change.mayLose === true;
  if (!changes.some(needsFence)) return null;
  const [info, state] = await Promise.all([deps.store.streamInfo(streams.orb(orb)), stateNow(deps, orb)]);
  // The creation of the application was interrupted before its stream was created.
  if (info === null) await createOrbStream(deps, orb);
  return { seq: info?.state.last_seq ?? 0, ...state };
}

/** Returns what the commit of a publication expects unchanged. Call it before the entries are checked. */
export async function stateNow(deps: Deps, orb: string): Promise<Pick<Before, "reopened" | "fence">> {
  const [reopened, live] = await Promise.all([lastReopening(deps, orb), liveRecord(deps, orb)]);
  return { reopened, fence: live?.record.fence };
}

/** Rounds of {@link catchUp}, and how many milliseconds the last one may take. */
const ROUNDS = 10;
const SHORT_MS = 50;

/**
 * Checks the entries that were written since `before`, until few are left. Reading all entries of a large schema takes
 * seconds, and writers take a publication that blocks them for so long for crashed.
 */
export async function catchUp(
  deps: Deps,
  orb: string,
  target: Definition & { revision: number },
  before: Before,
  plan: Plan,
): Promise<void> {
  const delta = deltaOf(deps, orb, target, plan);
  if (!delta.isNeeded) return;
  for (let round = 0; round < ROUNDS; round++) {
    const begun = deps.clock.now();
    const now = (await deps.store.streamInfo(streams.orb(orb)))?.state.last_seq ?? 0;
    await delta.check(before.fence, before.checked ?? before.seq);
    before.checked = now;
    if (deps.clock.now() - begun <= SHORT_MS) return;
  }
}

/** Returns what must be checked for entries that are written during the publication. */
function deltaOf(deps: Deps, orb: string, target: Definition & { revision: number }, plan: Plan) {
  const compiled = compileOrb(target.document, target.names);
  const unique = new Set(
    plan.placed.filter(({ severity }) => severity === "claim").map(({ home }) => homeKey(home)),
  );
  const claims = plan.claims.filter((schema) => unique.has(homeKey(schema.home)));
  const mayLose = plan.placed.some((change) => change.mayLose === true);
  return {
    isNeeded: mayLose || unique.size > 0,
    /** @param fence the fence that writes expect now */
    async check(fence: Fence | undefined, since: number): Promise<void> {
      for (const step of plan.steps) await step.changed(fence, since);
      if (mayLose) await requireLossless(deps, orb, compiled, plan, since);
      await claimValues(deps, { orb, revision: target.revision, compiled }, plan, claims, since);
    },
  };
}

/**
 * Blocks writes of entries, and checks the entries written since {@link catchUp}. If that fails, unblocks writes again.
 * @throws Conflict if all entries must be checked again
 */
export async function close(
  deps: Deps,
  orb: string,
  target: Definition & { revision: number },
  before: Before,
  plan: Plan,
): Promise<Closed | undefined> {
  const delta = deltaOf(deps, orb, target, plan);
  const empty = new Map(
    plan.placed
      .filter((change) => needsNone(change) && change.entries === 0)
      .map(({ home }) => [homeKey(home), home] as const),
  );
  if (empty.size === 0 && !delta.isNeeded) return undefined;
  const fence = await moveFence(deps, orb, before.fence, target.revision);
  try {
    await Promise.all([...empty.values()].map((home) => requireUnwritten(deps, orb, home, before.seq)));
    await delta.check(fence, before.checked ?? before.seq);
    // If writers unblocked writes during the check, their writes follow the fence.
    before.checked = fence.seq;
  } catch (error) {
    await reopen(deps, orb);
    throw error;
  }
  return { fence, guard: unlessReopened(orb, before.reopened) };
}

/** Throws a conflict if an entry of the schema was written after the sequence number `seq`. */
async function requireUnwritten(deps: Deps, orb: string, home: Home, seq: number): Promise<void> {
  const logs = subjects.schemaLogs({ orb, ...home });
  if ((await deps.store.nextMessage(streams.orb(orb), logs, seq + 1)) !== null) throw new Conflict();
}

/** Unblocks writes. If this fails, the first writer that has waited too long unblocks them. */
export async function reopen(deps: Deps, orb: string): Promise<void> {
  try {
    await repairFence(deps, orb);
  } catch (error) {
    deps.log.warn("writes to an orb are still blocked; its next writer unblocks them", {
      orb,
      error: String(error),
    });
  }
}
