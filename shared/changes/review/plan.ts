/** The planned time of a publication, and whether the set is scheduled for it. */
import { type Actor, behalfOf } from "../../access/actor.ts";
import type { Principal } from "../../access/authorize.ts";
import type { Deps } from "../../deps.ts";
import type { Guard, OrbContext } from "../../entry/model/index.ts";
import { invalid } from "../../kernel/errors.ts";
import { subjects } from "../../store/subjects.ts";
import {
  type ChangeSet,
  hashMismatch,
  isPublishable,
  nextSet,
  nothingToPublish,
  type Plan,
  type ReadSet,
  requireOn,
  type SetChange,
  type SetContent,
  unscheduled,
} from "../record/index.ts";

/**
 * Returns the plan to publish a set at a time, with the rights of the caller.
 * @param publishAt ISO 8601 with an offset
 * @throws AppError invalid if the time is not in the future
 */
export function planFor({ clock }: Pick<Deps, "clock">, actor: Actor, publishAt: string): Plan {
  const time = Date.parse(publishAt);
  if (!(time > clock.now()))
    throw invalid([{ path: "/publishAt", code: "range", message: "must be in the future" }]);
  return { at: new Date(time).toISOString(), by: behalfOf(actor) };
}

/** A set, and the caller who decides about its plan. */
interface Planned extends ReadSet {
  context: OrbContext;
  principal: Principal;
}

/** The next revision of a set, and the condition that its entries are those for which it was decided. */
interface Decided {
  set: ChangeSet;
  guards?: readonly Guard[];
}

/**
 * Plans the publication of the present content of a set, or gives the plan up. The set is scheduled if it has its
 * approvals. Otherwise, it is scheduled once this content gets them.
 * @param publishAt null gives the plan up
 * @param hash hash of the content that the caller has seen
 * @param change what else changes
 */
export function planned(
  deps: Deps,
  { context, principal, set }: Planned,
  content: SetContent,
  { publishAt, hash }: { publishAt: string | null; hash?: string | undefined },
  change: SetChange,
): Decided {
  const { actor } = principal;
  const { compiled } = context;
  if (hash !== undefined && hash !== content.hash) throw hashMismatch(content.hash);
  const isReady = isPublishable(compiled, set, content);
  if (publishAt === null) {
    const without = { ...change, plan: undefined };
    if (set.state !== "SCHEDULED") return { set: nextSet(deps, actor, set, "update", without) };
    const next = unscheduled(deps, actor, set, "unschedule", without);
    return { set: isReady && set.approvals.length > 0 ? { ...next, state: "APPROVED" } : next };
  }
  requireOn(principal, compiled, "changes.publish", set);
  const plan = { ...planFor(deps, actor, publishAt), hash: content.hash };
  if (content.entries === 0 && content.definition === undefined) throw nothingToPublish();
  const next = { ...change, plan, refused: undefined };
  if (isReady) return scheduled(context, nextSet(deps, actor, set, "schedule", next), content);
  const act = set.state === "SCHEDULED" ? "unschedule" : "update";
  return { set: nextSet(deps, actor, set, act, next) };
}

/** Returns a set that is scheduled, on condition that nothing was written into it meanwhile. */
function scheduled({ orb }: OrbContext, set: ChangeSet, { seq = 0 }: SetContent): Decided {
  const guards = [{ subject: subjects.changeContent(orb, set.id), seq }];
  return { set: { ...set, state: "SCHEDULED" }, guards };
}

/**
 * Schedules a set that has just been approved, if an account has planned to publish exactly this content, at a time in the
 * future. So an approval never publishes anything with the rights of an account that has not seen it.
 */
export function scheduledIfPlanned(
  { clock }: Pick<Deps, "clock">,
  context: OrbContext,
  set: ChangeSet,
  content: SetContent,
): Decided {
  const { plan } = set;
  if (plan?.hash !== content.hash || Date.parse(plan.at) <= clock.now()) return { set };
  return scheduled(context, { ...set, refused: undefined }, content);
}
