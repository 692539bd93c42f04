/**
 * Keeps a list of removed fields and schemas whose values are still stored. Old values reappear if a later definition
 * adds the same field or schema again.
 */
import { AppError } from "../kernel/errors.ts";
import type { PlacedChange } from "./changes.ts";
import type { NamesOfBoth } from "./compat.ts";
import { FIELD_MEANING, type FieldMeaning, meaningChanges } from "./compat-fields.ts";
import {
  type FieldDefinition,
  type Home,
  type HomeKey,
  homeKey,
  homeOf,
  type ModuleDefinition,
  type OrbDocument,
  type SchemaDefinition,
  schemaToken,
} from "./document/index.ts";
import {
  COMPONENTS,
  MODULES,
  type NamedDocument,
  NameTable,
  type StoredNames,
  scopeWithin,
  storedHome,
} from "./names/index.ts";
import { type Components, componentsOf, shapesOf } from "./nested.ts";

/** Names are those in stored data. */
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
  home: Home;
}

const homeIn = ({ moduleType, schema }: Retired): Home => homeOf(moduleType, schema);
const keyOf = (one: Retired): HomeKey => homeKey(homeIn(one));

function placesOf(document: OrbDocument, names: NameTable): Map<HomeKey, SchemaLocation> {
  return new Map(
    document.modules.flatMap((module) =>
      module.schemas.map((schema) => {
        const home = storedHome(names, module.type, schema.id);
        return [homeKey(home), { module, schema, home }] as const;
      }),
    ),
  );
}

function meaningOf(field: FieldMeaning): FieldMeaning {
  const meaning: FieldMeaning = { name: field.name, type: field.type };
  for (const attribute of FIELD_MEANING)
    if (attribute !== "type" && field[attribute] === true) meaning[attribute] = true;
  return meaning;
}

/** What determines how the values of a field are read, under its stored name. */
interface StoredMeaning extends FieldMeaning {
  /** The names on the way to the field, as the document has them. */
  shown: string;
  /** All stored names of the field, from before and after changes of its type. */
  forms: readonly string[];
}

/** Where a list of fields is. */
interface Around {
  names: NameTable;
  components: Components;
  scope: string;
  stored: string;
  shown: string;
}

/**
 * Returns what determines how the values of fields are read, also inside their objects. The name of a field inside
 * objects has the stored names on the way to it, and those of components, such as `sections.quote.text`.
 */
function meaningsOf(fields: readonly FieldDefinition[], around: Around): StoredMeaning[] {
  const { names, components, scope } = around;
  return fields.flatMap((field) => {
    const name = around.stored + names.storedOf(scope, field.name);
    const shown = around.shown + field.name;
    const inner = [...(shapesOf(field, components) ?? [])].flatMap(([component, below]) => {
      const stored = component === "" ? `${name}.` : `${name}.${names.storedOf(COMPONENTS, component)}.`;
      const within = { names, components, scope: scopeWithin(names, scope, field, component) };
      const path = component === "" ? `${shown}.` : `${shown}.${component}.`;
      return meaningsOf(below, { ...within, stored, shown: path });
    });
    const forms = names.allStoredOf(scope, field.name).map((form) => around.stored + form);
    return [{ ...meaningOf(field), name, shown, forms }, ...inner];
  });
}

function meaningsIn(document: OrbDocument, names: NameTable, place: SchemaLocation | undefined) {
  if (place === undefined) return [];
  const scope = homeKey(place.home);
  return meaningsOf(place.schema.fields, {
    names,
    components: componentsOf(document),
    scope,
    stored: "",
    shown: "",
  });
}

const rootOf = (name: string): string => name.split(".", 1)[0] ?? name;

/**
 * Lists how a new document affects stored values, if it adds fields and schemas that existed before and were removed.
 * @param names names in stored data
 * @param from the document before
 */
