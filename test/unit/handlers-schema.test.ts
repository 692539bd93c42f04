import { format } from "@cfworker/json-schema";
import { describe, expect, test } from "vitest";
import { isFaulty, readEntry } from "../../shared/handlers/contract/entry.ts";
import { subjectFault } from "../../shared/handlers/contract/subject.ts";
import { type Check, compileJsonSchema } from "../../shared/handlers/schema/json-schema.ts";

function compiled(schema: unknown): Check {
  const result = compileJsonSchema(schema);
  if (Array.isArray(result)) throw new Error(JSON.stringify(result));
  return result;
}

const told = (schema: unknown, value: unknown) =>
  compiled(schema)(value).map(({ path, code }) => `${path} ${code}`);

/** Other tests may run in parallel, so measure processor time instead of elapsed time. */
function processorMs(since: NodeJS.CpuUsage): number {
  const { user, system } = process.cpuUsage(since);
  return (user + system) / 1000;
}

const numbers = (length: number) => Array.from({ length }, (_, i) => i);
const names = (length: number) => numbers(length).map((n) => `n${n}`);
const texts = (length: number) => Array<string>(length).fill("abc".repeat(3_300));
const product = (length: number) => ({
  allOf: numbers(length).map(() => ({ items: { allOf: numbers(length).map(() => ({ type: "integer" })) } })),
});
/** Definitions that each refer to the next one twice. */
const doubling = (length: number) =>
  Object.fromEntries(
    numbers(length).map((n) => {
      const next = { $ref: `#/$defs/d${n + 1}` };
      return [`d${n}`, n === length - 1 ? { type: "string" } : { anyOf: [next, next] }];
    }),
  );

/** Returns nested lists. */
function nested(depth: number): unknown {
  let value: unknown[] = [];
  for (let n = 0; n < depth; n++) value = [value];
  return value;
}

