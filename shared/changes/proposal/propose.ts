/** Writes a definition of the orb into a change set. */
import { type Actor, actorId } from "../../access/actor.ts";
import { principalIn, requireOperator } from "../../access/authorize.ts";
import { changeLog, type OrbDocument } from "../../definition/document/index.ts";
import { storedNames } from "../../definition/names/index.ts";
import {
  type ExistingOrb,
  exists,
  findRevision,
  requireLive,
  requireWhole,
} from "../../definition/stored/index.ts";
import type { Deps } from "../../deps.ts";
import { GONE_SECONDS } from "../../entry/model/index.ts";
import type { HandlerDeps } from "../../handlers/contract/index.ts";
import { AppError, notFound, revisionMismatch } from "../../kernel/errors.ts";
import { mergePatch } from "../../kernel/json.ts";
import { impactOf, readOrb } from "../../orb/change.ts";
import { requireHandlers } from "../../orb/handlers.ts";
import { namesFor } from "../../orb/migrate/index.ts";
import { type DryRun, dryRunResult, soundDocument } from "../../orb/update.ts";
import { orbView } from "../../orb/view.ts";
import { counted } from "../../quotas/write.ts";
import { untilWritten } from "../../store/pages.ts";
import { streams, subjects } from "../../store/subjects.ts";
import type { Append } from "../../store/types.ts";
import { contentMessage, type ReadContent, readContent } from "../content/index.ts";
import {
  findProposal,
  itemOf,
  markBack,
  type Proposal,
  proposalMessage,
  type ReadProposal,
} from "../definition/index.ts";
import {
  editing,
  isPending,
  nextState,
  type ReadSet,
  requireReadable,
  requireSet,
  requireWritable,
} from "../record/index.ts";

export interface ProposalTarget {
  orb: string;
  /** Id of the change set. */
  set: string;
}

/** What a client sends: a whole document, or a merge patch of the one that the set has. */
export type Proposed = { document: unknown } | { patch: unknown };

export interface ProposeInput extends ProposalTarget {
  proposed: Proposed;
  /** Whether modules and schemas with stored entries may be removed. */
  force?: boolean | undefined;
  /** Number of the version that the client knows: in the set, or of the live definition. */
  ifMatch?: number | undefined;
}

/** A definition within a set. */
export interface DefinitionWithin {
  /** The live revision, with the document as the set will leave it. */
  orb: ExistingOrb;
  /** Number of the version within the set; of the live revision if the set proposes none. */
  revision: number;
}

interface State {
  record: ReadSet;
  content: ReadContent;
  published: ExistingOrb;
  known: ReadProposal | null;
}

function notPublished(): AppError {
  const detail = "The orb is not published. Publish its definition first; a change set can then change it.";
  return new AppError("conflict", "wrong_state", detail);
}

async function stateOf(deps: Deps, { orb, set }: ProposalTarget): Promise<State> {
  const head = await readOrb(deps, orb);
  if (head.publishedRevision === null) throw notPublished();
  const [published, record, content, known] = await Promise.all([
    findRevision(deps, orb, head, head.publishedRevision),
    requireSet(deps, orb, set),
    readContent(deps, orb, set),
    findProposal(deps, orb, set),
  ]);
  if (!exists(published)) throw notFound("published revision");
  return { record, content, published, known: content.content.definition === undefined ? null : known };
}

/** Returns the revision that a proposed document replaces. */
const beforeIn = ({ published, known }: State): ExistingOrb => ({
  ...published,
  document: known?.proposal.document ?? published.document,
});

const revisionIn = ({ published, known }: State): number => known?.proposal.revision ?? published.revision;

/** Throws 401, 403 or 404 unless a caller may write into the set. */
async function requireEditable(deps: Deps, actor: Actor, orb: string, { set }: ReadSet): Promise<void> {
  const live = await requireLive(deps, orb);
  requireWhole(orb, live.fence);
  requireWritable(principalIn(actor, orb, live.compiled), live.compiled, set);
  nextState(set.state, "edit");
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
  if (known === null || known.proposal.base !== published.revision)
    return namesFor(deps, orb, document, { document: from, names });
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
    const { record, content, published } = state;
    await requireEditable(deps, actor, orb, record);
    if (ifMatch !== undefined && ifMatch !== revisionIn(state)) throw revisionMismatch(revisionIn(state));
    const document = await documentOf(deps, state, input.proposed);
    await requireHandlers(deps, document);
    const names = await namesOf(deps, orb, state, document);
    const proposal: Proposal = {
      v: 1,
      revision: revisionIn(state) + 1,
      base: published.revision,
      document,
      ...(names === undefined ? {} : { names }),
      ...(input.force === true ? { force: true as const } : {}),
      ...markBack(published, { document, names }),
      by: actorId(actor),
      at: new Date(deps.clock.now()).toISOString(),
    };
    const authors = [...new Set([...content.content.authors, actorId(actor)])];
    const next = { ...content.content, authors, definition: await itemOf(proposal) };
    await store(deps, actor, orb, record, [
      contentMessage(orb, set, next, content.seq),
      proposalMessage(orb, set, proposal),
    ]);
    return { orb: { ...published, document }, revision: proposal.revision };
  };
  return counted(deps, actor, orb, () => untilWritten(write));
}

/** Stores the content of a set and its definition, unless the set was published or closed meanwhile. */
async function store(
  deps: Deps,
  actor: Actor,
  orb: string,
  record: ReadSet,
  [content, definition]: readonly [Append, Append],
): Promise<void> {
  const edit = editing(deps, actor, orb, record);
  const [guard] = edit.guards;
  const guarded = guard === undefined ? definition : { ...definition, expect: guard };
  await deps.store.batch(streams.orb(orb), [...edit.messages, content, guarded]);
}

/** Returns how the publication of a definition would affect stored entries. Changes nothing. */
export async function tryProposal(deps: HandlerDeps, actor: Actor, input: ProposeInput): Promise<DryRun> {
  const { orb } = input;
  requireOperator(actor, "orbs.read", orb);
  const state = await stateOf(deps, input);
  await requireEditable(deps, actor, orb, state.record);
  const document = await documentOf(deps, state, input.proposed);
  await requireHandlers(deps, document);
  const { published } = state;
  const impact = await impactOf(deps, orb, published, document, input.force === true);
  return dryRunResult(impact, changeLog(published.document, document));
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
    const [record, { content, seq }] = await Promise.all([
      requireSet(deps, orb, set),
      readContent(deps, orb, set),
    ]);
    await requireEditable(deps, actor, orb, record);
    const { definition, ...rest } = content;
    if (definition === undefined)
      throw notFound("definition", "The change set does not contain a definition of the orb.");
    const gone = { subject: subjects.changeDefinition(orb, set), data: "", rollup: true, ttl: GONE_SECONDS };
    await store(deps, actor, orb, record, [contentMessage(orb, set, rest, seq), gone]);
  };
  await counted(deps, actor, orb, () => untilWritten(remove));
}
