import { Validator } from "@seriousme/openapi-schema-validator";
import { expect, test } from "vitest";
import { toOpenApi } from "../../functions/discovery/json-schema.ts";
import { compileSchema } from "../../shared/definition/compile.ts";
import { type ValuesForm, valuesSchema } from "../../shared/definition/describe.ts";
import type { FieldDefinition } from "../../shared/definition/document/document.ts";
import { exampleValues } from "../../shared/definition/example.ts";
import { validateValues } from "../../shared/definition/validate.ts";
import { compileJsonSchema } from "../../shared/handlers/schema/json-schema.ts";

test.each([
  [
    { type: ["string", "null"], maxLength: 3 },
    { type: "string", nullable: true, maxLength: 3 },
  ],
  [{ const: 7 }, { enum: [7] }],
  [
    { type: "number", exclusiveMinimum: 0, maximum: 9 },
    { type: "number", minimum: 0, exclusiveMinimum: true, maximum: 9 },
  ],
  [{ type: "array" }, { type: "array", items: {} }],
  [
    { type: "array", prefixItems: [{}], items: { type: "string" } },
    { type: "array", items: {} },
  ],
  [{ type: ["string", "number"] }, { anyOf: [{ type: "string" }, { type: "number" }] }],
  [{ type: "null" }, { type: "string", nullable: true, enum: [null] }],
  [
    {
      type: ["object", "string", "string", "integer", "null"],
      description: "Several",
      properties: { a: {} },
      maxLength: 3,
      minimum: 1,
      anyOf: [{ type: "string" }, { minProperties: 1 }],
      allOf: [{ maxLength: 2 }],
      not: { type: "number" },
    },
    {
      description: "Several",
      not: { type: "number" },
      allOf: [{ maxLength: 2 }, { anyOf: [{ type: "string" }, { minProperties: 1 }] }],
      anyOf: [
        { type: "object", properties: { a: {} }, nullable: true },
        { type: "string", maxLength: 3, nullable: true },
        { type: "integer", minimum: 1, nullable: true },
      ],
    },
  ],
  [true, {}],
  [false, { not: {} }],
  [{ type: "string", pattern: "(?i)abc" }, { type: "string" }],
  [
    { type: "object", required: [], $schema: "x", if: {}, unevaluatedProperties: false },
    { type: "object", additionalProperties: true },
  ],
  [
    { type: "string", examples: ["a", "b"] },
    { type: "string", example: "a" },
  ],
])("converts the handler schema %j to %j", (source, expected) => {
  expect(toOpenApi(source, "shop.quote.Input").schema).toEqual(expected);
});

test("does not duplicate nested parts, so that a short schema stays short", () => {
  const type = ["object", "array", "string", "number", "boolean"];
  let source: object = { type: "string" };
  for (let level = 0; level < 14; level++)
    source = { type, properties: { a: source }, items: { type, anyOf: [{ type, not: { type: "null" } }] } };
  expect(compileJsonSchema(source)).toBeTypeOf("function");
  expect(JSON.stringify(toOpenApi(source, "x").schema).length).toBeLessThan(20_000);
});

test("turns definitions into components, even recursive ones", async () => {
  const { schema, schemas } = toOpenApi(
    {
      type: "object",
      properties: { tree: { $ref: "#/$defs/node" }, self: { $ref: "#" } },
      $defs: {
        node: {
          type: "object",
          properties: { children: { type: "array", items: { $ref: "#/$defs/node" } } },
        },
      },
    },
    "shop.quote.Input",
  );
  const document = {
    openapi: "3.0.3",
    info: { title: "x", version: "1" },
    paths: {},
    components: { schemas: { ...schemas, "shop.quote.Input": schema } },
  };
  expect((await new Validator().validate(document)).errors).toBeUndefined();
  expect(schema).toMatchObject({
    properties: {
      tree: { $ref: "#/components/schemas/shop.quote.Input.node" },
      self: { $ref: "#/components/schemas/shop.quote.Input" },
    },
  });
});

