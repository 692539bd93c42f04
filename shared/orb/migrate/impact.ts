/** Compares a new definition with stored entries, to find incompatible changes and needed migrations. */
import type { PlacedChange, SchemaChange } from "../../definition/changes.ts";
import { compareDefinitions } from "../../definition/compat.ts";
import {
  type CompiledField,
  type CompiledOrb,
  type CompiledSchema,
  compileOrb,
} from "../../definition/compile.ts";
import { type HomeKey, homeKey, homeOf, type OrbDocument } from "../../definition/document/index.ts";
import { countForms, type StoredNames, storedNames } from "../../definition/names/index.ts";
import { compareRetired, type Retired, retiredAfter } from "../../definition/retired.ts";
import { addedTo, compileStored, type EntryWork, type IndexPlace } from "../../definition/stored/index.ts";
import { allFields } from "../../definition/walk.ts";
import type { Deps } from "../../deps.ts";
import {
  type Duplicate,
  entryCounts,
  type InvalidEntries,
  invalidEntries,
  KeptKeys,
  type LossyEntries,
  lossyEntries,
  NeededKeys,
  type Question,
  sharedValues,
  valuesStored,
} from "../../entry/migrate/index.ts";
import type { OrbContext } from "../../entry/model/index.ts";
import { indexesOf } from "../../entry/ordered/index.ts";
import { AppError } from "../../kernel/errors.ts";
import { seesAllWrites } from "../../store/policy.ts";
import { streams } from "../../store/subjects.ts";
import { examineSteps, type Stepping } from "./steps.ts";
import { Survey } from "./survey.ts";

/** A definition that is to be activated: a document and the names in stored data. */
export interface Definition {
  document: OrbDocument;
  names: StoredNames | undefined;
}

