/**
 * Keeps the judgement of stored entries true until it is committed. A write by the definition in force that lands after the
 * judgement could break it: the first entry of a schema that is removed or changes its format, or an equal value in a field that
 * becomes unique. So the fence is moved before the commit. No such write lands from then on, and those that landed since the
 * judgement are checked. A change that no write can break needs none of this.
 */
import { compareDefinitions, type SchemaChange } from "../../definition/compat.ts";
import { compileOrb } from "../../definition/compile.ts";
import type { OrbDocument } from "../../definition/document/document.ts";
import type { Fence } from "../../definition/live-orb.ts";
import { homeKey } from "../../definition/retired.ts";
import { moveFence } from "../../definition/stored/fence.ts";
import {
  lastReopening,
  liveRecord,
  repairFence,
  unlessReopened,
} from "../../definition/stored/live-record.ts";
import type { Deps } from "../../deps.ts";
import { streams, subjects } from "../../store/subjects.ts";
import { type Append, Conflict } from "../../store/types.ts";
import { claimValues, homeOf, type Plan } from "./impact.ts";
import { createOrbStream } from "./reconcile.ts";

/** Where things stood before the judgement. */
export interface Before {
  /** Last sequence of the orb's stream. */
  seq: number;
  /** Sequence of the last reopening in the platform's stream. */
  reopened: number;
  /** The fence of the definition in force. */
  fence: Fence | undefined;
}

/** An orb that takes no writes until the revision is in force. */
export interface Closed {
  fence: Fence;
  /** Goes with the commit, which the broker refuses if a writer has reopened the orb since. */
  guard: Append;
}

/** Changes that are judged by the absence of entries. A removed field counts: what its values were is remembered where there are any. */
function needsNone({ severity, code }: SchemaChange): boolean {
  return severity === "removal" || severity === "dangerous" || code === "removed_field";
}

/** Reads where things stand, if later writes could break the judgement; otherwise null, without a request. One trip. */
export async function beforeJudging(
  deps: Deps,
  orb: string,
  from: OrbDocument,
  to: OrbDocument,
): Promise<Before | null> {
  const changes = compareDefinitions(from, to);
  if (!changes.some((change) => needsNone(change) || change.severity === "claim")) return null;
  const [info, reopened, live] = await Promise.all([
    deps.store.streamInfo(streams.orb(orb)),
    lastReopening(deps, orb),
    liveRecord(deps, orb),
  ]);
  // Its creation stopped halfway: without a stream there is no fence to move.
  if (info === null) await createOrbStream(deps, orb);
  return { seq: info?.state.last_seq ?? 0, reopened, fence: live?.record.fence };
}

/**
 * Moves the fence and judges what was written since. If it fails, the orb is open again.
 * @returns undefined if there is nothing that later writes could have broken
 * @throws AppError conflict `unique_conflict`; Conflict when everything must be judged again
 */
export async function close(
  deps: Deps,
  orb: string,
  target: { document: OrbDocument; revision: number },
  before: Before,
  plan: Plan,
): Promise<Closed | undefined> {
  const compiled = compileOrb(target.document);
  const homes = (some: (change: SchemaChange & { entries: number }) => boolean) =>
    new Set(plan.impact.changes.filter(some).map(({ moduleType, schema }) => homeKey(moduleType, schema)));
  const empty = homes((change) => needsNone(change) && change.entries === 0);
  const unique = homes(({ severity }) => severity === "claim");
  if (empty.size + unique.size === 0) return undefined;
  const fence = await moveFence(deps, orb, before.fence, target.revision);
  try {
    await Promise.all([...empty].map((home) => requireUnwritten(deps, orb, home, before.seq)));
    const claims = plan.claims.filter((schema) => unique.has(keyOf(homeOf(schema))));
    await claimValues(deps, { orb, revision: target.revision, compiled }, plan, claims, before.seq);
  } catch (error) {
    await reopen(deps, orb);
    throw error;
  }
  return { fence, guard: unlessReopened(orb, before.reopened) };
}

const keyOf = ({ type, schema }: ReturnType<typeof homeOf>) => `${type}/${schema}`;

/** @throws Conflict when an entry of the schema was written after a sequence */
async function requireUnwritten(deps: Deps, orb: string, home: string, seq: number): Promise<void> {
  const [type, schema = ""] = home.split("/");
  const logs = subjects.schemaLogs({ orb, type: type as ReturnType<typeof homeOf>["type"], schema });
  if ((await deps.store.nextMessage(streams.orb(orb), logs, seq + 1)) !== null) throw new Conflict();
}

/** Lets writers go on at once. If this fails, they help themselves a little later. */
export async function reopen(deps: Deps, orb: string): Promise<void> {
  try {
    await repairFence(deps, orb);
  } catch (error) {
    deps.log.warn("an orb is reopened later, by its writers", { orb, error: String(error) });
  }
}
