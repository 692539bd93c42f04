/** Writes entries as lines of a file, from which the same values can be read again. */
import { toCell } from "./cell.ts";
import { columnName, type RowCell, type RowField } from "./columns.ts";

export interface StoredEntry {
  values: Readonly<Record<string, unknown>>;
  validFrom?: string | null | undefined;
  validTo?: string | null | undefined;
  status?: string | undefined;
  createdAt?: string | undefined;
  createdBy?: string | undefined;
}

/** A cell that contains a separator, a quote or a line end, or that begins or ends with a blank, is quoted. */
const QUOTED = /[",;\t\r\n]|^\s|\s$/;

export type Separator = "," | "\t";

const quoted = (cell: string): string => (QUOTED.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell);

/** Returns a line of a table. */
export const tableLine = (cells: readonly string[], separator: Separator = ","): string =>
  `${cells.map(quoted).join(separator)}\r\n`;

function valueAt(entry: StoredEntry, way: readonly string[]): unknown {
  let found: unknown = entry;
  for (const name of way) {
    if (typeof found !== "object" || found === null || !Object.hasOwn(found, name)) return undefined;
    found = (found as Readonly<Record<string, unknown>>)[name];
  }
  return found;
}

/** Returns the first line of a table: the names of its columns. */
export const headLine = (cells: readonly RowCell[], separator: Separator = ","): string =>
  tableLine(cells.map(columnName), separator);

/** Returns the cells of an entry. */
export function entryCells(cells: readonly RowCell[], entry: StoredEntry): string[] {
  return cells.map(({ field, way, depth = 2 }) => {
    const value = valueAt(entry, way);
    // An object that is missing gets no defaults, so its cells need no marks.
    if (depth > 2 && (valueAt(entry, way.slice(0, depth - 1)) ?? null) === null) return "";
    if (value !== undefined || way.length <= depth) return toCell(field, value);
    // A language or market without a value does not need a mark if the field has another one.
    const whole = valueAt(entry, way.slice(0, depth));
    return whole === undefined || whole === null ? toCell(field, null) : "";
  });
}

/**
 * Returns the values of an entry for JSON Lines: those of the given fields. A field without a value is null if its
 * default would replace it.
 */
export function entryValues(
  fields: readonly RowField[],
  values: StoredEntry["values"],
): Record<string, unknown> {
  return Object.fromEntries(
    fields.flatMap(({ name, default: otherwise }) => {
      const value = values[name];
      if (value !== undefined) return [[name, value]];
      return otherwise === undefined || otherwise === null ? [] : [[name, null]];
    }),
  );
}
