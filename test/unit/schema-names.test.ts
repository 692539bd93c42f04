/** Schema ids are shown as written; subjects hold them in kebab-case. */
import { describe, expect, test } from "vitest";
import { checkDocument } from "../../shared/definition/check/check.ts";
import { compareDefinitions } from "../../shared/definition/compat.ts";
import { compileOrb } from "../../shared/definition/compile.ts";
import type { OrbDocument } from "../../shared/definition/document/document.ts";
import { schemaToken } from "../../shared/definition/document/home.ts";
import { SCHEMA_ID } from "../../shared/definition/document/ids.ts";
import { summarise } from "../../shared/definition/document/summary.ts";
import { compareRetired, retiredAfter } from "../../shared/definition/retired.ts";
import { addressOf } from "../../shared/entry/model/resolve.ts";
import { isToken, subjects } from "../../shared/store/subjects.ts";
import { faultsOf } from "../support/documents.ts";
import { testRandom } from "../support/random.ts";

test.each([
  ["product", "product"],
  ["product-variant", "product-variant"],
  ["a--b-", "a--b-"],
  ["server2", "server2"],
  ["x1-y2", "x1-y2"],
  ["Product", "product"],
  ["ProductVariant", "product-variant"],
  ["productVariant", "product-variant"],
  ["Product-Variant", "product-variant"],
  ["HTTPServer", "http-server"],
  ["HTTPServer2", "http-server2"],
  ["parseURL", "parse-url"],
  ["Order2Item", "order2-item"],
  ["S3Bucket", "s3-bucket"],
  ["ABTest", "ab-test"],
  ["AAaAa", "a-aa-aa"],
  ["A", "a"],
  ["URL", "url"],
])("the schema id %s is %s in subjects", (id, token) => {
  expect(SCHEMA_ID.test(id)).toBe(true);
  expect(schemaToken(id)).toBe(token);
  expect(schemaToken(token)).toBe(token);
});

test("ids of earlier versions keep their subjects, and every id fits into one", () => {
  const random = testRandom();
  const text = (first: string, others: string) =>
    random.pick([...first]) +
    Array.from({ length: random.below(63) }, () => random.pick([...others])).join("");
  const [small, digits] = ["abcxyz", "0189"];
  for (let i = 0; i < 2_000; i++) {
    const kebab = text(small, `${small}${digits}-`);
    expect(schemaToken(kebab)).toBe(kebab);
    const id = text(`${small}ABXY`, `${small}ABXY${digits}-`);
    expect(SCHEMA_ID.test(id)).toBe(true);
    expect(isToken(schemaToken(id))).toBe(true);
  }
  expect(isToken(schemaToken("aB".repeat(31)))).toBe(true);
});

test.each(["", "1st", "-a", "Product_Variant", "Prodüct", "Кот", "a b", "a.b", "a*", "A".repeat(64)])(
  "refuses the schema id %j",
  (id) => {
    expect(faultsOf(documentOf(id)).map(({ path }) => path)).toEqual(["/modules/0/schemas/0/id"]);
  },
);

function documentOf(...schemas: (string | object)[]) {
  return {
    id: "shop",
    modules: [
      {
        id: "catalog",
        type: "CONTENT",
        schemas: schemas.map((schema) => (typeof schema === "string" ? { id: schema, fields: [] } : schema)),
      },
    ],
  };
}

const valid = (...schemas: (string | object)[]): OrbDocument =>
  checkDocument(documentOf(...schemas)).document;

