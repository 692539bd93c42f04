/** Repeated approvals: the client sends a request again if it did not get the response. */
import { type Actor, actorId } from "../../access/actor.ts";
import type { Deps } from "../../deps.ts";
import { AppError } from "../../kernel/errors.ts";
import { requireSet, type SetState } from "../record/index.ts";
import { type ReadContent, type ReviewedSet, reviewed } from "./content.ts";
import type { OfSet } from "./input.ts";

/** States that an approval can lead to, and in which the set takes no further approval. */
const BEYOND: readonly SetState[] = ["SCHEDULED", "PUBLISHED"];

/**
 * Returns a set that the caller has already approved with this content. An approval schedules a set that has a plan, so
 * the state no longer allows the approval when the client repeats it.
 * @param hash hash of the content that the caller has seen
 * @throws the error of the repeated approval if it is not one
 */
export async function approvedBefore(
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
