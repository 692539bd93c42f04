import type { ComponentChildren } from "preact";
import { t } from "../texts/t.ts";
import { Button } from "./button.tsx";

export interface Column<T> {
  id: string;
  label: string;
  cell: (row: T) => ComponentChildren;
  /** Set for numbers, to align them to the end of the column. */
  align?: "end";
  /** Whether to hide the column on a phone. */
  wide?: boolean;
}

/** A simple table in a box that scrolls horizontally. */
export function Table<T>({
  label,
  columns,
  rows,
  keyOf,
}: {
  label: string;
  columns: readonly Column<T>[];
  rows: readonly T[];
  keyOf: (row: T) => string;
}) {
  const classOf = ({ align, wide }: Column<T>) => `${align ?? ""} ${wide === true ? "wide-only" : ""}`;
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: keyboards must be able to scroll the table.
    <section class="table-box" aria-label={label} tabIndex={0}>
      <table>
        <thead>
          <tr>
            {columns.map((column) => (
              <th key={column.id} scope="col" class={classOf(column)}>
                {column.label}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={keyOf(row)}>
              {columns.map((column) => (
                <td key={column.id} class={classOf(column)}>
                  {column.cell(row)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

/** Buttons for the next and the previous page. */
export function Pager({
  cursors,
  next,
  onChange,
}: {
  /** Cursors of all earlier pages and of the current page; empty on the first page. */
  cursors: readonly string[];
  /** Cursor of the next page; null on the last page. */
  next: string | null;
  onChange: (cursors: readonly string[]) => void;
}) {
  if (cursors.length === 0 && next === null) return null;
  return (
    <nav class="pager" aria-label={t("ui.pages")}>
      <Button
        icon="chevronLeft"
        disabled={cursors.length === 0}
        onClick={() => onChange(cursors.slice(0, -1))}
      >
        {t("ui.previous")}
      </Button>
      <span>{t("ui.page", { number: cursors.length + 1 })}</span>
      <Button disabled={next === null} onClick={() => next !== null && onChange([...cursors, next])}>
        {t("ui.next")}
      </Button>
    </nav>
  );
}
