/** Compares one field of two definitions. */
import { equal } from "../kernel/json.ts";
import type { PlacedChange } from "./changes.ts";
import { isRequired } from "./compile-field.ts";
import {
  type FieldDefinition,
  isPolymorphic,
  type OrbDocument,
  type ReferenceTarget,
  refsOf,
  schemaToken,
  targetsOf,
} from "./document/index.ts";
import { FIELD_TYPES } from "./fields/index.ts";
import { MODULES, type NameTable, storedHome } from "./names/index.ts";

/**
 * Attributes of a field that determine how its stored values are read. Most changes of them would make these values
 * unreadable.
 */
export const FIELD_MEANING = ["type", "list", "translatable", "marketSpecific", "sensitive"] as const;

export type FieldMeaning = Pick<FieldDefinition, "name" | (typeof FIELD_MEANING)[number]>;

/** A document, and the look-up of its stored names. */
export interface Side {
  document: OrbDocument;
  names: NameTable;
}

/** A change of a schema or of a field, without its place. */
export type Change = Omit<PlacedChange, "module" | "moduleType" | "schema" | "home">;

/** Lists the changed attributes that would make stored values unreadable. */
export function meaningChanges(before: FieldMeaning, after: FieldMeaning): Change[] {
  const field = after.name;
  const changed = FIELD_MEANING.filter(
    (attribute) =>
      (before[attribute] || false) !== (after[attribute] || false) &&
      !(attribute === "type" && FIELD_TYPES[after.type].widens === before.type),
  );
  return changed.map((attribute) => ({
    severity: "dangerous",
    code: `changed_${snake(attribute)}`,
    field,
    message: `Field ${field}: ${attribute} changes from ${before[attribute] ?? false} to ${after[attribute] ?? false}.`,
  }));
}

export function compareFields(
  [a, b]: readonly [Side, Side],
  before: FieldDefinition,
  after: FieldDefinition,
  isConverted: boolean,
): Change[] {
  const field = after.name;
  const meaning = meaningChanges(before, after);
  if (meaning.length > 0 && !isConverted) return meaning;
  const changes: Change[] = [];
  if (before.type !== after.type && !isConverted) {
    const message = `Field ${field}: type changes from ${before.type} to ${after.type}. All stored values stay as they are.`;
    changes.push({ severity: "index", code: "widened_type", field, message });
  }
  if (before.unique !== true && after.unique === true) {
    changes.push({
      severity: "claim",
      code: "added_unique",
      field,
      message: `Field ${field} becomes unique.`,
    });
  }
  if (before.unique === true && after.unique !== true) {
    changes.push({
      severity: "index",
      code: "removed_unique",
      field,
      message: `Field ${field} is no longer unique.`,
    });
  }
  const indexesOf = ({ enum: values, index, collation, search }: FieldDefinition) =>
    [values !== undefined, index, index === undefined ? undefined : collation, search === true].join();
  if (indexesOf(before) !== indexesOf(after)) {
    changes.push({
      severity: "index",
      code: "changed_index",
      field,
      message: `The index of field ${field} changes.`,
    });
  }
  changes.push(...compareTargets([a, b], before, after));
  if (!isRequired(before) && isRequired(after)) {
    changes.push(tightened(after, "added_required", `Field ${field} becomes required.`));
  } else if (before.required !== "allLanguages" && after.required === "allLanguages") {
    changes.push(tightened(after, "added_required", `Field ${field} becomes required in every language.`));
  }
  if (narrowedEnum(before, after))
    changes.push(tightened(after, "narrowed_enum", `Field ${field} allows fewer values.`));
  if (narrowedBound(before, after, "min"))
    changes.push(tightened(after, "raised_min", `Field ${field}: min is raised.`));
  if (narrowedBound(before, after, "max"))
    changes.push(tightened(after, "lowered_max", `Field ${field}: max is lowered.`));
  if ((after.scale ?? 0) < (before.scale ?? 0)) {
    changes.push(
      tightened(after, "lowered_scale", `Field ${field} allows ${after.scale} digits after the point.`),
    );
  }
  if (after.pattern !== undefined && after.pattern !== before.pattern) {
    changes.push(tightened(after, "changed_pattern", `Field ${field} has another pattern.`));
  }
  return changes;
}

