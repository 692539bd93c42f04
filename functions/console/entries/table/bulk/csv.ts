/** Reads the entries of a table (CSV), in which the user says what each column contains. */
import { columnName, type RowCell } from "../../../../../shared/rows/columns.ts";
import type { TableRecord } from "../../../../../shared/rows/csv.ts";
import { RowFault } from "../../../../../shared/rows/fault.ts";
import type { Row } from "../../../../../shared/rows/row.ts";
import { openTable, rowOf } from "../../../../../shared/rows/table.ts";
import type { Cell } from "../../../model/cells.ts";
import { labelOf, type OrbModel } from "../../../model/orb.ts";
import { t } from "../../../texts/t.ts";
import { rowFields } from "./export.ts";

export interface Sheet {
  head: readonly string[];
  rows: readonly TableRecord[];
  faults: readonly RowFault[];
}

/**
 * Reads a table completely.
 * @param separator undefined to detect it
 * @throws RowFault if the file is no table; Error if there is no row below the column names
 */
export async function readSheet(text: AsyncIterable<string>, separator: "\t" | undefined): Promise<Sheet> {
  const { head, records } = await openTable(text, separator);
  const rows: TableRecord[] = [];
  const faults: RowFault[] = [];
  for await (const one of records) {
    if (one instanceof RowFault) faults.push(one);
    else rows.push(one);
  }
  if (rows.length + faults.length === 0) throw new Error(t("table.importNoRows"));
  return { head, rows, faults };
}

/** Name of the column that an export writes for a cell, such as `title.en`. */
export const columnOf = (cell: Pick<RowCell, "way">): string => columnName(cell);

/**
 * Guesses which cell of an entry each column contains. A column's name may come from an export, or be a label of the
 * form.
 */
export function guess({ head }: Pick<Sheet, "head">, cells: readonly Cell[]): (Cell | undefined)[] {
  const left = [...cells];
  const take = (matches: (cell: Cell) => boolean): Cell | undefined => {
    const found = left.findIndex(matches);
    return found < 0 ? undefined : left.splice(found, 1)[0];
  };
  // Exact names first, so that a column with a similar name does not take their cells.
  const exact = head.map((name) => take((cell) => columnOf(cell) === name));
  return head.map((name, at) => {
    const same = (text: string | undefined) => text?.toLowerCase() === name.toLowerCase();
    return exact[at] ?? take((cell) => same(columnOf(cell)) || same(labelOf(cell.field)));
  });
}

/**
 * Returns the entries of a sheet, and the faults of the rows that yield no entry.
 * @param columns for each column, the entry's cell (value in one language and market); undefined to ignore the column
 * @param options.clears whether rows change existing entries, and an empty cell removes the value of one
 */
export function entriesOf(
  { rows, head, faults }: Sheet,
  columns: readonly (Cell | undefined)[],
  { orb, clears }: { orb: OrbModel; clears: boolean },
): { lines: Row[]; faults: RowFault[]; masked: string[] } {
  const cells = columns.map((cell) => {
    const [field] = cell === undefined ? [] : rowFields([cell.field], orb);
    return cell && { ...cell, field: field ?? cell.field };
  });
  const read = rows.map((record) => rowOf(record, head, cells, clears));
  const lines = read.flatMap((one) => (one instanceof RowFault ? [] : [one.row]));
  const wrong = [...faults, ...read.filter((one) => one instanceof RowFault)];
  const masked = new Set(read.flatMap((one) => (one instanceof RowFault ? [] : one.masked)));
  return { lines, faults: wrong.sort((a, b) => a.line - b.line), masked: [...masked] };
}
