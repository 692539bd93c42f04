/**
 * The rights with which a handler acts on behalf of its caller. A built-in handler gets an actor object with these
 * rights. A service in another process gets a credential.
 */
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
import type { Handler, HandlerCredential, RemoteHandler, RemoteHttpHandler } from "./contract/index.ts";

/**
 * Seconds for which a credential stays valid after the time limit of the call. So a request of the handler that is sent
 * just before the limit still succeeds.
 */
const LAST_MOMENT = 2;

/**
 * Returns the operations that a handler wants to perform for its caller and that the application allows. Returns none
 * if the caller is itself a handler.
 */
function grantedActs(
  { compiled }: LiveOrb,
  { name, acts = [] }: Handler,
  { acting }: Principal,
): HandlerCredential["acts"] {
  const granted = compiled.grants.get(name) ?? [];
  return acting === undefined ? acts.filter((act) => granted.includes(act)) : [];
}

/**
 * Returns the actor with which a handler performs operations. A handler never gets the rights of the platform itself:
 * if the platform calls it, the actor is anonymous.
 */
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
 * Returns the credential with which a service acts on behalf of its caller. Returns undefined if the application does
 * not allow the service any operation (act) on behalf of the caller.
 * @param only limits the credential to these operations. Without it, the credential allows all that the application
 *   grants.
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
  if (account.kind === "schedule") return { schedule: account.schedule };
  if (account.kind !== "platform" && account.kind !== "orb") return null;
  const realm = account.kind === "orb" ? account.realm : PLATFORM_REALM;
  return { realm, sub: account.sub, sid: credentialOf(account) };
}
