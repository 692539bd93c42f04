/** Reads entries from CSV (RFC 4180), with a column for each field, language and market. */
import { kindOf } from "../../../fields/index.ts";
import { type Cell, type Content, MASK, withValue } from "../../../model/cells.ts";
import { t } from "../../../texts/t.ts";
import type { Failure, Line } from "./import.ts";

interface Row {
  /** Number of the row's first line in the file. */
  number: number;
  cells: readonly string[];
}

export interface Sheet {
  head: readonly string[];
  rows: readonly Row[];
}

/**
 * Returns the separator that the first line contains most often. In some languages, spreadsheets write semicolons.
 */
function separatorOf(text: string): string {
  const [first = ""] = text.split("\n", 1);
  const count = (one: string) => first.split(one).length;
  return [",", ";", "\t"].reduce((best, one) => (count(one) > count(best) ? one : best));
}

/**
 * Parses a CSV file. Drops empty lines.
 * @throws Error if a quote is not closed, or if there is no row below the column names
 */
export function readSheet(file: string): Sheet {
  const text = file.replace(/^\uFEFF/, "").replace(/\r\n?/g, "\n");
  const separator = separatorOf(text);
  const rows: Row[] = [];
  let cells: string[] = [];
  let [line, number, at] = [1, 1, 0];
  while (at < text.length) {
    let cell = "";
    if (text[at] === '"') {
      let end = text.indexOf('"', at + 1);
      while (end >= 0 && text[end + 1] === '"') end = text.indexOf('"', end + 2);
      if (end < 0) throw new Error(t("table.importNoQuote", { number: line }));
      const quoted = text.slice(at + 1, end);
      line += quoted.split("\n").length - 1;
      cell = quoted.replaceAll('""', '"');
      at = end + 1;
    }
    const rest = at;
    while (at < text.length && text[at] !== separator && text[at] !== "\n") at++;
    cells.push(cell + text.slice(rest, at));
    if (text[at] === separator) {
      // If the file ends with a separator, the last row has an empty last cell.
      if (++at === text.length) cells.push("");
      else continue;
    }
    if (cells.some((one) => one.trim() !== "")) rows.push({ number, cells });
    cells = [];
    at++;
    number = ++line;
  }
  if (cells.some((one) => one.trim() !== "")) rows.push({ number, cells });
  const [head, ...more] = rows;
  if (head === undefined || more.length === 0) throw new Error(t("table.importNoRows"));
  return { head: head.cells.map((name) => name.trim()), rows: more };
}

/** Name of the column that an export writes for a cell, such as `title.en`. */
export const columnOf = ({ way }: Cell): string => way.filter((part) => part !== "values").join(".");

/**
 * Guesses which cell of an entry each column contains. A column's name may come from an export, or be a label of the
 * form.
 */
export function guess({ head }: Sheet, cells: readonly Cell[]): (Cell | undefined)[] {
  const left = [...cells];
  return head.map((name) => {
    const same = (text: string | undefined) => text?.toLowerCase() === name.toLowerCase();
    const found = left.findIndex((cell) => same(columnOf(cell)) || same(cell.field.label));
    return found < 0 ? undefined : left.splice(found, 1)[0];
  });
}

/** Matches the apostrophe that exports put before text which a spreadsheet would run as a formula. */
const GUARDED = /^'(?=[=+\-@\t\r])/;

type Parsed = ReturnType<ReturnType<typeof kindOf>["parse"]>;

function listOf(text: string, parse: (item: string) => Parsed): Parsed {
  if (text.trim().startsWith("["))
    try {
      return { value: JSON.parse(text) as unknown };
    } catch {
      return { message: t("table.importNoArray") };
    }
  const items = text.split(",").map((item) => parse(item.trim()));
  return (
    items.find((item) => "message" in item) ?? {
      value: items.map((item) => ("value" in item ? item.value : null)),
    }
  );
}

function parseCell({ field }: Cell, text: string): Parsed {
  const parse = (item: string) => kindOf(field).parse(item, field);
  const plain = field.type === "boolean" ? text.trim().toLowerCase() : text.replace(GUARDED, "");
  if (field.list === true) return listOf(plain, parse);
  return parse(plain);
}

/**
 * Returns the entries of a sheet, and the rows that contain an invalid cell and therefore yield no entry.
 * @param columns for each column, the entry's cell (value in one language and market); undefined to ignore the column
 */
export function entriesOf(
  { rows, head }: Sheet,
  columns: readonly (Cell | undefined)[],
): { lines: Line[]; faults: Failure[] } {
  const lines: Line[] = [];
  const faults: Failure[] = [];
  for (const { number, cells } of rows) {
    let content: Content = { values: {}, validFrom: null, validTo: null };
    const wrong: string[] = [];
    if (cells.length > head.length) wrong.push(t("table.importWide", { count: cells.length - head.length }));
    for (const [at, cell] of columns.entries()) {
      const text = cells[at] ?? "";
      // Exports contain a mask instead of a sensitive value. Ignore it.
      if (cell === undefined || text === "" || text === MASK) continue;
      const parsed = parseCell(cell, text);
      if ("message" in parsed) wrong.push(`${head[at]} ${parsed.message}`);
      else content = withValue(content, cell, parsed.value);
    }
    if (wrong.length > 0) faults.push({ number, error: new Error(wrong.join("; ")) });
    else lines.push({ number, change: content });
  }
  return { lines, faults };
}
