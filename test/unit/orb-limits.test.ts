import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { checkDocument } from "../../shared/definition/check/check.ts";
import { Faults } from "../../shared/kernel/faults.ts";
import { type Bag, faults, faultsOf, withFields } from "../support/documents.ts";
import { testSeed } from "../support/random.ts";

describe("limits", () => {
  const many = (count: number, prefix = "f", more: Bag = {}) =>
    Array.from({ length: count }, (_, index) => ({ name: `${prefix}${index}`, type: "string", ...more }));

  test("allows 2,000 fields in total and refuses more", () => {
    const schemas = (extra: number) =>
      [0, 1, 2, 3]
        .map((index) => ({ id: `s${index}`, fields: many(500) }))
        .concat([{ id: "s4", fields: many(extra) }]);
    expect(faults({ id: "shop", modules: [{ id: "m", type: "CONTENT", schemas: schemas(0) }] })).toEqual([]);
    expect(faults({ id: "shop", modules: [{ id: "m", type: "CONTENT", schemas: schemas(1) }] })).toEqual([
      "/modules too_many",
    ]);
  });

  test("refuses 10,000 fields in one schema with the limits only", () => {
    expect(faults(withFields(many(10_000, "f", { pattern: "(", bogus: 1 })))).toEqual([
      "/modules/0/schemas/0/fields too_many",
      "/modules too_many",
    ]);
  });

  test("limits modules, uses and markets", () => {
    const list = <T>(count: number, make: (index: number) => T) =>
      Array.from({ length: count }, (_, index) => make(index));
    expect(
      faults({
        id: "shop",
        modules: list(101, (index) => ({ id: `m${index}`, type: "CONTENT", schemas: [] })),
        uses: list(101, (index) => ({ service: `s${index}`, handlers: [`h${index}`] })),
        markets: list(201, (index) => `M${index}`),
      }).sort(),
    ).toEqual(["/markets too_many", "/modules too_many", "/uses too_many"]);
  });

  test("refuses deeply nested documents without recursion", () => {
    let deep: unknown = 1;
    for (let depth = 0; depth < 100_000; depth++) deep = [deep];
    expect(faults({ id: "shop", modules: deep })).toEqual([" too_deep"]);
  });

  test("lists at most 1,000 errors and counts the rest", () => {
    const list = faultsOf(withFields(many(400).flatMap((one) => [{ ...one, a: 1, b: 2, c: 3 }])));
    expect(list).toHaveLength(1_001);
    expect(list.at(-1)).toEqual({
      path: "",
      code: "too_many_faults",
      message: "200 more faults are not listed.",
    });
  });

  test("lists fewer errors if their messages are long", () => {
    const faults = new Faults();
    for (let n = 0; n < 500; n++) faults.add(`/${n}`, "long", "x".repeat(1_000));
    const list = faults.list();
    expect(list.length).toBeLessThan(150);
    expect(list.at(-1)).toMatchObject({ code: "too_many_faults" });
    const one = new Faults();
    one.add("/one", "long", "x".repeat(1_000_000));
    expect(one.list()).toHaveLength(1);
  });
});

test("accepts any JSON or refuses it with errors, and never throws anything else", () => {
  const jsonish = fc.jsonValue();
  fc.assert(
    fc.property(
      fc.record({
        id: fc.oneof(fc.constant("shop"), jsonish),
        languages: jsonish,
        uses: fc.array(
          fc.oneof(jsonish, fc.record({ service: fc.string(), handlers: fc.array(fc.string()) })),
        ),
        modules: fc.array(
          fc.oneof(
            jsonish,
            fc.record({
              id: fc.string(),
              type: fc.constantFrom("CONTENT", "CONFIG", "x"),
              schemas: fc.array(
                fc.record({
                  id: fc.string(),
                  fields: fc.array(
                    fc.record({
                      name: fc.string(),
                      type: fc.constantFrom("string", "json", "date", "y"),
                      default: jsonish,
                      enum: jsonish,
                      min: jsonish,
                      pattern: jsonish,
                    }),
                  ),
                }),
              ),
            }),
          ),
        ),
      }),
      (document) => {
        const list = faults(document);
        if (list.length === 0) checkDocument(document);
      },
    ),
    { seed: testSeed(), numRuns: 100 },
  );
});
