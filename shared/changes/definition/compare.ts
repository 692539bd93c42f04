/** Compares the definition that a change set proposes with the live one. */
import type { Actor } from "../../access/actor.ts";
import { mayOperate } from "../../access/authorize.ts";
import { type ChangeLog, changeLog } from "../../definition/document/index.ts";
import { exists, findRevision, orbHead } from "../../definition/stored/index.ts";
import type { Deps } from "../../deps.ts";
import type { OrbContext } from "../../entry/model/index.ts";
import { isPending, requireSet } from "../record/index.ts";
import { findProposal } from "./proposal.ts";

export interface DefinitionDiff extends ChangeLog {
  /** Number of the version within the set. */
  revision: number;
  /** Revision of the live definition from which it was made. */
  base: number;
  force: boolean;
  changedAt: string;
  changedBy: string;
  /** Whether the orb has published another definition since. */
  conflict: boolean;
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
  const { revision, base, document, force = false, at, by } = read.proposal;
  const before = await findRevision(deps, orb, head, base);
  return {
    ...{ revision, base, force, changedAt: at, changedBy: by },
    conflict: isPending(record.set.state) && live !== base,
    ...changeLog(before?.document ?? null, document),
  };
}
