import type { Principal } from "../../access/authorize.ts";
import type { Deps } from "../../deps.ts";
import type { OrbContext } from "../../entry/model/index.ts";
import { type ChangeSet, type JudgedRule, judgedRules, type SetContent } from "../record/index.ts";

/** Reads what a review needs to know of the content of a set. */
export type ReadContent = (deps: Deps, context: OrbContext, set: ChangeSet) => Promise<SetContent>;

/** Throws unless a caller may publish, archive or delete each entry as a set does. */
export type RequireEach = (
  deps: Deps,
  context: OrbContext,
  principal: Principal,
  set: ChangeSet,
) => Promise<void>;

/** A set, its content, and the review rules that concern it. */
export interface ReviewedSet {
  set: ChangeSet;
  content: SetContent;
  rules: readonly JudgedRule[];
}

export function reviewed({ compiled }: OrbContext, set: ChangeSet, content: SetContent): ReviewedSet {
  return { set, content, rules: judgedRules(compiled, set, content) };
}
