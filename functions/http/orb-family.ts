/**
 * A family of routes of published applications below one path segment. A module or handler of that name takes its place.
 */
import type { Context, Next } from "hono";
import type { CompiledOrb } from "../../shared/definition/compile.ts";
import { isOrbId } from "../../shared/definition/document/index.ts";
import { type LiveOrb, lossHeaders } from "../../shared/definition/live-orb.ts";
import { lastLive, liveOrb, noLiveOrb } from "../../shared/definition/stored/index.ts";
import { beginCaller, hasCredentials, receiveEarly } from "../middleware/session.ts";
import type { AppEnv } from "../request/context.ts";
import { requireNoDefinition } from "./definition-header.ts";
import { type InnerRouter, innerRouter } from "./inner-router.ts";

export interface OrbFamily extends Pick<InnerRouter<LiveOrb>, "router" | "handedTo"> {
  /** Middleware for the paths below the segment. */
  answer: (c: Context<AppEnv>, next: Next) => Promise<Response | undefined>;
}

/** @param hides returns whether a module or handler of the application takes the place of the routes */
export function orbFamily(hides: (compiled: CompiledOrb) => boolean): OrbFamily {
  const { router, handedTo, hand } = innerRouter<LiveOrb>();
  async function answer(c: Context<AppEnv>, next: Next): Promise<Response | undefined> {
    const orbId = c.req.param("orbId") ?? "";
    if (!isOrbId(orbId)) throw noLiveOrb();
    const { deps } = c.var;
    // A handler of this name may stream the body, so receive the body only if the path is not the handler's.
    const known = lastLive(orbId) ?? (await liveOrb(deps, orbId, "stale"));
    if (known !== null && hides(known.compiled)) return pass(next);
    await receiveEarly(c);
    const caller = beginCaller(c, orbId);
    const live = await liveOrb(deps, orbId, hasCredentials(c) ? "cached" : "stale");
    if (live === null) throw noLiveOrb();
    if (hides(live.compiled)) return pass(next);
    requireNoDefinition(c);
    c.set("lossHeaders", lossHeaders(live.fence?.loss));
    c.set("actor", await caller(live.compiled.usesAccess));
    return hand(c, live);
  }
  return { router, handedTo, answer };
}

async function pass(next: Next): Promise<undefined> {
  await next();
  return undefined;
}
