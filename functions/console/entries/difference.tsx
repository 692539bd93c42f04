/** Shows two versions of an entry side by side. Shows only the values that differ. */
import { Shown } from "../fields/shown.tsx";
import { type Cell, type Content, differing, pointerOf, valueAt } from "../model/cells.ts";
import { labelOf } from "../model/orb.ts";
import { LANGUAGE, t } from "../texts/t.ts";

const languages = new Intl.DisplayNames(LANGUAGE, { type: "language", fallback: "code" });

/** Returns a readable name of a cell: `Title · German`. */
export const cellLabel = ({ field, market, language }: Cell): string =>
  [labelOf(field), market, language === undefined ? undefined : languages.of(language)]
    .filter((part) => part !== undefined)
    .join(" · ");

export interface Version {
  title: string;
  content: Content;
}

export function Difference({
  cells,
  before,
  after,
}: {
  cells: readonly Cell[];
  before: Version;
  after: Version;
}) {
  const changed = differing(cells, before.content, after.content);
  if (changed.length === 0) return <p class="hint">{t("entry.noDifference")}</p>;
  return (
    <div class="entry-difference">
      <div class="difference-head" aria-hidden="true">
        <span>{before.title}</span>
        <span>{after.title}</span>
      </div>
      {changed.map((cell) => (
        <section key={pointerOf(cell)} aria-label={cellLabel(cell)}>
          <h3>{cellLabel(cell)}</h3>
          <div class="difference-row">
            {[before, after].map(({ title, content }, at) => (
              <div key={title} class={at === 0 ? "value-was" : "value-is"}>
                <span class="sr-only">{title}: </span>
                <Shown field={cell.field} value={valueAt(content, cell)} />
              </div>
            ))}
          </div>
        </section>
      ))}
    </div>
  );
}
