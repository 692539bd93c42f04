/** Reads rows from a table: CSV, or text with semicolons or tabs. */
import { fromCell, hasDefault } from "./cell.ts";
import { columnName, GIVEN_BY_PLATFORM, MASK, type RowCell } from "./columns.ts";
import { readRecords, type TableRecord } from "./csv.ts";
import { clipped, RowFault } from "./fault.ts";
import { withoutMasks } from "./masks.ts";
import type { Row } from "./row.ts";

export interface Table {
  /** Names of the columns. */
  head: readonly string[];
  records: AsyncGenerator<TableRecord | RowFault, void>;
}

/**
 * Reads the names of the columns.
 * @param separator undefined to detect it
 * @throws RowFault `header` if a name is missing or given twice
 */
export async function openTable(parts: AsyncIterable<string>, separator?: string): Promise<Table> {
  const records = readRecords(parts, separator);
  const { value: first } = await records.next();
  if (first === undefined) throw new RowFault(1, "header", "must contain the names of the columns.");
  if (first instanceof RowFault) throw new RowFault(first.line, "header", first.message);
  const head = first.cells.map((name) => name.trim());
  const missing = head.indexOf("");
  if (missing >= 0)
    throw new RowFault(
      first.line,
      "header",
      `has no name for column ${missing + 1} of ${head.length}. Name the column, or remove it.`,
    );
  const twice = head.find((name, at) => head.indexOf(name) !== at);
  if (twice !== undefined)
    throw new RowFault(
      first.line,
      "header",
      `names two columns ${clipped(twice)}. Rename or remove one of them.`,
    );
  return { head, records };
}

/**
 * Finds what each column contains. Undefined for a property that only the platform sets, such as `id`.
 * @throws RowFault `header` if a column belongs to no field
 */
export function cellsOfHead(head: readonly string[], cells: readonly RowCell[]): (RowCell | undefined)[] {
  const byName = new Map(cells.map((cell) => [columnName(cell), cell]));
  return head.map((name) => {
    const cell = byName.get(name) ?? keyCell(byName, name);
    if (cell !== undefined || GIVEN_BY_PLATFORM.has(name)) return cell;
    const below = [...byName.keys()].filter((one) => one.startsWith(`${name}.`));
    const reason =
      below.length > 0
        ? `needs a language or market: ${below.join(", ")}`
        : `does not exist. The columns are ${[...byName.keys()].join(", ")}`;
    const fields = [...new Set(cells.map(({ field }) => field.name))].join(", ");
    throw new RowFault(
      1,
      "header",
      below.length > 0
        ? `The column ${clipped(name)} ${reason}.`
        : `There is no field for the column ${clipped(name)}. The fields are ${fields}.`,
    );
  });
}

/** Returns the cell of a column such as `artist.name`, which contains a unique value of the entry to refer to. */
function keyCell(cells: ReadonlyMap<string, RowCell>, column: string): RowCell | undefined {
  const at = column.lastIndexOf(".");
  const reference = cells.get(column.slice(0, Math.max(0, at)));
  if (reference?.field.type !== "reference" || reference.field.list === true) return undefined;
  const key = column.slice(at + 1);
  return { field: { name: column, type: "string" }, way: [...reference.way, key], key: true };
}

export interface TableRows {
  row: Row;
  /** Names of the columns of sensitive fields that contain a mask instead of a value. */
  masked: readonly string[];
}

/**
 * Converts a record to a row.
 * @param cells what each column contains; undefined to leave the column out
 * @param clears whether rows change existing entries, and an empty cell removes the value of one. An empty cell of a field with a default
 *   never does, because exports write such a value as null.
 */
export function rowOf(
  { line, cells: texts }: TableRecord,
  head: readonly string[],
  cells: readonly (RowCell | undefined)[],
  clears = false,
): TableRows | RowFault {
  const more = texts.length - head.length;
  const width = `${Math.abs(more)} ${Math.abs(more) === 1 ? "cell" : "cells"} ${more > 0 ? "more" : "fewer"}`;
  if (more !== 0)
    return new RowFault(
      line,
      more > 0 ? "wide" : "narrow",
      `has ${width} than there are column names (${texts.length} instead of ${head.length}). Check separators and quotes.`,
    );
  const tree = new Tree();
  const wrong: string[] = [];
  const masked: string[] = [];
  for (const [at, cell] of cells.entries()) {
    const text = texts[at] ?? "";
    if (cell === undefined) continue;
    if (cell.field.sensitive === true && text === MASK) {
      masked.push(head[at] ?? "");
      continue;
    }
    const content = fromCell(cell.field, text);
    if ("fault" in content) wrong.push(`${head[at]} ${content.fault}`);
    else if ("json" in content) {
      const cleaned = withoutMasks(cell.field, content.json, !clears);
      masked.push(...cleaned.masked);
      if (cleaned.text !== undefined) tree.put(cell.way, cleaned.text);
    } else if (clears && cell.stays !== true && !hasDefault(cell.field))
      tree.put(cell.key === true ? cell.way.slice(0, -1) : cell.way, "null");
  }
  if (wrong.length > 0) return new RowFault(line, "cell", wrong.join("; "));
  const members = tree.members();
  if (!members.has("values")) members.set("values", "{}");
  return { row: { line, members }, masked };
}

/** An object whose values are JSON texts. */
class Tree {
  readonly #inner = new Map<string, Tree | string>();

  put([name = "", ...below]: readonly string[], json: string): void {
    if (below.length === 0) {
      this.#inner.set(name, json);
      return;
    }
    const found = this.#inner.get(name);
    const tree = found instanceof Tree ? found : new Tree();
    this.#inner.set(name, tree);
    tree.put(below, json);
  }

  members(): Map<string, string> {
    return new Map([...this.#inner].map(([name, one]) => [name, one instanceof Tree ? one.text() : one]));
  }

  text(): string {
    return `{${[...this.members()].map(([name, text]) => `${JSON.stringify(name)}:${text}`).join(",")}}`;
  }
}
