/**
 * The cells of an entry. A cell is the value of one field in one language and market; most fields have a single cell.
 * Forms edit cells, and comparisons show them. All functions are pure.
 */
import { pointer } from "../../../shared/kernel/faults.ts";
import { isObject } from "../../../shared/kernel/json.ts";
import { type FieldModel, isObjects, type OrbModel, type SchemaModel, shapesOf } from "./orb.ts";

/** The parts of an entry that a write can change. */
export interface Content {
  values: Readonly<Record<string, unknown>>;
  validFrom: string | null;
  validTo: string | null;
}

export interface Cell {
  field: FieldModel;
  language?: string;
  market?: string;
  /**
   * Property names that lead to the cell's value in the body of a write request, such as `["values", "title", "de"]`.
   */
  way: readonly string[];
}

type Members = Readonly<Record<string, unknown>>;

/** The text shown instead of a sensitive value. A write that contains the mask keeps the stored value. */
export const MASK = "••••••••";

/** Returns the JSON Pointer of a cell. The platform's validation errors contain the same pointer. */
export const pointerOf = ({ way }: Pick<Cell, "way">): string => pointer(way);

/**
 * Returns the cells of a field, in the order of markets, then languages.
 * @param before property names, and positions in lists, that lead to the object that has the field
 */
export function cellsOfField(
  field: FieldModel,
  { languages, markets }: OrbModel,
  before: readonly string[] = ["values"],
): Cell[] {
  const each = <T>(varies: boolean | undefined, all: readonly T[]) => (varies === true ? all : [undefined]);
  return each(field.marketSpecific, markets).flatMap((market) =>
    each(field.translatable, languages).map((language) => ({
      field,
      ...(market === undefined ? {} : { market }),
      ...(language === undefined ? {} : { language }),
      way: [...before, field.name, ...[market, language].filter((part) => part !== undefined)],
    })),
  );
}

export const cellsOf = ({ fields }: Pick<SchemaModel, "fields">, orb: OrbModel): Cell[] =>
  fields.flatMap((field) => cellsOfField(field, orb));

/** Returns the cells of a table: like {@link cellsOf}, but with cells for the fields of objects that are no lists. */
export function tableCells(
  fields: readonly FieldModel[],
  orb: OrbModel,
  before: readonly string[] = ["values"],
): Cell[] {
  return fields.flatMap((field) => {
    const cells = cellsOfField(field, orb, before);
    const [shape] = field.type === "object" && field.list !== true ? shapesOf(field, orb) : [];
    return shape === undefined ? cells : cells.flatMap(({ way }) => tableCells(shape.fields, orb, way));
  });
}

/** Returns the cells for the times at which an entry becomes visible and hidden again. */
export const windowCells = (labels: { validFrom: string; validTo: string }): Cell[] =>
  (["validFrom", "validTo"] as const).map((name) => ({
    field: { name, type: "datetime", label: labels[name] },
    way: [name],
  }));

/** Returns the value of a cell; null if there is none. */
export function valueAt(content: Content, { way }: Pick<Cell, "way">): unknown {
  let found: unknown = content;
  for (const part of way) {
    if (Array.isArray(found)) found = found[Number(part)];
    else found = isObject(found) && Object.hasOwn(found, part) ? found[part] : null;
  }
  return found ?? null;
}

/** Returns the content with one cell changed. */
export function withValue(content: Content, { way }: Pick<Cell, "way">, value: unknown): Content {
  const put = (holder: unknown, [name, ...below]: readonly string[]): unknown =>
    name === undefined
      ? value
      : Array.isArray(holder)
        ? holder.with(Number(name), put(holder[Number(name)], below))
        : {
            ...(isObject(holder) ? holder : {}),
            [name]: put(isObject(holder) ? holder[name] : undefined, below),
          };
  return put(content, way) as Content;
}

/** Removes empty items from a list. */
const compact = (value: unknown): unknown =>
  Array.isArray(value) ? value.filter((item) => item !== null) : value;

export function isEmpty(value: unknown): boolean {
  const held = compact(value);
  return held === null || held === undefined || held === "" || (Array.isArray(held) && held.length === 0);
}

/** Compares two values. Ignores the order of properties, and treats a missing value as an empty list. */
export function same(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (isEmpty(a) || isEmpty(b)) return isEmpty(a) && isEmpty(b);
  const [left, right] = [compact(a), compact(b)];
  if (Array.isArray(left) && Array.isArray(right))
    return left.length === right.length && left.every((item, at) => same(item, right[at]));
  if (isObject(left) && isObject(right)) {
    const names = new Set([...Object.keys(left), ...Object.keys(right)]);
    return [...names].every(
      (name) => Object.hasOwn(left, name) === Object.hasOwn(right, name) && same(left[name], right[name]),
    );
  }
  return left === right;
}

