/** Describes the query parameters of lists: one for each field and operator, so that every tool can send them. */
import type { CompiledField, CompiledSchema } from "../../shared/definition/compile.ts";
import type { FilterOperator, Json, JsonSchema } from "../../shared/definition/fields/index.ts";
import type { LiveOrb } from "../../shared/definition/live-orb.ts";
import { AREAS } from "../../shared/definition/types/index.ts";
import { allFields, fieldsNamed } from "../../shared/definition/walk.ts";
import { targetSchema } from "../../shared/entry/model/index.ts";
import {
  AGGREGATE_LIMITS,
  AGGREGATES,
  isGroupable,
  PROPERTIES,
  PROPERTY_TYPES,
  QUERY_LIMITS,
  type Subject,
  takesAggregate,
} from "../../shared/entry/query/index.ts";
import type { Parameter } from "./document.ts";

const MEANINGS: Readonly<Record<FilterOperator, string>> = {
  eq: "Equals",
  ne: "Differs, or has no value",
  in: "Is one of these values, separated by commas. Values that contain commas need a JSON array.",
  gt: "Greater",
  gte: "Greater or equal",
  lt: "Less",
  lte: "Less or equal",
  contains: "Contains, ignoring case",
  startsWith: "Begins with, ignoring case",
  near: "Is at most so far from a point: latitude, longitude, and a distance in m, km or mi. Without `sort`, the nearest entries come first.",
  within: "Is in an area: its south, west, north and east sides in degrees",
  null: "`true`: has no value; `false`: has one",
};

/** Operators that compare for equality. Their value must be one that the field's `enum` allows. */
const NAMING: readonly FilterOperator[] = ["eq", "ne", "in"];

/** Matches a value that can be sent without a JSON array: it has no comma, and does not begin with a bracket. */
const PLAIN = "^([^,\\[][^,]*)?$";

/** Describes a list of values in one query parameter, separated by commas. */
function commaSeparated(name: string, description: string, schema: JsonSchema): Parameter {
  return {
    name,
    in: "query",
    required: false,
    style: "form",
    explode: false,
    description,
    schema: { type: "array", minItems: 1, ...schema },
  };
}

/** Returns the JSON Schema of the value in a filter. The length limit of the field does not apply to filters. */
function comparedValue({ type }: Subject): JsonSchema {
  const { description: _, ...schema } = type.jsonSchema({ name: "value", type: type.name });
  return schema.maxLength === undefined ? schema : { ...schema, maxLength: QUERY_LIMITS.text };
}

function allowedBy(field: CompiledField | undefined, operator: FilterOperator): Json[] | undefined {
  const isNamed = NAMING.includes(operator) || (operator === "contains" && field?.list === true);
  return isNamed ? field?.definition.enum : undefined;
}

function oneFilter(subject: Subject, operator: FilterOperator): Parameter | undefined {
  const field = subject.kind === "field" ? subject.field : undefined;
  const name = operator === "eq" ? `filter[${subject.name}]` : `filter[${subject.name}][${operator}]`;
  const allowed = allowedBy(field, operator);
  const description =
    operator === "contains" && field?.list === true ? "The list has this item" : MEANINGS[operator];
  if (operator === "null")
    return { name, in: "query", required: false, description, schema: { type: "boolean" } };
  if (AREAS.has(operator)) {
    const example = operator === "near" ? "52.5,13.4,10km" : "52.3,13.1,52.7,13.8";
    const schema = { type: "string", maxLength: 100, example };
    return { name, in: "query", required: false, description, schema };
  }
  const value = comparedValue(subject);
  if (operator !== "in") {
    const schema = allowed === undefined ? value : { ...value, enum: allowed };
    return { name, in: "query", required: false, description, schema };
  }
  const isText = value.type === "string" && value.format === undefined && value.pattern === undefined;
  const plain = allowed?.filter((each) => new RegExp(PLAIN).test(String(each)));
  if (plain?.length === 0) return undefined;
  const items =
    plain !== undefined ? { ...value, enum: plain } : isText ? { ...value, pattern: PLAIN } : value;
  return commaSeparated(name, description, { items, maxItems: QUERY_LIMITS.values });
}

function filtersOf(subject: Subject, operators: readonly FilterOperator[]): Parameter[] {
  return operators.flatMap((operator) => oneFilter(subject, operator) ?? []);
}

/** Describes the filters by properties that every entry has, such as `id`. The keys are OpenAPI component names. */
export function propertyFilters(): { [component: string]: Parameter } {
  const all = PROPERTIES.flatMap((name) => {
    const type = PROPERTY_TYPES[name];
    return filtersOf({ kind: "property", name, type }, type.operators);
  });
  return Object.fromEntries(
    all.map((parameter) => [parameter.name.replaceAll("]", "").replaceAll("[", "."), parameter]),
  );
}

