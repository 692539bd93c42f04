import { describe, expect, it } from "vitest";
import { dueAfter, dueBefore, nextDue } from "../../shared/hooks/after/due.ts";
import { clockChanges, type Minutes, minutesOf, walk } from "../support/clock-walk.ts";
import { testRandom } from "../support/random.ts";

const ZONES = [
  "America/Santiago",
  "America/Havana",
  "Atlantic/Azores",
  "Africa/Cairo",
  "Asia/Beirut",
  "Australia/Lord_Howe",
  "Europe/Berlin",
  "America/New_York",
  "UTC",
  "Asia/Kolkata",
  "Asia/Kathmandu",
  "Pacific/Chatham",
  "Africa/Casablanca",
  "America/Sao_Paulo",
  "Asia/Tehran",
  // Zones whose clocks skip the last hour of a day, or change by two hours.
  "America/Nuuk",
  "Antarctica/Troll",
  "Asia/Gaza",
  "America/Asuncion",
  "Pacific/Easter",
  "America/St_Johns",
];

const EXPRESSIONS = [
  "0 0 9 * * FRI",
  "0 30 0 * * *",
  "0 0 0 * * *",
  "0 30 1 * * *",
  "0 30 2 * * *",
  "0 0 9 * * SUN-THU",
  "0 59 23 * * SUN-THU",
  "0 0 0 1 * *",
  "0 0 3 1 OCT *",
  "0 */15 * * * *",
  "0 0 */6 * * *",
  "0 15,45 0-3 * * *",
  "0 30 2,14 ? * SUN",
  "0 0 0 31 * MON",
  "0 0 12 29 2 *",
  "0 0 0-23/2 * * *",
  "0 */20 2 * * *",
  "0 5/20 23 * * *",
  "0 30 23 * * SAT",
  "30,10 0 1 * * SUN",
  "*/20 59 * * * SUN",
];

const HOUR = 3_600_000;
const END = Date.UTC(2029, 0, 1);
const START = Date.UTC(2026, 10, 1);
/** Walks through all minutes until the end of 2028, with each expression. Without it, only the days on which clocks change are walked. */
const FULL = process.env.SCHEDULES_FULL === "1";
/** Of so many expressions, one is walked in each zone, by chance. */
const EVERY = 3;

/** Returns the spans to walk: all, or two days around each change of the clocks and around two starts of a month. */
function spansOf(timeZone: string): Minutes[] {
  if (FULL) return [minutesOf(timeZone, START, END)];
  const centres = [...clockChanges(timeZone, START, END), Date.UTC(2028, 2, 1), Date.UTC(2028, 9, 1)];
  return centres.map((at) => minutesOf(timeZone, at - 24 * HOUR, at + 24 * HOUR));
}

describe.each(ZONES)("a schedule in %s", (timeZone) => {
  it("is due exactly when the clock of the zone says so", { timeout: 600_000 }, () => {
    const first = testRandom().below(EVERY);
    const expressions = EXPRESSIONS.filter((_, index) => FULL || index % EVERY === first);
    for (const span of spansOf(timeZone)) {
      for (const cron of expressions) {
        const rhythm = { cron, timeZone };
        const times: number[] = [];
        for (let time = dueAfter(rhythm, span.from - 1); time !== undefined && time < span.to; ) {
          times.push(time);
          time = dueAfter(rhythm, time);
        }
        const said = (list: readonly number[]) => list.map((time) => new Date(time).toISOString());
        expect({ cron, times: said(times) }).toEqual({ cron, times: said(walk(cron, span)) });
        for (const [index, time] of times.slice(-50).entries()) {
          const before = times.slice(-50)[index - 1];
          expect(dueBefore(rhythm, time), `${cron} ${new Date(time).toISOString()}`).toBe(time);
          if (before !== undefined) expect(dueBefore(rhythm, time - 1)).toBe(before);
        }
      }
    }
  });
});

it("lists the next times of expressions that are rarely due", () => {
  const leap = nextDue({ cron: "0 0 12 29 2 *" }, START, 10).map((time) => new Date(time).toISOString());
  expect(leap.slice(0, 2)).toEqual(["2028-02-29T12:00:00.000Z", "2032-02-29T12:00:00.000Z"]);
  expect(leap).toHaveLength(10);
});

it.each([
  ["a week", "America/Santiago", "0 0 9 * * FRI", "2027-09-06T00:00:00Z", "2027-09-10T12:00:00.000Z"],
  [
    "the first of a month",
    "Australia/Lord_Howe",
    "0 0 0 1 * *",
    "2028-09-15T00:00:00Z",
    "2028-09-30T13:30:00.000Z",
  ],
  [
    "a skipped midnight",
    "America/Santiago",
    "0 0 0 * * *",
    "2027-09-04T12:00:00Z",
    "2027-09-05T04:00:00.000Z",
  ],
  [
    "the first of two hours",
    "Europe/Berlin",
    "0 30 2 * * *",
    "2027-10-30T12:00:00Z",
    "2027-10-31T00:30:00.000Z",
  ],
])("does not miss %s in %s", (_what, timeZone, cron, from, due) => {
  const next = dueAfter({ cron, timeZone }, Date.parse(from));
  expect(new Date(next ?? 0).toISOString()).toBe(due);
});
