/** The caller of a verb. Only shared/access/authenticate.ts and the platform itself create one. */

/** Roles in an orb, from the most to the least powerful. `public` is an anonymous caller. */
export type Role = "owner" | "admin" | "user" | "public";

export type Actor =
  | { kind: "anonymous" }
  /** A platform admin: acts as owner of every orb. */
  | { kind: "platform"; sub: string; name: string; email: string | null; sid: string; exp: number }
  /** A user of an orb's realm, or of the shared realm `auth`. */
  | {
      kind: "orb";
      realm: string;
      sub: string;
      role: Exclude<Role, "public">;
      name: string;
      sid: string;
      exp: number;
    }
  /** The platform itself (provisioning, scripts). */
  | { kind: "system"; sub: "system" };

export const anonymous: Actor = { kind: "anonymous" };
export const system: Actor = { kind: "system", sub: "system" };

/** The actor's id in records: `createdBy`, audit. */
export function actorId(actor: Actor): string {
  return actor.kind === "anonymous" ? "anonymous" : actor.sub;
}

/**
 * The acting account with its realm, because ids are unique only within a realm. Part of stored data, so its format is
 * fixed.
 */
export function accountOf(actor: Actor): string {
  return actor.kind === "orb" ? `${actor.realm}/${actor.sub}` : `${actor.kind}/${actorId(actor)}`;
}
