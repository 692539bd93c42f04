/** The record of a change set: its title, its state, and who has approved which content. */
import { type Actor, actorId, type Behalf, type Role, throughOf, tokenIdOf } from "../../access/actor.ts";
import type { Deps } from "../../deps.ts";
import { notFound } from "../../kernel/errors.ts";
import { nullIfMissing } from "../../store/pages.ts";
import { isToken, streams, subjects } from "../../store/subjects.ts";
import type { Append, ReadOptions, StoredMessage } from "../../store/types.ts";
import { nextState, type SetAct, type SetState } from "./states.ts";

/** Maximum characters of the texts of a set. */
export const LONGEST = { title: 200, description: 5_000, comment: 2_000 } as const;

/** An approval of a set by one account. It counts only while the content of the set has this hash. */
export interface Approval {
  /** Id of the account. */
  by: string;
  /** Built-in role of the account when it approved, and its role of the application, if it had one. */
  role: Role;
  orbRole?: string | undefined;
  /** ISO 8601. */
  at: string;
  hash: string;
  comment?: string | undefined;
}

/** When a set is to be published, and with whose rights. */
export interface Plan {
  /** ISO 8601, as all times here. */
  at: string;
  by: Behalf;
  /** Hash of the content that the account has planned to publish. Without it, only the time is noted. */
  hash?: string | undefined;
}

/** Why a set was not published at the planned time. */
export interface Refused {
  /** The planned time. */
  publishAt: string;
  at: string;
  /** Id of the account with whose rights it was to be published. */
  by: string;
  /** Code and text of the error. */
  code: string;
  detail: string;
}

/** A revision of a change set, as stored. Times are ISO 8601, and `by` members are ids of accounts. */
export interface ChangeSet {
  v: 1;
  id: string;
  title: string;
  description?: string | undefined;
  state: SetState;
  revision: number;
  createdAt: string;
  createdBy: string;
  /** The handler that opened the set for `createdBy`, `<service>.<handler>`. */
  through?: string | undefined;
  /** Id of the API token that opened the set. */
  token?: string | undefined;
  changedAt: string;
  changedBy: string;
  /** What made this revision. Missing in records of earlier versions. */
  act?: SetAct | "open" | undefined;
  approvals: readonly Approval[];
  /** The planned publication. A set with a plan waits for its approvals until it is `SCHEDULED`. */
  plan?: Plan | undefined;
  /** Set if the last planned publication failed, until the set is scheduled again. */
  refused?: Refused | undefined;
  /** The last rejection. Missing once a review was requested again. */
  rejection?: { by: string; at: string; comment: string } | undefined;
  /** Id of the published set that this one takes back. */
  reverts?: string | undefined;
  /** Ids of the published sets that this one takes back, if they are all those of an API token. */
  undoes?: readonly string[] | undefined;
  /** Id of the API token that this set takes back, also what it has published without a set. */
  undoesToken?: string | undefined;
  /** Id of the published set that took this one back. */
  revertedBy?: string | undefined;
  /** Ids of the published sets that took back some of the entries of this one. */
  revertedInPart?: readonly string[] | undefined;
  /** `hash` is that of the published content, `token` the id of the API token that was used. */
  published?: { by: string; at: string; hash: string; token?: string | undefined } | undefined;
}

/** A set, and the sequence number of its record's last message. */
export interface ReadSet {
  set: ChangeSet;
  seq: number;
}

export type NewSet = Pick<ChangeSet, "title" | "description" | "reverts" | "undoes" | "undoesToken" | "plan">;

/** Returns the ids of the sets that a set takes back. */
export function takenBackBy({
  reverts,
  undoes = [],
}: Pick<ChangeSet, "reverts" | "undoes">): readonly string[] {
  return reverts === undefined ? undoes : [reverts, ...undoes];
}

/** Returns whether a set takes back what was published, and so leaves what others have published since. */
export function takesBack(set: Pick<ChangeSet, "reverts" | "undoes" | "undoesToken">): boolean {
  return takenBackBy(set).length > 0 || set.undoesToken !== undefined;
}

/** What an act may change of a set. Members that are `undefined` are removed. */
export type SetChange = Partial<
  Pick<
    ChangeSet,
    | "title"
    | "description"
    | "approvals"
    | "rejection"
    | "revertedBy"
    | "revertedInPart"
    | "published"
    | "plan"
    | "refused"
  >
>;

/** Parses a record. */
export function parseSet(message: StoredMessage): ReadSet {
  return { set: message.json<ChangeSet>(), seq: message.seq };
}

