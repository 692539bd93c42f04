/** Implements the query parameter `expand`: adds referenced entries to a response, if the caller may read them. */
import type { Actor } from "../../access/actor.ts";
import { mayWith, principalIn } from "../../access/authorize.ts";
import type { CompiledField, CompiledOrb } from "../../definition/compile.ts";
import { isEntryId } from "../../definition/document/ids.ts";
import { liveOrb } from "../../definition/stored/live.ts";
import type { Deps } from "../../deps.ts";
import { AppError } from "../../kernel/errors.ts";
import { ReadBudget } from "../../store/budget.ts";
import type { Consistency } from "../../store/types.ts";
import { inBatches } from "../index/batches.ts";
import {
  type EntryKey,
  presentEntry,
  type RuntimeEntry,
  readLive,
  seenBy,
  type VisibleEntry,
} from "../index/visible.ts";
import { viewKey } from "../model/fields.ts";
import { type Choice, choose, presentField } from "../model/localize.ts";

export interface Expansion {
  fields: readonly CompiledField[];
  actor: Actor;
  compiled: CompiledOrb;
  choice: Choice;
  consistency: Consistency;
}

/** Returns all entry ids in a field's value, which may be one id, a list, or a map by market and language. */
function idsIn(value: unknown): string[] {
  if (typeof value === "string") return isEntryId(value) ? [value] : [];
  if (typeof value !== "object" || value === null) return [];
  return Object.values(value).flatMap(idsIn);
}

function replaced(value: unknown, entryOf: (id: string) => RuntimeEntry | null): unknown {
  if (typeof value === "string") return entryOf(value);
  if (Array.isArray(value)) return value.map((item) => replaced(item, entryOf));
  if (typeof value !== "object" || value === null) return null;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, replaced(item, entryOf)]));
}

export interface Expandable {
  shown: Pick<VisibleEntry["shown"], "values">;
}

function referenceOf(seen: Expandable, field: CompiledField, choice: Choice): unknown {
  const { values } = seen.shown;
  return presentField(field, Object.hasOwn(values, field.name) ? values[field.name] : undefined, choice);
}

const MOST_TARGETS = 2_000;
const MOST_BYTES = 4 * 1024 * 1024;

class TooBroad extends AppError {
  constructor() {
    super(
      "invalid",
      "too_broad",
      `The expanded references exceed ${MOST_TARGETS} entries or ${MOST_BYTES / 1024 / 1024} MiB. Request fewer entries or expand fewer fields.`,
    );
  }
}

/**
 * A page failed because its referenced entries are too large. Returns how many entries a smaller page may have, so that
 * its response probably fits.
 * @param error thrown by {@link expandAll}
 * @param items number of entries of the page that failed
 * @throws the error, if it has another cause or if there is only one entry
 */
export function fewerEntries(error: unknown, items: number): number {
  if (!(error instanceof TooBroad) || items < 2) throw error;
  return Math.ceil(items / 4);
}

/** A referenced entry may appear several times in a response. Limits the total bytes of these repetitions. */
class Repeats {
  readonly #placed = new Set<RuntimeEntry>();
  readonly #sizes = new Map<RuntimeEntry, number>();
  #bytes = 0;

