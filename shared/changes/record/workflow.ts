/** Judges whether a change set has the approvals that the review rules of its application demand. */
import { mayReview } from "../../access/authorize.ts";
import type { CompiledOrb } from "../../definition/compile.ts";
import { REVIEW_LIMITS, type ReviewRule } from "../../definition/document/index.ts";
import { AppError } from "../../kernel/errors.ts";
import type { Approval, ChangeSet } from "./record.ts";
import { nextState } from "./states.ts";

/** What a review needs to know of the content of a set. */
export interface SetContent {
  /** Sequence number of the message that lists the entries; 0 if there is none. */
  seq?: number | undefined;
  /** Changes with every write into the set. */
  hash: string;
  /** Number of entries in the set. */
  entries: number;
  /** The schemas of these entries, each once. */
  schemas: readonly { module: string; schema: string }[];
  /** Ids of the accounts that wrote into the set. */
  authors: readonly string[];
  /** The definition of the orb that the set proposes: its number within the set, and the live revision that it follows. */
  definition?: { revision: number; base: number; force: boolean } | undefined;
}

/** A review rule that concerns a set, and how many accounts have met it. */
export interface JudgedRule {
  rule: ReviewRule;
  /** Number of approvals that count. At most those that the rule demands are needed. */
  given: number;
}

/**
 * Returns the review rules that demand approvals of a set with this content. A definition of the orb concerns the entries
 * of all schemas.
 */
export function rulesFor(
  { review }: Pick<CompiledOrb, "review">,
  { schemas, definition }: SetContent,
): readonly ReviewRule[] {
  return review.filter(
    ({ module, schema }) =>
      module === undefined ||
      definition !== undefined ||
      schemas.some((each) => each.module === module && (schema === undefined || each.schema === schema)),
  );
}

/** Returns whether an account opened a set or wrote into it. */
export function isAuthor(account: string, { createdBy }: ChangeSet, { authors }: SetContent): boolean {
  return account === createdBy || authors.includes(account);
}

/** Returns the approvals that count for a rule. Each account has at most one approval in a set. */
function counting(
  rule: ReviewRule,
  set: ChangeSet,
  content: SetContent,
  isBound: (approval: Approval) => boolean,
): Approval[] {
  return set.approvals.filter(
    (approval) =>
      isBound(approval) &&
      mayReview(rule.by, approval.role, approval.orbRole) &&
      !(rule.notAuthor && isAuthor(approval.by, set, content)),
  );
}

/** Returns the rules that concern a set, with the number of approvals of its present content. */
export function judgedRules(
  orb: Pick<CompiledOrb, "review">,
  set: ChangeSet,
  content: SetContent,
  isBound = (approval: Approval) => approval.hash === content.hash,
): JudgedRule[] {
  return rulesFor(orb, content).map((rule) => ({
    rule,
    given: counting(rule, set, content, isBound).length,
  }));
}

/**
 * Returns the approvals of a set that its record keeps: as many as all rules together can demand. Beyond that, approvals
 * of earlier content end first, and then the oldest ones that no rule needs.
 */
export function keptApprovals(
  orb: Pick<CompiledOrb, "review">,
  set: ChangeSet,
  content: SetContent,
): readonly Approval[] {
  if (set.approvals.length <= REVIEW_LIMITS.total) return set.approvals;
  const isBound = ({ hash }: Approval) => hash === content.hash;
  const bound = set.approvals.filter(isBound);
  const needed = rulesFor(orb, content).flatMap((rule) =>
    counting(rule, set, content, isBound).slice(0, rule.approvals),
  );
  const spare = bound.filter((approval) => !needed.includes(approval));
  const ended = spare.slice(0, Math.max(0, bound.length - REVIEW_LIMITS.total));
  return bound.filter((approval) => !ended.includes(approval));
}

const isMet = (rules: readonly JudgedRule[]) => rules.every(({ rule, given }) => given >= rule.approvals);

/** Returns whether the present content of a set has all approvals that it needs. */
export function isApproved(orb: Pick<CompiledOrb, "review">, set: ChangeSet, content: SetContent): boolean {
  return isMet(judgedRules(orb, set, content));
}

/** Returns whether approvals exist, and all of them are of earlier content. */
const isVoid = ({ approvals }: ChangeSet, { hash }: SetContent) =>
  approvals.length > 0 && approvals.every((approval) => approval.hash !== hash);

/** Returns whether {@link requirePublishable} would succeed, apart from the state of the set. */
export function isPublishable(
  orb: Pick<CompiledOrb, "review">,
  set: ChangeSet,
  content: SetContent,
): boolean {
  return !isVoid(set, content) && isApproved(orb, set, content);
}

/** Error 409: there is nothing to publish. */
export function nothingToPublish(): AppError {
  const detail = "The change set contains no entries. Write some into it first.";
  return new AppError("conflict", "change_empty", detail);
}

/**
 * Checks that a set may be published with its present content. The right to publish each entry is checked apart.
 * @throws AppError `wrong_state`; `approval_void` if the content was changed after its approval; `approval_missing`
 */
export function requirePublishable(
  orb: Pick<CompiledOrb, "review">,
  set: ChangeSet,
  content: SetContent,
): void {
  nextState(set.state, "publish");
  if (isPublishable(orb, set, content)) return;
  const rules = judgedRules(orb, set, content);
  if (isVoid(set, content) || isMet(judgedRules(orb, set, content, () => true))) {
    const detail =
      "The change set was edited after its approval. Ask for a review of its present content, with POST …/review.";
    throw new AppError("conflict", "approval_void", detail, { data: { hash: content.hash } });
  }
  const missing = rules.filter(({ rule, given }) => given < rule.approvals);
  const detail = `The change set lacks approvals: ${missing.map(shortfall).join("; ")}. Ask for a review, with POST …/review.`;
  throw new AppError("conflict", "approval_missing", detail);
}

function shortfall({ rule: { approvals, roles, module, schema, notAuthor }, given }: JudgedRule): string {
  const place = module === undefined ? "" : ` for ${module}${schema === undefined ? "" : `/${schema}`}`;
  const others = notAuthor ? ", other than its authors" : "";
  return `${approvals - given} more by ${roles.join(" or ")}${others}${place}`;
}

/** Error 412: the content is not the one that the caller has seen. @param hash hash of the present content */
export function hashMismatch(hash: string): AppError {
  const detail =
    "The content of the change set is not the one with this hash, because another request edited it. Read it again.";
  return new AppError("precondition", "hash_mismatch", detail, { data: { hash } });
}
