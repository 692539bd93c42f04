/**
 * Serves live lists (lists that send each change) in the streams process. Callers have the same rights as in the API.
 */
import { refuseDefinition } from "../../functions/http/definition-header.ts";
import { addressOf } from "../../functions/runtime/address.ts";
import { listInputOf } from "../../functions/runtime/list-input.ts";
import { authenticate, type Credentials } from "../../shared/access/authenticate.ts";
import { principalIn, realmOf } from "../../shared/access/authorize.ts";
import { isOrbId } from "../../shared/definition/document/ids.ts";
import { liveOrb, noLiveOrb } from "../../shared/definition/stored/live.ts";
import type { Deps } from "../../shared/deps.ts";
import { AppError } from "../../shared/kernel/errors.ts";
import { type LiveLists, serveLiveList } from "../../shared/streams/live/serve.ts";
import type { Answer } from "../../shared/streams/serve.ts";
import { redeemForActor, TICKET } from "../../shared/streams/ticket.ts";
import { decoded } from "./incoming.ts";

export interface LiveRequest {
  method: "GET" | "HEAD";
  pathname: string;
  params: URLSearchParams;
  header: (name: string) => string | undefined;
  credentials: Credentials;
}

const segmentsOf = (pathname: string) => pathname.split("/").slice(2).map(decoded);

/**
 * Returns whether a path may belong to a list. Such a path names an application, a module and optionally a schema.
 */
export function isLivePath(pathname: string): boolean {
  const [orb = "", module, , ...more] = segmentsOf(pathname);
  return pathname.startsWith("/api/") && isOrbId(orb) && module !== undefined && more.length === 0;
}

export async function liveAnswer(lists: LiveLists, deps: Deps, request: LiveRequest): Promise<Answer> {
  const { method, pathname, params, header, credentials } = request;
  const [orb = "", ...segments] = segmentsOf(pathname);
  const live = await liveOrb(deps, orb, "cached");
  if (live === null) throw noLiveOrb();
  if (header("orb-definition") !== undefined) throw refuseDefinition();
  const lastEventId = header("last-event-id");
  const ticket = params.get(TICKET);
  params.delete(TICKET);
  const actor =
    ticket === null
      ? await authenticate(deps, credentials, {
          platform: true,
          realms: [realmOf(orb, live.compiled.usesAccess)],
        })
      : await redeemForActor(deps, ticket, pathname, Boolean(lastEventId));
  const address = addressOf(live.compiled, segments);
  if (address.kind !== "collection")
    throw new AppError(
      "not_found",
      "route_not_found",
      "Only lists of entries can be followed with live=sse. Request the path of a collection.",
    );
  const target = { live, schema: address.schema, caller: principalIn(actor, orb, live.compiled) };
  const list = listInputOf(target, params, header("accept-language"));
  return serveLiveList(lists, deps, list, { method, params, lastEventId });
}
