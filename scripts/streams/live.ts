/**
 * Serves live lists (lists that send each change) in the streams process. Callers have the same rights as in the API.
 */
import type { Context } from "hono";
import { definitionOf, isDefinitionHeader } from "../../functions/http/definition-header.ts";
import { followedIn } from "../../functions/http/within.ts";
import { credentialsOf } from "../../functions/middleware/session.ts";
import type { AppEnv } from "../../functions/request/context.ts";
import { addressOf } from "../../functions/runtime/address.ts";
import { listInputOf, type Target } from "../../functions/runtime/list-input.ts";
import { pinnedAddress } from "../../functions/runtime/pinned.ts";
import { type Actor, pinnedTo } from "../../shared/access/actor.ts";
import { authenticate } from "../../shared/access/authenticate.ts";
import { principalIn, realmOf } from "../../shared/access/authorize.ts";
import { otherRevision } from "../../shared/access/refusals.ts";
import { isOrbId } from "../../shared/definition/document/index.ts";
import type { LiveOrb } from "../../shared/definition/live-orb.ts";
import { liveOrb, noLiveOrb } from "../../shared/definition/stored/index.ts";
import { liveFor, noteUse } from "../../shared/entry/pinned/index.ts";
import { AppError } from "../../shared/kernel/errors.ts";
import { type LiveLists, serveLiveList } from "../../shared/streams/live/index.ts";
import type { Answer } from "../../shared/streams/serve.ts";
import { DEFINITION, redeemForActor, TICKET } from "../../shared/streams/ticket.ts";

/**
 * Returns whether a path may belong to a list. Such a path names an application, a module and optionally a schema.
 */
export const isLivePath = (c: Context<AppEnv>) => isOrbId(c.req.param("orbId") ?? "");

/** Returns the revision that a redirect names. Without a ticket, the parameter has no meaning. */
function handedOver(params: URLSearchParams, ticket: string | null): number | undefined {
  const text = ticket === null ? null : params.get(DEFINITION);
  if (text === null || !isDefinitionHeader(text)) return undefined;
  params.delete(DEFINITION);
  return Number(text);
}

/** Returns the list that a path leads to, in the shape that the request names or the caller's API token has. */
async function targetOf(
  c: Context<AppEnv>,
  known: LiveOrb,
  actor: Actor,
  segments: readonly string[],
  named: number | undefined,
): Promise<Target> {
  const { deps } = c.var;
  const own = pinnedTo(actor);
  if (own !== undefined && named !== undefined && own !== named) throw otherRevision(own);
  const revision = named ?? own;
  const live =
    revision === undefined ? known : await liveFor(deps, known, revision, actor.kind === "anonymous");
  if (live === null) throw noLiveOrb();
  const found =
    revision === undefined
      ? { address: addressOf(live.compiled, segments) }
      : await pinnedAddress(c, live, segments, revision);
  const { address } = found;
  if (address.kind !== "collection")
    throw new AppError(
      "not_found",
      "route_not_found",
      "Only lists of entries can be followed with live=sse. Request the path of a collection.",
    );
  if (revision !== undefined) noteUse(deps, live, revision, actor);
  const caller = principalIn(actor, live.orb, live.compiled);
  return "schema" in found
    ? { live, caller, schema: found.schema, pinned: found.pinned }
    : { live, caller, schema: address.schema };
}

export async function liveAnswer(
  lists: LiveLists,
  c: Context<AppEnv>,
  method: "GET" | "HEAD",
  params: URLSearchParams,
): Promise<Answer> {
  const { deps } = c.var;
  const [orb = "", module = "", schema] = ["orbId", "module", "schema"].map((name) => c.req.param(name));
  const known = await liveOrb(deps, orb, "cached");
  if (known === null) throw noLiveOrb();
  const lastEventId = c.req.header("last-event-id");
  const ticket = params.get(TICKET);
  params.delete(TICKET);
  const over = handedOver(params, ticket);
  const named = definitionOf(c) ?? over;
  const actor =
    ticket === null
      ? await authenticate(deps, credentialsOf(c), {
          platform: true,
          realms: [realmOf(orb, known.compiled.usesAccess)],
          pinned: true,
        })
      : await redeemForActor(deps, ticket, new URL(c.req.url).pathname, Boolean(lastEventId));
  c.set("actor", actor);
  const segments = schema === undefined ? [module] : [module, schema];
  const target = await targetOf(c, known, actor, segments, named);
  const { live } = target;
  const list = listInputOf(target, params, c.req.header("accept-language"));
  const { change } = list.query.extra;
  const set = followedIn(deps, actor, live, change, list.reading.latest);
  return serveLiveList(lists, deps, list, { method, params, lastEventId, set });
}
