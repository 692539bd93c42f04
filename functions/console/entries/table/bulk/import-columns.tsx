/** Shows which field each column of a CSV file contains, and lets the user change the field. */
import type { Cell } from "../../../model/cells.ts";
import { labelOf } from "../../../model/orb.ts";
import { t } from "../../../texts/t.ts";
import { Field } from "../../../ui/form.tsx";
import { columnOf, type Sheet } from "./csv.ts";

const nameOf = ({ field, language, market }: Cell) =>
  [labelOf(field), market, language].filter((part) => part !== undefined).join(" · ");

export function ImportColumns({
  sheet: { head, rows },
  cells,
  columns,
  onChange,
}: {
  sheet: Sheet;
  /** The cells of an entry (values in one language and market) that a column can contain. */
  cells: readonly Cell[];
  columns: readonly (Cell | undefined)[];
  onChange: (columns: (Cell | undefined)[]) => void;
}) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: keyboards must be able to scroll the columns.
    <section class="import-columns" tabIndex={0} aria-label={t("table.importColumns")}>
      {head.map((name, at) => {
        const first = rows.find(({ cells }) => cells[at])?.cells[at] ?? "";
        const chosen = columns[at];
        return (
          <Field key={name} label={name} hint={first.slice(0, 60)}>
            {(attributes) => (
              <select
                {...attributes}
                value={chosen === undefined ? "" : columnOf(chosen)}
                onChange={(event) => {
                  const wanted = event.currentTarget.value;
                  // Only one column can contain a value of the entry. So if another column contained this one, that
                  // column is now ignored.
                  onChange(
                    columns.map((old, index) => {
                      if (index === at) return cells.find((cell) => columnOf(cell) === wanted);
                      return old !== undefined && columnOf(old) === wanted ? undefined : old;
                    }),
                  );
                }}
              >
                <option value="">{t("table.importLeaveOut")}</option>
                {cells.map((cell) => (
                  <option key={columnOf(cell)} value={columnOf(cell)}>
                    {nameOf(cell)}
                  </option>
                ))}
              </select>
            )}
          </Field>
        );
      })}
    </section>
  );
}