/** Identifies a schema that a field refers to by stored names, so that a rename does not change it. */
function storedTarget({ document, names }: Side, { orb, module, ref }: ReferenceTarget): string {
  const own = orb === document.id ? document.modules.find(({ id }) => id === module) : undefined;
  const schema = ref.split("/")[2] ?? "";
  if (own === undefined) return `${orb}/${module}/${schemaToken(schema)}`;
  return `${orb}/${names.storedOf(MODULES, module)}/${storedHome(names, own.type, schema).schema}`;
}

/**
 * Compares the schemas that a reference may point to. One schema may become several: a stored id without a schema then
 * belongs to the first one. Several cannot become one that is no list, because stored references name their schemas.
 */
function compareTargets(
  [a, b]: readonly [Side, Side],
  before: FieldDefinition,
  after: FieldDefinition,
): Change[] {
  const field = after.name;
  const was = targetsOf(before).map((target) => storedTarget(a, target));
  const is = targetsOf(after).map((target) => storedTarget(b, target));
  const names = (one: FieldDefinition) => refsOf(one).join(", ");
  if (was.length === 0) return [];
  if (isPolymorphic(before) && !isPolymorphic(after)) {
    const message = `Field ${field}: ref changes from a list of schemas to one schema. Use a list of one schema.`;
    return [{ severity: "dangerous", code: "changed_ref", field, message }];
  }
  if (was[0] === is[0] && was.every((key) => is.includes(key))) return [];
  return [
    tightened(after, "changed_ref", `Field ${field} refers to ${names(after)} instead of ${names(before)}.`),
  ];
}

export function compareKeys(from: OrbDocument, to: OrbDocument, field: FieldDefinition): Change[] {
  const changes: Change[] = [];
  const gone = (before: readonly string[], after: readonly string[]) =>
    before.filter((key) => !after.includes(key));
  const languages = field.translatable === true ? gone(from.languages, to.languages) : [];
  const markets = field.marketSpecific === true ? gone(from.markets, to.markets) : [];
  for (const [what, lost] of [
    ["language", languages],
    ["market", markets],
  ] as const) {
    if (lost.length === 0) continue;
    const says = `Field ${field.name} loses the ${what}s ${lost.join(", ")}; stored values of them stay until the entry's next write.`;
    changes.push(tightened(field, `removed_${what}`, says));
  }
  const moved =
    (field.translatable === true && from.languages[0] !== to.languages[0]) ||
    (field.marketSpecific === true && from.markets[0] !== to.markets[0]);
  const added = gone(to.languages, from.languages);
  if (field.required === "allLanguages" && added.length > 0) {
    const message = `Field ${field.name} is required in the new languages ${added.join(", ")}, too.`;
    changes.push(tightened(field, "added_required", message));
  }
  if (isRequired(field) && moved) {
    changes.push(
      tightened(
        field,
        "changed_default_key",
        `Field ${field.name} is required in another default language or market.`,
      ),
    );
  }
  return changes;
}

export function tightened(field: Pick<FieldDefinition, "name">, code: string, message: string): Change {
  return { severity: "tightened", code, field: field.name, message };
}

function narrowedEnum(before: FieldDefinition, after: FieldDefinition): boolean {
  if (after.enum === undefined) return false;
  if (before.enum === undefined) return true;
  return before.enum.some((value) => !after.enum?.some((other) => equal(value, other)));
}

function narrowedBound(before: FieldDefinition, after: FieldDefinition, side: "min" | "max"): boolean {
  const [was, is] = [before[side], after[side]];
  if (is === undefined) return false;
  if (was === undefined) return true;
  if (typeof was === "number" && typeof is === "number") return side === "min" ? is > was : is < was;
  const type = FIELD_TYPES[after.type];
  const [old, now] = [was, is].map((bound) => type.parse(bound, () => {}));
  if (old === undefined || now === undefined) return true;
  return side === "min" ? type.compare(now, old) > 0 : type.compare(now, old) < 0;
}

function snake(name: string): string {
  return name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}
