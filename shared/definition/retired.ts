/**
 * Keeps a list of removed fields and schemas whose values are still stored. Old values reappear if a later definition
 * adds the same field or schema again.
 */
import { AppError } from "../kernel/errors.ts";
import { FIELD_MEANING, type FieldMeaning, meaningChanges, type SchemaChange } from "./compat.ts";
import type {
  FieldDefinition,
  ModuleDefinition,
  OrbDocument,
  SchemaDefinition,
} from "./document/document.ts";
import { type HomeKey, homeKey, homeOf } from "./document/home.ts";

export interface Retired {
  module: string;
  moduleType: ModuleDefinition["type"];
  schema: string;
  whole: boolean;
  fields: FieldMeaning[];
}

/** Maximum number of removed fields to list, because each message of the application's history contains the list. */
const MOST_FIELDS = 2_000;

interface SchemaLocation {
  module: ModuleDefinition;
  schema: SchemaDefinition;
}

const keyOf = ({ moduleType, schema }: Retired): HomeKey => homeKey(homeOf(moduleType, schema));

function placesOf(document: OrbDocument): Map<HomeKey, SchemaLocation> {
  return new Map(
    document.modules.flatMap((module) =>
      module.schemas.map((schema) => [homeKey(homeOf(module.type, schema.id)), { module, schema }]),
    ),
  );
}

function meaningOf(field: FieldMeaning): FieldMeaning {
  const meaning: FieldMeaning = { name: field.name, type: field.type };
  for (const attribute of FIELD_MEANING)
    if (attribute !== "type" && field[attribute] === true) meaning[attribute] = true;
  return meaning;
}

/**
 * Lists how a new document affects stored values, if it adds fields and schemas that existed before and were removed.
 */
export function compareRetired(retired: readonly Retired[], to: OrbDocument): SchemaChange[] {
  const places = placesOf(to);
  return retired.flatMap((one): SchemaChange[] => {
    const place = places.get(keyOf(one));
    if (place === undefined) return [];
    const { module, moduleType, whole } = one;
    const schema = place.schema.id;
    const at = { module, moduleType, schema };
    if (whole && place.module.id !== module) {
      const message = `The entries that were stored as ${module}/${one.schema} would become those of ${place.module.id}/${schema}.`;
      return [{ ...at, severity: "dangerous", code: "moved_schema", message }];
    }
    const before = new Map(one.fields.map((field) => [field.name, field]));
    const changes: SchemaChange[] = place.schema.fields.flatMap((field) => {
      const was = before.get(field.name);
      if (was === undefined) return [];
      return meaningChanges(was, field).map((change) => ({
        ...at,
        ...change,
        message: `${change.message} Entries still have values from before the field was removed.`,
      }));
    });
    if (whole)
      changes.push({
        ...at,
        severity: "access",
        code: "returned_schema",
        message: `Schema ${module}/${schema} is added again, and its stored entries become reachable.`,
      });
    return changes;
  });
}

/** Returns the removed fields and schemas that still have entries after `to` is published. */
export function retiredAfter(
  from: OrbDocument,
  retired: readonly Retired[],
  to: OrbDocument,
  counts: ReadonlyMap<HomeKey, number>,
): Retired[] {
  const places = placesOf(to);
  const known = new Map(retired.map((one) => [keyOf(one), one]));
  for (const [home, { module, schema }] of placesOf(from)) {
    const gone = known.get(home)?.fields ?? [];
    const names = new Set(schema.fields.map(({ name }) => name));
    known.set(home, {
      module: module.id,
      moduleType: module.type,
      schema: schema.id,
      whole: false,
      fields: [...schema.fields, ...gone.filter(({ name }) => !names.has(name))].map(meaningOf),
    });
  }
  const out: Retired[] = [];
  for (const [home, one] of known) {
    if ((counts.get(home) ?? 0) === 0) continue;
    const place = places.get(home);
    const names = new Set(place?.schema.fields.map((field: FieldDefinition) => field.name));
    const fields = one.fields.filter(({ name }) => !names.has(name));
    const whole = place === undefined;
    if (whole || fields.length > 0) out.push({ ...one, whole, fields });
  }
  if (out.reduce((sum, { fields }) => sum + fields.length, 0) > MOST_FIELDS) {
    throw new AppError(
      "conflict",
      "too_many_removed",
      `Schemas with stored entries have more than ${MOST_FIELDS} removed fields. Delete the entries of such a schema first.`,
    );
  }
  return out;
}
