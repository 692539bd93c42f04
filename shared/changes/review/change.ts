/** Opens change sets, and writes the next revision of one. Each write expects the newest revision and the definition. */
import type { Actor } from "../../access/actor.ts";
import { type Principal, principalIn } from "../../access/authorize.ts";
import type { ChangeOperation } from "../../access/credentials/index.ts";
import type { Deps } from "../../deps.ts";
import { GONE_SECONDS, type Guard, type OrbContext } from "../../entry/model/index.ts";
import { renewDefinition, retryOnConflict, storeBeside } from "../../entry/write/index.ts";
import { revisionMismatch } from "../../kernel/errors.ts";
import { counted } from "../../quotas/write.ts";
import { subjects } from "../../store/subjects.ts";
import type { Append } from "../../store/types.ts";
import {
  type ChangeSet,
  type NewSet,
  newSet,
  nextMessages,
  openingMessages,
  type ReadSet,
  requireOn,
  requireSet,
  requireSome,
} from "../record/index.ts";
import { type ReadContent, type ReviewedSet, reviewed } from "./content.ts";
import type { InOrb, OfSet } from "./input.ts";
import { planFor } from "./plan.ts";

/** A revision of a set as an attempt reads it. */
export interface Attempt extends ReadSet {
  context: OrbContext;
  principal: Principal;
}

export interface OpenSet extends InOrb {
  title: string;
  description?: string | undefined;
  /** When the set is to be published, once it is approved: a time with its offset. */
  publishAt?: string | undefined;
}

/** Opens a change set. */
export async function openSet(
  deps: Deps,
  actor: Actor,
  input: OpenSet,
  read: ReadContent,
): Promise<ReviewedSet> {
  const { orbId, orb, renew, title, description, publishAt } = input;
  const first = await orb;
  const allow = ({ orb: id, compiled }: OrbContext) => {
    const principal = principalIn(actor, id, compiled);
    requireSome(principal, compiled, "changes.write");
    if (publishAt !== undefined) requireSome(principal, compiled, "changes.publish");
  };
  allow(first);
  const content: NewSet = {
    title,
    description,
    ...(publishAt === undefined ? {} : { plan: planFor(deps, actor, publishAt) }),
  };
  return counted(deps, actor, orbId, () =>
    retryOnConflict(deps, orbId, async (attempt) => {
      const context = attempt === 0 ? first : await renewDefinition(deps, { orbId, renew });
      allow(context);
      const set = newSet(deps, actor, content);
      await storeBeside(deps, actor, context, set.id, openingMessages(context.orb, set));
      return reviewed(context, set, await read(deps, context, set));
    }),
  );
}

/**
 * Writes messages of a set, again if another request comes first.
 * @param decide returns the messages and the result; throws if the write is not possible
 * @throws AppError change_not_found
 */
export async function writeInSet<T>(
  deps: Deps,
  actor: Actor,
  { orbId, orb, renew, set: id }: Omit<OfSet, "ifMatch">,
  operation: ChangeOperation,
  decide: (attempt: Attempt) => Promise<{ messages: readonly Append[]; result: T }>,
): Promise<T> {
  const first = await orb;
  requireSome(principalIn(actor, first.orb, first.compiled), first.compiled, operation);
  return counted(deps, actor, orbId, () =>
    retryOnConflict(deps, orbId, async (attempt) => {
      const context = attempt === 0 ? first : await renewDefinition(deps, { orbId, renew });
      const read = await requireSet(deps, context.orb, id);
      const principal = principalIn(actor, context.orb, context.compiled);
      requireOn(principal, context.compiled, operation, read.set);
      const { messages, result } = await decide({ context, principal, ...read });
      await storeBeside(deps, actor, context, id, messages);
      return result;
    }),
  );
}

/** The next revision of a set, and what else must not have changed since it was decided. */
export interface NextSet {
  set: ChangeSet;
  guards?: readonly Guard[];
}

/**
 * Writes the next revision of a set.
 * @param decide returns the next revision; throws if it is not possible
 * @throws AppError change_not_found, revision_mismatch
 */
export function changeSet<T extends NextSet>(
  deps: Deps,
  actor: Actor,
  { ifMatch, ...input }: OfSet,
  operation: ChangeOperation,
  decide: (attempt: Attempt) => Promise<T>,
): Promise<T> {
  return writeInSet(deps, actor, input, operation, async (attempt) => {
    const { context, set } = attempt;
    if (ifMatch !== undefined && ifMatch !== set.revision) throw revisionMismatch(set.revision);
    const result = await decide(attempt);
    const { orb } = context;
    const guards = (result.guards ?? []).map((expect, index): Append => {
      const subject = subjects.guard(orb, set.id, index + 1);
      return { subject, data: "", ttl: GONE_SECONDS, expect };
    });
    return { messages: [...guards, ...nextMessages(orb, attempt, result.set)], result };
  });
}
