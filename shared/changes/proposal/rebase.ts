/** Moves the definition of a change set to the live one of now, and decides its conflicts. */
import type { Actor } from "../../access/actor.ts";
import { requireOperator } from "../../access/authorize.ts";
import type { HandlerDeps } from "../../handlers/contract/index.ts";
import { pointer } from "../../kernel/faults.ts";
import { requireHandlers } from "../../orb/handlers.ts";
import { namesFor } from "../../orb/migrate/index.ts";
import { soundDocument } from "../../orb/update.ts";
import { counted } from "../../quotas/write.ts";
import { untilWritten } from "../../store/pages.ts";
import { type Keep, movedOn } from "../content/index.ts";
import { mergeDefinitions } from "../definition/index.ts";
import { lostBy, namesKept } from "./names.ts";
import {
  type DefinitionWithin,
  noDefinition,
  type ProposalTarget,
  putProposal,
  requireEditable,
  requireMatch,
  sidesOf,
  stateOf,
} from "./state.ts";

interface RebaseInput extends ProposalTarget {
  /** For the paths of conflicts: which side stays. */
  keep: Readonly<Record<string, Keep>>;
  /** Number of the version in the set. */
  ifMatch?: number | undefined;
}

/**
 * Moves the definition of a set to the live one of now. Changes that only the orb has made come into the set. Writes
 * nothing if the orb has published none since.
 * @throws AppError conflict `change_conflict` if `keep` names no side for a conflict; what an update of an orb throws
 */
export async function rebaseDefinition(
  deps: HandlerDeps,
  actor: Actor,
  input: RebaseInput,
): Promise<DefinitionWithin> {
  const { orb, set, keep, ifMatch } = input;
  requireOperator(actor, "orbs.write", orb);
  const move = async (): Promise<DefinitionWithin> => {
    const state = await stateOf(deps, input);
    const { record, content, published, known } = state;
    await requireEditable(deps, actor, orb, record);
    if (known === null) throw noDefinition();
    requireMatch(state, ifMatch);
    const { document: own, revision, force = false } = known.proposal;
    const sides = await sidesOf(deps, orb, state);
    if (sides === undefined) return { orb: { ...published, document: own }, revision };
    const merged = await mergeDefinitions(deps.config, sides, (path) => keep[path] === "live");
    const open = merged.conflicts.map(pointer).filter((path) => keep[path] === undefined);
    if (open.length > 0) throw movedOn(open);
    const document = await soundDocument(deps, published, merged.document);
    await requireHandlers(deps, document);
    const live = { document: published.document, names: published.names };
    const names = namesKept(await namesFor(deps, orb, document, live), document, sides);
    const lost = lostBy({ document, names }, sides, content.content.items.length > 0);
    if (lost !== undefined) throw lost;
    const base = published.revision;
    return putProposal(deps, actor, { orb, set, state, proposed: { base, document, names, force } });
  };
  return counted(deps, actor, orb, () => untilWritten(move));
}
