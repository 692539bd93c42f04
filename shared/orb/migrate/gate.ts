/**
 * Stops writers while a definition is replaced.
 *
 * The new definition is checked against stored entries. A concurrent write could make that check wrong, for example
 * with a duplicate of a value that becomes unique. So moving the fence (a fencing token that every write expects
 * unchanged) makes all such writes fail. Entries written since the check are then checked too. Changes that no write
 * can contradict skip this.
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

/** State before the stored entries were checked. */
export interface Before {
  /** Last sequence number of the orb's stream. */
  seq: number;
  /** Sequence number of the last message that allowed writes again. */
  reopened: number;
  fence: Fence | undefined;
}

/** Writers are stopped until the new revision is committed. */
export interface Closed {
  fence: Fence;
  /** Makes the commit fail if writes were allowed again too early. */
  guard: Append;
}

/** Returns whether a change is safe only while no entries exist. */
function needsNone({ severity, code }: SchemaChange): boolean {
  return severity === "removal" || severity === "dangerous" || code === "removed_field";
}

/** Returns null if no concurrent write could contradict the check. */
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
  // The orb's creation was interrupted. Without a stream there is no fence to move.
  if (info === null) await createOrbStream(deps, orb);
  return { seq: info?.state.last_seq ?? 0, reopened, fence: live?.record.fence };
}

/**
 * Stops writers, and checks the entries written since `before`. On an error, writers may continue.
 * @throws Conflict if everything must be checked again
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

/** @throws Conflict if an entry of the schema was written after `seq` */
async function requireUnwritten(deps: Deps, orb: string, home: string, seq: number): Promise<void> {
  const [type, schema = ""] = home.split("/");
  const logs = subjects.schemaLogs({ orb, type: type as ReturnType<typeof homeOf>["type"], schema });
  if ((await deps.store.nextMessage(streams.orb(orb), logs, seq + 1)) !== null) throw new Conflict();
}

/** Allows writes again. If this fails, the first waiting writer does it after a short time. */
export async function reopen(deps: Deps, orb: string): Promise<void> {
  try {
    await repairFence(deps, orb);
  } catch (error) {
    deps.log.warn("an orb is reopened later, by its writers", { orb, error: String(error) });
  }
}