describe("two ids with the same name in subjects", () => {
  test("are refused at the second one, in one module and in two modules of one type", () => {
    const [fault, ...others] = faultsOf(documentOf("product-variant", "other", "ProductVariant"));
    expect(others).toEqual([]);
    expect(fault).toEqual({
      path: "/modules/0/schemas/2/id",
      code: "duplicate",
      message:
        'must not be "ProductVariant", because the schema "product-variant" in module "catalog" has the same name in subjects: "product-variant". Choose another id.',
    });
    const [module] = documentOf("productVariant").modules;
    const modules = [module, { ...documentOf("ProductVariant").modules[0], id: "shelf" }];
    expect(faultsOf({ id: "shop", modules }).map(({ path, code }) => `${path} ${code}`)).toEqual([
      "/modules/1/schemas/0/id duplicate",
    ]);
  });

  test("are allowed in modules of different types", () => {
    const [module] = documentOf("Limit").modules;
    expect(
      faultsOf({ id: "shop", modules: [module, { ...module, id: "settings", type: "CONFIG" }] }),
    ).toEqual([]);
  });
});

test("a reference names its target as the document does", () => {
  const refs = (ref: string) => ({
    id: "Review",
    fields: [{ name: "product", type: "reference", ref: `shop/catalog/${ref}` }],
  });
  expect(faultsOf(documentOf("ProductVariant", refs("ProductVariant")))).toEqual([]);
  expect(faultsOf(documentOf("ProductVariant", refs("product-variant")))).toEqual([
    expect.objectContaining({ path: "/modules/0/schemas/1/fields/0/ref", code: "unknown_reference" }),
  ]);
});

test("a compiled schema keeps its id, and its entries lie under the name in subjects", () => {
  const orb = compileOrb(valid("ProductVariant", "Other"));
  const schema = orb.schema("catalog", "ProductVariant");
  expect(schema?.id).toBe("ProductVariant");
  expect(orb.schema("catalog", "product-variant")).toBeUndefined();
  expect(orb.schemaNamed("catalog", "product-variant")).toBe(schema);
  expect(orb.schemaNamed("catalog", "ProductVariant")).toBe(schema);
  expect(orb.schemaNamed("other", "product-variant")).toBeUndefined();
  if (schema === undefined) throw new Error("no schema");
  expect(subjects.entryLog(addressOf(schema, "0abcdefg"))).toBe(
    "shop.content.owner.product-variant.0abcdefg",
  );
});

describe("a renamed schema", () => {
  const field = { name: "next", type: "reference", ref: "shop/catalog/product-variant" };
  const before = valid({ id: "product-variant", fields: [field] });
  const after = valid({
    id: "ProductVariant",
    fields: [{ ...field, ref: "shop/catalog/ProductVariant", required: true }],
  });

  test("keeps its entries if its name in subjects stays the same", () => {
    const home = { type: "content", schema: "product-variant" };
    const place = { module: "catalog", moduleType: "CONTENT", schema: "ProductVariant", home };
    expect(compareDefinitions(before, after)).toEqual([
      {
        ...place,
        severity: "renamed",
        code: "renamed_schema",
        message:
          "Schema catalog/product-variant becomes catalog/ProductVariant. It keeps its entries, and its paths change.",
      },
      expect.objectContaining({ ...place, severity: "tightened", code: "added_required", field: "next" }),
    ]);
    expect(summarise(before, after)).toEqual([
      "renamed schema product-variant to ProductVariant (catalog)",
      expect.stringContaining("field next: "),
      expect.stringContaining("field next: "),
    ]);
  });

  test("is a removed and an added schema if its name in subjects changes", () => {
    const other = valid("Variant");
    expect(compareDefinitions(before, other).map(({ code }) => code)).toEqual(["removed_schema"]);
  });

  test("gets back the entries of a removed schema with the same name in subjects", () => {
    const without = valid("other");
    const counts = new Map([...compileOrb(before).byHome.keys()].map((home) => [home, 1]));
    const retired = retiredAfter(before, [], without, counts);
    expect(retired).toMatchObject([{ schema: "product-variant", whole: true }]);
    expect(compareRetired(retired, valid({ id: "ProductVariant", fields: [] }))).toMatchObject([
      { severity: "access", code: "returned_schema", schema: "ProductVariant" },
    ]);
  });
});
