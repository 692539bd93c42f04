/** The console's schema editor: its JSON, and the merge of two people's changes. */
import { expect, test } from "vitest";
import { firstRule } from "../../functions/console/schema/document/first-rule.ts";
import {
  objectAt,
  objectsFor,
  withFieldInObject,
} from "../../functions/console/schema/document/into-object.ts";
import { lineAt, offsetOf, parseText, pathAt } from "../../functions/console/schema/document/json-text.ts";
import { diffLines } from "../../functions/console/schema/document/lines.ts";
import {
  outer,
  withItem,
  withMoved,
  withoutItem,
  withValue,
} from "../../functions/console/schema/document/pointer.ts";
import { withId } from "../../functions/console/schema/document/rename.ts";

test("parses JSON like the runtime, and says where values are", () => {
  const text = '{\n  "a": [1, -2.5e3, true, null, "x\\u00e9\\n"],\n  "b~/": { "c": "" }\n}';
  const parsed = parseText(text);
  expect(parsed.value).toEqual(JSON.parse(text));
  expect(lineAt(text, offsetOf(parsed, "/b~0~1/c"))).toBe(3);
  expect(offsetOf(parsed, "/a/9/none")).toBe(offsetOf(parsed, "/a"));
  expect(pathAt(parsed, text.indexOf("true"))).toBe("/a/2");
});

test.each([
  ["", 1, 1, "json.object"],
  ["[]", 1, 1, "json.object"],
  ['{\n  "a": 1,\n}', 3, 1, "json.comma"],
  ['{ "a" 1 }', 1, 7, "json.colon"],
  ['{ "a": 1 "b": 2 }', 1, 10, "json.endObject"],
  ['{ "a": [1 2] }', 1, 11, "json.endList"],
  ['{ "a": [1,] }', 1, 11, "json.comma"],
  ['{ "a": ', 1, 8, "json.end"],
  ['{ "a": x }', 1, 8, "json.value"],
  ['{ "a": "b\n" }', 1, 8, "json.text"],
  ['{ "a": 1, "a": 2 }', 1, 11, "json.twice"],
  ["{} {}", 1, 4, "json.after"],
  [`{ "a": ${"[".repeat(70)}`, 1, 72, "json.deep"],
  [`{ "a": "${"x".repeat(524_288)}" }`, 1, 524_288, "json.large"],
])("says where the fault of %.20s is", (text, line, column, reason) => {
  expect(parseText(text).fault).toMatchObject({ line, column, reason });
});

test("changes values by pointer without touching others", () => {
  const before = { a: { b: [1, 2, 3] }, c: { d: 1 } };
  expect(withValue(before, "/a/b/1", 9)).toEqual({ a: { b: [1, 9, 3] }, c: { d: 1 } });
  expect(withValue(before, "/c/d", undefined)).toEqual({ a: { b: [1, 2, 3] } });
  expect(withValue(before, "/e/f", true)).toEqual({ ...before, e: { f: true } });
  expect(withItem(before, "/a/b", 0, 0).a).toEqual({ b: [0, 1, 2, 3] });
  expect(withItem({}, "/list", 0, "x")).toEqual({ list: ["x"] });
  expect(withoutItem(before, "/a/b", 1).a).toEqual({ b: [1, 3] });
  expect(withMoved(before, "/a/b", 2, 0).a).toEqual({ b: [3, 1, 2] });
  expect(withMoved(before, "/a/b", 2, 3)).toBe(before);
  expect(
    ["/modules/0/schemas/1/fields/2", "/roles/1", "/access/providers/0", "/modules/3"].map(outer),
  ).toEqual(["/modules/0/schemas/1", "/roles", "/access", ""]);
});

const schema = (id: string, ...fields: object[]) => ({ id, fields });
const orb = (...schemas: object[]) =>
  ({ id: "shop", modules: [{ id: "m", type: "CONTENT", schemas }] }) as Parameters<typeof withId>[0];

test("compares texts by line, and leaves out lines far from changes", () => {
  const from = Array.from({ length: 30 }, (_, at) => `line ${at}`);
  const lines = diffLines(from.join("\n"), from.toSpliced(10, 1, "new", "newer").join("\n"));
  expect(
    lines.filter(({ kind }) => kind !== "same").map(({ kind, text, at }) => [kind, text, ...at]),
  ).toEqual([
    ["gap", "", null, null],
    ["removed", "line 10", 11, null],
    ["added", "new", null, 11],
    ["added", "newer", null, 12],
    ["gap", "", null, null],
  ]);
});

test("renames a schema together with the references and hooks that name it", () => {
  const before = {
    ...orb(schema("a"), schema("b", { name: "r", type: "reference", ref: "shop/m/a" })),
    hooks: [{ id: "h", module: "m", schema: "a" }],
  };
  expect(withId(before, "/modules/0/schemas/0", "c")).toEqual({
    ...orb(schema("c"), schema("b", { name: "r", type: "reference", ref: "shop/m/c" })),
    hooks: [{ id: "h", module: "m", schema: "c" }],
  });
  // An id that another schema has would join their references.
  expect(withId(before, "/modules/0/schemas/0", "b").hooks).toEqual(before.hooks);
  const moved = withId(before, "/modules/0", "n");
  expect(JSON.stringify(moved)).toContain("shop/n/a");
  expect(moved.hooks).toEqual([{ id: "h", module: "n", schema: "a" }]);
});

test("moves fields into objects, and names the fields that stored entries have", () => {
  const stored = orb(
    schema("a", { name: "x", type: "string" }, { name: "o", type: "object", component: "c" }),
  );
  const draft = orb(
    schema(
      "a",
      { name: "y", was: "x", type: "string", max: 5 },
      { name: "o", type: "object", component: "c" },
      { name: "n", type: "date" },
    ),
  );
  const at = (index: number) => `/modules/0/schemas/0/fields/${index}`;
  // An object whose fields come from a component cannot get one of its own.
  expect(objectsFor(draft, at(0))).toEqual([]);
  const once = withFieldInObject(draft, stored, at(0), { object: "p", member: "z" });
  expect(objectsFor(once, at(0))).toEqual(["p"]);
  // A field that no entry has had yet is not named.
  const twice = withFieldInObject(once, stored, at(2), { object: "p", member: "n" });
  const object = {
    name: "p",
    type: "object",
    fields: [
      { name: "z", type: "string", max: 5 },
      { name: "n", type: "date" },
    ],
    from: { fields: { z: "x" } },
  };
  expect(twice).toEqual(orb(schema("a", object, { name: "o", type: "object", component: "c" })));
  expect(objectAt(twice, at(1), "p")).toBe(at(0));
});

test("a rule to begin with reads the field that took the place of one which is back", () => {
  expect(firstRule({ code: "converted_field", candidates: ["name"] })).toEqual({ var: "values.name" });
  expect(firstRule({ code: "converted_field" })).toEqual({ var: "value" });
  expect(firstRule({ code: "changed_type" })).toEqual({ var: "value" });
});
