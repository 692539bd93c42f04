/** Compares the definition that a change set proposes with the live one. */
import type { Actor } from "../../access/actor.ts";
import { mayOperate } from "../../access/authorize.ts";
import { type ChangeLog, changeLog } from "../../definition/document/index.ts";
import { exists, findRevision, orbHead } from "../../definition/stored/index.ts";
import type { Deps } from "../../deps.ts";
import type { OrbContext } from "../../entry/model/index.ts";
import { pointer } from "../../kernel/faults.ts";
import { isPending, requireSet } from "../record/index.ts";
import { type DefinitionSides, mergeDefinitions, type PlaceDiff, placesOf } from "./merge.ts";
import { findProposal } from "./proposal.ts";

export interface DefinitionDiff extends ChangeLog {
  /** Number of the version within the set. */
  revision: number;
  /** Revision of the live definition from which it was made. */
  base: number;
  force: boolean;
  changedAt: string;
  changedBy: string;
  /** Whether the orb has published another definition since. The set must be rebased before it is published. */
  conflict: boolean;
  /** Revision of the live definition of now. */
  now: number;
  /** Each place that the set changes. */
  differences: PlaceDiff[];
  /** Paths of what both the set and the orb have changed, each in another way. All are in `differences`. */
  conflicts: string[];
}

/** Returns what the definition of a set changes. Null if it proposes none, or if the caller may not read definitions. */
export async function definitionDiff(
  deps: Deps,
  actor: Actor,
  { orb, revision: live }: OrbContext,
  set: string,
): Promise<DefinitionDiff | null> {
  if (!mayOperate(actor, "orbs.read", orb)) return null;
  const [read, head, record] = await Promise.all([
    findProposal(deps, orb, set),
    orbHead(deps, orb),
    requireSet(deps, orb, set),
  ]);
  if (read === null || !exists(head)) return null;
  const { revision, base, document, names, force = false, at, by } = read.proposal;
  const conflict = isPending(record.set.state) && live !== base;
  const [before, newest] = await Promise.all(
    [base, live].map((one) => (one === base || conflict ? findRevision(deps, orb, head, one) : null)),
  );
  const old = before !== undefined && exists(before) ? before : null;
  const now = newest !== undefined && exists(newest) ? newest : (old ?? { document, names });
  const sides: DefinitionSides = { base: old, now, proposed: { document, names } };
  const { conflicts } = conflict ? await mergeDefinitions(deps.config, sides) : { conflicts: [] };
  return {
    ...{ revision, base, force, changedAt: at, changedBy: by, now: conflict ? live : base, conflict },
    ...changeLog(old?.document ?? null, document),
    differences: await placesOf(sides, conflicts),
    conflicts: conflicts.map(pointer),
  };
}
