import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { checkDocument } from "../../shared/definition/check/check.ts";
import { type CompiledSchema, compileOrb } from "../../shared/definition/compile.ts";
import { valuesSchema } from "../../shared/definition/describe.ts";
import type { FieldDefinition } from "../../shared/definition/document/document.ts";
import { homeKey, homeOf } from "../../shared/definition/document/home.ts";
import { MASK } from "../../shared/definition/document/text.ts";
import { compiled } from "../../shared/definition/stored/compiled.ts";
import { type ValidateOptions, validateValues } from "../../shared/definition/validate.ts";
import { leavesOf, referenceTargets } from "../../shared/definition/walk.ts";

const shop = checkDocument(
  JSON.parse(readFileSync(new URL("../../scripts/examples/shop.json", import.meta.url), "utf8")),
).document;

function schemaOf(fields: FieldDefinition[]): CompiledSchema {
  const { document } = checkDocument({
    id: "shop",
    languages: ["en", "de"],
    markets: ["US", "EU"],
    modules: [{ id: "m", type: "CONTENT", schemas: [{ id: "s", fields }] }],
  });
  const schema = compileOrb(document).schema("m", "s");
  if (schema === undefined) throw new Error("no schema");
  return schema;
}

function check(fields: FieldDefinition[], input: unknown, options: ValidateOptions = {}) {
  const { values, masked, faults } = validateValues(schemaOf(fields), input, options);
  return {
    values,
    masked,
    faults: faults.map((fault) => `${fault.path.replace("/values", "")} ${fault.code}`),
  };
}

const cases: [string, FieldDefinition[], unknown, object, string[]][] = [
  ["plain values", [{ name: "a", type: "string" }], { a: "x" }, { a: "x" }, []],
  ["a field left out", [{ name: "a", type: "string" }], {}, {}, []],
  ["null is no value", [{ name: "a", type: "string" }], { a: null }, {}, []],
  [
    "unknown fields",
    [{ name: "a", type: "string" }],
    { b: 1, "c/d": 2 },
    {},
    ["/b unknown_property", "/c~1d unknown_property"],
  ],
  [
    "the prototype",
    [{ name: "a", type: "string" }],
    JSON.parse('{"__proto__":{"a":"x"}}'),
    {},
    ["/__proto__ unknown_property"],
  ],
  ["no object", [{ name: "a", type: "string" }], [], {}, [" type"]],
  ["a default", [{ name: "a", type: "integer", default: 3 }], {}, { a: 3 }, []],
  ["null instead of the default", [{ name: "a", type: "integer", default: 3 }], { a: null }, { a: null }, []],
  [
    "a map of nothing instead of the default",
    [
      { name: "a", type: "integer", default: 3, marketSpecific: true },
      { name: "b", type: "string", default: "x", translatable: true },
    ],
    { a: {}, b: { en: null } },
    { a: null, b: null },
    [],
  ],
  [
    "a default for the default language and market",
    [{ name: "a", type: "string", default: "x", translatable: true, marketSpecific: true }],
    {},
    { a: { US: { en: "x" } } },
    [],
  ],
  ["required", [{ name: "a", type: "string", required: true }], {}, {}, ["/a required"]],
  [
    "required, null",
    [{ name: "a", type: "string", required: true, default: "x" }],
    { a: null },
    { a: null },
    ["/a required"],
  ],
  [
    "required, empty text",
    [{ name: "a", type: "string", required: true }],
    { a: "" },
    { a: "" },
    ["/a required"],
  ],
  [
    "required, empty list",
    [{ name: "a", type: "string", required: true, list: true }],
    { a: [] },
    { a: [] },
    ["/a required"],
  ],
  [
    "required, wrong type: one fault",
    [{ name: "a", type: "string", required: true }],
    { a: 1 },
    {},
    ["/a type"],
  ],
  [
    "required, falsy values",
    [
      { name: "a", type: "integer", required: true },
      { name: "b", type: "boolean", required: true },
    ],
    { a: 0, b: false },
    { a: 0, b: false },
    [],
  ],
  [
    "required in the default language",
    [{ name: "a", type: "string", required: true, translatable: true }],
    { a: { de: "x" } },
    { a: { de: "x" } },
    ["/a/en required"],
  ],
  [
    "required, translatable, missing",
    [{ name: "a", type: "string", required: true, translatable: true }],
    {},
    {},
    ["/a/en required"],
  ],
  [
    "required, translatable, not a map",
    [{ name: "a", type: "string", required: true, translatable: true }],
    { a: "x" },
    {},
    ["/a type"],
  ],
  [
    "required, wrong type in the default language",
    [{ name: "a", type: "string", required: true, translatable: true }],
    { a: { en: 1 } },
    {},
    ["/a/en type"],
  ],
  [
    "a map by language",
    [{ name: "a", type: "string", translatable: true }],
    { a: { en: "x", de: null } },
    { a: { en: "x" } },
    [],
  ],
  [
    "an unknown language",
    [{ name: "a", type: "string", translatable: true }],
    { a: { en: "x", fr: "y" } },
    { a: { en: "x" } },
    ["/a/fr unknown_language"],
  ],
  [
    "the prototype as a language",
    [{ name: "a", type: "string", translatable: true }],
    JSON.parse('{"a":{"__proto__":"x"}}'),
    {},
    ["/a/__proto__ unknown_language"],
  ],
  ["an empty map", [{ name: "a", type: "string", translatable: true }], { a: {} }, {}, []],
  [
    "a map by market",
    [{ name: "a", type: "number", marketSpecific: true }],
    { a: { US: 1, EU: 2 } },
    { a: { US: 1, EU: 2 } },
    [],
  ],
  [
    "market, then language",
    [{ name: "a", type: "string", marketSpecific: true, translatable: true }],
    { a: { US: { en: "x" }, EU: { fr: "y" }, XX: {} } },
    { a: { US: { en: "x" } } },
    ["/a/EU/fr unknown_language", "/a/XX unknown_market"],
  ],
  [
    "lists",
    [{ name: "a", type: "integer", list: true, min: 2 }],
    { a: [1, "x", 3] },
    { a: [1, 3] },
    ["/a/0 too_small", "/a/1 type"],
  ],
  ["a list of lists is none", [{ name: "a", type: "string", list: true }], { a: "x" }, {}, ["/a type"]],
  ["null in a list", [{ name: "a", type: "string", list: true }], { a: [null] }, { a: [] }, ["/a/0 type"]],
  [
    "too many items",
    [{ name: "a", type: "integer", list: true }],
    { a: Array.from({ length: 1001 }, () => 1) },
    {},
    ["/a too_many"],
  ],
  [
    "translatable lists",
    [{ name: "a", type: "string", list: true, translatable: true }],
    { a: { en: ["x", 1] } },
    { a: { en: ["x"] } },
    ["/a/en/1 type"],
  ],
  ["enum", [{ name: "a", type: "string", enum: ["x"] }], { a: "y" }, { a: "y" }, ["/a enum"]],
  [
    "enum of moments compares moments",
    [{ name: "a", type: "datetime", enum: ["2026-01-01T00:00:00Z"] }],
    { a: "2026-01-01T01:00:00+01:00" },
    { a: "2026-01-01T00:00:00.000Z" },
    [],
  ],
  ["faults inside JSON", [{ name: "a", type: "json" }], { a: { b: ["\u0000"] } }, {}, ["/a/b/0 text"]],
  [
    "everything at once",
    [
      { name: "a", type: "string", max: 1, pattern: "^x" },
      { name: "b", type: "date" },
      { name: "c", type: "number", required: true },
    ],
    { a: "yy", b: "2026-02-30", z: 1 },
    {},
    ["/a pattern", "/a too_long", "/b format", "/c required", "/z unknown_property"],
  ],
];

