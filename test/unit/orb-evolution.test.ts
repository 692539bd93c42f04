import { readFileSync } from "node:fs";
import { applyPatch } from "rfc6902";
import { describe, expect, test } from "vitest";
import { checkDocument } from "../../shared/definition/check/check.ts";
import { compareDefinitions } from "../../shared/definition/compat.ts";
import { changeLog, patch } from "../../shared/definition/document/diff.ts";
import type {
  FieldDefinition,
  ModuleDefinition,
  OrbDocument,
} from "../../shared/definition/document/document.ts";
import { next, type Operation, STATUSES, type Status } from "../../shared/definition/document/lifecycle.ts";
import { AppError } from "../../shared/kernel/errors.ts";

const shop = (): OrbDocument =>
  checkDocument(
    JSON.parse(readFileSync(new URL("../../scripts/examples/shop.json", import.meta.url), "utf8")),
  ).document;

/** Returns the shop after an edit. */
function edited(edit: (document: OrbDocument) => void): OrbDocument {
  const document = shop();
  edit(document);
  return document;
}

function module(document: OrbDocument, id: string): ModuleDefinition {
  const found = document.modules.find((one) => one.id === id);
  if (found === undefined) throw new Error(`no module ${id}`);
  return found;
}

function productField(document: OrbDocument, name: string): FieldDefinition {
  const found = module(document, "catalog").schemas[1]?.fields.find((one) => one.name === name);
  if (found === undefined) throw new Error(`no field ${name}`);
  return found;
}

const news: ModuleDefinition = { id: "blog", type: "CONTENT", schemas: [{ id: "post", fields: [] }] };

describe("change log", () => {
  const edits: [string, (document: OrbDocument) => void, string[]][] = [
    ["no change", () => {}, []],
    ["an inserted first module", (d) => d.modules.unshift(news), ["added module blog"]],
    ["a removed module", (d) => d.modules.splice(1, 1), ["removed module news"]],
    ["modules in another order", (d) => d.modules.reverse(), ["changed the order of modules"]],
    [
      "a field's type",
      (d) => Object.assign(productField(d, "price"), { type: "string" }),
      ["field price: number → string (catalog/product)"],
    ],
    [
      "a field's attributes",
      (d) => Object.assign(productField(d, "price"), { min: 1, label: "Price" }),
      ["field price: min 0 → 1 (catalog/product)", "field price: label none → Price (catalog/product)"],
    ],
    [
      "fields",
      (d) => {
        const fields = module(d, "catalog").schemas[1]?.fields;
        fields?.splice(0, 1);
        fields?.push({ name: "ean", type: "string" });
      },
      ["removed field title (catalog/product)", "added field ean: string (catalog/product)"],
    ],
    [
      "a schema",
      (d) => module(d, "news").schemas.push({ id: "author", fields: [] }),
      ["added schema author (news)"],
    ],
    [
      "a schema's name",
      (d) => {
        for (const schema of module(d, "news").schemas) schema.name = "Item";
      },
      ["schema news/article: name Article → Item"],
    ],
    ["the languages", (d) => d.languages.push("fr"), ['languages ["en","de"] → ["en","de","fr"]']],
    [
      "handlers",
      (d) => {
        d.uses.pop();
        d.uses.push({ service: "mail", handlers: ["send"] });
      },
      ["no longer uses settings.get", "no longer uses settings.set", "uses mail.send"],
    ],
  ];
  test.each(edits)("%s", (_name, edit, summary) => {
    const log = changeLog(shop(), edited(edit));
    expect(log.summary).toEqual(summary);
    const target = shop();
    expect(applyPatch(target, structuredClone(log.changes)).every((result) => result === null)).toBe(true);
    expect(target).toEqual(edited(edit));
    if (summary.length === 0) expect(log.changes).toEqual([]);
  });

  test("describes an inserted first module as a single operation", () => {
    expect(
      patch(
        shop(),
        edited((d) => d.modules.unshift(news)),
      ),
    ).toEqual([{ op: "add", path: "/modules/0", value: news }]);
  });

  test("describes creation and deletion", () => {
    expect(changeLog(null, shop()).summary).toEqual(["created orb shop"]);
    expect(changeLog(shop(), null).summary).toEqual(["deleted orb shop"]);
  });

  test("produces an exact patch for 2,000 fields in reverse order", () => {
    const fields = Array.from(
      { length: 500 },
      (_, index): FieldDefinition => ({ name: `f${index}`, type: "string" }),
    );
    const big = (list: FieldDefinition[]): OrbDocument => ({
      ...shop(),
      modules: [0, 1, 2, 3].map((index) => ({
        id: `m${index}`,
        type: "CONTENT",
        schemas: [{ id: `s${index}`, fields: structuredClone(list) }],
      })),
    });
    const target = big(fields);
    applyPatch(target, patch(target, big(fields.toReversed())));
    expect(target).toEqual(big(fields.toReversed()));
  });
});