test("resolves references however they are escaped, and leaves none dangling", () => {
  const { schema, schemas } = toOpenApi(
    {
      type: "object",
      properties: {
        slash: { $ref: "#/$defs/a~1b" },
        generic: { $ref: "#/$defs/Page%3CItem%3E" },
        space: { $ref: "#/$defs/c%20d" },
        underscore: { $ref: "#/$defs/c_d" },
        older: { $ref: "#/definitions/c_d" },
      },
      $defs: {
        "a/b": { type: "string" },
        "Page<Item>": { type: "integer" },
        "c d": { type: "number" },
        c_d: { type: "boolean" },
        // Unused, so the compiler never checked its references.
        unused: { anyOf: [{ $ref: "#/$defs/%zz" }, { $ref: "#/$defs/none" }] },
      },
      definitions: { c_d: { type: "array", items: {} } },
    },
    "shop.quote.Input",
  );
  const told = Object.entries(schema.properties as Record<string, { $ref: string }>).map(
    ([name, { $ref }]) => [name, schemas[$ref.replace("#/components/schemas/", "")]?.type],
  );
  expect(Object.fromEntries(told)).toEqual({
    slash: "string",
    generic: "integer",
    space: "number",
    underscore: "boolean",
    older: "array",
  });
  expect(schemas["shop.quote.Input.unused"]).toEqual({ anyOf: [{}, {}] });
});

test.each([
  [{ enum: [] }, {}],
  [{ required: ["a", "b", "a"] }, { required: ["a", "b"] }],
  [{ multipleOf: 0, minLength: -1, maxItems: 1.5 }, {}],
  [{ title: 5, description: {}, deprecated: "yes", readOnly: 1 }, {}],
  [{ type: "any", minLength: 1 }, { minLength: 1 }],
  [{ not: { enum: [] } }, {}],
  [{ not: { type: "any", enum: ["a"] } }, {}],
  [{ maximum: Number("1e400"), exclusiveMinimum: Number("-1e400"), maxLength: Number("1e400") }, {}],
])("drops from %j what validators accept and OpenAPI does not", async (source, expected) => {
  // Such a schema comes from a service, and would make the platform's whole document invalid.
  expect(compileJsonSchema(source)).toBeInstanceOf(Function);
  const { schema } = toOpenApi(source, "x");
  expect(schema).toEqual(expected);
  const document = {
    openapi: "3.0.3",
    info: { title: "x", version: "1" },
    paths: {},
    components: { schemas: { schema } },
  };
  expect((await new Validator().validate(JSON.parse(JSON.stringify(document)))).errors).toBeUndefined();
});

test("turns oneOf into anyOf if a part had to be widened", () => {
  const card = { required: ["card"], not: { required: ["cash"] } };
  const oneOf = [card, { required: ["cash"] }];
  const told = [{ required: ["card"] }, { required: ["cash"] }];
  expect(toOpenApi({ oneOf }, "x").schema).toEqual({ anyOf: told });
  expect(
    toOpenApi(
      { anyOf: [{ type: "object", additionalProperties: true }], oneOf, allOf: [{ minProperties: 1 }] },
      "x",
    ).schema,
  ).toEqual({
    anyOf: [{ type: "object", additionalProperties: true }],
    allOf: [{ minProperties: 1 }, { anyOf: told }],
  });
});

const base = { id: "shop", languages: ["en", "de"], markets: ["US"] };
const schemaOf = (fields: FieldDefinition[]) =>
  compileSchema(base, { id: "m", type: "CONTENT" }, { id: "s", fields });

test("shows only valid example values, or none", () => {
  const fields: FieldDefinition[] = [
    { name: "a", type: "string", translatable: true, marketSpecific: true, required: true, min: 12 },
    { name: "b", type: "integer", min: 100 },
    { name: "since", type: "integer", min: 1_000_000_000 },
    { name: "long", type: "text", min: 1_000_000_000 },
    { name: "short", type: "string", max: 3 },
    { name: "c", type: "string", enum: ["x", "y"], list: true },
    { name: "d", type: "number", default: 3, marketSpecific: true },
    { name: "e", type: "string", pattern: "^[A-Z]{4}-\\d+$" },
    { name: "f", type: "date", list: true },
    { name: "g", type: "boolean", sensitive: true },
    { name: "h", type: "reference", ref: "shop/m/s" },
    { name: "i", type: "string", list: true, default: ["p", "q"], translatable: true },
  ];
  const schema = schemaOf(fields);
  const values = exampleValues(schema);
  expect(values).toMatchObject({ since: 1_000_000_000, short: "xxx" });
  expect(values).not.toHaveProperty("long");
  expect(values).toMatchObject({ a: { US: { en: expect.any(String) } }, c: ["x"], i: { en: ["p", "q"] } });
  expect(validateValues(schema, values).faults).toEqual([]);
  const impossible = schemaOf([{ name: "e", type: "string", required: true, pattern: "^[A-Z]{4}-\\d+$" }]);
  expect(exampleValues(impossible)).toBeUndefined();
});

