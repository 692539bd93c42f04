/**
 * Tickets: how the functions hand a reader over to the streams process. Clients drop their token when a redirect
 * leads to another origin, and a cookie may not reach it; so the address itself says, for a minute, who reads what.
 */
import { jwtVerify, SignJWT } from "jose";
import { AppError } from "../errors.ts";
import type { Caller } from "./serve.ts";

/** Seconds in which a ticket must be used. */
const LIFETIME = 60;
const AUDIENCE = "streams";
/** Name of the parameter that carries it. */
export const TICKET = "ticket";

interface TicketConfig {
  jwtSigningKeys: string;
  publicUrl: string;
}

/** A key of its own, derived from the one secret that both hosts have: no token passes for a ticket, or the reverse. */
async function keyOf(config: TicketConfig): Promise<Uint8Array> {
  const secret = new TextEncoder().encode(`stream ticket ${config.jwtSigningKeys}`);
  return new Uint8Array(await crypto.subtle.digest("SHA-256", secret));
}

/**
 * @param name the stream's; empty for the list
 * @param now milliseconds since the epoch
 */
export async function issueTicket(
  config: TicketConfig,
  caller: Caller,
  name: string,
  now: number,
): Promise<string> {
  return new SignJWT({ name, admin: caller.admin, until: caller.expiresAt })
    .setProtectedHeader({ alg: "HS256" })
    .setSubject(caller.userId)
    .setAudience(AUDIENCE)
    .setIssuer(config.publicUrl)
    .setExpirationTime(Math.floor(now / 1000) + LIFETIME)
    .sign(await keyOf(config));
}

/** @throws AppError unauthenticated when the ticket is not for this stream, or not any more */
export async function redeemTicket(
  config: TicketConfig,
  ticket: string,
  name: string,
  now: number,
): Promise<Caller> {
  const verified = await jwtVerify(ticket, await keyOf(config), {
    algorithms: ["HS256"],
    audience: AUDIENCE,
    issuer: config.publicUrl,
    requiredClaims: ["exp", "sub"],
    currentDate: new Date(now),
  }).catch(() => undefined);
  const payload = verified?.payload;
  if (payload?.sub === undefined || payload.name !== name)
    throw new AppError("unauthenticated", "invalid_token", "The ticket is not valid here, or not any more.");
  return { userId: payload.sub, admin: payload.admin === true, expiresAt: Number(payload.until) };
}
