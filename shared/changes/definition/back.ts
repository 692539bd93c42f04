/** What takes back the definition that a change set has published. */
import { type Actor, actorId } from "../../access/actor.ts";
import { requireOperator } from "../../access/authorize.ts";
import type { CompiledOrb } from "../../definition/compile.ts";
import { storedNames } from "../../definition/names/index.ts";
import { exists, findRevision, orbHead } from "../../definition/stored/index.ts";
import type { Deps } from "../../deps.ts";
import type { OrbContext } from "../../entry/model/index.ts";
import { type DefinitionItem, type Proposal, proposedContext, rightsMarks } from "./proposal.ts";

/** The definition of a set that takes another one back. */
export interface DefinitionBack {
  proposal: Proposal;
  /** The definition with which the revisions are read that come back. It keeps the schemas that it removes. */
  context: OrbContext;
}

/** Returns a definition that also has the schemas which it removes, so that their entries can be deleted. */
export function keepingRemoved(live: CompiledOrb, compiled: CompiledOrb): CompiledOrb {
  return { ...compiled, byHome: new Map([...live.byHome, ...compiled.byHome]) };
}

/**
 * Returns the definition that takes back the one that a set has published. Undefined if it is not the live one any longer.
 * @throws AppError forbidden
 */
export async function definitionBack(
  deps: Deps,
  actor: Actor,
  live: OrbContext,
  { base, done }: DefinitionItem,
): Promise<DefinitionBack | undefined> {
  const { orb, revision } = live;
  requireOperator(actor, "orbs.write", orb);
  if (done?.revision !== revision) return undefined;
  const head = await orbHead(deps, orb);
  if (!exists(head)) return undefined;
  const [old, now] = await Promise.all([
    findRevision(deps, orb, head, base),
    findRevision(deps, orb, head, revision),
  ]);
  if (!exists(old) || !exists(now)) return undefined;
  const { document } = old;
  const names = storedNames(document, { document: now.document, names: now.names });
  const again = rightsMarks(now, { document, names });
  const proposed = { document, names, base: revision, ...again };
  const context = proposedContext(live, `back/${revision}/${now.seq}`, proposed);
  const removes = [...live.compiled.byHome.keys()].some((home) => !context.compiled.byHome.has(home));
  const proposal: Proposal = {
    v: 1,
    revision: revision + 1,
    base: revision,
    document,
    ...(names === undefined ? {} : { names }),
    // The set also deletes the entries that came with the schemas.
    ...(removes ? { force: true as const } : {}),
    ...again,
    by: actorId(actor),
    at: new Date(deps.clock.now()).toISOString(),
  };
  const compiled = keepingRemoved(live.compiled, context.compiled);
  return { proposal, context: { ...context, compiled } };
}
