/**
 * Adds the index keys of normalized texts. Older versions of this software compared texts as written: two spellings of
 * the same unique text counted as different values.
 */

import type { CompiledSchema } from "../../definition/compile.ts";
import type { Deps } from "../../deps.ts";
import { mapInParallel } from "../../kernel/parallel.ts";
import { entriesSince, formsOf, scanEntries } from "../index/index.ts";
import {
  hasForms,
  type LoadedEntry,
  namedEntry,
  nameOfToken,
  type OrbContext,
  parseKey,
} from "../model/index.ts";
import { backfillKeys, type MissingKey } from "./backfill.ts";

/** Entries whose values of a unique field differ as written, but are the same after normalization. */
export interface SharedForm {
  orb: string;
  module: string;
  schema: string;
  field: string;
  /** Ids of the entries. The first entry owns the normalized value. */
  ids: string[];
}

export interface FilledForms {
  /** Whether any revision was found, even of deleted entries. */
  any: boolean;
  /** Values that several entries share; these entries keep them. */
  shared: SharedForm[];
}

/**
 * Reserves the normalized unique values of an application's entries, without new revisions of the entries. Calling it
 * again is safe.
 * @param since reads only entries that were written after this sequence number of the stream; 0 for all
 */
export async function backfillForms(deps: Deps, orb: OrbContext, since = 0): Promise<FilledForms> {
  const found: SharedForm[] = [];
  let any = false;
  for (const schema of orb.compiled.byHome.values()) {
    if (!hasForms(schema)) continue;
    const shared = new Map<string, Set<string>>();
    const { home } = schema;
    const pages = since === 0 ? scanEntries(deps, orb.orb, home) : entriesSince(deps, orb.orb, home, since);
    for await (const page of pages) {
      any = true;
      const entries = page.map((entry) => namedEntry(orb.compiled, entry));
      const lacks = await lackingForms(deps, schema, entries);
      const claimed = lacks.length === 0 ? undefined : await backfillKeys(deps, orb, schema, lacks);
      for (const [key, ids] of claimed?.shared ?? []) {
        shared.set(key, new Set([...(shared.get(key) ?? []), ...ids]));
      }
    }
    for (const [key, ids] of shared) {
      const field = nameOfToken(schema, parseKey(key).field);
      found.push({ orb: orb.orb, module: schema.module, schema: schema.id, field, ids: [...ids] });
    }
  }
  return { any, shared: found };
}

async function lackingForms(
  deps: Deps,
  schema: CompiledSchema,
  entries: readonly LoadedEntry[],
): Promise<MissingKey[]> {
  const lacks = await mapInParallel(entries, async (entry): Promise<MissingKey[]> => {
    const { address, head, seq } = entry;
    const stored = new Set([...head.claims, ...(head.liveClaims ?? [])]);
    const forms = await formsOf(deps, schema, entry);
    return [...forms.keys()].filter((key) => !stored.has(key)).map((key) => ({ address, seq, key }));
  });
  return lacks.flat();
}