describe("JSON Schema of handlers", () => {
  test("reports all errors at once, each with its path", () => {
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
    // An infinite number would reach the service as null.
    const beyond = JSON.parse('{"a":1e999,"list":[-1e999,1e308]}') as unknown;
    const numbers = { properties: { a: { minimum: 1 }, list: { items: { type: "number" } } } };
    expect(told(numbers, beyond)).toEqual(["/a range", "/list/0 range"]);
    expect(compiled({ type: ["integer", "null"] })("x")).toEqual([
      { path: "", code: "type", message: "must be an integer or a null" },
    ]);
  });

  test("resolves internal references and refuses external ones", () => {
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
    [{ if: { required: ["a"] }, else: { allOf: [{ $ref: "#" }] } }, ""],
    [{ description: "x".repeat(70_000) }, ""],
  ])("reports the path of the error in the invalid schema %j", (schema, path) => {
    const result = compileJsonSchema(schema);
    expect(Array.isArray(result) && result[0]?.path).toBe(path);
  });

  test("is not slowed down by patterns that need backtracking", () => {
    const hostile = `${"a".repeat(40)}!`;
    expect(told({ type: "string", pattern: "^(a+)+$" }, hostile)).toEqual([" pattern"]);
    expect(told({ properties: { const: { pattern: "^(a+)+$" } } }, { const: hostile })).toEqual([
      "/const pattern",
    ]);
  });

  test("finds equal items regardless of member order, even in the longest list that fits into a body", () => {
    const schema = { type: "array", uniqueItems: true };
    const long = Array.from({ length: 85_000 }, (_, i) => i);
    const since = process.cpuUsage();
    expect(told(schema, long)).toEqual([]);
    expect(told(schema, [...long, 7])).toEqual([" duplicate"]);
    expect(processorMs(since)).toBeLessThan(2_000);
    const record = (a: unknown, b: unknown) => ({ a, b });
    expect(told(schema, [record(1, [2]), { b: [2], a: 1 }])).toEqual([" duplicate"]);
    expect(
      told(schema, [1, "1", true, null, [1], ["1"], record(1, 2), record(2, 1), '"1', "{}", {}]),
    ).toEqual([]);
  });

  test("checks each value once against a schema that refers to itself twice", () => {
    const way = (required: string) => ({ properties: { a: { $ref: "#" } }, required: [required] });
    const check = compiled({ anyOf: [way("z"), way("y")] });
    let [good, bad]: object[] = [{ z: 1 }, {}];
    for (let depth = 0; depth < 60; depth++)
      [good, bad] = [
        { y: 1, a: good },
        { y: 1, a: bad },
      ];
    const since = process.cpuUsage();
    expect(check(good)).toEqual([]);
    expect(check(bad)[0]).toMatchObject({ path: "", code: "schema" });
    expect(processorMs(since)).toBeLessThan(2_000);
  });

  test.each([
    [
      "nested lists of subschemas",
      { items: product(20) },
      Array.from({ length: 60 }, () => numbers(1_000)),
      "too_complex",
    ],
    [
      "many missing properties",
      { items: { required: names(2_000) } },
      Array(100_000).fill({}),
      "too_complex",
    ],
    ["references that double at each level", { $ref: "#/$defs/d0", $defs: doubling(30) }, 1, "too_complex"],
    [
      "a pattern with many states",
      { items: { pattern: "(?:[ab].{0,300}[cd]){3}$" } },
      texts(50),
      "too_complex",
    ],
    ["nesting deeper than the stack", { items: { $ref: "#" } }, nested(200_000), "too_deep"],
    ["comparison of deeply nested items", { uniqueItems: true }, [nested(200_000)], "too_deep"],
    ["a long URL", { format: "url" }, `http://${"a".repeat(100_000)} `, "format"],
  ])("bounds the work: %s", (_, schema, value, code) => {
    const since = process.cpuUsage();
    expect(compiled(schema)(value)).toMatchObject([{ path: "", code }]);
    expect(processorMs(since)).toBeLessThan(2_000);
  });

  test("checks a long list against a long enum quickly, and lists at most 50 errors", () => {
    const faults = compiled({ items: { enum: names(5_000) } })(numbers(250_000));
    expect(faults.length).toBe(50);
    expect(JSON.stringify(faults).length).toBeLessThan(10_000);
    expect(compiled({ enum: ["a", 1] })(2)).toEqual([
      { path: "", code: "enum", message: 'must be one of "a", 1' },
    ]);
  });

  test("reports each keyword with a stable code", () => {
    const schema = {
      properties: {
        any: { anyOf: [{ type: "string" }, { required: ["x"], type: "object" }] },
        one: { oneOf: [{ minimum: 1 }, { minimum: 2 }] },
        not: { not: { const: 1 } },
        // Parsed from text, because an object with a member "then" counts as a promise.
        when: JSON.parse('{ "if": { "required": ["a"] }, "then": { "required": ["b"] }, "else": false }'),
        names: { propertyNames: { maxLength: 1 } },
        tuple: { prefixItems: [{ type: "integer" }], items: false },
        contains: { contains: { const: 1 } },
        step: { multipleOf: 0.01 },
        left: { allOf: [{ properties: { a: true } }], unevaluatedProperties: false },
        older: { exclusiveMinimum: true, minimum: 1 },
        date: { format: "date" },
        depends: { dependentRequired: { a: ["b"] } },
      },
    };
    const value = {
      ...{ any: {}, one: 3, not: 1, when: { a: 1 }, names: { ab: 1 }, tuple: [1, 2], contains: [2] },
      ...{ step: 0.015, left: { a: 1, b: 2 }, older: 1, date: "2026-02-30", depends: { a: 1 } },
    };
    expect(told(schema, value)).toEqual([
      ...["/any schema", "/any type", "/any/x required", "/one schema", "/not schema", "/when/b required"],
      ...["/names/ab too_long", "/names schema", "/tuple/1 unknown_property", "/contains too_few"],
      ...[
        "/step schema",
        "/left/b unknown_property",
        "/older too_small",
        "/date format",
        "/depends/b required",
      ],
    ]);
    const sound = {
      ...{ any: "", one: 1, not: 2, when: { a: 1, b: 1 }, names: { a: 1 }, tuple: [1], contains: [2, 1] },
      ...{ step: 0.07, left: { a: 1 }, older: 2, date: "2026-02-28", depends: { b: 1 } },
    };
    expect(told(schema, sound)).toEqual([]);
  });

  test("keeps no state per pattern", () => {
    const before = Object.keys(format).length;
    for (let n = 0; n < 50; n++) compiled({ pattern: `^a{${n}}$` });
    expect(Object.keys(format).length).toBe(before);
  });

  test("treats names of Object.prototype members like others", () => {
    const schema = { type: "object", additionalProperties: false, properties: {} };
    expect(told(schema, JSON.parse('{"__proto__":1,"constructor":2}')).sort()).toEqual([
      "/__proto__ unknown_property",
      "/constructor unknown_property",
    ]);
  });
});

test.each([
  ["svc.pricing.quote", true],
  ["svc.pricing", true],
  ["svc.billing.pay", false],
  ["svc.billing", false],
  ["svc.pricing2.quote", false],
  ["svcs.billing", true],
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
])("subject %j is allowed: %s", (subject, sound) => {
  expect(subjectFault(subject, "pricing") === undefined).toBe(sound);
});

test("reads a registry entry with a default timeout of five seconds", () => {
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

test("limits the total cost of a schema's patterns", () => {
  const properties = (count: number, pattern: (n: number) => string) => ({
    properties: Object.fromEntries(names(count).map((name, n) => [name, { pattern: pattern(n) }])),
  });
  expect(compileJsonSchema(properties(500, (n) => `^[a-z]{2,8}${n}$`))).toBeTypeOf("function");
  const costly = properties(700, (n) => `${"[a-z]{200}".repeat(5)}${n}`);
  expect(compileJsonSchema(costly)).toMatchObject([{ code: "too_complex" }]);
  const refused = compileJsonSchema(properties(700, (n) => `${"[a-z]{900}".repeat(5)}${n}`));
  expect(
    Array.isArray(refused) && refused.map(({ code }) => code).filter((code) => code !== "unsafe_pattern"),
  ).toEqual(["too_complex"]);
});
