/**
 * Converts entries to table rows and back. Each language or market of a value has its own column, such as `title.en`.
 */
import type { FieldView } from "../../functions/discovery/overview-schemas.ts";
import { CommandError } from "./command/context.ts";

type Values = Readonly<Record<string, unknown>>;

function isMap(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/**
 * Returns how many keys follow the field's name in a column name: one for the market and one for the language, if the
 * field has them.
 */
function depthOf(field: FieldView): number {
  return (field.marketSpecific ? 1 : 0) + (field.translatable ? 1 : 0);
}

function cells(path: string, value: unknown, depth: number): [string, string][] {
  if (value === undefined || value === null) return [];
  if (depth > 0 && isMap(value))
    return Object.entries(value).flatMap(([key, of]) => cells(`${path}.${key}`, of, depth - 1));
  return [[path, typeof value === "string" ? value : JSON.stringify(value)]];
}

/** Returns the cells of an entry, keyed by column. Omits fields without a value. */
export function rowOf(fields: readonly FieldView[], values: Values): Record<string, string> {
  return Object.fromEntries(fields.flatMap((field) => cells(field.name, values[field.name], depthOf(field))));
}

/** Returns every column that a table of these fields can contain. */
export function columnsOf(
  fields: readonly FieldView[],
  { languages, markets }: { languages: readonly string[]; markets: readonly string[] },
): string[] {
  return fields.flatMap((field) => {
    let columns = [field.name];
    if (field.marketSpecific) columns = columns.flatMap((name) => markets.map((key) => `${name}.${key}`));
    if (field.translatable) columns = columns.flatMap((name) => languages.map((key) => `${name}.${key}`));
    return columns;
  });
}

function parseCell(field: FieldView, cell: string, column: string): unknown {
  const text = !field.list && ["string", "text", "date", "datetime", "reference"].includes(field.type);
  if (text) return cell;
  try {
    return JSON.parse(cell) as unknown;
  } catch {
    const kind = field.list ? "a JSON array" : field.type === "json" ? "JSON" : `a ${field.type}`;
    throw new CommandError(`The column ${column} must contain ${kind} (is ${cell.slice(0, 40)}).`);
  }
}

/**
 * Returns the values in a row. An empty cell means that the field has no value.
 * @throws CommandError if a column does not belong to a field, or a cell does not have the field's type
 */
export function valuesIn(fields: readonly FieldView[], row: Readonly<Record<string, string>>): Values {
  const values: Record<string, unknown> = {};
  for (const [column, cell] of Object.entries(row)) {
    if (cell === "") continue;
    const [name = "", ...keys] = column.split(".");
    const field = fields.find((each) => each.name === name);
    if (field === undefined || keys.length > depthOf(field)) {
      const known = fields.map((each) => each.name).join(", ");
      throw new CommandError(`There is no field for the column ${column}. The fields are ${known}.`);
    }
    let into = values;
    const path = [name, ...keys];
    for (const key of path.slice(0, -1)) {
      const inner = into[key];
      const next = isMap(inner) ? inner : {};
      into[key] = next;
      into = next;
    }
    into[path.at(-1) ?? name] = parseCell(field, cell, column);
  }
  return values;
}
