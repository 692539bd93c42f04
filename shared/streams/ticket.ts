/**
 * Tickets, with which the functions redirect a reader to the streams process. Clients drop their token when a redirect
 * leads to another origin, and a cookie may not be sent there. So the address itself carries the reader and the stream.
 * A ticket must be used within a minute. Only a browser's EventSource may use it again later, while the session lasts:
 * it reconnects to the redirected address, not to the functions, and stops for good when a request is refused.
 */
import { jwtVerify, SignJWT } from "jose";
import type { Actor } from "../access/actor.ts";
import { PLATFORM_REALM } from "../access/authorize.ts";
import { readSession } from "../access/sessions.ts";
import type { Deps } from "../deps.ts";
import { AppError } from "../kernel/errors.ts";
import { type Caller, callerOf } from "./serve.ts";

/** Seconds within which a ticket must be used. */
const LIFETIME = 60;
const AUDIENCE = "streams";
/** Query parameter that carries the ticket. */
export const TICKET = "ticket";

interface TicketConfig {
  jwtSigningKeys: string;
  publicUrl: string;
}

/** The content of a ticket: the reader and the session. */
interface Ticket extends Caller {
  realm: string;
  sid: string;
}

/**
 * Derives a separate key from the secret that both hosts have, so that no token is accepted as a ticket, or the
 * reverse.
 */
async function keyOf(config: TicketConfig): Promise<Uint8Array> {
  const secret = new TextEncoder().encode(`stream ticket ${config.jwtSigningKeys}`);
  return new Uint8Array(await crypto.subtle.digest("SHA-256", secret));
}

/**
 * Issues a ticket.
 * @param name the stream's name; empty for the list
 * @param now milliseconds since the epoch
 * @throws AppError unauthenticated for an anonymous actor
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
  new AppError(
    "unauthenticated",
    "invalid_token",
    "The stream ticket is not valid or has expired. Request the stream's original address again.",
  );

/**
 * Verifies a ticket, without checking its session.
 * @param resumes whether the request continues after an event, so that the one-minute limit does not apply
 * @throws AppError unauthenticated if the ticket is invalid, expired, or for another stream
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
 * Verifies a ticket and its session.
 * @throws AppError as {@link readTicket}; unauthenticated if the session has ended
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
