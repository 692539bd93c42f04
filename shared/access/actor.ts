/** The caller of an operation. Only `authenticate.ts` and the platform itself create actors. */

/** Roles from the most to the least powerful. `public` is an anonymous caller. */
export type Role = "owner" | "admin" | "user" | "public";

export type Actor =
  | { kind: "anonymous" }
  /** A platform admin has the rights of an owner in every orb. */
  | { kind: "platform"; sub: string; name: string; email: string | null; sid: string; exp: number }
  | {
      kind: "orb";
      realm: string;
      sub: string;
      role: Exclude<Role, "public">;
      name: string;
      sid: string;
      exp: number;
    }
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
