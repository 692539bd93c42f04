/**
 * The times at which a schedule is due. `croner` computes them from the cron expression and the time zone; the tests
 * compare it with a walk through every minute of two years.
 */
import { Cron } from "croner";
import { CRON_DEFAULT_ZONE, plainCron, type ScheduleDefinition } from "../../definition/document/index.ts";
import { BoundedMap } from "../../kernel/bounded-map.ts";

export type Rhythm = Pick<ScheduleDefinition, "cron" | "timeZone">;

/** Parsed expressions. Parsing one takes about as long as computing ten times. */
const parsed = new BoundedMap<string, Cron>(1_000);

function parsedOf({ cron, timeZone = CRON_DEFAULT_ZONE }: Rhythm): Cron {
  const key = `${timeZone} ${cron}`;
  const known = parsed.get(key);
  if (known !== undefined) return known;
  // An expression without `*` and `/` in its seconds, minutes and hours names times of the day. Each of them comes once
  // a day, also on days on which the clocks change.
  const options = { timezone: timeZone, mode: "6-part", fixedTimeRule: "no-wildcard", paused: true } as const;
  const made = new Cron(plainCron(cron), options);
  parsed.set(key, made);
  return made;
}

/**
 * Returns the first due time after a time.
 * @param time milliseconds since the epoch, like the result
 * @returns undefined if the schedule is never due again
 */
export function dueAfter(rhythm: Rhythm, time: number): number | undefined {
  return parsedOf(rhythm).nextRun(new Date(time))?.getTime();
}

/** Returns the last due time at or before a time. Both are in milliseconds since the epoch. */
export function dueBefore(rhythm: Rhythm, time: number): number | undefined {
  return parsedOf(rhythm)
    .previousRuns(1, new Date(time + 1))[0]
    ?.getTime();
}

/** Returns the next due times after a time, in milliseconds since the epoch. */
export function nextDue(rhythm: Rhythm, time: number, count: number): number[] {
  return parsedOf(rhythm)
    .nextRuns(count, new Date(time))
    .map((date) => date.getTime());
}
