import type { CompiledField, CompiledSchema } from "../../definition/compile.ts";
import { ENTRY_PROPERTIES, isEntryId, type ReferenceTarget } from "../../definition/document/index.ts";
import {
  FIELD_TYPES,
  type FieldType,
  type FilterOperator,
  type Json,
} from "../../definition/fields/index.ts";
import {
  type Circle,
  characters,
  circleIn,
  type Point,
  readBox,
  readNear,
} from "../../definition/fields/parts/index.ts";
import { fieldsNamed } from "../../definition/walk.ts";
import { clip, joinNames } from "../../kernel/faults.ts";

/** Limits of the parameters of a list. */
export const QUERY_LIMITS = {
  /** Maximum names in `sort`. */
  sortKeys: 5,
  /** Maximum values of the operator `in`. */
  values: 100,
  /** Maximum characters of a value in a filter. */
  text: 1_000,
  /** Maximum characters of a search. */
  search: 200,
} as const;

/** Names of the properties that every entry has, such as `id`. Fields cannot have these names. */
export const PROPERTIES = ENTRY_PROPERTIES;
export type Property = (typeof PROPERTIES)[number];

export type Subject =
  | { kind: "property"; name: Property; type: FieldType }
  | {
      kind: "field";
      name: string;
      type: FieldType;
      field: CompiledField;
      /** Fields of the same name in other components of a field of blocks. All of them have values of one type. */
      others?: readonly CompiledField[];
    };

/** One condition of a query, written `filter[name][operator]=values`. */
export interface Condition {
  subject: Subject;
  operator: FilterOperator;
  /** `in` has several values, `null` has true or false, and all other operators have one value. */
  values: Json[];
}

/** A group of conditions. `and`: all must hold. `or`: at least one must hold. `not`: at least one must fail. */
export interface Group {
  join: "and" | "or" | "not";
  of: Where[];
}

/**
 * The parameter `search`. An entry matches if the fields contain all words. The last word may also be the beginning of
 * a word in the entry. A search text without words matches no entry.
 */
export interface Search {
  words: string[];
  /** The fields with `search: true` that filters may use. */
  fields: readonly CompiledField[];
}

/**
 * A condition on a field of referenced entries, such as `filter[venue.city]=Oslo`. It holds if at least one of the
 * entries that the reference field `via` points to meets `condition`, which can be on entries that these refer to.
 */
export interface Related {
  via: CompiledField;
  target: CompiledSchema;
  condition: Condition | Related;
}

/** The parameter `missing`. It holds if one of the fields has a value in another language, and none in this one. */
export interface Lacking {
  lacks: string;
  fields: readonly CompiledField[];
}

/** A condition, a search or a group. A query matches an entry if all of its conditions hold. */
export type Where = Condition | Group | Lacking | Related | Search;

export function isGroup(where: Where): where is Group {
  return "join" in where;
}

export function isLacking(where: Where): where is Lacking {
  return "lacks" in where;
}

export function isSearch(where: Where): where is Search {
  return "words" in where;
}

/** Returns the search of a query, if any. Searches are always at the top level: groups cannot contain them. */
export function searchOf(conditions: readonly Where[]): Search | undefined {
  return conditions.find(isSearch);
}

export function isRelated(where: Where): where is Related {
  return "via" in where;
}

export function isCondition(where: Where): where is Condition {
  return "operator" in where;
}

/** Returns all conditions, including those in groups, but without searches. */
export function conditionsIn(all: readonly Where[]): (Condition | Related)[] {
  return all.flatMap((where) => {
    if (isGroup(where)) return conditionsIn(where.of);
    return isSearch(where) || isLacking(where) ? [] : [where];
  });
}

export interface SortKey {
  subject: Subject;
  descending: boolean;
  /** Sorts points by their distance from this one. */
  from?: Point;
}

/** Returns the point and the distance of a condition on a distance. Undefined for all other conditions. */
export function nearOf(where: Where): (Circle & { subject: Subject }) | undefined {
  if (!isCondition(where) || where.operator !== "near") return undefined;
  const circle = circleIn(where.values[0]);
  return circle && { ...circle, subject: where.subject };
}

