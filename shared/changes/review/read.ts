/** Reads change sets: one with what its review needs, or a list. */
import type { Actor } from "../../access/actor.ts";
import { principalIn } from "../../access/authorize.ts";
import type { Deps } from "../../deps.ts";
import type { OrbContext } from "../../entry/model/resolve.ts";
import { subjects } from "../../store/subjects.ts";
import { type ChangeSet, parseSet, requireSet } from "../record/record.ts";
import { isReadable, requireReadable, requireSome } from "../record/rights.ts";
import type { SetState } from "../record/states.ts";
import { type ReadContent, type ReviewedSet, reviewed } from "./content.ts";
import type { OfSet } from "./input.ts";
import { type Listed, listInOrder } from "./listed.ts";

/** Returns a change set. */
export async function getSet(
  deps: Deps,
  actor: Actor,
  { orb, set: id }: Pick<OfSet, "orb" | "set">,
  read: ReadContent,
): Promise<ReviewedSet> {
  const context = await orb;
  const principal = principalIn(actor, context.orb, context.compiled);
  requireSome(principal, context.compiled, "changes.read");
  const { set } = await requireSet(deps, context.orb, id);
  requireReadable(principal, context.compiled, set);
  return reviewed(context, set, await read(deps, context, set));
}

export interface ListSets {
  orb: OrbContext | Promise<OrbContext>;
  state?: SetState | undefined;
  /** Id of the account that opened the sets. */
  author?: string | undefined;
  limit: number;
  /** Place of the last set of the previous page. */
  after?: number | undefined;
}

/** Lists the change sets that the caller may read, newest first. A page may be shorter than `limit`. */
export async function listSets(
  deps: Deps,
  actor: Actor,
  { orb, state, author, limit, after }: ListSets,
): Promise<Listed<ChangeSet>> {
  const context = await orb;
  const principal = principalIn(actor, context.orb, context.compiled);
  requireSome(principal, context.compiled, "changes.read");
  return listInOrder(deps, {
    orb: context.orb,
    order: subjects.changeOrder(context.orb),
    subjectOf: (id) => subjects.changeRecord(context.orb, id),
    newestFirst: true,
    after,
    limit,
    take(message) {
      const { set } = parseSet(message);
      const fits =
        (state === undefined || set.state === state) && (author === undefined || set.createdBy === author);
      return fits && isReadable(principal, context.compiled, set) ? set : undefined;
    },
  });
}