  place(entry: RuntimeEntry): void {
    if (!this.#placed.has(entry)) {
      this.#placed.add(entry);
      return;
    }
    const size = this.#sizes.get(entry) ?? JSON.stringify(entry).length;
    this.#sizes.set(entry, size);
    this.#bytes += size;
    if (this.#bytes > MOST_BYTES) throw new TooBroad();
  }
}

interface Asked {
  ids: Set<string>;
  module: string;
  schema: string;
}

async function targetsIn(
  deps: Deps,
  budget: ReadBudget,
  orb: string,
  asked: Iterable<Asked>,
  expansion: Expansion,
  languages: Set<string>,
): Promise<Map<string, { entry: RuntimeEntry; tag: string }>> {
  const { actor, consistency } = expansion;
  const here = orb === expansion.compiled.id;
  const other = here ? null : await liveOrb(deps, orb, consistency);
  const compiled = here ? expansion.compiled : other?.compiled;
  if (compiled === undefined) return new Map();
  const wanted = [...asked].flatMap(({ ids, module, schema: id }) => {
    const schema = compiled.schemaNamed(module, id);
    return schema === undefined ? [] : [...ids].map((target) => ({ schema, id: target }));
  });
  const { choice } = expansion;
  // If the referenced entry is in another application, choose from that application's languages and markets.
  const there = here
    ? choice
    : {
        ...choose(compiled, {
          locale: choice.allLocales ? "*" : choice.languages[0],
          market: choice.markets[0],
        }),
        negotiated: choice.negotiated,
      };
  const targets = new Map<string, { entry: RuntimeEntry; tag: string }>();
  const charged = { ...deps, store: budget.charging(deps.store) };
  const read = (some: readonly EntryKey[], maxBytes: number) =>
    readLive(charged, orb, some, consistency, maxBytes);
  const caller = principalIn(actor, compiled.id, compiled);
  for await (const { result } of inBatches(budget, wanted, read)) {
    for (const found of result) {
      if (found === undefined) continue;
      const { createdBy } = found.head;
      if (!mayWith(actor, compiled, "read", { access: found.schema.access, createdBy })) continue;
      const seen = seenBy(caller, found);
      targets.set(`${seen.schema.module}/${seen.address.schema}/${seen.address.id}`, {
        entry: presentEntry(seen, { choice: there }, languages),
        tag: `${seen.address.id}:${seen.shown.revision}${other === null ? "" : `:${other.revision}`}${viewKey(seen.schema).join()}`,
      });
    }
    if (budget.over) throw new TooBroad();
  }
  return targets;
}

/**
 * Reads the entries to which the entries of a page refer. Also returns what the ETags of the responses must include.
 */
export async function expandAll(
  deps: Deps,
  page: readonly Expandable[],
  expansion: Expansion,
  languages: Set<string>,
): Promise<{ expand: Record<string, unknown>; tags: string[] }[]> {
  const byOrb = new Map<string, Map<string, Asked>>();
  for (const field of expansion.fields) {
    const { target } = field;
    if (target === undefined) continue;
    const inOrb = byOrb.get(target.orb) ?? new Map<string, Asked>();
    byOrb.set(target.orb, inOrb);
    const key = `${target.module}/${target.schema}`;
    const asked = inOrb.get(key) ?? { ids: new Set<string>(), module: target.module, schema: target.schema };
    inOrb.set(key, asked);
    for (const seen of page) {
      for (const id of idsIn(referenceOf(seen, field, expansion.choice))) asked.ids.add(id);
    }
  }
  let targets = 0;
  for (const inOrb of byOrb.values()) for (const { ids } of inOrb.values()) targets += ids.size;
  if (targets > MOST_TARGETS) throw new TooBroad();
  const budget = new ReadBudget(MOST_BYTES);
  const found = new Map(
    await Promise.all(
      [...byOrb].map(
        async ([orb, asked]) =>
          [orb, await targetsIn(deps, budget, orb, asked.values(), expansion, languages)] as const,
      ),
    ),
  );
  const again = new Repeats();
  return page.map((seen) => {
    const tags: string[] = [];
    const expand: Record<string, unknown> = {};
    for (const field of expansion.fields) {
      const { target } = field;
      if (target === undefined) continue;
      expand[field.name] = replaced(referenceOf(seen, field, expansion.choice), (id) => {
        const hit = found.get(target.orb)?.get(`${target.module}/${target.schema}/${id}`);
        tags.push(hit?.tag ?? `${id}:-`);
        if (hit !== undefined) again.place(hit.entry);
        return hit?.entry ?? null;
      });
    }
    return { expand, tags };
  });
}