export const PROPERTY_FILTERS: readonly { $ref: string }[] = Object.keys(propertyFilters()).map((name) => ({
  $ref: `#/components/parameters/${name}`,
}));

/** Returns the fields that filters can name: also those inside objects, one for each name. */
function comparable(schema: CompiledSchema): CompiledField[] {
  return [...new Map(allFields(schema).map((field) => [field.name, field])).values()];
}

/** Returns the query parameters that filter by the fields of a schema. */
export function fieldFilters(schema: CompiledSchema): Parameter[] {
  return comparable(schema).flatMap((field) =>
    filtersOf({ kind: "field", name: field.name, type: field.type, field }, field.operators),
  );
}

/**
 * Returns the query parameters that filter by fields of referenced entries. Includes only the operator `eq`, to keep
 * the document small.
 */
export function relatedFilters({ compiled }: LiveOrb, schema: CompiledSchema): Parameter[] {
  return allFields(schema).flatMap((via) => {
    const isOnly = fieldsNamed(schema, via.name).length === 1;
    const fields = via.targets.flatMap((target) => {
      const found = targetSchema(compiled, target);
      return found === undefined || !isOnly ? [] : comparable(found);
    });
    return [...new Map(fields.reverse().map((field) => [field.name, field])).values()]
      .filter(({ operators }) => operators.includes("eq"))
      .flatMap((field) =>
        filtersOf({ kind: "field", name: `${via.name}.${field.name}`, type: field.type, field }, ["eq"]),
      );
  });
}

export function sortParameter(schema: CompiledSchema): Parameter {
  const names = [
    ...comparable(schema)
      .filter(({ sortable }) => sortable)
      .map(({ name }) => name),
    ...PROPERTIES,
  ];
  return commaSeparated(
    "sort",
    "A leading `-` sorts in descending order. Each name only once. Default: creation time, oldest first",
    {
      items: { type: "string", enum: names.flatMap((name) => [name, `-${name}`]) },
      maxItems: QUERY_LIMITS.sortKeys,
      uniqueItems: true,
    },
  );
}

/** Describes the parameters of an aggregation: the values to compute, as an object, and the names to group by. */
export function aggregateParameters(schema: CompiledSchema): Parameter[] {
  const subjects = [
    ...comparable(schema)
      .filter(({ sensitive }) => !sensitive)
      .map((field): Subject => ({ kind: "field", name: field.name, type: field.type, field })),
    ...PROPERTIES.map((name): Subject => ({ kind: "property", name, type: PROPERTY_TYPES[name] })),
  ];
  const forms = subjects.flatMap((subject) =>
    AGGREGATES.filter((operation) => takesAggregate(operation, subject)).map(
      (operation) => `${operation}(${subject.name})`,
    ),
  );
  return [
    {
      name: "aggregate",
      in: "query",
      required: false,
      style: "deepObject",
      explode: true,
      description:
        "Computes instead of listing: `aggregate[total]=sum(price)`. The name begins with a letter and has letters, digits and `_`. Not with `sort`, `fields`, `expand`, `count` or `limit`.",
      schema: {
        type: "object",
        maxProperties: AGGREGATE_LIMITS.aggregates,
        additionalProperties: { type: "string", enum: ["count", ...forms] },
        // Without this example, the documentation page fills in invented names and sends them.
        example: {},
      },
    },
    commaSeparated("group", "With `aggregate`: computes for each value of these fields", {
      items: { type: "string", enum: subjects.filter(isGroupable).map(({ name }) => name) },
      maxItems: AGGREGATE_LIMITS.groupedBy,
      uniqueItems: true,
    }),
  ];
}

export function fieldsParameter({ fields }: CompiledSchema): Parameter {
  const names = [...fields.keys(), ...PROPERTIES];
  return commaSeparated(
    "fields",
    "Fields in the response. Then `values` has only these, although its schema requires others.",
    { items: { type: "string", enum: names }, maxItems: names.length },
  );
}

/** Returns whether responses with entries of a schema can have `expand`. */
export const isExpandable = ({ references, files }: CompiledSchema): boolean =>
  references.length > 0 || files.length > 0;

export function expandParameter({ references, files }: CompiledSchema): Parameter {
  const names = [...new Set([...references, ...files].map(({ name }) => name))];
  const about =
    "Reference fields whose entries are included in `expand`, and file fields whose descriptions are included there";
  return commaSeparated("expand", about, {
    items: { type: "string", enum: names },
    maxItems: names.length,
  });
}
