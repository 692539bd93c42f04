/** Which fields of an entry a caller may read and set. The platform decides again with every request. */
import type { FieldModel, OrbModel } from "./orb.ts";

const RANKS = ["public", "user", "admin", "owner"];

/** The caller as the rules of fields see it. */
export interface Rank {
  /** Built-in role in the orb. */
  role: string;
  /** Role of the orb's own, if the account has one. */
  orbRole: string;
  /** Whether the caller created the entry. */
  own: boolean;
}

/** Returns whether a caller may read or set a field of an entry that it may read or write. */
export function mayField(
  field: FieldModel,
  action: "read" | "write",
  { role, orbRole, own }: Rank,
  orb: OrbModel,
): boolean {
  const names = field.access?.[action];
  if (names === undefined) return true;
  const rank = RANKS.indexOf(role);
  return names.some((name) => {
    if (name === "own") return own || rank >= RANKS.indexOf("admin");
    if (RANKS.includes(name)) return rank >= RANKS.indexOf(name);
    const extended = orb.roles?.find(({ id }) => id === name);
    return extended !== undefined && (orbRole === name || rank > RANKS.indexOf(extended.extends ?? "user"));
  });
}
