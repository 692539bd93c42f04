/** Documents with objects, blocks and components: what is accepted, and how changes of them affect entries. */
import { describe, expect, test } from "vitest";
import { checkDocument } from "../../shared/definition/check/check.ts";
import { compareDefinitions } from "../../shared/definition/compat.ts";
import { homeKey, homeOf } from "../../shared/definition/document/home.ts";
import { compareRetired, retiredAfter } from "../../shared/definition/retired.ts";
import { fieldCells } from "../../shared/rows/columns.ts";
import { cellsOfHead, openTable, rowOf } from "../../shared/rows/table.ts";
import { entryCells, headLine, tableLine } from "../../shared/rows/write.ts";
import { type Bag, faults, withFields } from "../support/documents.ts";

const text = { name: "text", type: "string" };
const at = "/modules/0/schemas/0/fields/0";
const object = (more: Bag) => withFields([{ name: "x", type: "object", ...more }]);
const components = (all: Record<string, unknown[]>) => ({
  components: Object.entries(all).map(([id, fields]) => ({ id, fields })),
});
const blocks = (all: Record<string, unknown[]>, used = Object.keys(all)) =>
  withFields([{ name: "x", type: "blocks", components: used }], components(all));

describe("documents", () => {
  test.each<[string, unknown, string[]]>([
    ["an object without fields", object({}), [`${at}/fields required`]],
    ["no fields in an object", object({ fields: [] }), [`${at}/fields too_few`]],
    ["an unknown component", object({ component: "no" }), [`${at}/component unknown_component`]],
    ["fields of a text", withFields([{ ...text, fields: [text] }]), [`${at}/fields not_applicable`]],
    ["blocks without components", withFields([{ name: "x", type: "blocks" }]), [`${at}/components required`]],
    ["a default of an object", object({ fields: [text], default: {} }), [`${at}/default not_applicable`]],
    ["a secret object", object({ fields: [text], sensitive: true }), [`${at}/sensitive not_applicable`]],
    [
      "an unknown role inside",
      object({ fields: [{ ...text, access: { read: ["admin", "nobody"] } }] }),
      [`${at}/fields/0/access/read/1 unknown_role`],
    ],
    ["a name twice", object({ fields: [text, text] }), [`${at}/fields/1/name duplicate`]],
    ["a wrong field", object({ fields: [{ ...text, min: -1 }] }), [`${at}/fields/0/min bounds`]],
    [
      "unique in a list",
      object({ list: true, fields: [{ ...text, unique: true }] }),
      [`${at}/fields/0/unique not_applicable`],
    ],
    [
      "an index in a list",
      object({ list: true, fields: [{ ...text, index: "ordered" }] }),
      [`${at}/fields/0/index not_applicable`],
    ],
    [
      "languages twice",
      object({ translatable: true, fields: [{ ...text, translatable: true }] }),
      [`${at}/fields/0/translatable not_applicable`],
    ],
    [
      "languages in CONFIG",
      withFields(
        [{ name: "x", type: "object", fields: [{ ...text, translatable: true }] }],
        {},
        { type: "CONFIG" },
      ),
      [`${at}/fields/0/translatable not_applicable`],
    ],
    [
      "objects of settings",
      withFields([{ name: "x", type: "object", fields: [text] }], {}, { type: "SETTINGS" }),
      [`${at}/type not_applicable`],
    ],
    [
      "two types of one name",
      blocks({ a: [text], b: [{ ...text, type: "integer" }] }),
      [`${at}/components ambiguous_field`],
    ],
    [
      "unique in a block",
      blocks({ a: [{ ...text, unique: true }] }),
      ["/components/0/fields/0/unique not_applicable"],
    ],
    [
      "a component in itself",
      blocks({
        a: [{ name: "b", type: "object", component: "b" }],
        b: [{ name: "a", type: "object", component: "a" }],
      }),
      ["/components/1/fields/0/component recursive", "/components/0/fields/0/component recursive"],
    ],
  ])("report %s", (_, document, expected) => {
    expect(faults(document).sort()).toEqual([...expected].sort());
  });

  test("accept 8 levels, and no more", () => {
    const nested = (levels: number): unknown =>
      levels === 0 ? text : { name: "in", type: "object", fields: [nested(levels - 1)] };
    expect(faults(withFields([nested(8)]))).toEqual([]);
    expect(faults(withFields([nested(9)]))).toEqual([`${at}${"/fields/0".repeat(8)}/type too_deep`]);
  });

  test("refuse components that multiply, in bounded time", () => {
    const many = Object.fromEntries(
      Array.from({ length: 8 }, (_, level) => [
        `c${level}`,
        Array.from({ length: 100 }, (_, number) =>
          level === 7
            ? { ...text, name: `f${number}` }
            : { name: `f${number}`, type: "object", component: `c${level + 1}` },
        ),
      ]),
    );
    const start = performance.now();
    expect(faults(blocks(many, ["c0"]))).toEqual(["/modules too_many"]);
    expect(performance.now() - start).toBeLessThan(5_000);
  });
});

