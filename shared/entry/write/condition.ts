/** Conditions that a client sets for a change of an entry. */
import { isOwn, requireMay } from "../../access/authorize.ts";
import type { CompiledSchema } from "../../definition/compile.ts";
import { AppError, invalid } from "../../kernel/errors.ts";
import { type Budget, type RuleFailure, runRule } from "../../logic/engine.ts";
import { readableIn } from "../model/index.ts";
import type { Shape } from "../pinned/index.ts";
import { entryFacts } from "../values/index.ts";
import type { State } from "./change-write.ts";

/** A rule (JsonLogic) that the newest revision must meet. */
export interface Condition {
  /** Accepted by `checkRule`. */
  rule: unknown;
  /** Limits that all rules of one request share. */
  budget: Budget;
}

const FAILURES: Readonly<Record<RuleFailure, string>> = {
  too_many_steps: "takes too many steps together with the other rules of the request",
  too_deep: "is nested too deeply",
  too_slow: "takes too long together with the other rules of the request",
  too_large: "makes too large a value",
  failed: "cannot be evaluated with the values of this entry",
};

/**
 * Throws 401 or 403 if the caller may not read the newest revision. Call this before a response can depend on stored
 * values.
 */
export function requireNewest({ caller, base }: State, { access }: CompiledSchema): void {
  requireMay(caller, "readDraft", { access, own: isOwn(caller.actor, base.createdBy) });
}

/**
 * Checks that the newest revision meets a condition. The rule reads `id`, `revision`, `status` and `values`, with the
 * fields that the caller may read.
 * @param shape set if the rule reads values in the shape of an earlier revision of the definition
 * @throws AppError precondition `condition_failed`
 */
export function requireCondition(
  state: State,
  schema: CompiledSchema,
  { rule, budget }: Condition,
  shape?: Shape | undefined,
): void {
  requireNewest(state, schema);
  const { caller, base } = state;
  const view = readableIn(schema, caller, base.createdBy);
  const { id, revision, status } = base;
  const values =
    shape === undefined
      ? entryFacts(view, base.values)
      : entryFacts(shape.view(view), shape.shown(view, base.values));
  const facts = { id, revision, status, values };
  const { fired, failure } = runRule(rule, facts, budget);
  if (failure !== undefined)
    throw invalid([{ path: "/if", code: "rule_failed", message: FAILURES[failure] }]);
  if (fired) return;
  const detail = "The newest revision of the entry does not meet the condition of the request.";
  throw new AppError("precondition", "condition_failed", detail, { data: { revision } });
}
