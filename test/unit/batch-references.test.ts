/** `{ "$ref": name }` in the values of a batch's items. */
import { expect, it } from "vitest";
import { withIds } from "../../shared/entry/batch/items.ts";
import type { Fault } from "../../shared/kernel/errors.ts";
import { definition } from "../support/entries.ts";

const part = [
  { name: "raw", type: "json" as const },
  { name: "to", type: "reference" as const, ref: "refs/pages/page" },
];
const { compiled } = definition({
  id: "refs",
  languages: ["en", "de"],
  components: [{ id: "part", fields: part }],
  modules: [
    {
      id: "pages",
      type: "CONTENT",
      schemas: [
        {
          id: "page",
          fields: [
            ...part,
            { name: "one", type: "object", fields: part },
            { name: "some", type: "object", list: true, fields: part },
            { name: "body", type: "blocks", components: ["part"], translatable: true },
          ],
        },
      ],
    },
  ],
});
const pages = compiled.schema("pages", "page");

it("stand for ids everywhere but in json, at any depth", () => {
  if (pages === undefined) throw new Error("no schema");
  const given = (to: unknown) => {
    const object = { raw: { deep: [{ $ref: "a" }] }, to };
    const block = { _type: "part", ...object };
    return { ...object, one: object, some: [object], body: { en: [block], de: [block] } };
  };
  const faults: Fault[] = [];
  expect(withIds(pages, given({ $ref: "a" }), new Map([["a", "id1"]]), faults)).toEqual(given("id1"));
  expect(faults).toEqual([]);
  withIds(pages, { some: [{ raw: { $ref: "#/x" }, to: { $ref: "b" } }] }, new Map(), faults);
  expect(faults.map(({ path }) => path)).toEqual(["/values/some/0/to/$ref"]);
});