describe("effect of a new definition on stored entries", () => {
  const set = (name: string, attributes: Partial<FieldDefinition>) => (d: OrbDocument) => {
    Object.assign(productField(d, name), attributes);
  };
  const drop = (name: string, attribute: keyof FieldDefinition) => (d: OrbDocument) => {
    delete productField(d, name)[attribute];
  };
  const edits: [string, (document: OrbDocument) => void, string[]][] = [
    ["no change", () => {}, []],
    [
      "a new module, a new optional field, a looser bound",
      (d) => {
        d.modules.push(news);
        module(d, "news").schemas[0]?.fields.push({ name: "x", type: "string" });
        set("price", { min: -1 })(d);
      },
      [],
    ],
    ["a removed module", (d) => d.modules.splice(1, 1), ["removal removed_module news/article"]],
    [
      "a removed schema",
      (d) => module(d, "catalog").schemas.splice(0, 1),
      ["removal removed_schema catalog/category"],
    ],
    [
      "a module renamed",
      (d) => {
        module(d, "news").id = "press";
      },
      ["dangerous moved_schema news/article"],
    ],
    [
      "a module's type",
      (d) => {
        module(d, "shipping").type = "RULES";
      },
      ["dangerous changed_module_type shipping/carrier"],
    ],
    ["type", set("price", { type: "string" }), ["dangerous changed_type catalog/product.price"]],
    ["list", set("condition", { list: true }), ["dangerous changed_list catalog/product.condition"]],
    [
      "translatable",
      set("sku", { translatable: true }),
      ["dangerous changed_translatable catalog/product.sku"],
    ],
    [
      "marketSpecific",
      drop("price", "marketSpecific"),
      ["dangerous changed_market_specific catalog/product.price"],
    ],
    [
      "sensitive",
      drop("supplierNote", "sensitive"),
      ["dangerous changed_sensitive catalog/product.supplierNote"],
    ],
    ["list: false is no change", set("price", { list: false }), []],
    ["unique", set("released", { unique: true }), ["claim added_unique catalog/product.released"]],
    ["no longer unique", drop("sku", "unique"), ["index removed_unique catalog/product.sku"]],
    [
      "changed readers",
      (d) => {
        for (const schema of module(d, "news").schemas) schema.access = { read: "user" };
      },
      ["access changed_access_read news/article"],
    ],
    [
      "default readers, made explicit",
      (d) => {
        for (const schema of module(d, "news").schemas) schema.access = { read: "public" };
      },
      [],
    ],
    ["required", set("released", { required: true }), ["tightened added_required catalog/product.released"]],
    [
      "a new required field",
      (d) => {
        module(d, "news").schemas[0]?.fields.push({ name: "x", type: "string", required: true });
      },
      ["tightened added_required news/article.x"],
    ],
    [
      "a new required field with a default",
      (d) => {
        module(d, "news").schemas[0]?.fields.push({
          name: "x",
          type: "string",
          required: true,
          default: "y",
        });
      },
      [],
    ],
    [
      "a removed field",
      (d) => {
        module(d, "catalog").schemas[1]?.fields.splice(0, 1);
      },
      ["tightened removed_field catalog/product.title"],
    ],
    [
      "fewer allowed values",
      set("condition", { enum: ["new", "used"] }),
      ["tightened narrowed_enum catalog/product.condition"],
    ],
    ["more allowed values", set("condition", { enum: ["used", "new", "refurbished", "broken"] }), []],
    ["min raised", set("price", { min: 1 }), ["tightened raised_min catalog/product.price"]],
    ["max lowered", set("title", { max: 199 }), ["tightened lowered_max catalog/product.title"]],
    ["a pattern", set("sku", { pattern: "^X" }), ["tightened changed_pattern catalog/product.sku"]],
    [
      "a ref",
      set("category", { ref: "shop/catalog/product" }),
      ["tightened changed_ref catalog/product.category"],
    ],
    [
      "a removed market",
      (d) => d.markets.pop(),
      [
        "tightened removed_market catalog/product.price",
        "tightened removed_market catalog/product.offer",
        "tightened removed_market shipping/carrier.cost",
      ],
    ],
  ];
  test.each(edits)("%s", (_name, edit, expected) => {
    const found = compareDefinitions(shop(), edited(edit));
    expect(
      found.map(
        (c) => `${c.severity} ${c.code} ${c.module}/${c.schema}${c.field === undefined ? "" : `.${c.field}`}`,
      ),
    ).toEqual(expected);
  });
});

describe("lifecycle", () => {
  const moves: Record<Operation, Partial<Record<Status | "none", string>>> = {
    create: { none: "SAVED" },
    update: { SAVED: "SAVED", PUBLISHED: "PUBLISHED", UNPUBLISHED: "UNPUBLISHED" },
    publish: { SAVED: "PUBLISHED", UNPUBLISHED: "PUBLISHED" },
    unpublish: { PUBLISHED: "UNPUBLISHED" },
    archive: { SAVED: "ARCHIVED", PUBLISHED: "ARCHIVED", UNPUBLISHED: "ARCHIVED" },
    restore: { ARCHIVED: "UNPUBLISHED" },
    delete: { SAVED: "gone", PUBLISHED: "gone", UNPUBLISHED: "gone", ARCHIVED: "gone" },
  };
  const table = Object.entries(moves).flatMap(([operation, from]) =>
    [null, ...STATUSES].map((status) => [status, operation as Operation, from[status ?? "none"]] as const),
  );
  test.each(table)("state %s, operation %s: next state %s", (status, operation, expected) => {
    if (expected !== undefined) {
      expect(next(status, operation)).toBe(expected);
      return;
    }
    try {
      next(status, operation);
      expect.unreachable();
    } catch (error) {
      if (!(error instanceof AppError)) throw error;
      expect(error).toMatchObject({
        kind: "conflict",
        code: "wrong_state",
        data: { state: status, operation },
      });
      if (status !== null) expect(error.detail).toContain(status);
    }
  });

  test("allows publishing again if there is a newer draft", () => {
    expect(next("PUBLISHED", "publish", true)).toBe("PUBLISHED");
  });
});
