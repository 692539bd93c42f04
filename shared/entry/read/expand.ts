/**
 * Implements the query parameter `expand`: adds referenced entries to a response, if the caller may read them, and the
 * descriptions of files.
 */
import { mayWith, type Principal, principalIn } from "../../access/authorize.ts";
import type { CompiledField, CompiledOrb } from "../../definition/compile.ts";
import { isEntryId, type Pointer, pointerIn, targetKey } from "../../definition/document/index.ts";
import { usableOrb } from "../../definition/stored/index.ts";
import type { Values } from "../../definition/validate.ts";
import { leavesOf } from "../../definition/walk.ts";
import type { Deps } from "../../deps.ts";
import { AppError } from "../../kernel/errors.ts";
import { isObject } from "../../kernel/json.ts";
import { ReadBudget } from "../../store/budget.ts";
import type { Consistency } from "../../store/types.ts";
import {
  inBatches,
  presentEntry,
  type RuntimeEntry,
  readLive,
  seenBy,
  type VisibleEntry,
  type WantedEntry,
} from "../index/index.ts";
import { type Choice, choose, presentField, presentLeaves, viewKey } from "../model/index.ts";
import type { PinnedRequest } from "../pinned/index.ts";
import { describedFiles, describedIn, filesIn } from "./expand-files.ts";

export interface Expansion {
  fields: readonly CompiledField[];
  /** The caller, with its rights in the application of `compiled`. */
  caller: Principal;
  compiled: CompiledOrb;
  choice: Choice;
  consistency: Consistency;
  /** The earlier revision of the definition whose shape the response has. `fields` are those of the live one. */
  pinned?: PinnedRequest | undefined;
}

/** Returns a reference in a response; undefined for a map by language or market. */
function pointerAt({ targets, polymorphic }: CompiledField, value: unknown): Pointer | undefined {
  const isOne =
    typeof value === "string" || (polymorphic && isObject(value) && typeof value.schema === "string");
  const pointer = isOne ? pointerIn(targets, value) : undefined;
  return pointer !== undefined && isEntryId(pointer.id) ? pointer : undefined;
}

/** Returns all references in a field's value, which may be one reference, a list, or a map by market and language. */
function pointersIn(field: CompiledField, value: unknown): Pointer[] {
  const pointer = pointerAt(field, value);
  if (pointer !== undefined) return [pointer];
  if (typeof value !== "object" || value === null) return [];
  return Object.values(value).flatMap((item) => pointersIn(field, item));
}

const isFile = ({ definition }: CompiledField) => definition.type === "file";

type EntryOf = (pointer: Pointer) => RuntimeEntry | null;

function replaced(field: CompiledField, value: unknown, entryOf: EntryOf): unknown {
  const pointer = pointerAt(field, value);
  if (pointer !== undefined) return entryOf(pointer);
  if (Array.isArray(value)) return value.map((item) => replaced(field, item, entryOf));
  if (typeof value !== "object" || value === null) return null;
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [key, replaced(field, item, entryOf)]),
  );
}

/** Returns the entries that references inside a list point to, by their ids. */
const byId = (pointers: readonly Pointer[], entryOf: EntryOf) =>
  Object.fromEntries(
    [...new Map(pointers.map((pointer) => [pointer.id, pointer])).values()].map((pointer) => [
      pointer.id,
      entryOf(pointer),
    ]),
  );

export interface Expandable {
  shown: Pick<VisibleEntry["shown"], "values">;
}

/** Returns the values of a reference or file field, in the form of the response. Those inside a list have the form of a list. */
function referenceOf(seen: Expandable, field: CompiledField, choice: Choice): unknown {
  const { values } = seen.shown;
  if (field.parent !== undefined) {
    const found = choice.allLocales
      ? leavesOf(field, values as Values).map(({ value }) => value)
      : presentLeaves(field, values, choice);
    return listsTargets(field, choice) ? found : found[0];
  }
  return presentField(field, Object.hasOwn(values, field.name) ? values[field.name] : undefined, choice);
}