test.each(cases)("validates values: %s", (_name, fields, input, values, faults) => {
  const result = check(fields, input);
  expect(result.faults.sort()).toEqual(faults);
  if (faults.length === 0 || Object.keys(values).length > 0) expect(result.values).toEqual(values);
});

test("error paths start at the given base", () => {
  const schema = schemaOf([{ name: "a", type: "string" }]);
  expect(validateValues(schema, { a: 1 }, { base: "" }).faults.map((fault) => fault.path)).toEqual(["/a"]);
});

describe("mask", () => {
  const secret: FieldDefinition = { name: "a", type: "string", sensitive: true, max: 3 };

  test("is valid only in place of a stored value, and its position is reported", () => {
    expect(check([secret], { a: MASK }).faults).toEqual(["/a mask"]);
    expect(check([secret], { a: MASK }, { existing: {} }).faults).toEqual(["/a mask"]);
    expect(check([secret], { a: MASK }, { existing: { a: { $sealed: "x" } } })).toEqual({
      values: { a: MASK },
      masked: [["a"]],
      faults: [],
    });
  });

  test("stands for the value of one market and language", () => {
    const field: FieldDefinition = { ...secret, translatable: true, marketSpecific: true };
    const existing = { a: { US: { en: { $sealed: "x" } } } };
    expect(check([field], { a: { US: { en: MASK, de: "new" } } }, { existing })).toEqual({
      values: { a: { US: { en: MASK, de: "new" } } },
      masked: [["a", "US", "en"]],
      faults: [],
    });
    expect(check([field], { a: { US: { de: MASK }, EU: { en: MASK } } }, { existing }).faults).toEqual([
      "/a/US/de mask",
      "/a/EU/en mask",
    ]);
  });

  test("stands for a whole list, and satisfies required", () => {
    const field: FieldDefinition = { ...secret, list: true, required: true };
    expect(check([field], { a: MASK }, { existing: { a: { $sealed: "x" } } }).faults).toEqual([]);
  });

  test("is an ordinary text in other fields", () => {
    expect(check([{ name: "a", type: "string" }], { a: MASK }).faults).toEqual([]);
  });
});

