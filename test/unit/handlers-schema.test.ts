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

/** Other tests may run beside: what counts is the work, not the time. */
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
/** Definitions of which each asks for the next one twice. */
const doubling = (length: number) =>
  Object.fromEntries(
    numbers(length).map((n) => {
      const next = { $ref: `#/$defs/d${n + 1}` };
      return [`d${n}`, n === length - 1 ? { type: "string" } : { anyOf: [next, next] }];
    }),
  );

/** A list in a list in a list … */
function nested(depth: number): unknown {
  let value: unknown[] = [];
  for (let n = 0; n < depth; n++) value = [value];
  return value;
}

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
    // It would reach whoever it is for as null.
    const beyond = JSON.parse('{"a":1e999,"list":[-1e999,1e308]}') as unknown;
    const numbers = { properties: { a: { minimum: 1 }, list: { items: { type: "number" } } } };
    expect(told(numbers, beyond)).toEqual(["/a range", "/list/0 range"]);
    expect(compiled({ type: ["integer", "null"] })("x")).toEqual([
      { path: "", code: "type", message: "must be an integer or a null" },
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
    [{ if: { required: ["a"] }, else: { allOf: [{ $ref: "#" }] } }, ""],
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

  test("equal items are found whatever the order of their members, in a list as long as a body can be", () => {
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

  test("a schema that refers to itself in two ways is worked out once for each value", () => {
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
      "products of lists",
      { items: product(20) },
      Array.from({ length: 60 }, () => numbers(1_000)),
      "too_complex",
    ],
    [
      "many names that are missing",
      { items: { required: names(2_000) } },
      Array(100_000).fill({}),
      "too_complex",
    ],
    ["doubling references", { $ref: "#/$defs/d0", $defs: doubling(30) }, 1, "too_complex"],
    [
      "a pattern of many states",
      { items: { pattern: "(?:[ab].{0,300}[cd]){3}$" } },
      texts(50),
      "too_complex",
    ],
    ["a depth that no stack holds", { items: { $ref: "#" } }, nested(200_000), "too_deep"],
    ["the same, compared", { uniqueItems: true }, [nested(200_000)], "too_deep"],
    ["a web address of many letters", { format: "url" }, `http://${"a".repeat(100_000)} `, "format"],
  ])("work is bounded: %s", (_, schema, value, code) => {
    const since = process.cpuUsage();
    expect(compiled(schema)(value)).toMatchObject([{ path: "", code }]);
    expect(processorMs(since)).toBeLessThan(2_000);
  });

  test("a list of many values is checked at once, and not told with each that is not in it", () => {
    const faults = compiled({ items: { enum: names(5_000) } })(numbers(250_000));
    expect(faults.length).toBe(50);
    expect(JSON.stringify(faults).length).toBeLessThan(10_000);
    expect(compiled({ enum: ["a", 1] })(2)).toEqual([
      { path: "", code: "enum", message: 'must be one of "a", 1' },
    ]);
  });

  test("each keyword tells its fault by a stable code", () => {
    const schema = {
      properties: {
        any: { anyOf: [{ type: "string" }, { required: ["x"], type: "object" }] },
        one: { oneOf: [{ minimum: 1 }, { minimum: 2 }] },
        not: { not: { const: 1 } },
        // As text: an object with such a member is taken for a promise.
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

  test("what patterns leave behind is bounded", () => {
    const before = Object.keys(format).length;
    for (let n = 0; n < 50; n++) compiled({ pattern: `^a{${n}}$` });
    expect(Object.keys(format).length).toBe(before);
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
])("subject %j: %s", (subject, sound) => {
  expect(subjectFault(subject, "pricing") === undefined).toBe(sound);
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

test("patterns of a schema may cost so much together", () => {
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
