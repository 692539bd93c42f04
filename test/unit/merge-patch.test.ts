import { expect, test } from "vitest";
import { mergePatch } from "../../shared/kernel/json.ts";

/** The examples of RFC 7396, appendix A: the target, the patch and the result. */
const EXAMPLES: [target: unknown, patch: unknown, result: unknown][] = [
  [{ a: "b" }, { a: "c" }, { a: "c" }],
  [{ a: "b" }, { b: "c" }, { a: "b", b: "c" }],
  [{ a: "b" }, { a: null }, {}],
  [{ a: "b", b: "c" }, { a: null }, { b: "c" }],
  [{ a: ["b"] }, { a: "c" }, { a: "c" }],
  [{ a: "c" }, { a: ["b"] }, { a: ["b"] }],
  [{ a: { b: "c" } }, { a: { b: "d", c: null } }, { a: { b: "d" } }],
  [{ a: [{ b: "c" }] }, { a: [1] }, { a: [1] }],
  [
    ["a", "b"],
    ["c", "d"],
    ["c", "d"],
  ],
  [{ a: "b" }, ["c"], ["c"]],
  [{ a: "foo" }, null, null],
  [{ a: "foo" }, "bar", "bar"],
  [{ e: null }, { a: 1 }, { e: null, a: 1 }],
  [[1, 2], { a: "b", c: null }, { a: "b" }],
  [{}, { a: { bb: { ccc: null } } }, { a: { bb: {} } }],
];

test.each(EXAMPLES)("merges %j and %j", (target, patch, result) => {
  expect(mergePatch(target, patch)).toEqual(result);
});

test("keeps a member named __proto__ a plain member", () => {
  const merged = mergePatch({}, JSON.parse('{ "__proto__": { "x": 1 } }')) as object;
  expect(Object.keys(merged)).toEqual(["__proto__"]);
  expect(Reflect.get({}, "x")).toBeUndefined();
});
