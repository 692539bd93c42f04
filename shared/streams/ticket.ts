/**
 * Tickets. When the platform redirects a client to the streams process on another origin, the client does not send its
 * token there. So the new URL contains a ticket, which identifies the account. A ticket must be used within a minute.
 * An EventSource in a browser reconnects to the redirected URL, so it may use the ticket again while the session lasts.
 */
import { jwtVerify, SignJWT } from "jose";
import { type Actor, anonymous, credentialOf, type DirectActor } from "../access/actor.ts";
import { accountWith, lastingCredential } from "../access/authenticate.ts";
import { orbOfRealm, PLATFORM_REALM } from "../access/authorize.ts";
import type { Deps } from "../deps.ts";
import { AppError } from "../kernel/errors.ts";
import { type Caller, callerOf } from "./caller.ts";

/** Seconds within which a ticket must be used. */
const LIFETIME = 60;
const AUDIENCE = "streams";
/** The realm (set of accounts) in the ticket of a reader without a session. */
const ANONYMOUS = "";
export const TICKET = "ticket";
/** Query parameter beside a ticket: the revision of the orb's definition whose shape a list has. */
export const DEFINITION = "definition";

interface TicketConfig {
  jwtSigningKeys: string;
  publicUrl: string;
}

interface Ticket extends Caller {
  realm: string;
  /** The session token or API token that the reader sent. */
  credential: string;
}

/**
 * Derives a separate signing key for tickets, so that session tokens are not valid as tickets, nor tickets as session
 * tokens.
 */
async function keyOf(config: TicketConfig): Promise<Uint8Array> {
  const secret = new TextEncoder().encode(`stream ticket ${config.jwtSigningKeys}`);
  return new Uint8Array(await crypto.subtle.digest("SHA-256", secret));
}

/**
 * Issues a ticket for one stream.
 * @param name the stream's name; empty for the list of streams
 * @param now milliseconds since the epoch
 */
export async function issueTicket(
  config: TicketConfig,
  actor: Actor,
  name: string,
  now: number,
  caller: Caller = callerOf(actor),
): Promise<string> {
  const { userId, admin, expiresAt } = caller;
  const realm = caller.anonymous === true ? ANONYMOUS : actor.kind === "orb" ? actor.realm : PLATFORM_REALM;
  return new SignJWT({ name, admin, realm, sid: credentialOf(actor), use: Math.floor(now / 1000) + LIFETIME })
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
 * Verifies a ticket, but does not check whether its session still exists.
 * @param resumes whether the client reconnects; then the ticket is valid for longer than one minute
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
    credential: String(payload.sid),
    ...(payload.realm === ANONYMOUS ? { anonymous: true } : {}),
  };
}

/**
 * Verifies the ticket of a request, and returns the caller with their current rights, on which the response depends.
 */
export async function redeemForActor(
  deps: Deps,
  ticket: string,
  name: string,
  resumes: boolean,
): Promise<DirectActor> {
  const { realm, credential, userId, expiresAt, ...caller } = await readTicket(
    deps.config,
    ticket,
    name,
    deps.clock.now(),
    resumes,
  );
  if (caller.anonymous === true) return anonymous;
  const holder = { realm, sub: userId, sid: credential, exp: Math.floor(expiresAt / 1000) };
  return accountWith(deps, holder, "cached");
}

export async function redeemTicket(
  deps: Deps,
  ticket: string,
  name: string,
  resumes: boolean,
): Promise<Caller> {
  const now = deps.clock.now();
  const { realm, credential, ...caller } = await readTicket(deps.config, ticket, name, now, resumes);
  if (caller.anonymous === true) return caller;
  const lasting = await lastingCredential(deps, { realm, sub: caller.userId, credential });
  if (lasting === null) throw refused();
  const { token } = lasting;
  return token === undefined
    ? caller
    : { ...caller, limits: { scopes: token.scopes, home: orbOfRealm(realm) } };
}