/** Reads a set. Returns null if there is none. */
export async function findSet(
  { store }: Pick<Deps, "store">,
  orb: string,
  id: string,
  options?: ReadOptions,
): Promise<ReadSet | null> {
  if (!isToken(id)) return null;
  const message = await nullIfMissing(store.get(streams.orb(orb), subjects.changeRecord(orb, id), options));
  return message === null ? null : parseSet(message);
}

export const noSet = () => notFound("change", "There is no such change set.");

/** Reads a set. @throws AppError change_not_found */
export async function requireSet(
  deps: Pick<Deps, "store">,
  orb: string,
  id: string,
  options?: ReadOptions,
): Promise<ReadSet> {
  const found = await findSet(deps, orb, id, options);
  if (found === null) throw noSet();
  return found;
}

/** Returns the first revision of a new set. */
export function newSet(
  { clock, newId }: Pick<Deps, "clock" | "newId">,
  actor: Actor,
  content: NewSet,
): ChangeSet {
  const at = new Date(clock.now()).toISOString();
  const by = actorId(actor);
  const [through, token] = [throughOf(actor), tokenIdOf(actor)];
  return {
    v: 1,
    id: newId(),
    ...content,
    state: "OPEN",
    revision: 1,
    createdAt: at,
    createdBy: by,
    ...(through === undefined ? {} : { through }),
    ...(token === undefined ? {} : { token }),
    changedAt: at,
    changedBy: by,
    act: "open",
    approvals: [],
  };
}

/**
 * Returns the next revision of a set.
 * @throws AppError wrong_state if the act is not possible in the state of the set
 */
export function nextSet(
  { clock }: Pick<Deps, "clock">,
  actor: Actor,
  set: ChangeSet,
  act: SetAct,
  change: SetChange = {},
): ChangeSet {
  return {
    ...set,
    state: nextState(set.state, act),
    revision: set.revision + 1,
    changedAt: new Date(clock.now()).toISOString(),
    changedBy: actorId(actor),
    act,
    ...change,
  };
}

/** Returns the messages that store a new set, and put it into the list of all sets. */
export function openingMessages(orb: string, set: ChangeSet): Append[] {
  return [setMessage(orb, set, 0), { subject: subjects.changeOrder(orb), data: set.id }];
}

/** Returns the messages that store the next revision of a set. A set that is scheduled gets into the list of due sets. */
export function nextMessages(orb: string, before: ReadSet, next: ChangeSet): Append[] {
  const { id, state, plan } = next;
  const record = setMessage(orb, next, before.seq);
  const isNew = before.set.state !== "SCHEDULED" || before.set.plan?.at !== plan?.at;
  if (state !== "SCHEDULED" || plan === undefined || !isNew) return [record];
  const due: DueSet = { v: 1, at: plan.at };
  return [record, { subject: subjects.changeDue(orb, id), data: JSON.stringify(due), rollup: true }];
}

/**
 * Says that a set was to be published at a time. The record says whether it still is: the message stays until a process
 * looks at it.
 */
export interface DueSet {
  v: 1;
  /** ISO 8601. */
  at: string;
  /** ISO 8601: no process publishes the set before, because one is at it, or because an attempt has failed. */
  next?: string;
  /** Attempts that have failed with errors that may be gone soon. Times without a broker count for nothing. */
  failures?: number;
}

/** What a write into a set must expect of the record, and the message that it must add. */
export interface Editing {
  guards: { subject: string; seq: number }[];
  messages: Append[];
}

/** Returns what a write into a set needs so that nothing is written into a published set, and none stays scheduled. */
export function editing(
  deps: Pick<Deps, "clock">,
  actor: Actor,
  orb: string,
  { set, seq }: ReadSet,
): Editing {
  if (set.state !== "SCHEDULED")
    return { guards: [{ subject: subjects.changeRecord(orb, set.id), seq }], messages: [] };
  return { guards: [], messages: [setMessage(orb, unscheduled(deps, actor, set, "edit"), seq)] };
}

/**
 * Returns the next revision of a set that is scheduled no longer. Its planned time stays as a note, except after a refusal:
 * no account has planned to publish what the set becomes.
 */
export function unscheduled(
  deps: Pick<Deps, "clock">,
  actor: Actor,
  set: ChangeSet,
  act: "edit" | "reject" | "unschedule" | "refuse",
  change: SetChange = {},
): ChangeSet {
  const plan = set.plan === undefined ? {} : { plan: { ...set.plan, hash: undefined } };
  return nextSet(deps, actor, set, act, { ...plan, ...change });
}

/** Returns the message that stores a revision. It expects the revision before at `seq`; 0 for a new set. */
export function setMessage(orb: string, set: ChangeSet, seq: number): Append {
  return { subject: subjects.changeRecord(orb, set.id), data: JSON.stringify(set), expect: { seq } };
}
