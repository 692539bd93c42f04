/** The definition of a change set as requests find it, and how they store another one. */
import { type Actor, actorId } from "../../access/actor.ts";
import { principalIn } from "../../access/authorize.ts";
import {
  type ExistingOrb,
  exists,
  findRevision,
  requireLive,
  requireWhole,
} from "../../definition/stored/index.ts";
import type { Deps } from "../../deps.ts";
import { AppError, notFound, revisionMismatch } from "../../kernel/errors.ts";
import { readOrb } from "../../orb/change.ts";
import { streams } from "../../store/subjects.ts";
import type { Append } from "../../store/types.ts";
import { contentMessage, type ReadContent, readContent } from "../content/index.ts";
import {
  type DefinitionSides,
  findProposal,
  itemOf,
  type Proposal,
  proposalMessage,
  type ReadProposal,
  rightsMarks,
} from "../definition/index.ts";
import { editing, nextState, type ReadSet, requireSet, requireWritable } from "../record/index.ts";

export interface ProposalTarget {
  orb: string;
  /** Id of the change set. */
  set: string;
}

/** A definition within a set. */
export interface DefinitionWithin {
  /** The live revision, with the document as the set will leave it. */
  orb: ExistingOrb;
  /** Number of the version within the set; if it proposes none, of the live revision, or one that follows those before. */
  revision: number;
}

export interface State {
  record: ReadSet;
  content: ReadContent;
  /** The newest revision of the orb, from which earlier ones are found. */
  head: ExistingOrb;
  published: ExistingOrb;
  known: ReadProposal | null;
}

function notPublished(): AppError {
  const detail = "The orb is not published. Publish its definition first; a change set can then change it.";
  return new AppError("conflict", "wrong_state", detail);
}

export async function stateOf(deps: Deps, { orb, set }: ProposalTarget): Promise<State> {
  const head = await readOrb(deps, orb);
  if (head.publishedRevision === null) throw notPublished();
  const [published, record, content] = await Promise.all([
    findRevision(deps, orb, head, head.publishedRevision),
    requireSet(deps, orb, set),
    readContent(deps, orb, set),
  ]);
  // After the content, which guards a write: so a write never replaces a version that it has not seen.
  const known = await findProposal(deps, orb, set);
  if (!exists(published)) throw notFound("published revision");
  return { record, content, head, published, known: content.content.definition === undefined ? null : known };
}

/** Returns the revision that a proposed document replaces. */
export const beforeIn = ({ published, known }: State): ExistingOrb => ({
  ...published,
  document: known?.proposal.document ?? published.document,
});

export const revisionIn = ({ published, known, content }: State): number =>
  known?.proposal.revision ?? published.revision + (content.content.ahead ?? 0);

/** Throws 412 if the client knows another version of the definition. */
export function requireMatch(state: State, ifMatch: number | undefined): void {
  if (ifMatch !== undefined && ifMatch !== revisionIn(state)) throw revisionMismatch(revisionIn(state));
}

/** Error 404: the set proposes no definition. */
export const noDefinition = (): AppError =>
  notFound("definition", "The change set does not contain a definition of the orb.");

/** Throws 401, 403 or 404 unless a caller may write into the set. */
export async function requireEditable(
  deps: Deps,
  actor: Actor,
  orb: string,
  { set }: ReadSet,
): Promise<void> {
  const live = await requireLive(deps, orb);
  requireWhole(orb, live.fence);
  requireWritable(principalIn(actor, orb, live.compiled), live.compiled, set);
  nextState(set.state, "edit");
}

/** Stores the content of a set and its definition, unless the set was published or closed meanwhile. */
export async function storeProposal(
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

/**
 * Returns the definitions that a merge of the set's with the live one compares. Undefined if the orb has published none
 * since.
 */
export async function sidesOf(
  deps: Deps,
  orb: string,
  { head, published, known }: State,
): Promise<DefinitionSides | undefined> {
  if (known === null || known.proposal.base === published.revision) return undefined;
  const { base: revision, document, names } = known.proposal;
  const base = await findRevision(deps, orb, head, revision);
  return { base: exists(base) ? base : null, now: published, proposed: { document, names } };
}

interface Put extends ProposalTarget {
  state: State;
  proposed: Pick<Proposal, "base" | "document" | "names"> & { force: boolean };
}

/** Stores the next version of the definition of a set. */
export async function putProposal(
  deps: Deps,
  actor: Actor,
  { orb, set, state, proposed: { base, document, names, force } }: Put,
): Promise<DefinitionWithin> {
  const { record, content, published } = state;
  const proposal: Proposal = {
    v: 1,
    revision: revisionIn(state) + 1,
    base,
    document,
    ...(names === undefined ? {} : { names }),
    ...(force ? { force: true as const } : {}),
    ...rightsMarks(published, { document, names }),
    by: actorId(actor),
    at: new Date(deps.clock.now()).toISOString(),
  };
  const authors = [...new Set([...content.content.authors, actorId(actor)])];
  const next = { ...content.content, authors, definition: await itemOf(proposal) };
  await storeProposal(deps, actor, orb, record, [
    contentMessage(orb, set, next, content.seq),
    proposalMessage(orb, set, proposal),
  ]);
  return { orb: { ...published, document }, revision: proposal.revision };
}
