/** Decides which fields of an entry a caller may read and set. The platform checks every request again. */
import type { FieldModel, OrbModel } from "./orb.ts";

const RANKS = ["public", "user", "admin", "owner"];

/** The properties of the caller that decide which fields they may read and set. */
export interface Rank {
  /** The caller's built-in role in the application. */
  role: string;
  /** The caller's role that the application defines, if any. */
  orbRole: string;
  /** Whether the caller created the entry. */
  own: boolean;
}

/**
 * Returns whether a caller has a role: a built-in one, or one of the application. Callers of a higher rank have it too.
 */
export function hasRole(
  name: string,
  { role, orbRole }: Pick<Rank, "role" | "orbRole">,
  orb: Pick<OrbModel, "roles">,
): boolean {
  const rank = RANKS.indexOf(role);
  if (RANKS.includes(name)) return rank >= RANKS.indexOf(name);
  const extended = orb.roles?.find(({ id }) => id === name);
  return extended !== undefined && (orbRole === name || rank > RANKS.indexOf(extended.extends ?? "user"));
}

/** Returns whether a caller who may access an entry may also read or set one of its fields. */
export function mayField(
  field: FieldModel,
  action: "read" | "write",
  { role, orbRole, own }: Rank,
  orb: OrbModel,
): boolean {
  const names = field.access?.[action];
  if (names === undefined) return true;
  return names.some((name) =>
    name === "own"
      ? own || RANKS.indexOf(role) >= RANKS.indexOf("admin")
      : hasRole(name, { role, orbRole }, orb),
  );
}
