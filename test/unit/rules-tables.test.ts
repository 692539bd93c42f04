/** Runs the tables with which implementations of JsonLogic compare themselves. */
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { budget, runRule } from "../../shared/logic/engine.ts";

interface Case {
  suite: string;
  case: number;
  rule: unknown;
  data?: unknown;
  result?: unknown;
  /** Present if the rule must fail. */
  error?: unknown;
}

const tables = new URL("../fixtures/json-logic/tables.jsonl", import.meta.url);
const CASES = readFileSync(tables, "utf8")
  .trim()
  .split("\n")
  .map((line) => JSON.parse(line) as Case);

/**
 * Cases in which a rule has another result here. Loops over a value that is missing have the result of a loop over an
 * empty list, so that a rule does not fail because a fact is missing. An empty `and` or `or` is null, which counts as
 * false. `substr` takes only texts.
 */
const DIFFERENT = [
  "array/all 5",
  "array/all 6",
  "array/filter 6",
  "array/filter 7",
  "array/map 6",
  "array/map 7",
  "array/none 5",
  "array/none 6",
  "array/some 5",
  "array/some 6",
  "control/and 20",
  "control/or 4",
  "string/substr 11",
];

test("rules have the results of JsonLogic's own tables, except for known differences", () => {
  expect(CASES).toHaveLength(1_138);
  const different = CASES.filter(({ rule, data = null, ...expected }) => {
    const { result, failure } = runRule(rule, data, budget(Date.now));
    const failed = failure !== undefined;
    return failed || "error" in expected
      ? failed !== "error" in expected
      : JSON.stringify(result) !== JSON.stringify(expected.result);
  });
  expect(different.map((one) => `${one.suite} ${one.case}`)).toEqual(DIFFERENT);
});

test("an empty object is true, and an empty list is false", () => {
  const fired = (rule: unknown) => runRule(rule, { object: {}, list: [] }, budget(Date.now)).fired;
  expect([fired({ var: "object" }), fired({ "!!": { var: "list" } }), fired({ var: "list" })]).toEqual([
    true,
    false,
    false,
  ]);
});
