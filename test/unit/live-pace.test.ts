/** How live lists share the processor. The clock and the pauses are the test's. */
import { expect, test } from "vitest";
import { FREE, ListPace, SHARED_PER_SECOND, SharedPace } from "../../shared/streams/live/pace.ts";

function paused() {
  const waits: number[] = [];
  let now = 0;
  const shared = new SharedPace(async (ms) => {
    waits.push(ms);
  });
  return { waits, shared, at: (ms: number) => (now = ms), now: () => now };
}

test("a list that compares little never waits", async () => {
  const { waits, shared, at, now } = paused();
  const pace = new ListPace(shared, now);
  for (let second = 1; second < 100; second++) {
    at(second * 1_000);
    pace.work(FREE.perSecond);
    await pace.breathe();
  }
  expect([waits, pace.isLate]).toEqual([[], false]);
});

test("what a list compares beyond its part waits at the rate that all lists share, whatever their number", async () => {
  const { waits, shared, now } = paused();
  const change = 16_000_000;
  const lists = Array.from({ length: 50 }, () => new ListPace(shared, now));
  await Promise.all(
    lists.map(async (pace) => {
      for (let changes = 0; changes < 10; changes++) {
        pace.work(change);
        await pace.breathe();
      }
    }),
  );
  const work = 50 * (10 * change - FREE.burst);
  expect(waits.reduce((sum, ms) => sum + ms, 0)).toBeCloseTo((work / SHARED_PER_SECOND) * 1_000, 3);
  expect(lists.every((pace) => pace.isLate)).toBe(true);
});
