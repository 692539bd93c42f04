/** Who acts. Made only by shared/access/authenticate.ts and by the platform itself. */

/** Roles in an orb, from the most to the least powerful. `public` is nobody signed in. */
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

/** How an actor is written into records: `createdBy`, audit. */
export function actorId(actor: Actor): string {
  return actor.kind === "anonymous" ? "anonymous" : actor.sub;
}

/** The account that acts, with its realm: ids of two realms may be equal. Part of what is stored, so it must stay as it is. */
export function accountOf(actor: Actor): string {
  return actor.kind === "orb" ? `${actor.realm}/${actor.sub}` : `${actor.kind}/${actorId(actor)}`;
}
