/** The description of an orb as a change set will leave it. */
import { z } from "@hono/zod-openapi";
import type { Context } from "hono";
import { requireScope } from "../../shared/access/authorize.ts";
import type { LiveOrb } from "../../shared/definition/live-orb.ts";
import { liveOrb, noLiveOrb } from "../../shared/definition/stored/index.ts";
import { definitionIn, readingFrom } from "../http/within.ts";
import { actorFor } from "../middleware/session.ts";
import type { AppEnv } from "../request/context.ts";

/** The query parameter that names a change set. */
export const WITHIN = z.object({
  change: z.string().optional().openapi({
    description:
      "Id of a change set of the orb: the orb as the set will leave it, for callers who may read the set",
  }),
});

/** Returns an orb as a change set will leave it. @throws AppError 401, 403 or 404 if the caller may not read the set */
export async function orbWithin(c: Context<AppEnv>, orb: string, change: string): Promise<LiveOrb> {
  const { deps } = c.var;
  const live = await liveOrb(deps, orb);
  if (live === null) throw noLiveOrb();
  const actor = await actorFor(c, orb, live.compiled.usesAccess);
  requireScope(actor, "read", live.orb);
  const context = await definitionIn(deps, live, change, async () => actor);
  await readingFrom(deps, actor, context, { change });
  return context;
}
