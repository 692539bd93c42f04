/** What a process remembers of the requests to an application, until it stores the counts. */
import { expect, test } from "vitest";
import { Counts, HOUR_MS, USAGE_LIMITS } from "../../shared/usage/counts.ts";
import { countList, countRequest, isDue, putBack, takeCounts } from "../../shared/usage/gather.ts";

const NOW = 1_000 * HOUR_MS + 5;
const request = {
  orb: "shop",
  now: NOW,
  status: 200,
  method: "GET",
  route: "/api/{orbId}",
  requestId: "one",
};

test("counts requests by the hour, and tells errors apart by status, code, method and route", () => {
  const host = {};
  for (const status of [200, 304]) countRequest(host, { ...request, status, code: undefined });
  for (const requestId of ["two", "three"])
    countRequest(host, { ...request, status: 422, code: "validation_failed", requestId });
  countRequest(host, { ...request, status: 500, code: undefined, now: NOW + HOUR_MS });
  const [first, second, ...more] = takeCounts(host);
  expect(more).toEqual([]);
  expect([first?.hour, second?.hour]).toEqual([1_000, 1_001]);
  expect(first?.counts.stored()).toEqual({
    ...{ v: 1, requests: 4, failed: 2, lists: [] },
    errors: [
      {
        ...{ status: 422, code: "validation_failed", method: "GET", route: "/api/{orbId}" },
        ...{ count: 2, requestId: "three", at: new Date(NOW).toISOString() },
      },
    ],
  });
  expect(second?.counts.stored().errors).toMatchObject([{ code: "http_500", count: 1 }]);
  expect(takeCounts(host)).toEqual([]);
});

test("keeps room for applications that exist while clients are refused under names that may not exist", () => {
  const host = {};
  for (let at = 0; at < 5_000; at++)
    countRequest(host, { ...request, orb: `made-up-${at}`, status: 401, code: "invalid_token" });
  countRequest(host, { ...request, code: undefined });
  const taken = takeCounts(host);
  expect(taken).toHaveLength(101);
  expect(taken.at(-1)).toMatchObject({ orb: "shop", counts: { requests: 1 } });
  // It is known now, so its refusals count, too.
  for (let at = 0; at < 200; at++)
    countRequest(host, { ...request, orb: `made-up-${at}`, status: 401, code: "invalid_token" });
  countRequest(host, { ...request, status: 401, code: "invalid_token" });
  countRequest(host, { ...request, method: "OPTIONS", status: 204, code: undefined, orb: "made-up" });
  expect(takeCounts(host).map(({ orb }) => orb)).toHaveLength(101);
});

test("counts nothing for an application that does not exist, or cannot exist", () => {
  const host = {};
  countRequest(host, { ...request, status: 404, code: "orb_not_found" });
  countRequest(host, { ...request, orb: "a.>", code: undefined });
  expect(takeCounts(host)).toEqual([]);
  expect(isDue(host, NOW + HOUR_MS)).toBe(false);
});

test("is due after half a minute, sooner after an error or a slow list, and only once", () => {
  const host = {};
  countRequest(host, { ...request, code: undefined });
  expect([isDue(host, NOW + 29_000), isDue(host, NOW + 30_000), isDue(host, NOW + 40_000)]).toEqual([
    false,
    true,
    false,
  ]);
  countRequest(host, { ...request, status: 500, code: undefined });
  expect([isDue(host, NOW + 2_000), isDue(host, NOW + 3_000)]).toEqual([false, true]);
  const list = { module: "news", schema: "article", conditions: [], sort: ["rank"], read: 500 };
  countList(host, { ...list, orb: "shop", now: NOW });
  expect(isDue(host, NOW + 3_000)).toBe(true);
});

test("is due later after counts were put back, and keeps them", () => {
  const host = {};
  countRequest(host, { ...request, code: undefined });
  expect(isDue(host, NOW + 30_000)).toBe(true);
  for (const one of takeCounts(host)) putBack(host, one, NOW + 30_000);
  expect([isDue(host, NOW + 59_000), isDue(host, NOW + 60_000)]).toEqual([false, true]);
  expect(takeCounts(host)).toMatchObject([{ orb: "shop", hour: 1_000, counts: { requests: 1 } }]);
});

test("has room for a fixed number of errors, lists and applications", () => {
  const host = {};
  for (let at = 0; at < 100; at++) {
    countRequest(host, { ...request, status: 422, code: `code_${at}` });
    const conditions = Array.from({ length: 20 }, (_, n) => ({ field: `f${at}_${n}`, operator: "gte" }));
    const list = { module: "news", schema: "article", conditions, sort: [], read: 500 };
    countList(host, { ...list, orb: "shop", now: NOW });
  }
  for (let at = 0; at < 3_000; at++) countRequest(host, { ...request, orb: `orb${at}`, code: undefined });
  const taken = takeCounts(host);
  expect(taken).toHaveLength(2_000);
  const stored = taken[0]?.counts.stored();
  expect(stored).toMatchObject({ requests: 100, failed: 100 });
  expect([stored?.errors.length, stored?.lists.length]).toEqual([USAGE_LIMITS.kinds, USAGE_LIMITS.kinds]);
  expect(stored?.lists[0]?.conditions).toHaveLength(USAGE_LIMITS.names);
  expect(JSON.stringify(stored).length).toBeLessThan(20_000);
});

test("adds the most frequent errors of another hour first, and sums what lists have read", () => {
  const sum = new Counts();
  const error = { status: 422, method: "GET", route: "/", requestId: "x", at: "2001-01-01T00:00:00.000Z" };
  const errors = Array.from({ length: 40 }, (_, at) => ({ ...error, code: `code_${at}`, count: at + 1 }));
  const list = { module: "m", schema: "s", conditions: [], sort: ["a"], count: 2, read: 300, at: error.at };
  sum.add({ requests: 1, failed: 1, errors, lists: [list] });
  sum.add({ requests: 1, failed: 0, errors: [], lists: [{ ...list, at: "2001-01-02T00:00:00.000Z" }] });
  const { requests, errors: kept, lists } = sum.stored();
  expect([requests, kept[0]?.code, kept.at(-1)?.code]).toEqual([2, "code_39", "code_10"]);
  expect(lists).toEqual([{ ...list, count: 4, read: 600, at: "2001-01-02T00:00:00.000Z" }]);
});
