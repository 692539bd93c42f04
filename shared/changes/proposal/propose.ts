/** Writes a definition of the orb into a change set. */
import type { Actor } from "../../access/actor.ts";
import { principalIn, requireOperator } from "../../access/authorize.ts";
import { changeLog, type OrbDocument } from "../../definition/document/index.ts";
import { storedNames } from "../../definition/names/index.ts";
import { requireLive } from "../../definition/stored/index.ts";
import type { Deps } from "../../deps.ts";
import { GONE_SECONDS } from "../../entry/model/index.ts";
import type { HandlerDeps } from "../../handlers/contract/index.ts";
import { mergePatch } from "../../kernel/json.ts";
import { impactOf } from "../../orb/change.ts";
import { requireHandlers } from "../../orb/handlers.ts";
import { namesFor } from "../../orb/migrate/index.ts";
import { type DryRun, dryRunResult, soundDocument } from "../../orb/update.ts";
import { orbView } from "../../orb/view.ts";
import { counted } from "../../quotas/write.ts";
import { untilWritten } from "../../store/pages.ts";
import { subjects } from "../../store/subjects.ts";
import { contentMessage } from "../content/index.ts";
import { mergeDefinitions } from "../definition/index.ts";
import { isPending, requireReadable } from "../record/index.ts";
import {
  beforeIn,
  type DefinitionWithin,
  noDefinition,
  type ProposalTarget,
  putProposal,
  requireEditable,
  requireMatch,
  revisionIn,
  type State,
  sidesOf,
  stateOf,
  storeProposal,
} from "./state.ts";

/** What a client sends: a whole document, or a merge patch of the one that the set has. */
export type Proposed = { document: unknown } | { patch: unknown };

export interface ProposeInput extends ProposalTarget {
  proposed: Proposed;
  /** Whether modules and schemas with stored entries may be removed. */
  force?: boolean | undefined;
  /** Number of the version that the client knows: in the set, or of the live definition. */
  ifMatch?: number | undefined;
}

function documentOf(deps: Deps, state: State, proposed: Proposed): Promise<OrbDocument> {
  const before = beforeIn(state);
  const sent = "patch" in proposed ? mergePatch(orbView(before), proposed.patch) : proposed.document;
  return soundDocument(deps, before, sent);
}

/**
 * Returns the names of a proposed document in stored data. A later version of the document follows the one that the set
 * has, so that the pending versions of the set keep their values.
 */
function namesOf(deps: Deps, orb: string, { published, known }: State, document: OrbDocument) {
  const { document: from, names } = published;
  if (known === null) return namesFor(deps, orb, document, { document: from, names });
  return storedNames(document, { document: known.proposal.document, names: known.proposal.names });
}

/**
 * Writes a definition into a set. It is live, and its entries are validated with it, once the set is published.
 * @throws AppError precondition, if the client knows another version; what an update of an orb throws
 */
export async function proposeDefinition(
  deps: HandlerDeps,
  actor: Actor,
  input: ProposeInput,
): Promise<DefinitionWithin> {
  const { orb, set, ifMatch } = input;
  requireOperator(actor, "orbs.write", orb);
  const write = async (): Promise<DefinitionWithin> => {
    const state = await stateOf(deps, input);
    const { record, published } = state;
    await requireEditable(deps, actor, orb, record);
    requireMatch(state, ifMatch);
    const document = await documentOf(deps, state, input.proposed);
    await requireHandlers(deps, document);
    const names = await namesOf(deps, orb, state, document);
    // Only a rebase moves the base, because a later version of the document may not know what the orb has published since.
    const base = state.known?.proposal.base ?? published.revision;
    const force = input.force === true;
    return putProposal(deps, actor, { orb, set, state, proposed: { base, document, names, force } });
  };
  return counted(deps, actor, orb, () => untilWritten(write));
}

/** Returns how the publication of a definition would affect stored entries. Changes nothing. */
export async function tryProposal(deps: HandlerDeps, actor: Actor, input: ProposeInput): Promise<DryRun> {
  const { orb } = input;
  requireOperator(actor, "orbs.read", orb);
  const state = await stateOf(deps, input);
  await requireEditable(deps, actor, orb, state.record);
  requireMatch(state, input.ifMatch);
  const sent = await documentOf(deps, state, input.proposed);
  await requireHandlers(deps, sent);
  const { published } = state;
  const document = await rebasedFor(deps, orb, state, sent);
  const impact = await impactOf(deps, orb, published, document, input.force === true);
  return dryRunResult(impact, changeLog(published.document, document));
}

/** Returns a document as a rebase would leave it, so that a dry run does not take back what the orb has published since. */
async function rebasedFor(
  deps: Deps,
  orb: string,
  state: State,
  document: OrbDocument,
): Promise<OrbDocument> {
  const sides = await sidesOf(deps, orb, state);
  if (sides === undefined) return document;
  const merged = await mergeDefinitions(deps.config, {
    ...sides,
    proposed: { ...sides.proposed, document },
  });
  return merged.conflicts.length > 0 ? document : soundDocument(deps, state.published, merged.document);
}

/** Returns the definition as a set will leave it. */
export async function definitionWithin(
  deps: Deps,
  actor: Actor,
  target: ProposalTarget,
): Promise<DefinitionWithin> {
  const { orb } = target;
  requireOperator(actor, "orbs.read", orb);
  const state = await stateOf(deps, target);
  const live = await requireLive(deps, orb);
  const { set } = state.record;
  requireReadable(principalIn(actor, orb, live.compiled), live.compiled, set);
  const { published } = state;
  if (!isPending(set.state)) return { orb: published, revision: published.revision };
  return { orb: beforeIn(state), revision: revisionIn(state) };
}

/**
 * Takes the definition out of a set.
 * @throws AppError not_found `definition_not_found` if the set proposes none
 */
export async function withdrawDefinition(deps: Deps, actor: Actor, target: ProposalTarget): Promise<void> {
  const { orb, set } = target;
  requireOperator(actor, "orbs.write", orb);
  const remove = async () => {
    const { record, content: read, published } = await stateOf(deps, target);
    await requireEditable(deps, actor, orb, record);
    const { definition, ...rest } = read.content;
    if (definition === undefined) throw noDefinition();
    // Where the live revision is a higher number already, it stands for itself again.
    const next = { ...rest, ahead: Math.max(0, definition.revision + 1 - published.revision) };
    const gone = { subject: subjects.changeDefinition(orb, set), data: "", rollup: true, ttl: GONE_SECONDS };
    await storeProposal(deps, actor, orb, record, [contentMessage(orb, set, next, read.seq), gone]);
  };
  await counted(deps, actor, orb, () => untilWritten(remove));
}