const STRING_OPERATORS: readonly FilterOperator[] = ["eq", "ne", "in"];
const ID_TYPE: FieldType = {
  ...FIELD_TYPES.reference,
  operators: STRING_OPERATORS,
};
export const PROPERTY_TYPES: Record<Property, FieldType> = {
  id: ID_TYPE,
  revision: { ...FIELD_TYPES.integer, operators: FIELD_TYPES.integer.operators.filter((o) => o !== "null") },
  createdAt: {
    ...FIELD_TYPES.datetime,
    operators: FIELD_TYPES.datetime.operators.filter((o) => o !== "null"),
  },
  createdBy: { ...FIELD_TYPES.string, operators: STRING_OPERATORS },
  updatedAt: {
    ...FIELD_TYPES.datetime,
    operators: FIELD_TYPES.datetime.operators.filter((o) => o !== "null"),
  },
  updatedBy: { ...FIELD_TYPES.string, operators: STRING_OPERATORS },
  validFrom: FIELD_TYPES.datetime,
  validTo: FIELD_TYPES.datetime,
};

export function isProperty(name: string): name is Property {
  return (PROPERTIES as readonly string[]).includes(name);
}

export interface ParameterReader {
  /** The schema with only those fields that filters and sort orders may use. */
  readonly compared: CompiledSchema | undefined;
  /**
   * Returns the schema that a reference points to, with only the fields that filters may use. Returns undefined if that
   * schema is in another application.
   */
  targetOf(target: ReferenceTarget): CompiledSchema | undefined;
  fault(parameter: string, code: string, message: string): void;
  parts(parameter: string, text: string, most: number): string[];
}

/** Finds the field or property that `filter` or `sort` names. Sensitive fields are always rejected. */
export function subjectOf(
  reader: ParameterReader,
  parameter: string,
  name: string,
  use: "filter" | "sort",
): Subject | undefined {
  if (isProperty(name)) return { kind: "property", name, type: PROPERTY_TYPES[name] };
  const [field, ...others] = reader.compared === undefined ? [] : fieldsNamed(reader.compared, name);
  if (field === undefined) {
    if (reader.compared === undefined) {
      reader.fault(
        parameter,
        "needs_schema",
        `must be one of ${PROPERTIES.join(", ")} in a list without module and schema`,
      );
      return undefined;
    }
    const { fields, nested } = reader.compared;
    const all = [...fields, ...[...nested].flatMap(([key, some]) => some.map((one) => [key, one] as const))];
    const known = all.filter(([, f]) => (use === "sort" ? f.sortable : f.operators.length > 0));
    reader.fault(
      parameter,
      "unknown_field",
      `must not name the unknown field "${clip(name)}". Use ${joinNames([...new Set(known.map(([key]) => key)), ...PROPERTIES])}.`,
    );
    return undefined;
  }
  if (field.sensitive) {
    reader.fault(
      parameter,
      "sensitive_field",
      `must not contain the sensitive field "${name}", because lists cannot be filtered or sorted by it`,
    );
    return undefined;
  }
  // A caller may use the name that the field has in an earlier revision of the definition.
  const subject = { kind: "field", name: field.name, type: field.type, field } as const;
  return others.length === 0 ? subject : { ...subject, others };
}

/** Parses one filter. Returns undefined if it is invalid. */
export function readCondition(
  reader: ParameterReader,
  parameter: string,
  { name, op }: { name: string; op: string },
  texts: string[],
): Condition | undefined {
  const subject = subjectOf(reader, parameter, name, "filter");
  if (subject === undefined) return undefined;
  const allowed = subject.kind === "field" ? subject.field.operators : subject.type.operators;
  const operator = allowed.find((known) => known === op);
  if (operator === undefined) {
    const can = allowed.length === 0 ? "no filter at all" : allowed.join(", ");
    reader.fault(
      parameter,
      "unknown_operator",
      `must not use the operator "${clip(op)}", because ${name} takes ${can}`,
    );
    return undefined;
  }
  if (operator !== "in" && texts.length > 1) {
    const several = allowed.includes("in") ? `. For several values, use filter[${name}][in]=a,b.` : "";
    reader.fault(parameter, "repeated", `must be given only once${several}`);
    return undefined;
  }
  const values = operator === "in" ? texts.flatMap(splitValues) : texts;
  if (values.length > QUERY_LIMITS.values || values.some((text) => characters(text) > QUERY_LIMITS.text)) {
    reader.fault(
      parameter,
      "too_many",
      `must have at most ${QUERY_LIMITS.values} values of at most ${QUERY_LIMITS.text} characters`,
    );
    return undefined;
  }
  const parsed = values.map((text) => parseValue(subject, operator, text));
  const field = subject.kind === "field" ? subject.field : undefined;
  const whole = NAMING.has(operator) || (operator === "contains" && field?.list === true);
  const other = whole ? values.find((_, i) => !isAllowed(subject, parsed[i])) : undefined;
  if (other !== undefined) {
    const allowed = joinNames((field?.definition.enum ?? []).map(String));
    reader.fault(parameter, "invalid_value", `must be one of ${allowed} (is "${clip(other)}")`);
    return undefined;
  }
  const wrong = parsed.indexOf(undefined);
  if (wrong >= 0) {
    const text = values[wrong] ?? "";
    const own = FORMS[operator];
    const form = own ?? formOf(subject, text) ?? `must be a value of type ${subject.type.name}`;
    reader.fault(parameter, "invalid_value", `${form} (is "${clip(text)}")`);
    return undefined;
  }
  return { subject, operator, values: parsed as Json[] };
}