export interface ImpactItem extends SchemaChange {
  /** Number of stored entries of the schema. */
  entries: number;
  /** Entries with values that cannot be converted without loss, if the field changes its type. */
  lossy?: LossyEntries;
  /** Number of entries that have a value for the field. Only present if a dry run finds a change of this field. */
  values?: number;
  /** Number of entries that the publication makes of objects. */
  makes?: number;
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

/** A change, how it is judged, and where its entries are stored. */
type PlacedItem = ImpactItem & Pick<PlacedChange, "home" | "roots" | "mayLose" | "step">;

export interface Plan {
  impact: Impact;
  /** The changes of `impact`, and where their entries are stored. */
  placed: readonly PlacedItem[];
  work: EntryWork;
  /** Removed fields and schemas for which entries still have values. */
  retired: Retired[];
  claims: CompiledSchema[];
  steps: readonly Stepping[];
  needed: Needed;
}

/** Index keys that were found while the entries were read for other reasons. */
interface Needed {
  /** The keys of all entries that were written up to this sequence number, by the schema. */
  since?: number | undefined;
  bySchema: ReadonlyMap<HomeKey, NeededKeys>;
}

/**
 * Returns the stored names of a definition. While a schema has no entries, a change of type needs no other stored name.
 * @param from the definition that stored entries follow
 */
export async function namesFor(
  deps: Deps,
  orb: string,
  document: OrbDocument,
  from: Definition,
): Promise<StoredNames | undefined> {
  const names = storedNames(document, from);
  if (countForms(names) <= countForms(from.names)) return names;
  const before = compileStored(orb, from.document, from.names);
  const counts = await countStored(deps, orb, [before], []);
  return storedNames(document, from, new Set([...counts.keys()].filter((home) => counts.get(home) === 0)));
}

/**
 * Compares two definitions and finds the changes that affect stored entries.
 * @param options.retired removed fields and schemas for which entries still have values
 * @param options.examine also validates every stored value, for a dry run
 */
export async function planChange(
  deps: Deps,
  orb: string,
  from: Definition & { revision: number },
  to: Definition,
  options: { revision: number; examine: boolean; force: boolean; retired: readonly Retired[] },
): Promise<Plan> {
  const before = compileStored(orb, from.document, from.names);
  const after = compileOrb(to.document, to.names);
  const names = { from: from.names, to: to.names };
  const { retired } = options;
  const counts = await countStored(deps, orb, [before, after], retired);
  const stored = (change: PlacedChange) => counts.get(homeKey(change.home)) ?? 0;
  const judged = (change: PlacedChange, entries: number): PlacedItem => {
    const forceable = change.severity === "removal";
    const refused = entries > 0 && (change.severity === "dangerous" || (forceable && !options.force));
    return { ...change, entries, refused, forceable };
  };
  const again = compareRetired(retired, to.document, to.names, from);
  const placed = [
    ...compareDefinitions(from.document, to.document, names).map((change) => judged(change, stored(change))),
    ...(await returning(deps, orb, again, stored)).map((one) => judged(...one)),
  ];
  const unknown = leftBehind([before, after], to.document, retired, placed);
  placed.push(
    ...unknown.map((change) => judged(change, stored(change))).filter(({ entries }) => entries > 0),
  );
  // Include schemas without entries, because a concurrent request may create an entry under the old definition.
  const mayHold = (home: HomeKey) => before.byHome.has(home) || (counts.get(home) ?? 0) > 0;
  const claims = reindexed(before, after).filter((schema) => mayHold(homeKey(schema.home)));
  const context = { orb, revision: options.revision, compiled: after };
  // A removal that may be a rename is no loss if no entry has a value.
  const asked = placed.filter(({ candidates }) => candidates !== undefined);
  const survey = new Survey();
  const values = countValues(survey, options.examine ? placed : asked);
  const losses = findLosses(
    survey,
    after,
    placed.filter(({ entries }) => entries > 0),
  );
  const examined = options.examine ? examine(deps, survey, context, { placed, claims }) : undefined;
  const added = indexesOnlyIn(after, before);
  const collected = options.examine ? [] : claims;
  const needed = await collectKeys(deps, survey, context, { placed, claims: collected, added });
  await survey.answer(deps, orb);
  values();
  for (const change of asked) if (change.values === 0) change.refused = false;
  losses();
  const steps = await examineSteps(deps, orb, placed, { from, to, retired });
  const impact: Impact = {
    changes: placed.map(shown),
    ...(examined?.() ?? { duplicates: [], invalid: [] }),
  };
  const work: EntryWork = {
    claims: claims.map(({ home }) => home),
    moves: movesOf(before, after, placed),
    added,
    removed: indexesOnlyIn(before, after),
  };
  const left = retiredAfter(from.document, retired, to.document, counts, names);
  return { impact, placed, work, claims, retired: left, steps, needed };
}

/**
 * Asks for the missing index keys of schemas whose entries are read anyway. Keys that splits and joins change are found
 * later, and words at all times, because the words of all entries take too much memory.
 */
async function collectKeys(
  deps: Deps,
  survey: Survey,
  context: OrbContext,
  { placed, claims, added }: Pick<Plan, "placed" | "claims"> & { added: readonly IndexPlace[] },
): Promise<Needed> {
  const isUseless = placed.some(({ refused, step }) => refused || step !== undefined);
  const some = isUseless
    ? []
    : claims.filter(({ home, searched }) => searched.length === 0 && survey.reads(home));
  if (some.length === 0) return { bySchema: new Map() };
  const info = seesAllWrites(deps) ? await deps.store.streamInfo(streams.orb(context.orb)) : null;
  const all = new KeptKeys();
  const bySchema = some.map((schema) => {
    const fresh = addedTo({ claims: [], moves: [], added: [...added] }, schema.home);
    const needed = new NeededKeys(deps, context, schema, { fresh, builds: true, all });
    survey.add(schema.home, needed);
    return [homeKey(schema.home), needed] as const;
  });
  return { since: info?.state.last_seq, bySchema: new Map(bySchema) };
}

/** Adds what only a dry run asks. Returns a function that returns the answers. */
function examine(
  deps: Deps,
  survey: Survey,
  context: OrbContext,
  { placed, claims }: Pick<Plan, "placed" | "claims">,
): () => Pick<Impact, "duplicates" | "invalid"> {
  const shared = claims
    .filter(({ unique }) => unique.length > 0)
    .map((schema) => ({
      place: { module: schema.module, schema: schema.id },
      question: survey.add(schema.home, sharedValues(deps, context, schema)),
    }));
  const tightened = new Set(
    placed
      .filter(({ severity, entries }) => severity === "tightened" && entries > 0)
      .map(({ module, schema }) => context.compiled.schema(module, schema)),
  );
  const checked = [...tightened].flatMap((schema) =>
    schema === undefined
      ? []
      : [
          {
            place: { module: schema.module, schema: schema.id },
            question: survey.add(schema.home, invalidEntries(deps, schema)),
          },
        ],
  );
  return () => ({
    duplicates: shared.flatMap(({ place, question }) => question.answer.map((one) => ({ ...place, ...one }))),
    invalid: checked.map(({ place, question }) => ({ ...place, ...question.answer })),
  });
}

/**
 * Rejects a definition if an entry that was written after the sequence number `since` would lose a value by a
 * conversion.
 */
export async function requireLossless(
  deps: Deps,
  orb: string,
  compiled: CompiledOrb,
  { placed, impact }: Plan,
  since: number,
): Promise<void> {
  const changes = placed.map((change) => ({ ...change }));
  const survey = new Survey();
  const losses = findLosses(survey, compiled, changes);
  await survey.answer(deps, orb, since);
  losses();
  requireAccepted({ ...impact, changes: changes.map(shown) });
}

/** Returns a change without what only the platform needs. */
function shown({
  home: _home,
  roots: _roots,
  mayLose: _mayLose,
  step: _step,
  ...change
}: PlacedItem): ImpactItem {
  return change;
}

/** Returns whether a definition is refused because of what an interrupted publication has left. */
export const isObstructed = ({ impact }: Plan): boolean =>
  impact.changes.some(
    ({ code, severity, refused }) => code === "returned_schema" && severity === "dangerous" && refused,
  );

/** Rejects a definition of which a change is refused. */
export function requireAccepted(impact: Impact): void {
  const refused = impact.changes.filter((change) => change.refused);
  if (refused.length === 0) return;
  const details = refused.map(
    ({ module, schema, entries, message, lossy }) =>
      `${module}/${schema} (${entries} ${entries === 1 ? "entry" : "entries"}): ${message}${lossy === undefined ? "" : ` ${tellLosses(lossy)}`}`,
  );
  const hint = refused.every((change) => change.forceable)
    ? "Pass force=true to proceed anyway."
    : refused.every(({ lossy }) => lossy !== undefined)
      ? "Change these entries first, or give the field a rule for them."
      : "Use a new id or name for each changed field or schema, or delete the entries first.";
  throw new AppError(
    "conflict",
    "incompatible_change",
    `The new document is incompatible with stored entries. ${details.join(" ")} ${hint}`,
    { data: { impact } },
  );
}

/** Entries that the message of an error names. */
const NAMED = 5;

function tellLosses({ entries, examples }: LossyEntries): string {
  const some = examples.slice(0, NAMED).map(({ id, reason }) => `${id} ${reason}`);
  const more = entries - some.length;
  return `${entries} of them would lose values: ${some.join("; ")}${more > 0 ? `; and ${more} more` : ""}.`;
}

/**
 * Asks for each change of a field how many entries have a value for the field.
 * @returns adds the numbers to the changes
 */
function countValues(survey: Survey, changes: readonly PlacedItem[]): () => void {
  const ofFields = changes.filter(({ field, entries }) => field !== undefined && entries > 0);
  const groups = [...Map.groupBy(ofFields, ({ home }) => homeKey(home)).values()].map((group) => ({
    group,
    question: askValues(survey, group),
  }));
  return () => {
    for (const { group, question } of groups)
      for (const change of group) change.values = question?.answer.get(change) ?? 0;
  };
}

/** Asks how many entries have a value of the field of each change. @param changes changes of one schema */
function askValues<T extends PlacedChange>(
  survey: Survey,
  changes: readonly T[],
): Question<Map<T, number>> | undefined {
  const [first] = changes;
  const fields = new Map(
    changes.flatMap((change) => (change.roots === undefined ? [] : [[change, change.roots] as const])),
  );
  return first === undefined || fields.size === 0 ? undefined : survey.add(first.home, valuesStored(fields));
}

/**
 * Asks for the entries that would lose a value by a conversion.
 * @returns refuses the changes that concern such entries
 */
function findLosses(survey: Survey, compiled: CompiledOrb, changes: readonly PlacedItem[]): () => void {
  // Steps look for losses of their own.
  const unsure = changes.filter(({ mayLose, step }) => mayLose === true && step === undefined);
  const groups = [...Map.groupBy(unsure, (change) => homeKey(change.home))].flatMap(([home, group]) => {
    const schema = compiled.byHome.get(home);
    return schema === undefined ? [] : [{ group, question: survey.add(schema.home, lossyEntries(schema)) }];
  });
  return () => {
    for (const { group, question } of groups)
      for (const change of group) {
        const lossy = question.answer.get(change.field ?? "");
        if (lossy === undefined) continue;
        change.lossy = lossy;
        change.refused = true;
      }
  };
}

/**
 * Returns the fields and schemas that an earlier definition removed and the new one adds again, with the number of
 * entries that have old values.
 */
async function returning(
  deps: Deps,
  orb: string,
  changes: readonly PlacedChange[],
  stored: (change: PlacedChange) => number,
): Promise<[PlacedChange, number][]> {
  const places = Map.groupBy(changes, ({ home }) => homeKey(home));
  const survey = new Survey();
  const groups = [...places.values()].map((group) => ({ group, question: askValues(survey, group) }));
  await survey.answer(deps, orb);
  return groups.flatMap(({ group, question }) =>
    group.map((change): [PlacedChange, number] => [
      change,
      change.field === undefined ? stored(change) : (question?.answer.get(change) ?? 0),
    ]),
  );
}

/**
 * Returns the new schemas that must not have entries: an interrupted publication that makes entries of objects leaves
 * some, which nobody must see under this definition.
 */
function leftBehind(
  [before, after]: readonly [CompiledOrb, CompiledOrb],
  document: OrbDocument,
  retired: readonly Retired[],
  changes: readonly PlacedChange[],
): PlacedChange[] {
  const known = new Set([
    ...before.byHome.keys(),
    ...retired.map(({ moduleType, schema }) => homeKey(homeOf(moduleType, schema))),
    ...changes.flatMap(({ step }) => (step === undefined ? [] : [homeKey(step.target)])),
  ]);
  return [...after.byHome.values()].flatMap(({ module, id: schema, home }): PlacedChange[] => {
    const moduleType = document.modules.find(({ id }) => id === module)?.type;
    if (moduleType === undefined || known.has(homeKey(home))) return [];
    const message = `Schema ${module}/${schema} is new, but an interrupted publication has made entries of objects for it. They are erased five minutes after the interruption. Try again then, publish that document to finish it, or use another id.`;
    return [
      { ...{ module, moduleType, schema, home }, severity: "dangerous", code: "returned_schema", message },
    ];
  });
}

async function countStored(
  deps: Deps,
  orb: string,
  compiled: readonly CompiledOrb[],
  retired: readonly Retired[],
): Promise<Map<HomeKey, number>> {
  const all = [
    ...compiled.flatMap(({ byHome }) => [...byHome.values()].map(({ home }) => home)),
    ...retired.map(({ moduleType, schema }) => homeOf(moduleType, schema)),
  ];
  const homes = new Map(all.map((home) => [homeKey(home), home]));
  const counts = await entryCounts(deps, orb, [...homes.values()]);
  return new Map([...homes.keys()].map((home, index) => [home, counts[index] ?? 0]));
}

/** Returns the stored name of the component whose blocks have a field. */
const storedComponent = ({ component, parent }: CompiledField): string | undefined =>
  component === undefined ? undefined : (parent?.renamedInside?.get(component) ?? component);

/**
 * Returns the schemas whose entries need new index keys. Includes new schemas, because an earlier schema of the same
 * name may have left entries.
 */
export function reindexed(before: CompiledOrb, after: CompiledOrb): CompiledSchema[] {
  return [...after.byHome.values()].filter((schema) => {
    const old = before.byHome.get(homeKey(schema.home));
    const known = Map.groupBy(old === undefined ? [] : allFields(old), ({ storedName }) => storedName);
    const changed = allFields(schema).some((field) => {
      const same = old === undefined ? [] : (known.get(field.storedName) ?? []);
      const was = same.find((one) => storedComponent(one) === storedComponent(field));
      const special =
        field.indexed || field.ordered || field.searched || field.unique || field.targets.length > 0;
      if (!special || was === undefined) return special;
      return (["indexed", "ordered", "indexName", "searched", "unique"] as const).some(
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
  changes: readonly PlacedItem[],
): EntryWork["moves"] {
  const moves: EntryWork["moves"] = [];
  for (const change of changes) {
    if (change.severity !== "access" && change.severity !== "removal") continue;
    const home = homeKey(change.home);
    const from = before.byHome.get(home)?.liveRole ?? null;
    const to = after.byHome.get(home)?.liveRole ?? null;
    if (from !== to) moves.push({ ...change.home, from, to });
  }
  return moves;
}
