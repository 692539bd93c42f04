/**
 * Lets stored entries claim the normal form of their unique values. Versions before there was one claimed a value as it
 * was written only, so that a text and another writing of it were two values.
 */
import type { CompiledSchema } from "../../definition/compile.ts";
import type { Deps } from "../../deps.ts";
import { formsOf } from "../index/held.ts";
import { walkEntries } from "../index/walk.ts";
import { hasForms, parseKey } from "../model/claims.ts";
import type { LoadedEntry, OrbContext } from "../model/resolve.ts";
import { claimLacking, type Lack } from "../write/claiming.ts";

/** Entries that hold one value of a unique field in different forms. */
export interface SharedForm {
  orb: string;
  module: string;
  schema: string;
  field: string;
  /** The entry that holds the normal form, and those that hold another one. */
  ids: string[];
}

/** Entries looked at side by side. */
const PARALLEL = 16;

/**
 * Walks an orb's entries and writes the claims that they lack. Makes no revision. Safe beside other writers, and to run
 * again.
 * @returns values that several entries hold: each of these keeps what it has
 * @throws AppError conflict `write_conflict` when others kept writing one of the entries
 */
export async function claimForms(deps: Deps, orb: OrbContext): Promise<SharedForm[]> {
  const found: SharedForm[] = [];
  for (const schema of orb.compiled.byType.values()) {
    if (!hasForms(schema)) continue;
    const shared = new Map<string, Set<string>>();
    const home = { type: schema.subjectType, schema: schema.id };
    for await (const page of walkEntries(deps, orb.orb, home)) {
      const lacks = await lackingForms(deps, schema, page);
      const claimed = lacks.length === 0 ? undefined : await claimLacking(deps, orb, schema, lacks);
      for (const [key, ids] of claimed?.shared ?? []) {
        shared.set(key, new Set([...(shared.get(key) ?? []), ...ids]));
      }
    }
    for (const [key, ids] of shared) {
      const { field } = parseKey(key);
      found.push({ orb: orb.orb, module: schema.module, schema: schema.id, field, ids: [...ids] });
    }
  }
  return found;
}

async function lackingForms(
  deps: Deps,
  schema: CompiledSchema,
  entries: readonly LoadedEntry[],
): Promise<Lack[]> {
  const lacks: Lack[] = [];
  for (let i = 0; i < entries.length; i += PARALLEL) {
    const some = entries.slice(i, i + PARALLEL).map(async (entry) => {
      const { address, head, seq } = entry;
      const stored = new Set([...head.claims, ...(head.liveClaims ?? [])]);
      const forms = await formsOf(deps, schema, entry);
      return [...forms.keys()].filter((key) => !stored.has(key)).map((key) => ({ address, seq, key }));
    });
    lacks.push(...(await Promise.all(some)).flat());
  }
  return lacks;
}
