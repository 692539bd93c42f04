import { readFile } from "node:fs/promises";
import * as original from "json-logic-engine";
import { describe, expect, it } from "vitest";
import { withoutMembers } from "../../scripts/bundle/members.ts";
import { reduceRules } from "../../scripts/bundle/slim.ts";

const whole = await readFile(new URL(import.meta.resolve("json-logic-engine")), "utf8");
const reduced = (await import(
  /* @vite-ignore */ `data:text/javascript,${encodeURIComponent(reduceRules(whole))}`
)) as typeof original;

const FACTS = { a: 3, b: "x", list: [1, 2, 3], deep: { c: [{ d: 4 }] } };
/** At least one rule for each operator. */
const RULES = [
  { var: "deep.c.0.d" },
  { var: ["none", 7] },
  { val: ["deep", "c", 0, "d"] },
  { exists: ["deep", "none"] },
  { missing: ["a", "none"] },
  { missing_some: [2, ["a", "none"]] },
  { if: [{ ">": [{ var: "a" }, 5] }, "more", { "<=": [{ var: "a" }, 3] }, "less", "other"] },
  { "?:": [true, 1, 2] },
  { and: [1, { or: [0, "x"] }] },
  { "!": [{ "!!": [{ var: "list" }] }] },
  { "??": [{ var: "none" }, 5] },
  { "==": [{ var: "a" }, "3"] },
  { "===": [{ var: "a" }, "3"] },
  { "!=": [1, 2] },
  { "!==": [1, 1] },
  { "<": [1, { var: "a" }, 5] },
  { ">=": [1, "text"] },
  { "+": [1, "2", { var: "a" }] },
  { "-": [{ "*": [2, 3] }, { "/": [9, 3] }] },
  { "%": [7, 4] },
  { "/": [1, 0] },
  { min: [3, { max: [1, 2] }] },
  { in: [2, { var: "list" }] },
  { cat: ["a", { substr: ["letters", -3, 2] }] },
  { length: { var: "list" } },
  { merge: [[1], { var: "list" }] },
  { keys: { var: "deep" } },
  { map: [{ var: "list" }, { "+": [{ var: "" }, { val: [[-1], "index"] }] }] },
  { filter: [{ var: "list" }, { ">": [{ var: "" }, { val: [[2], "a"] }] }] },
  { reduce: [{ var: "list" }, { "+": [{ var: "current" }, { var: "accumulator" }] }, 0] },
  { all: [{ var: "list" }, { ">": [{ var: "" }, 0] }] },
  { some: [{ var: "list" }, { ">": [{ var: "" }, 2] }] },
  { none: [{ var: "list" }, { ">": [{ var: "" }, 2] }] },
  { try: [{ throw: "wrong" }, { val: "type" }] },
  { throw: "wrong" },
  { preserve: { var: "a" } },
  { eachKey: { one: { var: "a" } } },
  { unknown: 1 },
];

function outcome({ LogicEngine }: typeof original, rule: object): unknown {
  const engine = new LogicEngine(undefined, {
    disableInline: true,
    disableInterpretedOptimization: true,
    permissive: false,
  });
  try {
    return { result: engine.run(rule, FACTS) };
  } catch (error) {
    return { error };
  }
}

describe("the rules engine of the bundle", () => {
  it.each(RULES.map((rule) => [JSON.stringify(rule), rule] as const))(
    "answers %s like the whole package",
    (_, rule) => expect(outcome(reduced, rule)).toEqual(outcome(original, rule)),
  );
});

describe("the removal of members", () => {
  it("removes properties, methods and assignments, and keeps everything else", () => {
    const source =
      "const a = { x: 1, y() { return { x: 2 }; }, z: 3 };\nclass B { y() {} z() {} }\na.y = a.x;\na.z = 4;";
    expect(withoutMembers(source, (name) => name === "x" || name === "y")).toBe(
      "const a = {   z: 3 };\nclass B {  z() {} }\n\na.z = 4;",
    );
  });

  it("fails if it finds nothing, because the package has then changed", () => {
    expect(() => withoutMembers("const a = { x: 1 };", () => false)).toThrow("has changed");
  });
});
