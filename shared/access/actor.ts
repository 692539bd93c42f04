/** The caller of an operation. Only `authenticate.ts` and the platform itself create actors. */
import type { Scope } from "./credentials/operations.ts";

/** Roles from the most to the least powerful. `public` is an anonymous caller. */
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

export type Actor =
  | { kind: "anonymous" }
  /** A platform admin has the rights of an owner in every orb. */
  | (SignedIn & { kind: "platform"; email: string | null })
  | (SignedIn & { kind: "orb"; realm: string; role: Exclude<Role, "public"> })
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
