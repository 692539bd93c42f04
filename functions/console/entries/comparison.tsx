/** The difference between two revisions of an entry. */
import { type EntryPlace, readRevision } from "../api/entries.ts";
import type { Cell } from "../model/cells.ts";
import type { OrbModel } from "../model/orb.ts";
import { useLoad } from "../state/load.ts";
import { t } from "../texts/t.ts";
import { Shows } from "../ui/states.tsx";
import { Difference } from "./difference.tsx";

export function Comparison({
  place,
  id,
  orb,
  cells,
  from,
  to,
}: {
  place: EntryPlace;
  id: string;
  orb: OrbModel;
  cells: readonly Cell[];
  from: number;
  to: number;
}) {
  const both = useLoad(`orbs/${place.orb}/revisions/${id}/${from}/${to}`, (signal) =>
    Promise.all([from, to].map((revision) => readRevision(place, id, revision, signal))),
  );
  return (
    <section class="card" aria-label={t("history.comparison")}>
      <h2>{t("history.changed")}</h2>
      <Shows of={both}>
        {([before, after]) =>
          before === undefined || after === undefined ? null : (
            <Difference
              {...{ cells, orb }}
              before={{ title: t("history.number", { revision: from }), content: before }}
              after={{ title: t("history.number", { revision: to }), content: after }}
            />
          )
        }
      </Shows>
      {cells.some(({ field }) => field.sensitive) ? <p class="hint">{t("history.secrets")}</p> : null}
    </section>
  );
}
