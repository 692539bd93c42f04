import { describe, expect, test } from "vitest";
import type { FieldDefinition } from "../../shared/definition/document/document.ts";
import { FIELD_TYPES } from "../../shared/definition/fields/index.ts";
import { compilePattern } from "../../shared/definition/fields/parts/pattern.ts";

/** Returns the parsed value, or the codes of its errors. */
function parse(type: FieldDefinition["type"], value: unknown): unknown {
  const codes: string[] = [];
  const result = FIELD_TYPES[type].parse(value, (code, _message, sub = "") => codes.push(sub + code));
  if (codes.length > 0) expect(result).toBeUndefined();
  return codes.length > 0 ? codes : { value: result };
}

const ok = (value: unknown) => ({ value });
const deep = (depth: number): unknown => (depth === 0 ? 1 : [deep(depth - 1)]);

const cases: [FieldDefinition["type"], unknown, unknown][] = [
  ["string", "a", ok("a")],
  ["string", "", ok("")],
  ["string", "😀".repeat(10_000), ok("😀".repeat(10_000))],
  ["string", "😀".repeat(10_001), ["too_long"]],
  ["string", "a\u0000b", ["text"]],
  ["string", "\ud800", ["text"]],
  ["string", "a\udc00b", ["text"]],
  ["string", 1, ["type"]],
  ["string", ["a"], ["type"]],
  ["text", "a".repeat(500_000), ok("a".repeat(500_000))],
  ["text", "a".repeat(500_001), ["too_long"]],
  ["number", 1.5, ok(1.5)],
  ["number", -0, ok(0)],
  ["number", "1", ["type"]],
  ["number", Number.POSITIVE_INFINITY, ["range"]],
  ["number", Number.NaN, ["range"]],
  ["number", 6.02214076e23, ok(6.02214076e23)],
  ["number", JSON.parse("1e400"), ["range"]],
  ["number", 9_007_199_254_740_991, ok(9_007_199_254_740_991)],
  ["integer", 1, ok(1)],
  ["integer", JSON.parse("1.0"), ok(1)],
  ["integer", 1.5, ["type"]],
  ["integer", -9_007_199_254_740_992, ["range"]],
  ["boolean", false, ok(false)],
  ["boolean", "false", ["type"]],
  ["boolean", 0, ["type"]],
  ["date", "2026-02-28", ok("2026-02-28")],
  ["date", "2024-02-29", ok("2024-02-29")],
  ["date", "2026-02-29", ["format"]],
  ["date", "2026-02-30", ["format"]],
  ["date", "1900-02-29", ["format"]],
  ["date", "2000-02-29", ok("2000-02-29")],
  ["date", "2026-04-31", ["format"]],
  ["date", "2026-13-01", ["format"]],
  ["date", "2026-00-10", ["format"]],
  ["date", "0000-01-01", ["format"]],
  ["date", "2026-1-1", ["format"]],
  ["date", "2026-01-01T00:00:00Z", ["format"]],
  ["date", 0, ["type"]],
  ["datetime", "2026-03-01T10:00:00Z", ok("2026-03-01T10:00:00.000Z")],
  ["datetime", "2026-03-01t10:00:00.123456z", ok("2026-03-01T10:00:00.123Z")],
  ["datetime", "2026-03-01T00:30:00+02:00", ok("2026-02-28T22:30:00.000Z")],
  ["datetime", "2026-02-28T23:30:00-01:00", ok("2026-03-01T00:30:00.000Z")],
  ["datetime", "2026-02-30T10:00:00Z", ["format"]],
  ["datetime", "2026-03-01T24:00:00Z", ["format"]],
  ["datetime", "2026-03-01T10:60:00Z", ["format"]],
  ["datetime", "2026-03-01T10:00:60Z", ["format"]],
  ["datetime", "2026-03-01T10:00+02", ok("2026-03-01T08:00:00.000Z")],
  ["datetime", "2026-03-01T10:00:00", ["format"]],
  ["datetime", "2026-03-01", ["format"]],
  ["datetime", "0001-01-01T00:00:00+01:00", ["format"]],
  ["datetime", "2026-03-01T10:00:00+24:00", ["format"]],
  ["datetime", 1, ["type"]],
  ["time", "09:30", ok("09:30")],
  ["time", "09:30:00", ok("09:30")],
  ["time", "23:59:59", ok("23:59:59")],
  ["time", "24:00", ["format"]],
  ["time", "9:30", ["format"]],
  ["time", "09:30:60", ["format"]],
  ["time", "09:30Z", ["format"]],
  ["time", 930, ["type"]],
  ["email", "Ann.O'Hara+x@Mail.Example.org", ok("Ann.O'Hara+x@Mail.Example.org")],
  ["email", "ann@example", ["format"]],
  ["email", "ann@-example.org", ["format"]],
  ["email", " ann@example.org", ["format"]],
  ["email", "ann@exa mple.org", ["format"]],
  ["email", "a@b@example.org", ["format"]],
  ["email", "", ["format"]],
  ["email", `${"a".repeat(65)}@example.org`, ["format"]],
  ["email", `ann@${"a.".repeat(130)}org`, ["too_long"]],
  ["email", 1, ["type"]],
  ["url", "https://example.org", ok("https://example.org")],
  ["url", "HTTP://Example.org:8080/a?b[c]=d#e", ok("HTTP://Example.org:8080/a?b[c]=d#e")],
  ["url", "https://müller.example/ä b".replace(" ", ""), ok("https://xn--mller-kva.example/%C3%A4b")],
  ["url", "https://example.org/a b", ["format"]],
  ["url", "https://example.org/\ta", ["format"]],
  ["url", "https://ann:secret@example.org/", ["format"]],
  ["url", "javascript:alert(1)", ["format"]],
  ["url", "ftp://example.org", ["format"]],
  ["url", "//example.org", ["format"]],
  ["url", "https://", ["format"]],
  ["url", "https://exa<mple.org", ["format"]],
  ["url", `https://example.org/${"a".repeat(2_048)}`, ["too_long"]],
  ["slug", "red-chair-2", ok("red-chair-2")],
  ["slug", "größe", ok("größe")],
  ["slug", "Red", ["format"]],
  ["slug", "red--chair", ["format"]],
  ["slug", "-red", ["format"]],
  ["slug", "red chair", ["format"]],
  ["slug", "a".repeat(201), ["too_long"]],
  ["decimal", "12.5", ok("12.5")],
  ["decimal", "-0.00", ok("0")],
  ["decimal", "007.10", ok("7.1")],
  ["decimal", 0.1, ok("0.1")],
  ["decimal", 1e-7, ok("0.0000001")],
  ["decimal", 123_456_789_012_345, ok("123456789012345")],
  ["decimal", 0.1 + 0.2, ["range"]],
  ["decimal", 1e300, ["range"]],
  ["decimal", Number.NaN, ["range"]],
  ["decimal", "1e3", ["format"]],
  ["decimal", ".5", ["format"]],
  ["decimal", "1,5", ["format"]],
  ["decimal", "", ["format"]],
  ["decimal", "1".repeat(21), ["range"]],
  ["decimal", `1.${"1".repeat(19)}`, ["range"]],
  ["decimal", "1".repeat(1_000), ["format"]],
  ["decimal", true, ["type"]],
  ["json", { a: [1, null, "x", true] }, ok({ a: [1, null, "x", true] })],
  ["json", "text", ok("text")],
  ["json", { a: { "b/c": "\u0000" } }, ["/a/b~1ctext"]],
  ["json", [JSON.parse("1e999")], ["/0range"]],
  ["json", JSON.parse('{"a":{"__proto__":1}}'), ["/a/__proto__text"]],
  ["json", { a: { $sealed: "x" } }, ["/a/$sealedtext"]],
  ["json", { "\ud800": 1 }, ["/\ud800text"]],
  ["json", deep(32), ok(deep(32))],
  ["json", deep(33), [`${"/0".repeat(32)}too_deep`]],
  ["json", Array.from({ length: 19_999 }, () => 0), ok(Array.from({ length: 19_999 }, () => 0))],
  ["json", Array.from({ length: 20_000 }, () => 0), ["too_big"]],
  ["reference", "0lz3k2abcdefghijk123", ok("0lz3k2abcdefghijk123")],
  ["reference", "abc", ["format"]],
  ["reference", "0abc.def*", ["format"]],
  ["reference", { id: "0lz3k2abcdefghijk123" }, ["type"]],
];