export function readSort(reader: ParameterReader, text: string): SortKey[] {
  const keys: SortKey[] = [];
  for (const part of reader.parts("sort", text, QUERY_LIMITS.sortKeys)) {
    const descending = part.startsWith("-");
    const name = descending ? part.slice(1) : part;
    const subject = subjectOf(reader, "sort", name, "sort");
    if (subject === undefined) continue;
    if (subject.kind === "field" && !subject.field.sortable) {
      reader.fault(
        "sort",
        "not_sortable",
        `must not contain "${name}", because lists cannot be sorted by it`,
      );
    } else if (keys.some((key) => key.subject.name === name)) {
      reader.fault("sort", "repeated", `must not name "${name}" more than once`);
    } else keys.push({ subject, descending });
  }
  return keys;
}

/** Sort order by creation. Lists use it if they must be sorted in memory and the query names no order. */
export const BY_CREATION: SortKey = {
  subject: { kind: "property", name: "createdAt", type: PROPERTY_TYPES.createdAt },
  descending: false,
};

/** Parses the values of `in`: separated by commas, or a JSON array if a value contains a comma. */
function splitValues(text: string): string[] {
  if (text.startsWith("[")) {
    try {
      const list: unknown = JSON.parse(text);
      if (Array.isArray(list))
        return list.map((value) => (typeof value === "string" ? value : JSON.stringify(value)));
    } catch {
      // The text is not JSON, so it is a plain value that begins with a bracket.
    }
  }
  return text.split(",");
}

/** What the value of an operator must be, if that does not depend on the type of the field. */
const FORMS: { readonly [operator in FilterOperator]?: string } = {
  null: "must be true or false",
  near: "must be latitude, longitude and distance in m, km or mi, such as 52.5,13.4,10km",
  within: "must be the south, west, north and east sides in degrees, such as 52.3,13.1,52.7,13.8",
};

/** Returns a message that explains the text format of a type such as a date. Undefined for types without one. */
function formOf({ type }: Subject, text: string): string | undefined {
  const said: string[] = [];
  if (type.cell === "text") type.parse(text, (_code, message) => said.push(message));
  return said[0];
}

function parseValue(subject: Subject, operator: FilterOperator, text: string): Json | undefined {
  if (operator === "null") return text === "true" ? true : text === "false" ? false : undefined;
  if (operator === "near") return readNear(text);
  if (operator === "within") return readBox(text);
  if (subject.kind === "property" && subject.name === "id") return isEntryId(text) ? text : undefined;
  return subject.type.fromText(text);
}

/** Operators that compare whole values. Their values in a filter must be in the field's `enum`, if it has one. */
const NAMING: ReadonlySet<FilterOperator> = new Set(["eq", "ne", "in"]);

/**
 * Returns whether the field's `enum` allows a value. Returns true for a value that could not be parsed, because the
 * parser has already reported an error.
 */
function isAllowed(subject: Subject, value: Json | undefined): boolean {
  if (value === undefined || subject.kind === "property" || subject.field.allowed === undefined) return true;
  return subject.field.allowed.has(subject.field.equality(value) ?? "");
}
