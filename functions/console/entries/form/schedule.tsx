/** Inputs for the period in which the entry is visible, and a description of it in words. */
import type { EntryItem } from "../../api/entries.ts";
import { timeZone } from "../../fields/datetime.tsx";
import { kindOf } from "../../fields/index.ts";
import { type Cell, pointerOf, valueAt } from "../../model/cells.ts";
import { t } from "../../texts/t.ts";
import { outsideWindow } from "../../ui/badge.tsx";
import { Button } from "../../ui/button.tsx";
import { Field } from "../../ui/form.tsx";
import { Icon } from "../../ui/icon.tsx";
import { faultAt } from "../../ui/problem.tsx";
import type { FormContext } from "./parts/context.ts";
import { windowWords } from "./parts/words.ts";

export function Schedule({
  entry,
  cells,
  context,
}: {
  entry: EntryItem | undefined;
  cells: readonly Cell[];
  context: FormContext;
}) {
  const { draft, readOnly, faults, orb, managed } = context;
  const { validFrom, validTo } = draft;
  const now = new Date();
  const { text, wrong } = windowWords(draft, {
    now,
    isLive: entry?.status === "PUBLISHED" && outsideWindow(entry, now) === undefined,
    isPublished:
      entry?.status === "PUBLISHED" &&
      entry.publishedRevision === entry.revision &&
      entry.validFrom === validFrom &&
      entry.validTo === validTo,
  });
  const isSet = validFrom !== null || validTo !== null;
  const isWrong = cells.some((cell) => faultAt(faults, pointerOf(cell)) !== undefined);
  return (
    <details class="card" open={isSet || isWrong}>
      <summary>
        <h2>{t("entry.schedule")}</h2>
        <Icon name="chevronDown" />
      </summary>
      {cells.map((cell) => {
        const { Input } = kindOf(cell.field);
        return (
          <Field
            key={cell.field.name}
            label={cell.field.label ?? ""}
            error={faultAt(faults, pointerOf(cell))}
            aside={
              valueAt(draft, cell) === null || readOnly !== undefined ? null : (
                <Button size="small" kind="quiet" onClick={() => context.set(cell, null)}>
                  {t("entry.clear")}
                </Button>
              )
            }
          >
            {(attributes) => (
              <Input
                field={cell.field}
                value={valueAt(draft, cell)}
                onChange={(value) => context.set(cell, value)}
                attributes={attributes}
                disabled={readOnly !== undefined}
                orb={orb.id}
                managed={managed}
              />
            )}
          </Field>
        );
      })}
      <p class={`schedule-words ${wrong ? "error" : "hint"}`} role="status">
        {text}
      </p>
      <p class="sr-only">{timeZone()}</p>
    </details>
  );
}
