import { useEffect, useState } from "preact/hooks";
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

/** A moment in words; the exact time with its time zone is its tooltip. */
export function Time({ at }: { at: string }) {
  const [now, setNow] = useState(() => new Date());
  useEffect(() => {
    // A new moment may be later than the last look at the clock.
    setNow(new Date());
    const timer = setInterval(() => setNow(new Date()), 30_000);
    return () => clearInterval(timer);
  }, [at]);
  return (
    <time dateTime={at} title={exactTime(at)}>
      {ago(new Date(at), now)}
    </time>
  );
}
