/** Comments on a change set, on one of its entries or on a field of an entry. Callers who read the set read them all. */
import { type Actor, actorId, throughOf, tokenIdOf } from "../../access/actor.ts";
import { principalIn } from "../../access/authorize.ts";
import type { Deps } from "../../deps.ts";
import { notFound } from "../../kernel/errors.ts";
import { isToken, streams, subjects } from "../../store/subjects.ts";
import { requireReadable, requireSet, requireSome } from "../record/index.ts";
import { writeInSet } from "./change.ts";
import type { OfSet } from "./input.ts";
import { type Listed, listInOrder } from "./listed.ts";
import { mentionMessages } from "./mentions.ts";

/** A comment as stored. Times are ISO 8601, and `by` members are ids of accounts. */
export interface SetComment {
  v: 1;
  id: string;
  text: string;
  /** What it is about: an entry as `module/schema/id`, and a field of it. Missing: the whole set. */
  entry?: string | undefined;
  field?: string | undefined;
  /** Ids of the accounts that it addresses. */
  mentions: readonly string[];
  at: string;
  by: string;
  /** The handler that commented for the account. */
  through?: string | undefined;
  /** Id of the API token with which the account commented. */
  token?: string | undefined;
  resolved?: { by: string; at: string } | undefined;
}

type InSet = Omit<OfSet, "ifMatch">;

export interface NewComment extends InSet {
  text: string;
  entry?: string | undefined;
  field?: string | undefined;
  mentions: readonly string[];
}

/** Adds a comment. */
export function addComment(deps: Deps, actor: Actor, input: NewComment): Promise<SetComment> {
  const { text, entry, field, mentions, ...of } = input;
  return writeInSet(deps, actor, of, "changes.comment", async ({ context, set }) => {
    const result: SetComment = {
      v: 1,
      id: deps.newId(),
      text,
      entry,
      field,
      mentions,
      at: new Date(deps.clock.now()).toISOString(),
      by: actorId(actor),
      through: throughOf(actor),
      token: tokenIdOf(actor),
    };
    const subject = subjects.changeComment(context.orb, set.id, result.id);
    const order = { subject: subjects.changeCommentOrder(context.orb, set.id), data: result.id };
    const stored = { subject, data: JSON.stringify(result), expect: { seq: 0 } };
    return { messages: [stored, order, ...mentionMessages(context.orb, set.id, result)], result };
  });
}

/**
 * Marks a comment as resolved. A comment that is resolved already stays as it is.
 * @throws AppError comment_not_found
 */
export function resolveComment(
  deps: Deps,
  actor: Actor,
  { comment, ...of }: InSet & { comment: string },
): Promise<SetComment> {
  return writeInSet(deps, actor, of, "changes.comment", async ({ context, set }) => {
    if (!isToken(comment)) throw notFound("comment");
    const subject = subjects.changeComment(context.orb, set.id, comment);
    const message = await deps.store.get(streams.orb(context.orb), subject);
    if (message === null) throw notFound("comment");
    const stored = message.json<SetComment>();
    const resolved = { by: actorId(actor), at: new Date(deps.clock.now()).toISOString() };
    const result = { ...stored, resolved: stored.resolved ?? resolved };
    const data = JSON.stringify(result);
    return { messages: [{ subject, data, rollup: true, expect: { seq: message.seq } }], result };
  });
}

/** Lists the comments on a set, oldest first. */
export async function listComments(
  deps: Deps,
  actor: Actor,
  { orb, set: id, limit, after }: Pick<OfSet, "orb" | "set"> & { limit: number; after?: number | undefined },
): Promise<Listed<SetComment>> {
  const context = await orb;
  const principal = principalIn(actor, context.orb, context.compiled);
  requireSome(principal, context.compiled, "changes.read");
  const { set } = await requireSet(deps, context.orb, id);
  requireReadable(principal, context.compiled, set);
  return listInOrder(deps, {
    orb: context.orb,
    order: subjects.changeCommentOrder(context.orb, set.id),
    subjectOf: (comment) => subjects.changeComment(context.orb, set.id, comment),
    newestFirst: false,
    after,
    limit,
    take: (message) => message.json<SetComment>(),
  });
}
