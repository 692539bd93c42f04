/** The caller of an operation. Only `authenticate.ts` and the platform itself create actors. */
import { BUILT_IN_ROLES, type OrbRoles } from "../definition/document/access.ts";
import { ROLE_ID } from "../definition/document/ids.ts";
import type { Scope } from "./credentials/operations.ts";

/** Built-in roles from the most to the least powerful. `public` is an anonymous caller. */
export type Role = "owner" | "admin" | "user" | "public";

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

export type Actor =
  | { kind: "anonymous" }
  /** A platform admin has the rights of an owner in every orb. */
  | (SignedIn & { kind: "platform"; email: string | null })
  | (SignedIn & { kind: "orb"; realm: string; role: AccountRole })
  /** The platform itself, for example a command that provisions the broker. */
  | { kind: "system"; sub: "system" };

export const anonymous: Actor = { kind: "anonymous" };
export const system: Actor = { kind: "system", sub: "system" };

/** Returns the id that records and the audit log show for an actor. */
export function actorId(actor: Actor): string {
  return actor.kind === "anonymous" ? "anonymous" : actor.sub;
}

/** Returns the account with its realm, because ids are unique only within a realm. Stored data contains this format. */
export function accountOf(actor: Actor): string {
  return actor.kind === "orb" ? `${actor.realm}/${actor.sub}` : `${actor.kind}/${actorId(actor)}`;
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
