/** Compares a new definition with stored entries, to find incompatible changes and needed migrations. */
import { compareDefinitions, type SchemaChange } from "../../definition/compat.ts";
import { type CompiledOrb, type CompiledSchema, compileOrb } from "../../definition/compile.ts";
import type { OrbDocument } from "../../definition/document/document.ts";
import { type HomeKey, homeKey, homeOf } from "../../definition/document/home.ts";
import { compareRetired, type Retired, retiredAfter } from "../../definition/retired.ts";
import type { EntryWork, IndexPlace } from "../../definition/stored/history.ts";
import type { Deps } from "../../deps.ts";
import {
  backfillExisting,
  type Duplicate,
  entryCounts,
  type InvalidEntries,
  invalidEntries,
  valuesStored,
} from "../../entry/migrate/publishing.ts";
import { indexesOf } from "../../entry/ordered/remove.ts";
import { AppError } from "../../kernel/errors.ts";
import type { Home } from "../../store/subjects.ts";

export interface ImpactItem extends SchemaChange {
  /** Number of stored entries of the schema. */
  entries: number;
  /** Number of entries that have a value for the field. Only present if a dry run finds a change of this field. */
  values?: number;
  /** Whether the platform rejects the change. */
  refused: boolean;
  /** Whether the change is accepted with `force=true`. */
  forceable: boolean;
}

export interface Impact {
  changes: ImpactItem[];
  /** Equal values of several entries in a field that becomes unique. */
  duplicates: (Duplicate & { module: string; schema: string })[];
  /** Entries that break the rules of the new definition, so that their next write would fail. */
  invalid: (InvalidEntries & { module: string; schema: string })[];
}

export interface Plan {
  impact: Impact;
  work: EntryWork;
  /** Removed fields and schemas for which entries still have values. */
  retired: Retired[];
  claims: CompiledSchema[];
}

/**
 * Compares two definitions and finds the changes that affect stored entries.
 * @param options.retired removed fields and schemas for which entries still have values
 * @param options.examine also validates every stored value, for a dry run
 */
export async function planChange(
  deps: Deps,
  orb: string,
  from: OrbDocument,
  to: OrbDocument,
  options: { revision: number; examine: boolean; force: boolean; retired: readonly Retired[] },
): Promise<Plan> {
  const [before, after] = [compileOrb(from), compileOrb(to)];
  const { retired } = options;
  const counts = await countStored(deps, orb, [before, after], retired);
  const stored = (change: SchemaChange) => counts.get(keyOf(change)) ?? 0;
  const judged = (change: SchemaChange, entries: number): ImpactItem => {
    const forceable = change.severity === "removal";
    const refused = entries > 0 && (change.severity === "dangerous" || (forceable && !options.force));
    return { ...change, entries, refused, forceable };
  };
  const changes = [
    ...compareDefinitions(from, to).map((change) => judged(change, stored(change))),
    ...(await returning(deps, orb, compareRetired(retired, to), stored)).map((one) => judged(...one)),
  ];
  // Include schemas without entries, because a concurrent request may create an entry under the old definition.
  const mayHold = (home: HomeKey) => before.byHome.has(home) || (counts.get(home) ?? 0) > 0;
  const claims = reindexed(before, after).filter((schema) => mayHold(homeKey(schema.home)));
  const context = { orb, revision: options.revision, compiled: after };
  const impact: Impact = { changes, duplicates: [], invalid: [] };
  if (options.examine) {
    await countValues(deps, orb, changes);
    for (const schema of claims) {
      const { duplicates } = await backfillExisting(deps, context, schema, { dryRun: true });
      impact.duplicates.push(
        ...duplicates.map((one) => ({ module: schema.module, schema: schema.id, ...one })),
      );
    }
    const tightened = new Set(
      changes
        .filter((c) => c.severity === "tightened" && c.entries > 0)
        .map((c) => `${c.module}/${c.schema}`),
    );
    for (const place of tightened) {
      const [module = "", schema = ""] = place.split("/");
      const compiled = after.schema(module, schema);
      if (compiled !== undefined) {
        impact.invalid.push({ module, schema, ...(await invalidEntries(deps, orb, compiled)) });
      }
    }
  }
  const work: EntryWork = {
    claims: claims.map(({ home }) => home),
    moves: movesOf(before, after, changes),
    added: indexesOnlyIn(after, before),
    removed: indexesOnlyIn(before, after),
  };
  return { impact, work, claims, retired: retiredAfter(from, retired, to, counts) };
}

/** Rejects a definition that does not fit the stored entries. Otherwise reserves the unique values of these entries. */
export async function enforce(
  deps: Deps,
  orb: string,
  to: OrbDocument,
  revision: number,
  plan: Plan,
): Promise<void> {
  const refused = plan.impact.changes.filter((change) => change.refused);
  if (refused.length > 0) {
    const details = refused.map(
      ({ module, schema, entries, message }) =>
        `${module}/${schema} (${entries} ${entries === 1 ? "entry" : "entries"}): ${message}`,
    );
    const hint = refused.every((change) => change.forceable)
      ? "Pass force=true to proceed anyway."
      : "Use a new id or name for each changed field or schema, or delete the entries first.";
    throw new AppError(
      "conflict",
      "incompatible_change",
      `The new document is incompatible with stored entries. ${details.join(" ")} ${hint}`,
      {
        data: { impact: plan.impact },
      },
    );
  }
  await claimValues(deps, { orb, revision, compiled: compileOrb(to) }, plan, plan.claims);
}

