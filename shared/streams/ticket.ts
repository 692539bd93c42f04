/**
 * Tickets: how the functions hand a reader over to the streams process. Clients drop their token when a redirect
 * leads to another origin, and a cookie may not reach it; so the address itself says who reads what.
 *
 * It must be used within a minute. Only a browser's EventSource may come back with it later, as long as the session
 * lasts: it asks for the address that it was sent to again, not for the functions', and ends for good when it is refused.
 */
import { jwtVerify, SignJWT } from "jose";
import type { Actor } from "../access/actor.ts";
import { PLATFORM_REALM } from "../access/authorize.ts";
import { readSession } from "../access/sessions.ts";
import type { Deps } from "../deps.ts";
import { AppError } from "../kernel/errors.ts";
import { type Caller, callerOf } from "./serve.ts";

/** Seconds in which a ticket must be used. */
const LIFETIME = 60;
const AUDIENCE = "streams";
/** Name of the parameter that carries it. */
export const TICKET = "ticket";

interface TicketConfig {
  jwtSigningKeys: string;
  publicUrl: string;
}

/** What a ticket says: who reads, and of which session he is. */
interface Ticket extends Caller {
  realm: string;
  sid: string;
}

/** A key of its own, derived from the one secret that both hosts have: no token passes for a ticket, or the reverse. */
async function keyOf(config: TicketConfig): Promise<Uint8Array> {
  const secret = new TextEncoder().encode(`stream ticket ${config.jwtSigningKeys}`);
  return new Uint8Array(await crypto.subtle.digest("SHA-256", secret));
}

/**
 * @param name the stream's; empty for the list
 * @param now milliseconds since the epoch
 * @throws AppError unauthenticated when nobody is signed in
 */
export async function issueTicket(
  config: TicketConfig,
  actor: Actor,
  name: string,
  now: number,
): Promise<string> {
  const { userId, admin, expiresAt } = callerOf(actor);
  const realm = actor.kind === "orb" ? actor.realm : PLATFORM_REALM;
  const sid = "sid" in actor ? actor.sid : "";
  return new SignJWT({ name, admin, realm, sid, use: Math.floor(now / 1000) + LIFETIME })
    .setProtectedHeader({ alg: "HS256" })
    .setSubject(userId)
    .setAudience(AUDIENCE)
    .setIssuer(config.publicUrl)
    .setExpirationTime(Math.floor(expiresAt / 1000))
    .sign(await keyOf(config));
}

const refused = () =>
  new AppError("unauthenticated", "invalid_token", "The ticket is not valid here, or not any more.");

/**
 * What a ticket says, whatever has become of its session.
 * @param resumes the request goes on behind an event that it had
 * @throws AppError unauthenticated when the ticket is not for this stream, or not any more
 */
export async function readTicket(
  config: TicketConfig,
  ticket: string,
  name: string,
  now: number,
  resumes: boolean,
): Promise<Ticket> {
  const verified = await jwtVerify(ticket, await keyOf(config), {
    algorithms: ["HS256"],
    audience: AUDIENCE,
    issuer: config.publicUrl,
    requiredClaims: ["exp", "sub"],
    currentDate: new Date(now),
  }).catch(() => undefined);
  const payload = verified?.payload;
  if (payload?.sub === undefined || payload.name !== name) throw refused();
  if (!resumes && Number(payload.use) * 1000 <= now) throw refused();
  return {
    userId: payload.sub,
    admin: payload.admin === true,
    expiresAt: Number(payload.exp) * 1000,
    realm: String(payload.realm),
    sid: String(payload.sid),
  };
}

/**
 * Who reads by a ticket, whose session must still stand.
 * @throws AppError as {@link readTicket}
 */
export async function redeemTicket(
  deps: Deps,
  ticket: string,
  name: string,
  resumes: boolean,
): Promise<Caller> {
  const { realm, sid, ...caller } = await readTicket(deps.config, ticket, name, deps.clock.now(), resumes);
  if ((await readSession(deps, realm, caller.userId, sid)) === null) throw refused();
  return caller;
}