test.each(cases)("%s parses %j", (type, value, expected) => {
  expect(parse(type, value)).toEqual(expected);
});

describe("rules", () => {
  const codes = (definition: Omit<FieldDefinition, "name">, value: string | number): string[] => {
    const found: string[] = [];
    FIELD_TYPES[definition.type].rules({ name: "x", ...definition })(value, (code) => found.push(code));
    return found;
  };
  test.each<[Omit<FieldDefinition, "name">, string | number, string[]]>([
    [{ type: "string", min: 2, max: 3 }, "😀", ["too_short"]],
    [{ type: "string", min: 2, max: 3 }, "😀😀😀", []],
    [{ type: "string", min: 2, max: 3 }, "abcd", ["too_long"]],
    [{ type: "string", pattern: "b" }, "abc", []],
    [{ type: "string", pattern: "^b$" }, "abc", ["pattern"]],
    [{ type: "string", max: 2, pattern: "^b" }, "abc", ["too_long", "pattern"]],
    [{ type: "text", pattern: "a" }, "a".repeat(10_001), ["too_long"]],
    [{ type: "number", min: 0, max: 1 }, 0, []],
    [{ type: "number", min: 0, max: 1 }, -0.1, ["too_small"]],
    [{ type: "integer", max: 1 }, 2, ["too_big"]],
    [{ type: "date", min: "2026-01-02" }, "2026-01-01", ["too_small"]],
    [{ type: "decimal", scale: 2, min: "9.5", max: 10 }, "9.49", ["too_small"]],
    [{ type: "decimal", scale: 2, min: "9.5", max: 10 }, "10.00", []],
    [{ type: "decimal", scale: 2, min: "-10", max: "-9.5" }, "-10.01", ["too_small"]],
    [{ type: "time", min: "09:00", max: "17:00" }, "08:59:59", ["too_small"]],
    [{ type: "time", max: "17:00:00" }, "17:00", []],
    [{ type: "email", pattern: "@example\\.org$" }, "ann@example.com", ["pattern"]],
    [{ type: "url", pattern: "^https:" }, "http://example.org", ["pattern"]],
    [{ type: "datetime", max: "2026-01-01T00:00:00+01:00" }, "2025-12-31T23:00:00.000Z", []],
    [{ type: "datetime", max: "2026-01-01T00:00:00+01:00" }, "2025-12-31T23:00:00.001Z", ["too_big"]],
  ])("%j for %j reports %j", (definition, value, expected) => {
    expect(codes(definition, value)).toEqual(expected);
  });
});

