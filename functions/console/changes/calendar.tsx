/** What goes live at a time: change sets that are scheduled and, on request, entries with a start time. */
import { useState } from "preact/hooks";
import { type ChangesPlace, listAllChanges } from "../api/changes.ts";
import { listEntries } from "../api/entries.ts";
import { plainValue } from "../model/cells.ts";
import { type OrbModel, titleField, titleOf } from "../model/orb.ts";
import { orbLink } from "../shell/nav.ts";
import { setsKey } from "../state/change.ts";
import { useLoad } from "../state/load.ts";
import { LOCALE, t } from "../texts/t.ts";
import { Button } from "../ui/button.tsx";
import { Link } from "../ui/link.tsx";
import { ProblemBox } from "../ui/problem.tsx";

/** Entries of a schema that the calendar shows. */
const OPENING = 20;

const days = new Intl.DateTimeFormat(LOCALE, {
  weekday: "long",
  day: "numeric",
  month: "long",
  year: "numeric",
});
const times = new Intl.DateTimeFormat(LOCALE, { timeStyle: "short" });

/** Something that goes live at a time. */
interface Planned {
  id: string;
  at: Date;
  title: string;
  to: string;
  /** What it is, if it is no set. */
  kind?: string;
}

/** Reads the published entries that become visible later. */
async function readOpening(orb: OrbModel, managed: boolean, signal: AbortSignal): Promise<Planned[]> {
  const found: Planned[] = [];
  for (const module of orb.modules.filter(({ type }) => type === "CONTENT" || type === "CONFIG"))
    for (const schema of module.schemas) {
      const place = { orb: orb.id, module: module.id, schema: schema.id, managed };
      const query = new URLSearchParams({
        "filter[validFrom][gt]": new Date().toISOString(),
        sort: "validFrom",
        limit: String(OPENING),
      });
      const { items } = await listEntries(place, { query, signal });
      const named = titleField(schema);
      for (const { id, validFrom, publishedRevision, values } of items) {
        if (publishedRevision === null || validFrom === null) continue;
        const title = (named === undefined ? "" : plainValue(values[named.name])) || id;
        const to = orbLink(orb.id, "entries", module.id, schema.id, id);
        found.push({ id, at: new Date(validFrom), title, to, kind: titleOf(schema) });
      }
    }
  return found;
}

/** The sets that go live at a time, by day. The user can add the entries that become visible. */
export function Calendar({ place, orb }: { place: ChangesPlace; orb: OrbModel | undefined }) {
  const [withEntries, setWithEntries] = useState(false);
  const { data } = useLoad(setsKey(place.orb, "planned"), (signal) =>
    listAllChanges(place, { state: "SCHEDULED" }, signal),
  );
  const opening = useLoad(
    withEntries && orb !== undefined ? setsKey(place.orb, "opening") : null,
    async (signal) => (orb === undefined ? [] : readOpening(orb, place.managed, signal)),
  );
  if (data === undefined) return null;
  const sets = data.items.flatMap(({ id, title, publishAt }): Planned[] =>
    publishAt === null ? [] : [{ id, title, at: new Date(publishAt), to: orbLink(place.orb, "changes", id) }],
  );
  const planned = [...sets, ...(opening.data ?? [])].sort(
    (one, other) => one.at.getTime() - other.at.getTime(),
  );
  const byDay = new Map<string, Planned[]>();
  for (const one of planned) {
    const day = days.format(one.at);
    byDay.set(day, [...(byDay.get(day) ?? []), one]);
  }
  return (
    <section class="card change-calendar" aria-labelledby="planned">
      <h2 id="planned">{t("changes.calendar")}</h2>
      <dl>
        {[...byDay].map(([day, some]) => (
          <div key={day}>
            <dt>{day}</dt>
            {some.map(({ id, title, at, to, kind }) => (
              <dd key={id}>
                <time dateTime={at.toISOString()}>{times.format(at)}</time>{" "}
                <Link to={to}>
                  <bdi>{title}</bdi>
                </Link>{" "}
                {kind === undefined ? null : <span class="hint">{kind}</span>}
              </dd>
            ))}
          </div>
        ))}
      </dl>
      {opening.error === undefined ? null : <ProblemBox error={opening.error} />}
      {data.hasMore ? <p class="hint">{t("changes.calendarMore")}</p> : null}
      {planned.length === 0 && opening.data !== undefined ? (
        <p class="hint">{t("changes.calendarNone")}</p>
      ) : null}
      {withEntries ? null : (
        <Button kind="quiet" size="small" icon="clock" onClick={() => setWithEntries(true)}>
          {t("changes.opening")}
        </Button>
      )}
    </section>
  );
}
