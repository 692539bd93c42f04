/** The names of accounts that acted. */
import type { Actor } from "../access/actor.ts";
import { mayOperate } from "../access/authorize.ts";
import { NAME_LIMITS, namesOf, realmsOf } from "../access/naming/index.ts";
import type { Deps } from "../deps.ts";
import type { OrbContext } from "../entry/model/index.ts";

/** An account that acted. */
export interface By {
  id: string;
  /** Null if the platform knows no such account, or if the caller may not see names. */
  name: string | null;
  /** Set for an account that was removed. */
  removed?: true;
}

/** Reads the names of accounts, once for a whole page. Returns a function that adds its name to an id. */
export async function namesFor(
  deps: Deps,
  actor: Actor,
  { orb, compiled }: Pick<OrbContext, "orb" | "compiled">,
  accounts: readonly string[],
): Promise<(id: string) => By> {
  const names = new Map<string, Omit<By, "id">>();
  if (mayOperate(actor, "admins.read", orb)) {
    const ids = [...new Set(accounts)];
    const realms = realmsOf(actor, orb, { id: orb, usesAccess: compiled.usesAccess });
    for (let at = 0; at < ids.length; at += NAME_LIMITS.ids) {
      for (const { id, name, removed } of await namesOf(deps, ids.slice(at, at + NAME_LIMITS.ids), realms))
        names.set(id, removed === true ? { name, removed } : { name });
    }
  }
  return (id) => ({ id, ...(names.get(id) ?? { name: null }) });
}
