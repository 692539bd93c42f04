/** Merges the definition that a change set proposes with the live one, if the orb has published another one since. */
import { masked } from "../../definition/document/index.ts";
import { type NamedDocument, type Root, rootsIn } from "../../definition/names/index.ts";
import type { Config } from "../../deps.ts";
import type { KeyOf } from "../../differences/index.ts";
import { pointer } from "../../kernel/faults.ts";
import { isObject } from "../../kernel/json.ts";
import { withSecretsOf } from "../../orb/secrets.ts";

/** The definitions that a merge compares. */
export interface DefinitionSides {
  /** The live one from which the set started. Null if its revision is gone. */
  base: NamedDocument | null;
  /** The live one of now. */
  now: NamedDocument;
  proposed: NamedDocument;
}

/** A place that a set changes in the definition. A value is null if there is none. */
export interface PlaceDiff {
  /** JSON Pointer in which the names of modules, schemas and fields stand for their positions. */
  path: string;
  base: unknown;
  now: unknown;
  proposed: unknown;
}

const placeOf = ({ scope, root }: Root) => `${scope} ${root}`;

/**
 * Returns what names the items of lists in all documents of a merge. Modules, schemas, components and fields have the name
 * that they had in the base, so a rename is a change like any other. A new one whose name something else had in the base
 * gets another key.
 */
function keysIn(sides: DefinitionSides, nameIn: KeyOf): KeyOf {
  const old = sides.base === null ? [] : [...rootsIn(sides.base).values()];
  const before = new Map(old.map((item) => [placeOf(item), item.name]));
  const taken = new Set(old.map(({ scope, name }) => `${scope} ${name}`));
  const keys = new Map<object, string>();
  for (const side of [sides.base, sides.now, sides.proposed]) {
    if (side === null) continue;
    for (const [item, place] of rootsIn(side)) {
      const { scope, name } = place;
      keys.set(item, before.get(placeOf(place)) ?? (taken.has(`${scope} ${name}`) ? `${name}+` : name));
    }
  }
  return (item) => keys.get(item) ?? nameIn(item);
}

/** Members that contain a rule. Parts of two rules make no rule. */
const RULES = new Set(["showIf", "from"]);

export interface MergedDefinition {
  document: unknown;
  /** What both the set and the orb have changed, each in another way: names that lead there. */
  conflicts: string[][];
}

/**
 * Merges a proposed definition with the live one. In a conflict, takes what the set has.
 * @param isLive returns whether a conflict, at a path, takes the live value instead
 */
export async function mergeDefinitions(
  config: Pick<Config, "encryptionKeys">,
  given: DefinitionSides,
  isLive: (path: string) => boolean = () => false,
): Promise<MergedDefinition> {
  const { merge, nameIn } = await import("../../differences/index.ts");
  const { now } = given;
  const aligned = async <T extends NamedDocument | null>(side: T): Promise<T> =>
    side === null ? side : { ...side, document: await withSecretsOf(config, now.document, side.document) };
  const [base, proposed] = await Promise.all([aligned(given.base), aligned(given.proposed)]);
  const sides = { base, now, proposed };
  const { value, conflicts } = merge(base?.document, now.document, proposed.document, {
    keyOf: keysIn(sides, nameIn),
    isTheirs: (way) => isLive(pointer(way)),
    isWhole: (_, way) => RULES.has(way.at(-1) ?? ""),
  });
  return { document: value, conflicts };
}

/** Returns each place that a set changes in the definition, or that is in conflict, without secrets. */
export async function placesOf(
  sides: DefinitionSides,
  conflicts: readonly (readonly string[])[],
): Promise<PlaceDiff[]> {
  const { differencesIn, nameIn, valueIn } = await import("../../differences/index.ts");
  const keyOf = keysIn(sides, nameIn);
  const [base, now, proposed] = [sides.base, sides.now, sides.proposed].map(
    (side) => side && masked(side.document),
  );
  const ways = differencesIn(base, proposed, keyOf).map(({ way }) => way);
  const all = new Map([...ways, ...conflicts].map((way) => [pointer(way), way]));
  return [...all].map(([path, way]) => {
    const values = [base, now, proposed].map((side) => valueIn(side, way, keyOf) ?? null);
    const [old, live, own] = isReordered(values, keyOf) ? values.map((list) => keysOf(list, keyOf)) : values;
    return { path, base: old, now: live, proposed: own };
  });
}

function keysOf(list: unknown, keyOf: KeyOf): unknown {
  return Array.isArray(list) ? list.map((item: unknown) => (isObject(item) ? keyOf(item) : item)) : list;
}

/** Returns whether values are lists of named items, which differ in their order only: their names say all. */
function isReordered(values: readonly unknown[], keyOf: KeyOf): boolean {
  return values.every(
    (list) =>
      list === null ||
      (Array.isArray(list) &&
        list.length > 0 &&
        list.every((item: unknown) => isObject(item) && keyOf(item) !== undefined)),
  );
}
