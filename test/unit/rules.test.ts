import { describe, expect, test } from "vitest";
import { checkRule } from "../../shared/logic/check.ts";
import { budget, RUN_LIMITS, runRule } from "../../shared/logic/engine.ts";

const fresh = () => budget(() => 0);
const run = (rule: unknown, facts: unknown = {}) => {
  expect(checkRule(rule)).toEqual([]);
  return runRule(rule, facts, fresh());
};

describe("rules", () => {
  test.each([
    [{ ">": [{ var: "a" }, 1] }, { a: 2 }, true],
    [{ "<": [1, { var: "a" }, 3] }, { a: 2 }, true],
    [{ var: ["a.b", "none"] }, { a: {} }, "none"],
    [{ val: ["a", "b"] }, { a: { b: 7 } }, 7],
    [{ if: [false, 1, { var: "x" }] }, {}, null],
    [{ cat: ["a", 1, { var: "none" }] }, {}, "a1"],
    [{ merge: [[1], 2, [3]] }, {}, [1, 2, 3]],
    [{ missing: ["a", "b"] }, { a: 1 }, ["b"]],
    [{ filter: [{ var: "l" }, { ">": [{ var: "" }, 1] }] }, { l: [1, 2, 3] }, [2, 3]],
    [{ reduce: [{ var: "l" }, { "+": [{ var: "accumulator" }, { var: "current" }] }, 0] }, { l: [1, 2] }, 3],
    [{ eachKey: { percent: 10, who: { var: "w" } } }, { w: "ann" }, { percent: 10, who: "ann" }],
    [{ preserve: { any: ["thing"] } }, {}, { any: ["thing"] }],
    [{ try: [{ throw: "x" }, 5] }, {}, 5],
    [true, {}, true],
  ])("%j over %j is %j", (rule, facts, result) => {
    expect(run(rule, facts)).toMatchObject({ result, failure: undefined });
  });

  test("does not expose members of Object.prototype as facts or operators", () => {
    for (const path of ["__proto__", "constructor", "constructor.name", "toString", "a.constructor"]) {
      expect(typeof run({ var: path }, { a: 1 }).result).not.toBe("function");
    }
    expect(run({ val: ["constructor"] }).result).toBeNull();
    for (const rule of [{ constructor: 1 }, { toString: [] }, JSON.parse('{"__proto__":[1]}')]) {
      expect(checkRule(rule)).toMatchObject([{ code: "unknown_operator" }]);
    }
    const facts = { list: [1] };
    run({ merge: [{ var: "list" }, 2] }, facts);
    expect(facts).toEqual({ list: [1] });
  });

  test("fails only the rule if a fact has the wrong type", () => {
    expect(run({ "+": [{ var: "a" }, 1] }, { a: "x" })).toMatchObject({ fired: false, failure: "failed" });
    expect(run({ map: [{ var: "a" }, 1] }, { a: 5 })).toMatchObject({ failure: "failed" });
    expect(run({ cat: [{ var: "a" }] }, { a: { toString: 1 } })).toMatchObject({ failure: "failed" });
  });

  test("limits steps, depth, time and size, even inside try", () => {
    const l = Array.from({ length: 1_000 }, () => 1);
    const square = { map: [{ var: "l" }, { map: [{ var: "../../l" }, { "+": [1, 1] }] }] };
    expect(run(square, { l })).toMatchObject({ failure: "too_many_steps" });
    expect(run({ try: [square, 1] }, { l })).toMatchObject({ fired: false, failure: "too_many_steps" });
    const double = { var: "accumulator" };
    expect(run({ reduce: [{ var: "l" }, { cat: [double, double] }, "ab"] }, { l }).failure).toMatch(/^too_/);
    expect(run({ reduce: [{ var: "l" }, { merge: [double, double] }, [1, 2]] }, { l }).failure).toMatch(
      /^too_/,
    );
    const wide = { map: [{ var: "l" }, { var: "../../l" }] };
    expect(run(wide, { l: l.slice(0, 200) })).toMatchObject({ failure: "too_large" });
    let now = 0;
    const slow = budget(() => (now += RUN_LIMITS.timeMs));
    expect(runRule(square, { l }, slow)).toMatchObject({ failure: "too_slow" });
    let deep: unknown = { var: "a" };
    for (let i = 0; i < 33; i++) deep = { "!": [deep] };
    expect(checkRule(deep)).toMatchObject([{ code: "too_deep" }]);
    expect(runRule(deep, {}, fresh())).toMatchObject({ failure: "too_deep" });
    expect(checkRule({ and: Array.from({ length: 1_000 }, () => ({ "!": [1] })) })).toMatchObject([
      { code: "too_many" },
    ]);
  });

  test("finds a text in a text in linear time", () => {
    const rule = { in: [{ var: "part" }, { var: "text" }] };
    const half = "a".repeat(150_000);
    const facts = { part: `${half}b${half}`, text: "a".repeat(1_000_000) };
    expect(run(rule, facts)).toMatchObject({ result: false, failure: undefined });
    expect(run(rule, { part: 2, text: "1234" }).result).toBe(true);
    expect(run(rule, { part: 2, text: [1, 2] }).result).toBe(true);
    expect(run(rule, { part: 2 }).result).toBe(false);
    expect(run(rule, { part: 2, text: { 2: 2 } })).toMatchObject({ failure: "failed" });
  });

  test("does not trust lengths or path depths in facts", () => {
    const path = [[1e15], "a"];
    for (const [rule, facts] of [
      [{ val: path }, {}],
      [{ val: { var: "path" } }, { path }],
      [{ exists: { var: "path" } }, { path: [[-1e15], "a"] }],
      [{ val: { var: "path" } }, { path: [[Number.POSITIVE_INFINITY], "a"] }],
      [{ all: [{ var: "list" }, true] }, { list: { length: 1e15 } }],
      [{ none: [{ var: "list" }, false] }, { list: { length: 1e15 } }],
      [{ some: [{ var: "list" }, false] }, { list: { length: 1e15 } }],
      [{ missing_some: [1, { var: "list" }] }, { list: { length: 4e9 } }],
      [{ var: { var: "path" } }, { path: "a.".repeat(1_000) }],
      [{ missing: { var: "list" } }, { list: ["a", "a.".repeat(1_000)] }],
    ] as const)
      expect([rule, run(rule, facts)]).toMatchObject([rule, { fired: false, failure: "failed" }]);
    const two = { map: [{ var: "l" }, { val: [[2], "a"] }] };
    expect(run(two, { l: [1], a: "above" }).result).toEqual(["above"]);
    expect(run({ all: [{ var: "text" }, { in: [{ var: "" }, "ab"] }] }, { text: "abba" }).result).toBe(true);
    expect(run({ none: [{ var: "gone" }, true] }).result).toBe(true);
    expect(run({ missing_some: [1, { var: "l" }] }, { l: ["a", "b"], a: 1 }).result).toEqual([]);
  });

  test("returns the conditions that were evaluated and the facts that were read", () => {
    const rule = { and: [{ "==": [{ var: "a" }, 1] }, { some: [{ var: "l" }, { ">": [{ var: "" }, 1] }] }] };
    expect(run(rule, { a: 1, l: [2] })).toMatchObject({
      fired: true,
      conditions: [
        { path: "/and/0", operator: "==", result: true },
        { path: "/and/1", operator: "some", result: true },
        { path: "", operator: "and", result: true },
      ],
      facts: { a: 1 },
    });
  });
});
