/** Fields that forms show only under a condition: they are not required while it is not met. */
import { expect, it } from "vitest";
import { validateValues } from "../../shared/definition/validate.ts";
import { neededFaults } from "../../shared/entry/values/needed.ts";
import { definition } from "../support/entries.ts";
import { fileAdmin } from "../support/file-admin.ts";

const { as } = await fileAdmin();

const parcel = { "==": [{ var: "kind" }, "parcel"] };
const FIELDS = [
  { name: "kind", type: "string", enum: ["parcel", "download"], translatable: false },
  { name: "title", type: "string", translatable: true },
  { name: "secret", type: "string", sensitive: true },
  {
    name: "weight",
    type: "decimal",
    scale: 3,
    required: true,
    showIf: parcel,
    group: "Delivery",
    width: "half",
  },
  { name: "note", type: "string", required: true, showIf: { "==": [{ var: "title" }, "Noted"] } },
  { name: "never", type: "string", required: true, showIf: { "!!": [{ var: "secret" }] } },
  { name: "broken", type: "string", required: true, showIf: { ">": [{ "+": [{ var: "title" }] }, 1] } },
];

const document = (id: string, fields: object[]) => ({
  id,
  languages: ["en", "de"],
  modules: [{ id: "shop", type: "CONTENT", schemas: [{ id: "item", access: { read: ["public"] }, fields }] }],
});

it("requires a field only while its rule is met", async () => {
  const made = await as("POST", "/api/admin/orbs?publish=true", document("conditions", FIELDS));
  expect(made.status, JSON.stringify(made.body)).toBe(201);
  const write = async (values: object) => {
    const { status, body } = await as("POST", "/api/conditions/shop?publish=true", { values });
    return [
      status,
      ...(body.errors ?? []).map(({ path, code }: { path: string; code: string }) => `${path} ${code}`),
    ];
  };
  const rest = { broken: "x" };
  expect(await write({ kind: "download", ...rest })).toEqual([201]);
  expect(await write({ kind: "parcel", ...rest })).toEqual([422, "/values/weight required"]);
  expect(await write({ kind: "parcel", weight: "1.5", ...rest })).toEqual([201]);
  expect(await write({ title: { de: "Noted" }, ...rest })).toEqual([201]);
  expect(await write({ title: { en: "Noted" }, ...rest })).toEqual([422, "/values/note required"]);
  // A rule reads no sensitive value, and the other faults of a hidden field stay.
  expect(await write({ secret: "x", ...rest })).toEqual([201]);
  expect(await write({ kind: "download", weight: "x", ...rest })).toEqual([422, "/values/weight format"]);
});

const object = { ">": [{ var: "count" }, 1] };
const NESTED = [
  { name: "kind", type: "string" },
  { name: "secret", type: "object", fields: [{ name: "pin", type: "string", sensitive: true }] },
  {
    name: "lines",
    type: "object",
    list: true,
    fields: [
      { name: "count", type: "integer" },
      { name: "reason", type: "string", required: true, showIf: object },
      { name: "box", type: "string", required: true, showIf: { "==": [{ var: "_entry.kind" }, "parcel"] } },
      { name: "pin", type: "string", required: true, showIf: { "!!": [{ var: "_entry.secret.pin" }] } },
      { name: "name", type: "string", translatable: true },
      { name: "sign", type: "string", required: true, showIf: { "==": [{ var: "name" }, "Sign"] } },
      {
        name: "label",
        type: "string",
        required: true,
        showIf: { "==": [{ var: "_entry.lines.0.name" }, "First"] },
      },
    ],
  },
  {
    name: "extra",
    type: "object",
    showIf: { "==": [{ var: "kind" }, "parcel"] },
    fields: [
      { name: "size", type: "integer", required: true },
      { name: "note", type: "string" },
    ],
  },
  { name: "blocks", type: "blocks", components: ["quote"], showIf: { "==": [{ var: "kind" }, "parcel"] } },
];

it.each<[string, object, string[]]>([
  ["the rule of the object is not met", { lines: [{ count: 1 }] }, []],
  [
    "the rule of the object is met",
    { lines: [{ count: 1 }, { count: 2 }] },
    ["/values/lines/1/reason required"],
  ],
  ["the rule of the entry is met", { kind: "parcel", lines: [{}] }, ["/values/lines/0/box required"]],
  ["the rule reads a sensitive value", { secret: { pin: "1" }, lines: [{}] }, []],
  [
    "the rule reads a translated value",
    {
      lines: [
        { name: { en: "First", de: "Erste" }, label: "x" },
        { name: { en: "Sign" }, label: "x" },
      ],
    },
    ["/values/lines/1/sign required"],
  ],
  [
    "the rule reads a translated value of another object",
    { lines: [{ name: { en: "First" }, label: "x" }, { name: { de: "Sign" } }] },
    ["/values/lines/1/label required"],
  ],
  ["the object is hidden", { extra: { note: "x" } }, []],
  ["the object is shown", { kind: "parcel", extra: { note: "x" } }, ["/values/extra/size required"]],
  ["what lacks is no field", { blocks: [{ text: "x" }] }, ["/values/blocks/0/_type required"]],
])("requires a field inside an object only while its rule is met: %s", (_, values, faults) => {
  const orb = definition({
    id: "inside",
    languages: ["en", "de"],
    components: [{ id: "quote", fields: [{ name: "text", type: "string" }] }],
    modules: [{ id: "shop", type: "CONTENT", schemas: [{ id: "item", fields: NESTED as never }] }],
  });
  const schema = orb.compiled.schema("shop");
  if (schema === undefined) throw new Error("the schema is missing");
  const found = neededFaults({ now: () => 0 }, schema, validateValues(schema, values));
  expect(found.map(({ path, code }) => `${path} ${code}`)).toEqual(faults);
});

it("shows the attributes to programs that build forms", async () => {
  const { body } = await as("GET", "/api/discovery?orb=conditions");
  expect(body.orbs[0].modules[0].schemas[0].fields[3]).toMatchObject({
    required: true,
    showIf: parcel,
    group: "Delivery",
    width: "half",
  });
  const openapi = JSON.stringify((await as("GET", "/api/openapi?orb=conditions")).body);
  expect(openapi).not.toContain('"required":["weight"');
});

it.each([
  [{ type: "string", showIf: { like: [1] } }, "showIf/like", "unknown_operator"],
  [{ type: "string", showIf: "kind" }, "showIf", "rule"],
  [{ type: "boolean", placeholder: "x" }, "placeholder", "not_applicable"],
  [{ type: "string", width: "quarter" }, "width", "enum"],
  [{ type: "string", group: "" }, "group", "too_short"],
])("refuses %j", async (field, path, code) => {
  const { status, body } = await as("POST", "/api/admin/orbs", document("wrong", [{ name: "v", ...field }]));
  expect([status, body.errors.map((one: { path: string; code: string }) => [one.path, one.code])]).toEqual([
    422,
    [[`/modules/0/schemas/0/fields/0/${path}`, code]],
  ]);
});
