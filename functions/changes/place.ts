/** What the routes for change sets share. */
import { type RouteConfig, z } from "@hono/zod-openapi";
import type { Context } from "hono";
import type { ChangeOperation } from "../../shared/access/credentials/index.ts";
import { contentOf } from "../../shared/changes/content/index.ts";
import type { ChangeSet } from "../../shared/changes/record/index.ts";
import type { InOrb, OfSet, ReadContent } from "../../shared/changes/review/index.ts";
import { isDue, tryDue } from "../../shared/changes/scheduled/index.ts";
import { CHANGES_SEGMENT } from "../../shared/orb/routes.ts";
import { ifMatch } from "../http/etag.ts";
import type { Router } from "../http/router.ts";
import type { AppEnv } from "../request/context.ts";

/** One of the places where the routes are: the API of an application, or the management API. */
export interface ChangeRoutes {
  /** Path before the application's id. */
  prefix: "/api" | "/api/admin/orbs" | "/api/_orbs";
  /** Suffix that makes operation ids unique. */
  suffix: "" | "Of";
  /** Properties of every route. */
  common: (operation: ChangeOperation) => Pick<RouteConfig, "tags" | "security" | "middleware" | "hide">;
  /** Returns the application of a request. */
  inOrb: (c: Context<AppEnv>) => InOrb;
  router: Router;
}

export const Params = z.object({
  orbId: z.string().openapi({ param: { name: "orbId", in: "path" }, example: "shop" }),
});
export const SetParams = Params.extend({
  changeId: z.string().openapi({ param: { name: "changeId", in: "path" }, description: "The set's id" }),
});
export const PROBLEMS = [401, 403, 404] as const;
/** Of writes with `If-Match`. */
export const OF_WRITES = [...PROBLEMS, 409, 412, 429, 507] as const;

/** Reads what a review needs to know of the content of a set. */
export const readContent: ReadContent = (deps, context, { id }) => contentOf(deps, context, id);

/** Milliseconds for which the functions leave a set whose time has come to the hooks process. */
const OVERDUE_MS = 10_000;

/** Maximum number of sets that one request publishes. */
const MOST_RELEASED = 3;

/**
 * Publishes sets that are overdue, after the response. So scheduled sets are published late, but not never, where no hooks
 * process runs. A set whose publication fails does not hold the others.
 */
export function releaseOverdue(
  { var: { deps } }: Context<AppEnv>,
  orb: string,
  sets: readonly ChangeSet[],
): void {
  const overdue = sets.filter((set) => isDue(set, deps.clock.now() - OVERDUE_MS));
  if (overdue.length === 0 || deps.readOnly === true) return;
  deps.afterwards(releaseSome(deps, orb, overdue));
}

async function releaseSome(
  deps: AppEnv["Variables"]["deps"],
  orb: string,
  overdue: readonly ChangeSet[],
): Promise<void> {
  let released = 0;
  for (const { id } of overdue) {
    if (released === MOST_RELEASED) return;
    try {
      // Another request or process may be at the set, or it waits for its next attempt.
      const outcome = await tryDue(deps, orb, id);
      if (outcome === "published" || outcome === "refused") released += 1;
    } catch (error) {
      released += 1;
      deps.log.warn("an overdue change set could not be published", { orb, error: String(error) });
    }
  }
}

/** Returns the paths of all sets and of one. */
export function pathsOf({ prefix }: ChangeRoutes) {
  const all = `${prefix}/{orbId}/${CHANGES_SEGMENT}` as const;
  return { all, one: `${all}/{changeId}` as const };
}

/** Returns the set that the path of a request names. */
export function target(
  place: ChangeRoutes,
  c: Context<AppEnv>,
  { changeId }: { changeId: string },
  headers: { "if-match"?: string | undefined },
): OfSet {
  return { ...place.inOrb(c), set: changeId, ifMatch: ifMatch(headers["if-match"]) };
}
