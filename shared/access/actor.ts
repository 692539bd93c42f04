/** The caller of an operation. Only `authenticate.ts` and the platform itself create actors. */

import { BUILT_IN_ROLES, type OrbRoles } from "../definition/document/access.ts";
import type { Act } from "../definition/document/acts.ts";
import { ROLE_ID } from "../definition/document/ids.ts";
import type { Scope } from "./credentials/operations.ts";

/** Built-in roles from the most to the least powerful. `public` is an anonymous caller. */
export type Role = "owner" | "admin" | "user" | "public";

/** `exp` of credentials that never expire: the last second of the year 9999. */
export const NEVER = 253_402_300_799;

/** The API token that a caller has sent instead of a session. */
export interface ActorToken {
  id: string;
  scopes: readonly Scope[];
}

interface SignedIn {
  sub: string;
  name: string;
  /** Id of the session or of the API token. */
  sid: string;
  /** When the session or the API token ends, in seconds since the epoch. */
  exp: number;
  /** Limits the account's rights. */
  token?: ActorToken;
}

/** Role of an account: `user`, `admin`, `owner`, or the id of a role of the orb. */
export type AccountRole = string;

/** A caller that is no handler: an account, an anonymous caller, or the platform itself. */
export type DirectActor =
  | { kind: "anonymous" }
  /** A platform admin has the rights of an owner in every orb. */
  | (SignedIn & { kind: "platform"; email: string | null })
  | (SignedIn & { kind: "orb"; realm: string; role: AccountRole })
  /** The platform itself, for example a command that provisions the broker. */
  | { kind: "system"; sub: "system" };

/** An actor with an account. */
export type AccountActor = Extract<DirectActor, { kind: "platform" | "orb" }>;

/** A handler that acts for its caller. Outside its orb it has the rights of an anonymous caller. */
export interface HandlerActor {
  kind: "handler";
  /** Full name: `<service>.<handler>`. */
  handler: string;
  orb: string;
  /** Acts that the orb granted at the time of the call. The orb's current document can only narrow this. */
  acts: readonly string[];
  caller: DirectActor;
  /** Id of the request in which the caller called the handler. */
  requestId: string;
}

export type Actor = DirectActor | HandlerActor;

export const anonymous: DirectActor = { kind: "anonymous" };
export const system: DirectActor = { kind: "system", sub: "system" };

/** Returns the actor itself, or the caller of a handler that acts. */
export function accountBehind(actor: Actor): DirectActor {
  return actor.kind === "handler" ? actor.caller : actor;
}

/** Returns the id that records and the audit log show for an actor. For a handler it is the id of its caller. */
export function actorId(actor: Actor): string {
  const account = accountBehind(actor);
  return account.kind === "anonymous" ? "anonymous" : account.sub;
}

/** Returns the account with its realm, because ids are unique only within a realm. Stored data contains this format. */
export function accountOf(actor: Actor): string {
  const account = accountBehind(actor);
  return account.kind === "orb" ? `${account.realm}/${account.sub}` : `${account.kind}/${actorId(account)}`;
}

/** Prefix of the ids of API tokens where ids of sessions stand too. Ids of sessions are shorter than this with an id. */
export const OF_TOKEN = "api-token-";

/** Returns a text that names the session or the API token of the caller. It is no secret. */
export function credentialOf(actor: Actor): string {
  const account = accountBehind(actor);
  if (!("sid" in account)) return "";
  return account.token === undefined ? account.sid : `${OF_TOKEN}${account.token.id}`;
}

/** Returns the id of the API token that the caller has sent; undefined if it has sent none. */
export function tokenIdOf(actor: Actor): string | undefined {
  const account = accountBehind(actor);
  return "token" in account ? account.token?.id : undefined;
}

/** Returns the scopes of the API token that the caller has sent; undefined if it has sent none. */
export function scopesOf(actor: Actor): readonly Scope[] | undefined {
  const account = accountBehind(actor);
  return "token" in account ? account.token?.scopes : undefined;
}

/** Returns the name of the handler that acts for its caller. Records show it beside the caller's id. */
export function throughOf(actor: Actor): string | undefined {
  return actor.kind === "handler" ? actor.handler : undefined;
}

/** Returns whether an account can have a role of this name. Only the orb's definition tells whether the role exists. */
export function isAccountRole(name: string): boolean {
  return name !== "public" && ROLE_ID.test(name);
}

/**
 * Returns the built-in role whose rights an account has: its own role, or the one that its role extends. An account
 * whose role the orb no longer has may do only what everyone may do.
 */
export function builtInRole(name: AccountRole, roles: OrbRoles): Role {
  return BUILT_IN_ROLES.find((role) => role === name) ?? roles.get(name) ?? "public";
}

/** The parts of an application's definition that decide about rights. */
export interface OrbRights {
  usesAccess: boolean;
  /** Roles of the application's own. */
  roles: OrbRoles;
  /** Acts that the document grants to each handler, by its full name. */
  grants: ReadonlyMap<string, readonly Act[]>;
}

/** The parts of a realm (set of accounts) that decide about rights. */
export interface RealmRights {
  name: string;
  roles: OrbRoles;
}