const documentOf = (fields: unknown[], all: Record<string, unknown[]> = {}) =>
  checkDocument(withFields(fields, components(all))).document;

describe("changes", () => {
  const codes = (from: ReturnType<typeof documentOf>, to: ReturnType<typeof documentOf>) =>
    compareDefinitions(from, to).map(({ severity, code, field }) => [severity, code, field]);

  test("inside objects are judged like changes of fields", () => {
    const before = documentOf([
      { name: "x", type: "object", fields: [text, { name: "n", type: "integer" }] },
    ]);
    const after = documentOf([
      {
        name: "x",
        type: "object",
        fields: [
          { ...text, type: "integer" },
          { name: "r", type: "string", required: true },
        ],
      },
    ]);
    expect(codes(before, after)).toEqual([
      ["dangerous", "changed_type", "x.text"],
      ["tightened", "removed_field", "x.n"],
      ["tightened", "added_required", "x.r"],
    ]);
  });

  test("of components are judged where they are used", () => {
    const field = { name: "x", type: "blocks", components: ["a", "b"] };
    const before = documentOf([field], { a: [text], b: [{ name: "n", type: "integer" }] });
    const after = documentOf([{ ...field, components: ["a"] }], { a: [{ ...text, max: 3 }] });
    expect(codes(before, after)).toEqual([
      ["tightened", "lowered_max", "x.text"],
      ["tightened", "removed_component", "x"],
    ]);
  });

  test("remember removed fields inside objects", () => {
    const fields = (inner: unknown[]) => documentOf([{ name: "x", type: "object", fields: inner }]);
    const before = fields([text, { name: "n", type: "integer" }]);
    const counts = new Map([[homeKey(homeOf("CONTENT", "product")), 1]]);
    const retired = retiredAfter(before, [], fields([text]), counts);
    const again = compareRetired(retired, fields([text, { name: "n", type: "string" }]));
    expect(again.map(({ severity, field }) => [severity, field])).toEqual([["dangerous", "x.n"]]);
  });
});

test("tables have columns for the fields of objects, and come back exactly", async () => {
  const fields = [
    {
      name: "seo",
      type: "object",
      fields: [
        { name: "title", type: "string", translatable: true },
        { name: "rank", type: "integer" },
      ],
    },
    { name: "contacts", type: "object", list: true },
  ];
  const cells = fieldCells(fields, { languages: ["en", "de"], markets: [] });
  const values = { seo: { title: { en: "A", de: "B" }, rank: 2 }, contacts: [{ _key: "a", city: "Oslo" }] };
  const head = headLine(cells);
  expect(head.trim()).toBe("seo.title.en,seo.title.de,seo.rank,contacts");
  const file = head + tableLine(entryCells(cells, { values })) + tableLine(entryCells(cells, { values: {} }));
  async function* parts() {
    yield file;
  }
  const table = await openTable(parts());
  const rows: unknown[] = [];
  for await (const record of table.records) {
    if (record instanceof Error) throw record;
    const read = rowOf(record, table.head, cellsOfHead(table.head, cells));
    if (read instanceof Error) throw read;
    rows.push(JSON.parse(read.row.members.get("values") ?? ""));
  }
  expect(rows[0]).toEqual(values);
});
