/** A handler's rights to act for its caller: as an actor in this process, or as the credential of a service. */
import {
  accountBehind,
  anonymous,
  credentialOf,
  type DirectActor,
  type HandlerActor,
} from "../access/actor.ts";
import { PLATFORM_REALM, type Principal } from "../access/authorize.ts";
import { type HandlerClaims, issueHandlerToken } from "../access/tokens.ts";
import type { LiveOrb } from "../definition/live-orb.ts";
import type { Deps } from "../deps.ts";
import type { Handler, HandlerCredential, RemoteHandler, RemoteHttpHandler } from "./contract/types.ts";

/** Seconds that a credential outlives the call, for a request that the service sends at the last moment. */
const LAST_MOMENT = 2;

/** Returns what the orb grants of the acts that a handler requests. A handler that another one called gets nothing. */
function grantedActs(
  { compiled }: LiveOrb,
  { name, acts = [] }: Handler,
  { acting }: Principal,
): HandlerCredential["acts"] {
  const granted = compiled.grants.get(name) ?? [];
  return acting === undefined ? acts.filter((act) => granted.includes(act)) : [];
}

/** Returns the handler as an actor. It never gets the rights of the platform itself. */
export function handlerActor(
  deps: Pick<Deps, "request">,
  live: LiveOrb,
  handler: Handler,
  principal: Principal,
): HandlerActor {
  const account = accountBehind(principal.actor);
  return {
    kind: "handler",
    handler: handler.name,
    orb: live.orb,
    acts: grantedActs(live, handler, principal),
    caller: account.kind === "system" ? anonymous : account,
    requestId: deps.request.requestId,
  };
}

/**
 * Returns the credential with which a service acts for its caller, or undefined if the orb grants it nothing.
 * @param only whether the credential may have an act; all that the orb grants if missing
 */
export async function credentialFor(
  deps: Deps,
  live: LiveOrb,
  handler: RemoteHandler | RemoteHttpHandler,
  principal: Principal,
  only: (act: HandlerCredential["acts"][number]) => boolean = () => true,
): Promise<HandlerCredential | undefined> {
  const acts = grantedActs(live, handler, principal).filter(only);
  if (acts.length === 0) return undefined;
  const { caller, requestId } = handlerActor(deps, live, handler, principal);
  const iat = Math.floor(deps.clock.now() / 1000);
  const exp = iat + Math.ceil(handler.timeoutMs / 1000) + LAST_MOMENT;
  const session = sessionOf(caller);
  const claims = { handler: handler.name, orb: live.orb, acts, requestId, caller: session, iat, exp };
  const token = await issueHandlerToken(deps.config, claims);
  const url = `${deps.config.publicUrl}/api/${live.orb}`;
  return { token, acts, expiresAt: new Date(exp * 1000).toISOString(), url };
}

function sessionOf(account: DirectActor): HandlerClaims["caller"] {
  if (account.kind !== "platform" && account.kind !== "orb") return null;
  const realm = account.kind === "orb" ? account.realm : PLATFORM_REALM;
  return { realm, sub: account.sub, sid: credentialOf(account) };
}
