/**
 * Serves live lists (lists that send each change) in the streams process. Callers have the same rights as in the API.
 */
import type { Context } from "hono";
import { requireNoDefinition } from "../../functions/http/definition-header.ts";
import { followedIn } from "../../functions/http/within.ts";
import { credentialsOf } from "../../functions/middleware/session.ts";
import type { AppEnv } from "../../functions/request/context.ts";
import { addressOf } from "../../functions/runtime/address.ts";
import { listInputOf } from "../../functions/runtime/list-input.ts";
import { authenticate } from "../../shared/access/authenticate.ts";
import { principalIn, realmOf } from "../../shared/access/authorize.ts";
import { isOrbId } from "../../shared/definition/document/index.ts";
import { liveOrb, noLiveOrb } from "../../shared/definition/stored/index.ts";
import { AppError } from "../../shared/kernel/errors.ts";
import { type LiveLists, serveLiveList } from "../../shared/streams/live/index.ts";
import type { Answer } from "../../shared/streams/serve.ts";
import { redeemForActor, TICKET } from "../../shared/streams/ticket.ts";

/**
 * Returns whether a path may belong to a list. Such a path names an application, a module and optionally a schema.
 */
export const isLivePath = (c: Context<AppEnv>) => isOrbId(c.req.param("orbId") ?? "");

export async function liveAnswer(
  lists: LiveLists,
  c: Context<AppEnv>,
  method: "GET" | "HEAD",
  params: URLSearchParams,
): Promise<Answer> {
  const { deps } = c.var;
  const [orb = "", module = "", schema] = ["orbId", "module", "schema"].map((name) => c.req.param(name));
  const live = await liveOrb(deps, orb, "cached");
  if (live === null) throw noLiveOrb();
  requireNoDefinition(c);
  const lastEventId = c.req.header("last-event-id");
  const ticket = params.get(TICKET);
  params.delete(TICKET);
  const actor =
    ticket === null
      ? await authenticate(deps, credentialsOf(c), {
          platform: true,
          realms: [realmOf(orb, live.compiled.usesAccess)],
        })
      : await redeemForActor(deps, ticket, new URL(c.req.url).pathname, Boolean(lastEventId));
  c.set("actor", actor);
  const address = addressOf(live.compiled, schema === undefined ? [module] : [module, schema]);
  if (address.kind !== "collection")
    throw new AppError(
      "not_found",
      "route_not_found",
      "Only lists of entries can be followed with live=sse. Request the path of a collection.",
    );
  const target = { live, schema: address.schema, caller: principalIn(actor, orb, live.compiled) };
  const list = listInputOf(target, params, c.req.header("accept-language"));
  const { change } = list.query.extra;
  const set = followedIn(deps, actor, live, change, list.reading.latest);
  return serveLiveList(lists, deps, list, { method, params, lastEventId, set });
}