const described = (fields: FieldDefinition[], use: ValuesForm["use"], more: Partial<ValuesForm> = {}) =>
  valuesSchema(schemaOf(fields), { use, locales: "one", named: true, ...more });
const mask = { type: "string", enum: ["••••••••"] };

test("describes a sensitive value as its mask in responses, and accepts the mask in changes", () => {
  const pin: FieldDefinition = { name: "pin", type: "integer", sensitive: true, min: 0, required: true };
  const value = { type: "integer", minimum: 0, maximum: 9007199254740991 };
  expect(described([pin], "answer")).toMatchObject({ properties: { pin: mask }, required: ["pin"] });
  expect(described([pin], "answer", { revealed: true })).toMatchObject({
    properties: { pin: { anyOf: [value, mask] } },
  });
  expect(described([pin], "change")).toMatchObject({
    properties: { pin: { anyOf: [{ ...value, nullable: true }, { nullable: true }] } },
  });
  expect(described([pin], "new")).toMatchObject({ properties: { pin: value }, required: ["pin"] });
});

test("requires in responses what new entries need, unless the caller may not see it", () => {
  const fields: FieldDefinition[] = [
    { name: "title", type: "string", required: true, translatable: true, marketSpecific: true },
    { name: "state", type: "string", required: true, default: "new" },
    { name: "cost", type: "number", required: true, access: { read: ["admin"] } },
    { name: "tags", type: "string", list: true, required: true },
    { name: "note", type: "text" },
  ];
  expect(described(fields, "answer")).toMatchObject({
    required: ["title", "state", "tags"],
    properties: {
      title: { type: "string", minLength: 1, maxLength: 10_000 },
      tags: { type: "array", minItems: 1, maxItems: 1_000 },
      note: { nullable: true },
    },
  });
  expect(described(fields, "new").required).toEqual(["title", "cost", "tags"]);
  expect(described(fields, "change").required).toBeUndefined();
  expect(described(fields, "partial").required).toBeUndefined();
  const { title } = described(fields, "answer", { locales: "all" }).properties as Record<string, object>;
  expect(title).toMatchObject({
    type: "object",
    required: ["US"],
    additionalProperties: false,
    properties: { US: { required: ["en"], properties: { en: { minLength: 1 }, de: { nullable: true } } } },
  });
});

test("describes maps with any key, if the names would take too much space", () => {
  const field: FieldDefinition = { name: "title", type: "string", required: true, translatable: true };
  expect(described([field], "new", { locales: "all", named: false }).properties).toMatchObject({
    title: {
      required: ["en"],
      properties: { en: { minLength: 1 } },
      additionalProperties: { type: "string" },
    },
  });
});

test.each([
  ["^[a-z]+$", true],
  ["\\\\p", true],
  ["^\\p{L}+$", false],
  ["^(?i)lamp$", false],
  ["[[:alpha:]]", false],
  ["(?P<year>\\d{4})", false],
  ["(?<year>\\d{4})", false],
  ["^[🙂]$", false],
  ["\\Alamp\\z", false],
])("describes the pattern %s only if every reader understands it: %s", (pattern, portable) => {
  const { sku } = described([{ name: "sku", type: "string", pattern }], "new").properties as {
    [name: string]: { pattern?: string; description?: string };
  };
  expect(sku?.pattern).toBe(portable ? pattern : undefined);
  expect(sku?.description ?? "").toBe(portable ? "" : `Matches the RE2 pattern ${pattern}`);
  expect(toOpenApi({ type: "string", pattern }, "x").schema.pattern).toBe(portable ? pattern : undefined);
});