/**
 * Reserves the unique values of stored entries and adds their missing index keys.
 * @param since limits the work to entries that were written after this sequence number
 */
export async function claimValues(
  deps: Deps,
  context: { orb: string; revision: number; compiled: CompiledOrb },
  plan: Plan,
  schemas: readonly CompiledSchema[],
  since?: number,
): Promise<void> {
  for (const schema of schemas) {
    const options = since === undefined ? {} : { since };
    const { duplicates } = await backfillExisting(deps, context, schema, options);
    if (duplicates.length === 0) continue;
    const details = duplicates.map((one) => ({ module: schema.module, schema: schema.id, ...one }));
    throw new AppError(
      "conflict",
      "unique_conflict",
      "Stored entries share values of a field that becomes unique. Change the duplicates first.",
      {
        data: { impact: { ...plan.impact, duplicates: details } },
      },
    );
  }
}

type Place = Pick<SchemaChange, "moduleType" | "schema">;

const placeOf = ({ moduleType, schema }: Place): Home => homeOf(moduleType, schema);
const keyOf = (place: Place): HomeKey => homeKey(placeOf(place));

/** For each change of a field, adds the number of entries that have a value for the field. Reads each schema once. */
async function countValues(deps: Deps, orb: string, changes: readonly ImpactItem[]): Promise<void> {
  const places = Map.groupBy(changes, keyOf);
  for (const [first, ...others] of places.values()) {
    if (first === undefined || first.entries === 0) continue;
    const group = [first, ...others];
    const fields = [...new Set(group.flatMap(({ field }) => field ?? []))];
    if (fields.length === 0) continue;
    const values = await valuesStored(deps, orb, placeOf(first), fields);
    for (const change of group) {
      if (change.field !== undefined) change.values = values.get(change.field) ?? 0;
    }
  }
}

/**
 * Returns the fields and schemas that an earlier definition removed and the new one adds again, with the number of
 * entries that have old values.
 */
async function returning(
  deps: Deps,
  orb: string,
  changes: readonly SchemaChange[],
  stored: (change: SchemaChange) => number,
): Promise<[SchemaChange, number][]> {
  const places = Map.groupBy(changes, keyOf);
  const out: [SchemaChange, number][] = [];
  for (const group of places.values()) {
    const [first] = group;
    const fields = [...new Set(group.map(({ field }) => field).filter((field) => field !== undefined))];
    const values =
      first === undefined || fields.length === 0
        ? new Map<string, number>()
        : await valuesStored(deps, orb, placeOf(first), fields);
    for (const change of group)
      out.push([change, change.field === undefined ? stored(change) : (values.get(change.field) ?? 0)]);
  }
  return out;
}

async function countStored(
  deps: Deps,
  orb: string,
  compiled: readonly CompiledOrb[],
  retired: readonly Retired[],
): Promise<Map<HomeKey, number>> {
  const all = [
    ...compiled.flatMap(({ byHome }) => [...byHome.values()].map(({ home }) => home)),
    ...retired.map(placeOf),
  ];
  const homes = new Map(all.map((home) => [homeKey(home), home]));
  const counts = await entryCounts(deps, orb, [...homes.values()]);
  return new Map([...homes.keys()].map((home, index) => [home, counts[index] ?? 0]));
}

/**
 * Returns the schemas whose entries need new index keys. Includes new schemas, because an earlier schema of the same
 * name may have left entries.
 */
function reindexed(before: CompiledOrb, after: CompiledOrb): CompiledSchema[] {
  return [...after.byHome.values()].filter((schema) => {
    const old = before.byHome.get(homeKey(schema.home));
    const changed = [...schema.fields.values()].some((field) => {
      const was = old?.fields.get(field.name);
      const special =
        field.indexed || field.ordered || field.searched || field.unique || field.target !== undefined;
      if (!special || was === undefined) return special;
      return (["indexed", "ordered", "searched", "unique"] as const).some(
        (kind) => was[kind] !== field[kind],
      );
    });
    return changed;
  });
}

/** Returns the ordered indexes and word indexes that one definition has and the other lacks. */
function indexesOnlyIn(one: CompiledOrb, other: CompiledOrb): IndexPlace[] {
  return [...one.byHome].flatMap(([key, schema]) => {
    const same = other.byHome.get(key);
    const known = new Set(same === undefined ? [] : indexesOf(same));
    return indexesOf(schema)
      .filter((field) => !known.has(field))
      .map((field) => ({ ...schema.home, field }));
  });
}

function movesOf(
  before: CompiledOrb,
  after: CompiledOrb,
  changes: readonly ImpactItem[],
): EntryWork["moves"] {
  const moves: EntryWork["moves"] = [];
  for (const change of changes) {
    if (change.severity !== "access" && change.severity !== "removal") continue;
    const home = keyOf(change);
    const from = before.byHome.get(home)?.liveRole ?? null;
    const to = after.byHome.get(home)?.liveRole ?? null;
    if (from !== to) moves.push({ ...placeOf(change), from, to });
  }
  return moves;
}
