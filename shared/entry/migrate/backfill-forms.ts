/**
 * Backfill of normal forms: reserves the normal form of stored unique values. Versions before normal forms reserved a
 * value only as it was written, so two spellings of the same text counted as two values.
 */
import type { CompiledSchema } from "../../definition/compile.ts";
import type { Deps } from "../../deps.ts";
import { formsOf } from "../index/entry-keys.ts";
import { scanEntries } from "../index/scan-entries.ts";
import { hasForms, parseKey } from "../model/index-keys.ts";
import type { LoadedEntry, OrbContext } from "../model/resolve.ts";
import { backfillKeys, type MissingKey } from "../write/backfill.ts";

/** Entries that share a value of a unique field in different forms. */
export interface SharedForm {
  orb: string;
  module: string;
  schema: string;
  field: string;
  /** The entry that owns the normal form, then those that have another form. */
  ids: string[];
}

/** Entries processed concurrently. */
const PARALLEL = 16;

/**
 * Scans an orb's entries and writes their missing reservations, without creating revisions. Safe to run next to other
 * writers, and to run again.
 * @returns values that several entries share; each of those entries keeps what it has
 * @throws AppError conflict `write_conflict` when other writers keep changing one of the entries
 */
export async function backfillForms(deps: Deps, orb: OrbContext): Promise<SharedForm[]> {
  const found: SharedForm[] = [];
  for (const schema of orb.compiled.byType.values()) {
    if (!hasForms(schema)) continue;
    const shared = new Map<string, Set<string>>();
    const home = { type: schema.subjectType, schema: schema.id };
    for await (const page of scanEntries(deps, orb.orb, home)) {
      const lacks = await lackingForms(deps, schema, page);
      const claimed = lacks.length === 0 ? undefined : await backfillKeys(deps, orb, schema, lacks);
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
): Promise<MissingKey[]> {
  const lacks: MissingKey[] = [];
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