/** Returns the cells whose values differ. */
export const differing = (cells: readonly Cell[], a: Content, b: Content): Cell[] =>
  cells.filter((cell) => !same(valueAt(a, cell), valueAt(b, cell)));

/** A cell that differs between two edits of the same base content. */
export interface Conflict {
  cell: Cell;
  mine: unknown;
  theirs: unknown;
  /** The side that changed the cell. `both`: both sides changed it to different values. */
  by: "me" | "them" | "both";
}

/** Three-way comparison: compares two edits of the same base content. Omits cells that are the same in both edits. */
export function compareChanges(
  cells: readonly Cell[],
  base: Content,
  mine: Content,
  theirs: Content,
): Conflict[] {
  return differing(cells, mine, theirs).map((cell) => {
    const [was, my, their] = [base, mine, theirs].map((content) => valueAt(content, cell));
    const by = same(was, their) ? "me" : same(was, my) ? "them" : "both";
    return { cell, mine: my, theirs: their, by };
  });
}

/** Returns whether a cell has no value, although the same field has one in another language. */
export function isMissing(content: Content, cell: Cell, languages: readonly string[]): boolean {
  if (cell.language === undefined || !isEmpty(valueAt(content, cell))) return false;
  return languages.some(
    (language) => !isEmpty(valueAt(content, { way: [...cell.way.slice(0, -1), language] })),
  );
}

/**
 * Returns the value of a field of objects or rich text in one language and market, without empty texts, lists and
 * objects.
 */
function tidy(field: FieldModel, value: unknown, orb: OrbModel): unknown {
  const shapes = shapesOf(field, orb);
  const object = (item: unknown): unknown => {
    if (!isObject(item)) return item;
    const shape = field.type === "object" ? shapes[0] : shapes.find((one) => one.component === item._type);
    if (shape === undefined) return item;
    const sent = valuesToSend({ values: item, validFrom: null, validTo: null }, shape.fields, orb);
    const known = shape.fields.filter(({ name }) => Object.hasOwn(item, name));
    const own = Object.entries(item).filter(([name]) => name === "_key" || name === "_type");
    return Object.fromEntries([...own, ...known.map(({ name }) => [name, sent[name]])]);
  };
  if (Array.isArray(value)) return value.map(object);
  const held = object(value);
  return isObject(held) && Object.values(held).every(isEmpty) ? null : held;
}

/**
 * Returns the values to send in a write request. Omits empty list items, and turns empty maps into null.
 * @param fields the fields that the caller may set
 */
export function valuesToSend(
  content: Content,
  fields: readonly FieldModel[],
  orb: OrbModel,
): Record<string, unknown> {
  const filled = (field: FieldModel, value: unknown) => {
    const hasObjects = isObjects(field) || field.type === "richText";
    const held = compact(hasObjects ? tidy(field, value, orb) : value);
    return isEmpty(held) ? null : held;
  };
  return Object.fromEntries(
    fields.map((field) => {
      const varies = field.translatable === true || field.marketSpecific === true;
      if (!varies) return [field.name, filled(field, content.values[field.name])];
      const cells = cellsOfField(field, orb).filter((cell) => !isEmpty(valueAt(content, cell)));
      const empty: Content = { values: {}, validFrom: null, validTo: null };
      const whole = cells.reduce(
        (to, cell) => withValue(to, cell, filled(field, valueAt(content, cell))),
        empty,
      );
      return [field.name, whole.values[field.name] ?? null];
    }),
  );
}

/** Returns the content of a new entry: the default values of its fields. */
export function newContent(schema: SchemaModel, orb: OrbModel): Content {
  let content: Content = { values: {}, validFrom: null, validTo: null };
  for (const field of schema.fields) {
    if (field.default === undefined || field.default === null) continue;
    if (field.translatable === true || field.marketSpecific === true) {
      const whole =
        isObject(field.default) &&
        cellsOfField(field, orb).some(
          (cell) => !isEmpty(valueAt({ ...content, values: { [field.name]: field.default } }, cell)),
        );
      if (whole) content = { ...content, values: { ...content.values, [field.name]: field.default } };
    } else content = { ...content, values: { ...content.values, [field.name]: field.default } };
  }
  return content;
}

/** Returns the language of what {@link plainValue} returns for a translatable value, otherwise undefined. */
export function plainLanguage(
  value: unknown,
  { translatable, marketSpecific }: FieldModel,
): string | undefined {
  const ofMarket = marketSpecific === true && isObject(value) ? firstOf(value)?.[1] : value;
  return translatable === true && isObject(ofMarket) ? firstOf(ofMarket)?.[0] : undefined;
}

const firstOf = (value: Members) => Object.entries(value).find(([, item]) => !isEmpty(item));

/** Returns a short text for a value. For a map of languages or markets, uses the first value that is not empty. */
export function plainValue(value: unknown): string {
  if (isObject(value)) return plainValue(firstOf(value)?.[1]);
  return isEmpty(value) ? "" : String(value);
}
