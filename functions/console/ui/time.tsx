import { signal } from "@preact/signals";
import { LANGUAGE } from "../texts/t.ts";

const relative = new Intl.RelativeTimeFormat(LANGUAGE, { numeric: "auto" });
const exact = new Intl.DateTimeFormat(LANGUAGE, { dateStyle: "medium", timeStyle: "long" });
const day = new Intl.DateTimeFormat(LANGUAGE, { dateStyle: "medium" });

const UNITS: readonly [Intl.RelativeTimeFormatUnit, number][] = [
  ["second", 60],
  ["minute", 60],
  ["hour", 24],
  ["day", 7],
];

/** Returns a time as people say it: `5 minutes ago`. Times that are more than a week away are dates. */
export function ago(at: Date, now: Date): string {
  let distance = (at.getTime() - now.getTime()) / 1000;
  for (const [unit, size] of UNITS) {
    if (Math.abs(distance) < size) return relative.format(Math.round(distance), unit);
    distance /= size;
  }
  return day.format(at);
}

/** Returns a time with its time zone. */
export const exactTime = (at: string): string => exact.format(new Date(at));

/** Counts half minutes. All times on the screen share it, however many there are. */
const tick = signal(0);
setInterval(() => tick.value++, 30_000);

/** A moment in words; the exact time with its time zone is its tooltip. */
export function Time({ at }: { at: string }) {
  // Reading the count draws the time again. A new moment may be later than the last count, so ask the clock.
  tick.value;
  return (
    <time dateTime={at} title={exactTime(at)}>
      {ago(new Date(at), new Date())}
    </time>
  );
}
