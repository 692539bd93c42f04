/** The query parameter `change`: reads and writes within a change set. */
import { z } from "@hono/zod-openapi";
import { type Actor, proposing } from "../../shared/access/actor.ts";
import { principalIn } from "../../shared/access/authorize.ts";
import {
  type ReadingIn,
  readingIn,
  type WithinSet,
  writingInto,
} from "../../shared/changes/content/within.ts";
import type { Deps } from "../../shared/deps.ts";
import type { OrbContext } from "../../shared/entry/model/resolve.ts";
import type { Fault } from "../../shared/kernel/errors.ts";
import { invalidParameters } from "../../shared/kernel/errors.ts";

const change = z.string().optional();

/** For reads. */
export const InChange = {
  change: change.openapi({
    description: "Id of a change set: the entries as the set will leave them, for callers who may read it",
  }),
};
/** For writes. */
export const IntoChange = {
  change: change.openapi({
    description:
      "Id of a change set: the write goes into the set. The entry stays as it is until the set is published",
  }),
};

/**
 * Returns the actor whose scopes decide whether a request may be made at all. If the request writes into a change set,
 * the scope `propose` of its API token is enough.
 */
export function askingIn(actor: Actor, query: Query): Actor {
  return query.change === undefined ? actor : proposing(actor);
}

type Query = Readonly<Record<string, string | undefined>>;

/** Throws 400 if a request within a change set has one of the parameters. */
function refuse(query: Query, names: readonly string[]): void {
  const faults = names.flatMap((name): Fault[] => {
    if (query[name] === undefined || query[name] === "false") return [];
    return [{ path: `/${name}`, code: "not_applicable", message: "must not be used together with change" }];
  });
  if (faults.length > 0) throw invalidParameters(faults);
}

/**
 * Returns the dependencies and the author of a write, and where it goes: into the change set that the query names, or
 * else into the entry.
 */
export async function writingTo(
  deps: Deps,
  actor: Actor,
  orb: OrbContext | Promise<OrbContext>,
  query: Query,
): Promise<{ actor: Actor } & Pick<WithinSet, "deps"> & Partial<WithinSet>> {
  if (query.change === undefined) return { deps, actor };
  refuse(query, ["publish", "purge"]);
  const context = await orb;
  const author = proposing(actor);
  const caller = principalIn(author, context.orb, context.compiled);
  return {
    ...(await writingInto(deps, caller, context, query.change, { force: query.force === "true" })),
    actor: author,
  };
}

/** Returns what a read needs: within the change set that the query names, if it names one. */
export async function readingFrom(
  deps: Deps,
  actor: Actor,
  orb: OrbContext | Promise<OrbContext>,
  query: Query,
): Promise<Pick<ReadingIn, "deps"> & Partial<ReadingIn>> {
  if (query.change === undefined) return { deps };
  refuse(query, ["at", "reveal", "live"]);
  // Others may write into the set, which the host's cache of responses does not follow.
  deps.expires?.(0);
  const context = await orb;
  return readingIn(deps, principalIn(actor, context.orb, context.compiled), context, query.change);
}