export function compareRetired(
  retired: readonly Retired[],
  to: OrbDocument,
  names?: StoredNames,
  from?: NamedDocument,
): PlacedChange[] {
  const table = new NameTable(names);
  const places = placesOf(to, table);
  const present = from === undefined ? new Map() : formsIn(from);
  return retired.flatMap((one): PlacedChange[] => {
    const place = places.get(keyOf(one));
    if (place === undefined) return [];
    const { moduleType, whole } = one;
    const { home } = place;
    const schema = place.schema.id;
    const module = place.module.id;
    const at = { module, moduleType, schema, home };
    if (whole && table.storedOf(MODULES, module) !== one.module) {
      const message = `The entries that were stored as ${one.module}/${one.schema} would become those of ${module}/${schema}.`;
      return [{ ...at, module: one.module, severity: "dangerous", code: "moved_schema", message }];
    }
    const before = new Map(one.fields.map((field) => [field.name, field]));
    const live = present.get(keyOf(one));
    const changes = meaningsIn(to, table, place).flatMap((field): PlacedChange[] => {
      const roots = [
        rootOf(field.name),
        ...(table.formsOf(homeKey(home), rootOf(field.shown)) ?? []).map(({ stored }) => stored),
      ];
      const was = before.get(field.name);
      const changed = was === undefined ? [] : meaningChanges(was, { ...field, name: field.shown });
      // The newest form comes first.
      const last = one.fields.find(({ name }) => field.forms.includes(name));
      const isBack =
        last !== undefined && last.name !== field.name && !field.forms.some((form) => live?.has(form));
      return [
        ...changed.map((change) => ({
          ...at,
          ...change,
          roots,
          message: `${change.message} Entries still have values from before the field was removed.`,
        })),
        ...(isBack ? [{ ...at, ...convertedBack(field), roots }] : []),
      ];
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

/** Returns all stored names of the fields of each schema. */
const formsIn = ({ document, names }: NamedDocument): Map<HomeKey, ReadonlySet<string>> => {
  const table = new NameTable(names);
  return new Map(
    [...placesOf(document, table)].map(([home, place]) => [
      home,
      new Set(meaningsIn(document, table, place).flatMap(({ forms }) => forms)),
    ]),
  );
};

/** Returns the change of a field whose type had changed before it was removed, and that is what it was before again. */
const convertedBack = ({ shown }: StoredMeaning) => ({
  severity: "converted" as const,
  code: "converted_field",
  field: shown,
  message: `Field ${shown} is back, as it was before its type changed. Stored values are converted when they are read.`,
  mayLose: true as const,
});

/** Returns whether a new document has removed fields or schemas again, for which stored entries still have values. */
export function bringsBack(retired: readonly Retired[], to: OrbDocument, names?: StoredNames): boolean {
  const table = new NameTable(names);
  const places = placesOf(to, table);
  return retired.some((one) => {
    const place = places.get(keyOf(one));
    if (place === undefined) return false;
    const present = new Set(meaningsIn(to, table, place).map(({ name }) => name));
    return one.whole || one.fields.some(({ name }) => present.has(name));
  });
}

/** Returns the removed fields and schemas that still have entries after `to` is published. */
export function retiredAfter(
  from: OrbDocument,
  retired: readonly Retired[],
  to: OrbDocument,
  counts: ReadonlyMap<HomeKey, number>,
  names: NamesOfBoth = {},
): Retired[] {
  const [before, after] = [new NameTable(names.from), new NameTable(names.to)];
  const places = placesOf(to, after);
  const known = new Map(retired.map((one) => [keyOf(one), one]));
  for (const [home, place] of placesOf(from, before)) {
    const { module, schema } = place;
    const gone = known.get(home)?.fields ?? [];
    const fields = meaningsIn(from, before, place).map(({ shown: _, forms: __, ...meaning }) => meaning);
    const names = new Set(fields.map(({ name }) => name));
    known.set(home, {
      module: before.storedOf(MODULES, module.id),
      moduleType: module.type,
      schema: place.home.schema === schemaToken(schema.id) ? schema.id : place.home.schema,
      whole: false,
      fields: [...fields, ...gone.filter(({ name }) => !names.has(name))],
    });
  }
  const out: Retired[] = [];
  for (const [home, one] of known) {
    if ((counts.get(home) ?? 0) === 0) continue;
    const place = places.get(home);
    const present = meaningsIn(to, after, place);
    const names = new Set(present.map(({ name }) => name));
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
