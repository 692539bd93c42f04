/**
 * D: the automatic routes of published orbs. They are generic paths, registered once: what a path names is known only
 * when the orb's definition was read ({@link addressOf}).
 */
import type { Context } from "hono";
import { lastIndexed } from "../../shared/entry/list.ts";
import { notFound } from "../../shared/errors.ts";
import { isOrbId } from "../../shared/orb/ids.ts";
import { type LiveOrb, liveOrb } from "../../shared/orb/live.ts";
import type { AppEnv } from "../context.ts";
import { problem } from "../problem.ts";
import { newRouter } from "../router.ts";
import { type Address, addressOf, METHODS } from "./address.ts";
import { beginCaller, hasCredentials } from "./caller.ts";
import { callHandler } from "./handlers.ts";
import { get, list } from "./read.ts";
import { create, operate, remove, update } from "./write.ts";

const SEGMENTS = ["first", "second", "third", "fourth"] as const;

/** The address of the index's end, asked for beside the definition by lists that begin with the newest entry. */
function lookAhead(c: Context<AppEnv>, orb: string): Promise<number | undefined> | undefined {
  const newest = c.req.query("sort") === "-createdAt" && c.req.query("cursor") === undefined;
  if (!newest || (c.req.method !== "GET" && c.req.method !== "HEAD")) return undefined;
  const last = lastIndexed(c.var.deps, orb);
  last.catch(() => undefined);
  return last;
}

/** Names the route for logs and metrics, as the specification writes it. */
const ROUTES: Record<Address["kind"], string> = {
  handler: "/api/{orbId}/{handler}",
  collection: "/api/{orbId}/{moduleId}/{schemaId}",
  entry: "/api/{orbId}/{moduleId}/{schemaId}/{id}",
  operation: "/api/{orbId}/{moduleId}/{schemaId}/{id}/{operation}",
};

async function serve(c: Context<AppEnv>): Promise<Response> {
  const orb = c.req.param("orbId") ?? "";
  c.set("route", "/api/{orbId}/…");
  if (!isOrbId(orb)) throw notFound("orb");
  const caller = beginCaller(c, orb);
  const last = lookAhead(c, orb);
  const live = await liveOrb(c.var.deps, orb, hasCredentials(c) ? "leader" : "any");
  if (live === null) throw notFound("orb");
  const segments = SEGMENTS.map((name) => c.req.param(name)).filter((segment) => segment !== undefined);
  const address = addressOf(live.compiled, segments);
  c.set("route", ROUTES[address.kind]);
  const { method } = c.req;
  if (!METHODS[address.kind].includes(method)) {
    const allow = METHODS[address.kind].join(", ");
    return problem(c, 405, "method_not_allowed", `This address takes ${allow}.`, { headers: { allow } });
  }
  const actor = await caller(live);
  return answer(c, live, address, { actor, last });
}

function answer(
  c: Context<AppEnv>,
  live: LiveOrb,
  address: Address,
  found: { actor: Awaited<ReturnType<ReturnType<typeof beginCaller>>>; last: ReturnType<typeof lookAhead> },
): Promise<Response> {
  if (address.kind === "handler") return callHandler(c, live, address.name);
  const { actor, last } = found;
  const act = { c, live, schema: address.schema, actor };
  switch (address.kind) {
    case "collection":
      return c.req.method === "POST" ? create(act) : list(act, last);
    case "operation":
      return operate(act, address.id, address.operation);
    default:
      if (c.req.method === "PUT") return update(act, address.id);
      return c.req.method === "DELETE" ? remove(act, address.id) : get(act, address.id);
  }
}

/** Mount it last: its paths would match every other one below /api/{orbId}. */
export function runtimeRoutes() {
  const router = newRouter();
  for (let depth = 1; depth <= SEGMENTS.length; depth++) {
    const path = SEGMENTS.slice(0, depth)
      .map((name) => `/:${name}`)
      .join("");
    router.all(`/api/:orbId${path}`, serve);
  }
  return router;
}