describe("compiled orbs", () => {
  const orb = compileOrb(shop);

  test("find a schema by module and schema id, or by module id if it has only one", () => {
    expect(orb.schema("catalog", "product")?.id).toBe("product");
    expect(orb.schema("news")?.id).toBe("article");
    expect(orb.schema("news", "article")?.id).toBe("article");
    expect(orb.schema("catalog")).toBeUndefined();
    expect(orb.schema("nothing")).toBeUndefined();
    expect(orb.schema("catalog", "constructor")).toBeUndefined();
    expect(orb.byHome.get(homeKey(homeOf("CONTENT", "review")))?.module).toBe("reviews");
  });

  test("have default access", () => {
    const admins = { least: "admin", own: false, roles: [], handlers: [] };
    const writes = { create: admins, update: admins, publish: admins, delete: admins };
    const everyone = { least: "public", own: false, roles: [], handlers: [] };
    expect(orb.schema("catalog", "product")?.access).toEqual({ read: everyone, ...writes });
    expect(orb.schema("orders")?.access).toEqual({
      read: { least: "admin", own: true, roles: [], handlers: [] },
      ...writes,
    });
    expect(orb.schema("orders")?.liveRole).toBe("admin");
    expect(orb.schema("discounts")?.access).toEqual({ read: admins, ...writes });
  });

  test("list the fields with special attributes", () => {
    const names = (fields: readonly { name: string }[] | undefined) => fields?.map((field) => field.name);
    const product = orb.schema("catalog", "product");
    expect(names(product?.unique)).toEqual(["sku"]);
    expect(names(product?.indexed)).toEqual(["sku", "category", "condition", "available"]);
    expect(names(product?.sensitive)).toEqual(["supplierNote"]);
    expect(names(product?.translatable)).toEqual(["title", "body", "offer"]);
    expect(names(product?.marketSpecific)).toEqual(["price", "offer"]);
    expect(names(product?.references)).toEqual(["category"]);
    expect(product?.fields.get("supplierNote")?.operators).toEqual([]);
    expect(product?.fields.get("tags")?.operators).toEqual(["contains", "null"]);
    expect(product?.fields.get("tags")?.sortable).toBe(false);
  });

  test("have handlers, session lifetime and realm", () => {
    expect(orb.handlers.get("evaluate")).toBe("rules.evaluate");
    expect(orb.sessionTtl).toBe(86_400);
    expect(orb.usesAccess).toBe(true);
    expect(orb.defaultLanguage).toBe("en");
    expect(orb.defaultMarket).toBe("US");
  });

  test("are cached by orb and revision, but only for the same document", () => {
    const first = compiled("shop", 1, shop);
    expect(compiled("shop", 1, structuredClone(shop))).toBe(first);
    expect(compiled("shop", 2, shop)).not.toBe(first);
    const other = { ...shop, name: "Other" };
    expect(compiled("shop", 1, other).document.name).toBe("Other");
    for (let revision = 100; revision < 200; revision++) compiled("shop", revision, shop);
    expect(compiled("shop", 1, other).document.name).toBe("Other");
  });

  test("describe their values as JSON Schema", () => {
    const article = orb.schema("news");
    if (article === undefined) throw new Error("no schema");
    const whole = valuesSchema(article, { use: "new", locales: "all", named: true });
    expect(whole).toMatchObject({ type: "object", required: ["headline"], additionalProperties: false });
    expect(Object.keys(whole.properties ?? {})).toEqual(["headline", "body", "products", "publishedOn"]);
    expect(valuesSchema(article, { use: "change", locales: "all", named: true }).required).toBeUndefined();
  });
});

test("iterates stored values by market and language", () => {
  const schema = schemaOf([
    { name: "sku", type: "string", unique: true, translatable: true, marketSpecific: true },
    { name: "parent", type: "reference", ref: "shop/m/s", list: true },
    { name: "odd", type: "string", translatable: true },
  ]);
  const values = {
    sku: { US: { en: "a", de: "a" }, EU: { en: "a" } },
    parent: ["0a", "0b", "0a"],
    odd: "from before it was translatable",
  };
  const [sku, parent, odd] = ["sku", "parent", "odd"].map((name) => schema.fields.get(name));
  if (sku === undefined || parent === undefined || odd === undefined) throw new Error("no field");
  expect(leavesOf(sku, values).map(({ market, language, value }) => [market, language, value])).toEqual([
    ["US", "en", "a"],
    ["US", "de", "a"],
    ["EU", "en", "a"],
  ]);
  expect(referenceTargets(parent, values)).toEqual(["0a", "0b"]);
  expect(leavesOf(odd, values)).toEqual([]);
});
