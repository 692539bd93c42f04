/** Shows two versions of an entry side by side. Shows only the values that differ. */
import { type Cell, type Content, differing, pointerOf, valueAt } from "../model/cells.ts";
import { labelOf, type OrbModel } from "../model/orb.ts";
import { languageName, t } from "../texts/t.ts";
import { Pair } from "./pair.tsx";

/** Returns a readable name of a cell: `Title · German`. */
export const cellLabel = ({ field, market, language }: Cell): string =>
  [labelOf(field), market, language === undefined ? undefined : languageName(language)]
    .filter((part) => part !== undefined)
    .join(" · ");

export interface Version {
  title: string;
  content: Content;
}

export function Difference({
  cells,
  orb,
  before,
  after,
}: {
  cells: readonly Cell[];
  orb: OrbModel;
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
          <Pair
            {...{ cell, orb }}
            before={valueAt(before.content, cell)}
            after={valueAt(after.content, cell)}
          >
            {(was, is, isMarked) => (
              <div class={`difference-row ${isMarked ? "marked" : ""}`} lang={cell.language}>
                <div class="value-was">
                  <span class="sr-only">{before.title}: </span>
                  {was}
                </div>
                <div class="value-is">
                  <span class="sr-only">{after.title}: </span>
                  {is}
                </div>
              </div>
            )}
          </Pair>
        </section>
      ))}
    </div>
  );
}
