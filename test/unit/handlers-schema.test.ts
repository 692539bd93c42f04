import { describe, expect, test } from "vitest";
import { isFaulty, readEntry } from "../../shared/handlers/entry.ts";
import { type Check, compileJsonSchema } from "../../shared/handlers/json-schema.ts";
import { subjectFault } from "../../shared/handlers/subject.ts";

function compiled(schema: unknown): Check {
  const result = compileJsonSchema(schema);
  if (Array.isArray(result)) throw new Error(JSON.stringify(result));
  return result;
}

const told = (schema: unknown, value: unknown) =>
  compiled(schema)(value).map(({ path, code }) => `${path} ${code}`);

describe("JSON Schema of handlers", () => {
  test("every fault at once, each at its place", () => {
    const schema = {
      type: "object",
      required: ["a", "b"],
      additionalProperties: false,
      properties: {
        a: { type: "string", minLength: 2, pattern: "^[a-z]+$" },
        n: { type: "integer", minimum: 1, maximum: 3 },
        list: { type: "array", maxItems: 2, items: { type: "object", required: ["x/y"] } },
        one: { enum: [1, 2] },
        b: true,
      },
    };
    const value = { a: "A", n: 9, list: [{}, { "x/y": 1 }, {}], one: 3, more: true };
    expect(told(schema, value).sort()).toEqual([
      "/a pattern",
      "/a too_short",
      "/b required",
      "/list too_many",
      "/list/0/x~1y required",
      "/list/2/x~1y required",
      "/more unknown_property",
      "/n too_big",
      "/one enum",
    ]);
    expect(told(schema, { a: "ab", b: 1, n: 2, one: 1 })).toEqual([]);
    expect(told(schema, null)).toEqual([" type"]);
    expect(compiled({ type: ["integer", "null"] })("x")).toEqual([
      { path: "", code: "type", message: "This must be an integer or a null." },
    ]);
  });

  test("references inside of it work, those outside are refused", () => {
    const tree = {
      $ref: "#/$defs/node",
      $defs: { node: { type: "object", required: ["v"], properties: { next: { $ref: "#/$defs/node" } } } },
    };
    expect(told(tree, { v: 1, next: { v: 1, next: {} } })).toEqual(["/next/next/v required"]);
    for (const $ref of [
      "https://example.com/x",
      "other.json",
      "#/properties/a",
      "/x",
      "urn:x",
      "#/$defs/none",
    ]) {
      expect(Array.isArray(compileJsonSchema({ $ref }))).toBe(true);
    }
  });

  test.each([
    [42, ""],
    [{ type: 5 }, "/type"],
    [{ properties: [] }, "/properties"],
    [{ items: { required: "x" } }, "/items/required"],
    [{ anyOf: {} }, "/anyOf"],
    [{ properties: { "a/b": { pattern: "(" } } }, "/properties/a~1b/pattern"],
    [{ pattern: "(a)\\1" }, "/pattern"],
    [{ patternProperties: { "^a": true } }, "/patternProperties"],
    [{ $dynamicRef: "#x" }, "/$dynamicRef"],
    [{ minimum: "1" }, "/minimum"],
    [{ $ref: "#" }, ""],
    [{ description: "x".repeat(70_000) }, ""],
  ])("what is no sound schema is told: %j", (schema, path) => {
    const result = compileJsonSchema(schema);
    expect(Array.isArray(result) && result[0]?.path).toBe(path);
  });

  test("a pattern that holds up a backtracking engine does not", () => {
    const hostile = `${"a".repeat(40)}!`;
    expect(told({ type: "string", pattern: "^(a+)+$" }, hostile)).toEqual([" pattern"]);
    expect(told({ properties: { const: { pattern: "^(a+)+$" } } }, { const: hostile })).toEqual([
      "/const pattern",
    ]);
  });

  test("names that every object has are names like others", () => {
    const schema = { type: "object", additionalProperties: false, properties: {} };
    expect(told(schema, JSON.parse('{"__proto__":1,"constructor":2}')).sort()).toEqual([
      "/__proto__ unknown_property",
      "/constructor unknown_property",
    ]);
  });
});

test.each([
  ["svc.pricing.quote", true],
  ["pricing", true],
  ["a.$b", true],
  ["$SYS.x", false],
  ["_x", false],
  ["platform.orbs.x", false],
  ["platform", false],
  ["a.*", false],
  ["a.>", false],
  ["a..b", false],
  [".a", false],
  ["a.", false],
  ["a b", false],
  ["a\tb", false],
  ["a\u0000b", false],
  ["x".repeat(256), false],
])("subject %j: %s", (subject, sound) => {
  expect(subjectFault(subject) === undefined).toBe(sound);
});

test("an entry of the registry is read, with its default of five seconds", () => {
  const entry = { name: "a.b", description: "", auth: "None", kind: "nats", subject: "svc.a.b" };
  const read = readEntry("a.b", JSON.stringify(entry), new Set());
  expect(read).toEqual({ ...entry, timeoutMs: 5000 });
  for (const wrong of [
    { ...entry, timeoutMs: 30_001 },
    { ...entry, timeoutMs: 0 },
    { ...entry, auth: "Sometimes" },
    { ...entry, input: "x" },
    { ...entry, name: "a.c" },
  ]) {
    expect(isFaulty(readEntry("a.b", JSON.stringify(wrong), new Set()))).toBe(true);
  }
  expect(isFaulty(readEntry("a.b", JSON.stringify(entry), new Set(["a"])))).toBe(true);
  expect(isFaulty(readEntry("a.b.c", JSON.stringify({ ...entry, name: "a.b.c" }), new Set()))).toBe(true);
});