test("matches patterns without exponential backtracking", () => {
  const compiled = compilePattern("^(a+)+$");
  if (typeof compiled === "string") throw new Error(compiled);
  expect(compiled.test(`${"a".repeat(5_000)}!`)).toBe(false);
  expect(compilePattern("^(a+)+$")).toBe(compiled);
});

describe("text, tokens and order", () => {
  test.each<[FieldDefinition["type"], string, unknown]>([
    ["string", "", ""],
    ["number", "1.50", 1.5],
    ["number", "-2e3", -2000],
    ["number", "0x10", undefined],
    ["number", "", undefined],
    ["number", " 1", undefined],
    ["number", "1e999", undefined],
    ["integer", "1.0", 1],
    ["integer", "1.5", undefined],
    ["boolean", "true", true],
    ["boolean", "1", undefined],
    ["date", "2026-02-30", undefined],
    ["datetime", "2026-01-01T01:00:00+01:00", "2026-01-01T00:00:00.000Z"],
    ["time", "09:30:00", "09:30"],
    ["time", "noon", undefined],
    ["decimal", "12.500", "12.5"],
    ["decimal", "1e3", undefined],
    ["reference", "x y", undefined],
    ["json", "{}", undefined],
  ])("%s reads the query text %j", (type, text, expected) => {
    expect(FIELD_TYPES[type].fromText(text)).toEqual(expected);
  });

  test("tokens differ by type and value", () => {
    const tokens = [
      FIELD_TYPES.string.token("1"),
      FIELD_TYPES.number.token(1),
      FIELD_TYPES.boolean.token(true),
      FIELD_TYPES.string.token("true"),
      FIELD_TYPES.date.token("2026-01-01"),
    ];
    expect(new Set(tokens).size).toBe(tokens.length);
    expect(FIELD_TYPES.integer.token(1)).toBe(FIELD_TYPES.number.token(1));
    expect(FIELD_TYPES.json.token({})).toBeNull();
  });

  test("values sort naturally", () => {
    const sorted = (type: FieldDefinition["type"], values: (string | number | boolean)[]) =>
      [...values].sort(FIELD_TYPES[type].compare);
    expect(sorted("number", [10, 9, -1])).toEqual([-1, 9, 10]);
    expect(sorted("boolean", [true, false])).toEqual([false, true]);
    expect(sorted("date", ["2026-02-01", "2025-12-31"])).toEqual(["2025-12-31", "2026-02-01"]);
  });

  test("every type has a JSON Schema", () => {
    for (const type of Object.values(FIELD_TYPES)) {
      expect(type.jsonSchema({ name: "x", type: type.name, ref: "a/b/c" })).toBeTypeOf("object");
    }
    expect(
      FIELD_TYPES.string.jsonSchema({ name: "x", type: "string", min: 1, max: 5, pattern: "a" }),
    ).toEqual({
      type: "string",
      minLength: 1,
      maxLength: 5,
      pattern: "a",
    });
  });
});