/** Returns whether a response may have several values of a reference inside objects. */
function listsTargets(field: CompiledField, choice: Choice): boolean {
  return field.list || field.repeated || choice.allLocales;
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
  const { consistency } = expansion;
  const here = orb === expansion.compiled.id;
  // Without a usable definition, references stay as they are, and the application that refers works.
  const other = here ? null : await usableOrb(deps, orb, consistency);
  const compiled = here ? expansion.compiled : other?.compiled;
  if (compiled === undefined) return new Map();
  const wanted = [...asked].flatMap(({ ids, module, schema: id }) => {
    const schema = compiled.schemaNamed(module, id);
    return schema === undefined
      ? []
      : [...ids].map((target) => ({ schema, id: target, key: `${orb}/${module}/${id}` }));
  });
  const { choice } = expansion;
  // If the referenced entry is in another application, choose from that application's languages and markets.
  const there = here
    ? choice
    : {
        ...choose(compiled, {
          locale: choice.allLocales ? "*" : choice.languages[0],
          market: choice.markets[0],
          fallback: choice.fallback,
        }),
        negotiated: choice.negotiated,
        richText: choice.richText,
      };
  const targets = new Map<string, { entry: RuntimeEntry; tag: string }>();
  const charged = { ...deps, store: budget.charging(deps.store) };
  const read = (some: readonly WantedEntry[], maxBytes: number) =>
    readLive(charged, orb, some, consistency, maxBytes);
  const caller = here ? expansion.caller : principalIn(expansion.caller.actor, compiled.id, compiled);
  for await (const { wanted: some, result } of inBatches(budget, wanted, read)) {
    for (const [at, found] of result.entries()) {
      const asked = some[at];
      if (found === undefined || asked === undefined) continue;
      const { createdBy } = found.head;
      if (!mayWith(caller, "read", { access: found.schema.access, createdBy })) continue;
      const own = seenBy(caller, found);
      const seen = expansion.pinned?.seen(own) ?? own;
      targets.set(`${asked.key}/${seen.address.id}`, {
        entry: presentEntry(seen, { choice: there }, languages),
        tag: `${seen.address.id}:${seen.shown.revision}${other === null ? "" : `:${other.revision}`}${viewKey(seen.schema).join()}`,
      });
    }
    if (budget.over) throw new TooBroad();
  }
  return targets;
}

/** Returns the entries and the files that the fields of a page name. */
function askedIn(
  page: readonly Expandable[],
  expansion: Expansion,
): { byOrb: Map<string, Map<string, Asked>>; files: Set<string> } {
  const byOrb = new Map<string, Map<string, Asked>>();
  const files = new Set<string>();
  for (const field of expansion.fields)
    for (const seen of page) {
      if (isFile(field)) {
        for (const id of filesIn(referenceOf(seen, field, expansion.choice))) files.add(id);
        continue;
      }
      for (const { id, target } of pointersIn(field, referenceOf(seen, field, expansion.choice))) {
        if (target === undefined) continue;
        const inOrb = byOrb.get(target.orb) ?? new Map<string, Asked>();
        byOrb.set(target.orb, inOrb);
        const { module, schema } = target;
        const asked = inOrb.get(targetKey(target)) ?? { ids: new Set<string>(), module, schema };
        inOrb.set(targetKey(target), asked);
        asked.ids.add(id);
      }
    }
  return { byOrb, files };
}

/**
 * Reads the entries to which the entries of a page refer, and the descriptions of their files. Also returns what the ETags of the responses must include.
 */
export async function expandAll(
  deps: Deps,
  page: readonly Expandable[],
  expansion: Expansion,
  languages: Set<string>,
): Promise<{ expand: Record<string, unknown>; tags: string[] }[]> {
  const { byOrb, files } = askedIn(page, expansion);
  let targets = files.size;
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
  const described = await describedFiles(deps.store, expansion.compiled.id, files, { ...expansion, budget });
  const again = new Repeats();
  return page.map((seen) => {
    const tags: string[] = [];
    const expand: Record<string, unknown> = {};
    for (const field of expansion.fields) {
      const entryOf = ({ id, target }: Pointer) => {
        const hit = target && found.get(target.orb)?.get(`${targetKey(target)}/${id}`);
        tags.push(hit?.tag ?? `${id}:-`);
        if (hit !== undefined) again.place(hit.entry);
        return hit?.entry ?? null;
      };
      const fileOf = (id: string) => {
        const hit = described.get(id);
        tags.push(hit?.tag ?? `${id}:-`);
        return hit?.file ?? null;
      };
      const reference = referenceOf(seen, field, expansion.choice);
      const name = expansion.pinned?.nameOf(field) ?? field.name;
      if (isFile(field)) {
        expand[name] =
          field.parent !== undefined && listsTargets(field, expansion.choice)
            ? Object.fromEntries(filesIn(reference).map((id) => [id, fileOf(id)]))
            : describedIn(reference, fileOf);
        continue;
      }
      expand[name] =
        field.parent !== undefined && listsTargets(field, expansion.choice)
          ? { ...(expand[name] as object | undefined), ...byId(pointersIn(field, reference), entryOf) }
          : replaced(field, reference, entryOf);
    }
    return { expand, tags };
  });
}
