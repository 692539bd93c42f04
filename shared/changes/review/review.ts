/** The review of a change set: title and description, request, approval, rejection, and giving it up. */
import { type Actor, actorId } from "../../access/actor.ts";
import { audit } from "../../access/audit.ts";
import { mayReview, requireChange } from "../../access/authorize.ts";
import { refusal } from "../../access/refusals.ts";
import type { Deps } from "../../deps.ts";
import { AppError } from "../../kernel/errors.ts";
import {
  type Approval,
  changeRights,
  hashMismatch,
  isApproved,
  isAuthor,
  type JudgedRule,
  keptApprovals,
  nextSet,
  requireSet,
  rulesFor,
  type SetContent,
  type SetState,
  unscheduled,
} from "../record/index.ts";
import { type Attempt, changeSet } from "./change.ts";
import { type ReadContent, type RequireEach, type ReviewedSet, reviewed } from "./content.ts";
import type { OfSet } from "./input.ts";
import { planned, scheduledIfPlanned } from "./plan.ts";

/** States that an approval can lead to, and in which the set takes no further approval. */
const BEYOND: readonly SetState[] = ["SCHEDULED", "PUBLISHED"];

/**
 * Returns a set that the caller has already approved with this content. An approval schedules a set that has a plan, so
 * the state no longer allows the approval when the client repeats it.
 * @param hash hash of the content that the caller has seen
 * @throws the error of the repeated approval if it is not one
 */
async function approvedBefore(
  deps: Deps,
  actor: Actor,
  input: OfSet & { hash?: string | undefined },
  read: ReadContent,
  error: unknown,
): Promise<ReviewedSet> {
  const { hash } = input;
  if (hash === undefined || !(error instanceof AppError) || error.code !== "wrong_state") throw error;
  const context = await input.orb;
  const { set } = await requireSet(deps, context.orb, input.set);
  const isMine = set.approvals.some((approval) => approval.by === actorId(actor) && approval.hash === hash);
  if (!isMine || !BEYOND.includes(set.state)) throw error;
  return reviewed(context, set, await read(deps, context, set));
}

export interface UpdateSet extends OfSet {
  title?: string | undefined;
  /** Null removes it. */
  description?: string | null | undefined;
  /** When the set is to be published: a time with its offset. Null gives the plan up. */
  publishAt?: string | null | undefined;
  /** Hash of the content that is to be published. By default, the content as it is now. */
  hash?: string | undefined;
}

/**
 * Changes the title, the description or the planned time.
 * @throws AppError `hash_mismatch` if the content is not the one that the caller has seen
 */
export function updateSet(
  deps: Deps,
  actor: Actor,
  { title, description, publishAt, hash, ...input }: UpdateSet,
  read: ReadContent,
  requireEach: RequireEach,
): Promise<ReviewedSet> {
  return changeSet(deps, actor, input, "changes.write", async (attempt) => {
    const { context, set } = attempt;
    const content = await read(deps, context, set);
    const texts = {
      ...(title === undefined ? {} : { title }),
      ...(description === undefined ? {} : { description: description ?? undefined }),
    };
    const next =
      publishAt === undefined
        ? { set: nextSet(deps, actor, set, "update", texts) }
        : planned(deps, attempt, content, { publishAt, hash }, texts);
    if (typeof publishAt === "string") await requireEach(deps, context, attempt.principal, set);
    return { ...reviewed(context, next.set, content), ...next };
  });
}

/** Gives a set up. It stays readable. */
export async function closeSet(deps: Deps, actor: Actor, input: OfSet): Promise<void> {
  await changeSet(deps, actor, input, "changes.write", async ({ set }) => ({
    set: nextSet(deps, actor, set, "close", { plan: undefined }),
  }));
}

/** Asks for a review. Approvals of earlier content are dropped. */
export function requestReview(
  deps: Deps,
  actor: Actor,
  input: OfSet,
  read: ReadContent,
): Promise<ReviewedSet> {
  return changeSet(deps, actor, input, "changes.write", async ({ context, set }) => {
    const content = await read(deps, context, set);
    const approvals = set.approvals.filter(({ hash }) => hash === content.hash);
    const next = nextSet(deps, actor, set, "review", { approvals, rejection: undefined });
    return reviewed(context, next, content);
  });
}

