import { signal } from "@preact/signals";
import { LANGUAGE, LOCALE } from "../texts/t.ts";

const relative = new Intl.RelativeTimeFormat(LANGUAGE, { numeric: "auto" });
const exact = new Intl.DateTimeFormat(LOCALE, { dateStyle: "medium", timeStyle: "long" });
const toMinute = new Intl.DateTimeFormat(LOCALE, {
  year: "numeric",
  month: "short",
  day: "numeric",
  hour: "numeric",
  minute: "2-digit",
  timeZoneName: "short",
});
const day = new Intl.DateTimeFormat(LOCALE, { dateStyle: "medium" });
const dayInUtc = new Intl.DateTimeFormat(LOCALE, { dateStyle: "medium", timeZone: "UTC" });

const UNITS: readonly [Intl.RelativeTimeFormatUnit, number][] = [
  ["second", 60],
  ["minute", 60],
  ["hour", 24],
  ["day", 7],
];

/** Returns a relative time, such as `5 minutes ago`. Returns a date for times more than a week away. */
function ago(at: Date, now: Date): string {
  let distance = (at.getTime() - now.getTime()) / 1000;
  for (const [unit, size] of UNITS) {
    if (Math.abs(distance) < size) return relative.format(Math.round(distance), unit);
    distance /= size;
  }
  return day.format(at);
}

/** Returns a time with its time zone, and with its seconds if it has any. */
export function exactTime(at: string): string {
  const time = new Date(at);
  return (time.getTime() % 60_000 === 0 ? toMinute : exact).format(time);
}

/** Incremented every 30 seconds. All `Time` components share this timer. */
const tick = signal(0);
setInterval(() => tick.value++, 30_000);

/** A relative time. The tooltip has the exact time with its time zone. */
export function Time({ at }: { at: string }) {
  // Reading the signal makes this component render again every 30 seconds. Compare with the current time, not with that
  // of the last tick, which may be before `at`.
  tick.value;
  return (
    <time dateTime={at} title={exactTime(at)}>
      {ago(new Date(at), new Date())}
    </time>
  );
}

/** A day without a time, in UTC: `2026-11-28`. */
export function Day({ date }: { date: string }) {
  return <time dateTime={date}>{dayInUtc.format(new Date(date))}</time>;
}
