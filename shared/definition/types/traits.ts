/**
 * What is known of each field type without its code: the attributes that it allows, its filters, and its form in files
 * and in generated types. The definition, the console and the command `orb` use this table, so it has no imports.
 */

/** Operators of the query parameter `filter[field][op]=value`. */
export type FilterOperator =
  | "eq"
  | "ne"
  | "in"
  | "gt"
  | "gte"
  | "lt"
  | "lte"
  | "contains"
  | "startsWith"
  | "near"
  | "within"
  | "null";

/** Operators that compare a value with an area. */
export const AREAS: ReadonlySet<FilterOperator> = new Set(["near", "within"]);

export interface FieldTraits {
  /** Whether `min` and `max` limit the value itself or its length. */
  readonly bounds: "value" | "length" | "none";
  readonly pattern: boolean;
  readonly enumerable: boolean;
  readonly unique: boolean;
  readonly default: boolean;
  readonly sensitive: boolean;
  readonly sortable: boolean;
  /** Whether an ordered index can list the values. */
  readonly orderable: boolean;
  /** Whether `search` can find entries by the values. */
  readonly searchable: boolean;
  /** Whether an index finds entries by the values, although the field has neither `enum` nor `unique`. */
  readonly indexed: boolean;
  readonly operators: readonly FilterOperator[];
  /** What the values are for people and for sums. `other`: they have parts, or stand for something else. */
  readonly kind: "text" | "number" | "time" | "flag" | "other";
  /** How a cell of a table contains a value: as it is, or as JSON. */
  readonly cell: "text" | "number" | "decimal" | "flag" | "json";
  /** Type of the values in TypeScript. */
  readonly typescript: string;
  /** An example for descriptions of the API. */
  readonly example?: string | number | boolean | { readonly [key: string]: string | number };
}

const ordered = {
  bounds: "value",
  pattern: false,
  enumerable: true,
  unique: true,
  default: true,
  sensitive: true,
  sortable: true,
  orderable: true,
  searchable: false,
  indexed: false,
  operators: ["eq", "ne", "in", "gt", "gte", "lt", "lte", "null"],
} as const;

const time = { ...ordered, kind: "time", cell: "text", typescript: "string" } as const;
const number = { ...ordered, kind: "number", cell: "number", typescript: "number" } as const;

const string = {
  ...ordered,
  bounds: "length",
  pattern: true,
  searchable: true,
  operators: ["eq", "ne", "in", "gt", "gte", "lt", "lte", "contains", "startsWith", "null"],
  kind: "text",
  cell: "text",
  typescript: "string",
} as const;

/** Values that have parts, or stand for something outside of the entry. */
const opaque = {
  ...ordered,
  bounds: "none",
  enumerable: false,
  unique: false,
  sortable: false,
  orderable: false,
  operators: ["null"],
  kind: "other",
  cell: "json",
} as const;

export const FIELD_TRAITS = {
  string: { ...string, example: "Example" },
  text: {
    ...string,
    unique: false,
    sortable: false,
    orderable: false,
    operators: ["eq", "ne", "in", "contains", "startsWith", "null"],
    example: "An example of a longer text.",
  },
  slug: {
    ...string,
    pattern: false,
    enumerable: false,
    default: false,
    sensitive: false,
    searchable: false,
    example: "red-chair",
  },
  email: { ...string, searchable: false, example: "ann@example.org" },
  url: { ...string, searchable: false, example: "https://example.org/" },
  number: { ...number, example: 49.5 },
  integer: { ...number, example: 3 },
  decimal: { ...number, cell: "decimal", typescript: "string", example: "49" },
  boolean: {
    ...ordered,
    bounds: "none",
    orderable: false,
    indexed: true,
    operators: ["eq", "ne", "in", "null"],
    kind: "flag",
    cell: "flag",
    typescript: "boolean",
    example: true,
  },
  date: { ...time, example: "2026-01-31" },
  time: { ...time, example: "09:30" },
  datetime: { ...time, example: "2026-01-31T12:00:00.000Z" },
  json: { ...opaque, typescript: "unknown", example: { any: "value" } },
  point: {
    ...opaque,
    sensitive: false,
    orderable: true,
    operators: ["near", "within", "null"],
    typescript: "{ lat: number; lon: number }",
    example: { lat: 52.516, lon: 13.378 },
  },
  reference: {
    ...opaque,
    unique: true,
    default: false,
    sensitive: false,
    sortable: true,
    indexed: true,
    operators: ["eq", "ne", "in", "null"],
    cell: "text",
    typescript: "string",
  },
  file: {
    ...opaque,
    default: false,
    sensitive: false,
    // A client that writes a file needs only the id, so the other members are optional. Responses have all members.
    typescript:
      "{ file: string; url?: string; type?: string; size?: number; name?: string; sha256?: string; width?: number; height?: number; color?: string; animated?: boolean }",
  },
  object: { ...opaque, default: false, sensitive: false, typescript: "Record<string, unknown>" },
  blocks: { ...opaque, default: false, sensitive: false, typescript: "Record<string, unknown>[]" },
  richText: {
    ...opaque,
    default: false,
    sensitive: false,
    searchable: true,
    typescript: "Record<string, unknown>[]",
  },
} as const satisfies { readonly [name: string]: FieldTraits };

export type FieldTypeName = keyof typeof FIELD_TRAITS;

export const FIELD_TYPE_NAMES = Object.keys(FIELD_TRAITS) as [FieldTypeName, ...FieldTypeName[]];

export const isFieldType = (type: unknown): type is FieldTypeName =>
  typeof type === "string" && Object.hasOwn(FIELD_TRAITS, type);

export const traitsOf = (type: FieldTypeName): FieldTraits => FIELD_TRAITS[type];

/**
 * Types that rules cannot convert: the members of objects have stored names of their own, and the targets of references
 * and files would have to be checked.
 */
const WITHOUT_RULES: ReadonlySet<FieldTypeName> = new Set([
  "object",
  "blocks",
  "richText",
  "reference",
  "file",
]);

/** Returns whether rules can convert the values of a field, and return such values. */
export const takesRule = ({
  type,
  sensitive,
}: {
  type: FieldTypeName;
  sensitive?: boolean | undefined;
}): boolean => sensitive !== true && !WITHOUT_RULES.has(type);
