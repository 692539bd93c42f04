/** A month of entries, by a date or a time. */
import { useState } from "preact/hooks";
import { type EntryItem, type EntryPlace, listEntries } from "../../../api/entries.ts";
import { type FieldModel, labelOf, titleField } from "../../../model/orb.ts";
import { useLoad, useReloadOnShow } from "../../../state/load.ts";
import { LOCALE, t } from "../../../texts/t.ts";
import { Button, IconButton } from "../../../ui/button.tsx";
import { Link } from "../../../ui/link.tsx";
import { ProblemBox } from "../../../ui/problem.tsx";
import { nameOf } from "../data/names.ts";
import { narrow, storedValue } from "../data/view.ts";
import type { LayoutProps } from "./card.tsx";

/** Maximum number of entries of a month. The table shows all. */
const SHOWN = 200;

const months = new Intl.DateTimeFormat(LOCALE, { month: "long", year: "numeric" });
const days = new Intl.DateTimeFormat(LOCALE, { weekday: "short", day: "numeric" });

const two = (number: number) => String(number).padStart(2, "0");
/** Returns a day as in values of dates, `2030-03-01`. */
const dayOf = (date: Date) => `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
const inMonth = (month: Date, by: number) => new Date(month.getFullYear(), month.getMonth() + by, 1);

interface CalendarProps extends LayoutProps {
  place: EntryPlace;
  field: FieldModel;
  conditions: URLSearchParams;
}

/** Returns the day of an entry, in the time zone of the browser. */
function dayIn(field: FieldModel, item: EntryItem): string | undefined {
  const value = storedValue(item, field);
  if (typeof value !== "string") return undefined;
  return field.type === "date" ? value : dayOf(new Date(value));
}

function useMonth({ place, field, schema, conditions }: CalendarProps, month: Date) {
  const query = new URLSearchParams(conditions);
  const bound = (date: Date) => (field.type === "date" ? dayOf(date) : date.toISOString());
  narrow(query, field.name, "gte", bound(month));
  narrow(query, field.name, "lt", bound(inMonth(month, 1)));
  query.set("sort", field.name);
  const isField = schema.fields.includes(field);
  const names = [titleField(schema)?.name, ...(isField ? [field.name] : [])].filter(
    (name) => name !== undefined,
  );
  query.set("fields", names.length === 0 ? "id" : names.join(","));
  query.set("limit", String(SHOWN));
  const { orb, module, schema: id, change } = place;
  const key = `entries/${orb}/${module}/${id}/${change ?? ""}/calendar/${query}`;
  const loaded = useLoad(key, (signal) => listEntries(place, { query, signal }));
  useReloadOnShow(loaded);
  return loaded;
}

function Day({
  date,
  items,
  schema,
  orb,
  view,
  linkOf,
}: LayoutProps & { date: Date; items: readonly EntryItem[] }) {
  const isToday = dayOf(date) === dayOf(new Date());
  return (
    <li
      class={`calendar-day ${items.length === 0 ? "free" : ""}`}
      aria-current={isToday ? "date" : undefined}
    >
      <time dateTime={dayOf(date)}>{days.format(date)}</time>
      {items.length === 0 ? null : (
        <ul>
          {items.map((item) => (
            <li key={item.id}>
              <Link to={linkOf(item.id)}>
                <span dir="auto">{nameOf(item, schema, orb, view)}</span>
              </Link>
            </li>
          ))}
        </ul>
      )}
    </li>
  );
}

/** An empty cell, so that the first of the month is in the column of its weekday. */
const blanks = (month: Date) =>
  Array.from({ length: (month.getDay() + 6) % 7 }, (_, at) => (
    <li key={`blank ${at}`} class="calendar-day blank" aria-hidden="true" />
  ));

export function Calendar(props: CalendarProps) {
  const { field, schema, orb, view, linkOf } = props;
  const [month, setMonth] = useState(() => inMonth(new Date(), 0));
  const { data, error, reload } = useMonth(props, month);
  const byDay = new Map<string, EntryItem[]>();
  for (const item of data?.items ?? []) {
    const day = dayIn(field, item) ?? "";
    byDay.set(day, [...(byDay.get(day) ?? []), item]);
  }
  const length = new Date(month.getFullYear(), month.getMonth() + 1, 0).getDate();
  const dates = Array.from({ length }, (_, at) => new Date(month.getFullYear(), month.getMonth(), at + 1));
  return (
    <section class="calendar" aria-label={t("table.calendar", { field: labelOf(field) })}>
      <div class="calendar-head">
        <IconButton
          label={t("table.monthBefore")}
          icon="chevronLeft"
          onClick={() => setMonth(inMonth(month, -1))}
        />
        <h2 aria-live="polite">{months.format(month)}</h2>
        <IconButton
          label={t("table.monthAfter")}
          icon="chevronRight"
          onClick={() => setMonth(inMonth(month, 1))}
        />
        <Button size="small" onClick={() => setMonth(inMonth(new Date(), 0))}>
          {t("table.thisMonth")}
        </Button>
      </div>
      {error === undefined ? null : <ProblemBox error={error} retry={() => void reload()} />}
      <ol class="calendar-days">
        {blanks(month)}
        {dates.map((date) => (
          <Day
            key={dayOf(date)}
            items={byDay.get(dayOf(date)) ?? []}
            {...{ date, schema, orb, view, linkOf }}
          />
        ))}
      </ol>
      {data !== undefined && data.items.length === 0 ? <p class="hint">{t("table.monthEmpty")}</p> : null}
      {data === undefined || data.nextCursor === null ? null : (
        <p class="hint">{t("table.monthMore", { count: SHOWN })}</p>
      )}
    </section>
  );
}