export interface ApproveSet extends OfSet {
  /** Hash of the content that the reviewer has seen. By default, the content as it is now. */
  hash?: string | undefined;
  comment?: string | undefined;
}

/**
 * Approves the content of a set. The set is approved once all review rules that concern it are met. With a hash, a
 * repeated approval succeeds although the first one has scheduled the set.
 * @throws AppError `hash_mismatch` if the content is not the one that the reviewer has seen
 */
export async function approveSet(
  deps: Deps,
  actor: Actor,
  { hash, comment, ...input }: ApproveSet,
  read: ReadContent,
): Promise<ReviewedSet> {
  const record = recorder(deps, actor, input);
  return changeSet(deps, actor, input, "changes.approve", async (attempt) => {
    const { context, principal, set } = attempt;
    const content = await read(deps, context, set);
    if (hash !== undefined && hash !== content.hash) throw hashMismatch(content.hash);
    const { role, orbRole } = principal;
    const approval: Approval = {
      by: actorId(actor),
      role,
      ...(orbRole === undefined ? {} : { orbRole }),
      at: new Date(deps.clock.now()).toISOString(),
      hash: content.hash,
      ...(comment === undefined ? {} : { comment }),
    };
    const { compiled } = context;
    requireCounting(attempt, content, requireReviewer(attempt, content));
    const others = set.approvals.filter(({ by }) => by !== approval.by);
    const all = nextSet(deps, actor, set, "approve", { approvals: [...others, approval] });
    const next = { ...all, approvals: keptApprovals(compiled, all, content) };
    await record(`approved ${content.hash}`);
    if (!isApproved(compiled, next, content))
      return reviewed(context, { ...next, state: "IN_REVIEW" }, content);
    const done = scheduledIfPlanned(deps, context, next, content);
    return { ...reviewed(context, done.set, content), ...done };
  }).catch((error: unknown) => approvedBefore(deps, actor, { ...input, hash }, read, error));
}

type Rule = JudgedRule["rule"];

/**
 * Returns the review rules that concern a set and name the caller. Throws 403 if there are none, unless no rule concerns
 * the set and the caller may publish.
 */
function requireReviewer({ context, principal }: Attempt, content: SetContent): readonly Rule[] {
  const { compiled } = context;
  const rules = rulesFor(compiled, content);
  if (rules.length === 0) {
    requireChange(principal, "changes.approve", { ...changeRights(compiled, false), reviewers: [] });
    return [];
  }
  const fitting = rules.filter(({ by }) => mayReview(by, principal.role, principal.orbRole));
  if (fitting.length === 0) throw refusal(principal.actor);
  return fitting;
}

/** Throws 403 if none of the review rules that name the caller would count the approval. */
function requireCounting({ principal, set }: Attempt, content: SetContent, fitting: readonly Rule[]): void {
  if (fitting.length === 0 || !isAuthor(actorId(principal.actor), set, content)) return;
  if (fitting.some(({ notAuthor }) => !notAuthor)) return;
  const detail =
    "The review rules demand another reviewer, because you opened the change set or wrote into it.";
  throw new AppError("forbidden", "own_change", detail);
}

/** Sends a set back to its authors. All its approvals end. The rules for approvals decide who may do it. */
export async function rejectSet(
  deps: Deps,
  actor: Actor,
  { comment, ...input }: OfSet & { comment: string },
  read: ReadContent,
): Promise<ReviewedSet> {
  const record = recorder(deps, actor, input);
  return changeSet(deps, actor, input, "changes.approve", async (attempt) => {
    const { context, set } = attempt;
    const content = await read(deps, context, set);
    requireReviewer(attempt, content);
    const rejection = { by: actorId(actor), at: new Date(deps.clock.now()).toISOString(), comment };
    const next = unscheduled(deps, actor, set, "reject", { approvals: [], rejection });
    await record(`rejected ${content.hash}`);
    return reviewed(context, next, content);
  });
}

/**
 * Returns a function that records a decision about a set in the audit log. Call it before the decision is stored, so that
 * none is stored without its record. An attempt that repeats the last decision records nothing.
 */
function recorder(deps: Deps, actor: Actor, { orbId, set }: OfSet): (detail: string) => Promise<void> {
  let last: string | undefined;
  return async (detail) => {
    if (detail === last) return;
    await audit(deps, { realm: orbId, action: "change", actor, target: set, detail });
    last = detail;
  };
}
