/**
 * Finds due times without any library: looks at the clock of a time zone in each minute. All zones in use now are whole
 * minutes away from UTC, so seconds need no walk of their own.
 */
import { cronFault } from "../../shared/definition/document/schedules.ts";

const MINUTE = 60_000;
const MONTHS = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
const DAYS = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"];

interface Parsed {
  /** In ascending order. */
  seconds: number[];
  minutes: Set<number>;
  hours: Set<number>;
  days: Set<number>;
  months: Set<number>;
  weekdays: Set<number>;
  anyDay: boolean;
  anyWeekday: boolean;
  /** Whether the expression names times of the day, each of which comes once a day. */
  fixed: boolean;
}

function valuesOf(text: string, min: number, max: number, names: readonly string[] = []): Set<number> {
  const found = new Set<number>();
  const number = (word: string) =>
    names.includes(word) ? names.indexOf(word) + min : Number(word === "" ? Number.NaN : word);
  for (const part of text.toLowerCase().split(",")) {
    const [range = "", step = "1"] = part.split("/");
    const [from = "", to] = range.split("-");
    const all = range === "*" || range === "?";
    const low = all ? min : number(from);
    const high = all || (to === undefined && part.includes("/")) ? max : number(to ?? from);
    for (let value = low; value <= high; value += Number(step)) found.add(value);
  }
  return found;
}

function parse(cron: string): Parsed {
  if (cronFault(cron) !== undefined) throw new Error(`${cron} ${cronFault(cron)}`);
  const [second = "", minute = "", hour = "", day = "", month = "", weekday = ""] = cron.split(" ");
  return {
    seconds: [...valuesOf(second, 0, 59)].sort((a, b) => a - b),
    minutes: valuesOf(minute, 0, 59),
    hours: valuesOf(hour, 0, 23),
    days: valuesOf(day, 1, 31),
    months: valuesOf(month, 1, 12, MONTHS),
    weekdays: valuesOf(weekday, 0, 6, DAYS),
    anyDay: day === "*" || day === "?",
    anyWeekday: weekday === "*" || weekday === "?",
    fixed: ![second, minute, hour].some((field) => /[*?/]/.test(field)),
  };
}

/** A clock that shows the local time of a zone, as the milliseconds that a clock in UTC would show. */
export function localClock(timeZone: string): (time: number) => number {
  const format = new Intl.DateTimeFormat("en-US", {
    timeZone,
    hourCycle: "h23",
    year: "numeric",
    month: "numeric",
    day: "numeric",
    hour: "numeric",
    minute: "numeric",
    second: "numeric",
  });
  return (time) => {
    const [month = 0, day = 0, year = 0, hour = 0, minute = 0, second = 0] =
      format.format(time).match(/\d+/g)?.map(Number) ?? [];
    return Date.UTC(year, month - 1, day, hour, minute, second);
  };
}

/** Returns the times at which the clocks of a zone change between two times. */
export function clockChanges(timeZone: string, from: number, to: number): number[] {
  const clock = localClock(timeZone);
  const found: number[] = [];
  const step = 30 * MINUTE;
  for (let time = from; time < to; time += 24 * 60 * MINUTE) {
    const end = time + 24 * 60 * MINUTE;
    if (clock(end) - end === clock(time) - time) continue;
    for (let at = time; at < end; at += step)
      if (clock(at + step) - clock(at) !== step) found.push(at + step);
  }
  return found;
}

function matches(cron: Parsed, local: number): boolean {
  const date = new Date(local);
  if (!cron.minutes.has(date.getUTCMinutes()) || !cron.hours.has(date.getUTCHours())) return false;
  if (!cron.months.has(date.getUTCMonth() + 1)) return false;
  const [day, weekday] = [cron.days.has(date.getUTCDate()), cron.weekdays.has(date.getUTCDay())];
  return cron.anyDay || cron.anyWeekday ? day && weekday : day || weekday;
}

const sameDay = (one: number, other: number) =>
  new Date(one).toISOString().slice(0, 10) === new Date(other).toISOString().slice(0, 10);

/** The minutes of a zone between two times, and the local time in each of them. */
export interface Minutes {
  from: number;
  to: number;
  /** Local times from one day before `from` on. */
  local: number[];
}

const BEFORE = 24 * 60;

export function minutesOf(timeZone: string, from: number, to: number): Minutes {
  const clock = localClock(timeZone);
  const local: number[] = [];
  for (let time = from - BEFORE * MINUTE; time < to; time += MINUTE) {
    const shown = clock(time);
    if (shown % MINUTE !== 0) throw new Error(`${timeZone} is not whole minutes away from UTC`);
    local.push(shown);
  }
  return { from, to, local };
}

/**
 * Returns the due times of an expression. A time of the day that the clock skips is due at the end of the gap, if that
 * is still the same day, and one that it shows twice is due the first time. An expression with `*` or `/` in its
 * seconds, minutes or hours is due whenever the clock shows a time that matches.
 */
export function walk(cron: string, { from, local }: Minutes): number[] {
  const parsed = parse(cron);
  const found: number[] = [];
  const add = (time: number) => {
    if (time >= from && time > (found.at(-1) ?? 0)) found.push(time);
  };
  let latest = Number.NEGATIVE_INFINITY;
  for (const [index, shown] of local.entries()) {
    const time = from + (index - BEFORE) * MINUTE;
    const previous = local[index - 1] ?? shown - MINUTE;
    if (parsed.fixed) {
      for (let skipped = previous + MINUTE; skipped < shown; skipped += MINUTE)
        if (sameDay(skipped, shown) && matches(parsed, skipped)) add(time);
    }
    if (matches(parsed, shown) && !(parsed.fixed && shown <= latest))
      for (const second of parsed.seconds) add(time + second * 1_000);
    latest = Math.max(latest, shown);
  }
  return found;
}
