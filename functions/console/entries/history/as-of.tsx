/** Shows the entry as it was at a chosen time. */
import { type EntryItem, type EntryPlace, readEntry } from "../../api/entries.ts";
import { localText, timeZone } from "../../fields/datetime.tsx";
import type { Cell } from "../../model/cells.ts";
import { useLoad } from "../../state/load.ts";
import { t } from "../../texts/t.ts";
import { StateBadge } from "../../ui/badge.tsx";
import { Field } from "../../ui/form.tsx";
import { ProblemBox } from "../../ui/problem.tsx";
import { exactTime } from "../../ui/time.tsx";
import { EntryValues } from "../values.tsx";

export function AsOf({
  place,
  id,
  cells,
  at,
  onChange,
}: {
  place: EntryPlace;
  id: string;
  cells: readonly Cell[];
  at: string | null;
  onChange: (at: string | null) => void;
}) {
  const entry = useLoad(at === null ? null : `orbs/${place.orb}/asof/${id}/${at}`, (signal) =>
    readEntry(place, id, { signal, query: { at: at ?? "" } }),
  );
  return (
    <section class="card">
      <div class="as-of-time">
        <Field label={t("history.time")} hint={timeZone()}>
          {(attributes) => (
            <input
              {...attributes}
              type="datetime-local"
              step={1}
              value={localText(at)}
              onChange={(event) => {
                const text = event.currentTarget.value;
                onChange(text === "" ? null : new Date(text).toISOString());
              }}
            />
          )}
        </Field>
      </div>
      {at === null ? null : entry.error !== undefined ? (
        <ProblemBox error={entry.error} />
      ) : entry.data === undefined ? null : (
        <AsOfValues entry={entry.data} cells={cells} at={at} />
      )}
    </section>
  );
}

function AsOfValues({ entry, cells, at }: { entry: EntryItem; cells: readonly Cell[]; at: string }) {
  return (
    <div class="as-of" role="status">
      <p>
        {t("history.asOf", { time: exactTime(at), revision: entry.revision })} <StateBadge of={entry} />
      </p>
      <EntryValues cells={cells} content={entry} />
    </div>
  );
}
