import fc from "fast-check";
import { expect, it } from "vitest";
import type { OrbDocument } from "../../shared/definition/document/document.ts";
import { summarise } from "../../shared/definition/document/summary.ts";

const orb = (schema: Record<string, unknown>, more: Record<string, unknown> = {}) =>
  ({
    id: "shop",
    languages: ["en"],
    uses: [],
    modules: [{ id: "catalog", type: "CONTENT", schemas: [{ id: "product", fields: [], ...schema }] }],
    ...more,
  }) as unknown as OrbDocument;

it("shows the access rule that changes, however long the rules are", () => {
  const rules = (update: string[]) => ({
    access: { read: ["public"], create: ["editor", "author", "translator"], update, publish: ["editor"] },
  });
  expect(summarise(orb(rules(["editor"])), orb(rules(["editor", "author"])))).toEqual([
    'schema catalog/product: access.update ["editor"] → ["editor","author"]',
  ]);
});

it("never shows two different values alike", () => {
  const text = fc.string({ minLength: 0, maxLength: 400 });
  fc.assert(
    fc.property(text, text, text, text, (start, a, b, end) => {
      fc.pre(a !== b);
      const [line = "", ...others] = summarise(
        orb({}, { description: start + a + end }),
        orb({}, { description: start + b + end }),
      );
      expect(others).toEqual([]);
      const values = line.slice("description ".length);
      const half = values.length - " → ".length;
      // Equal halves around the arrow would look the same.
      expect(half % 2 === 0 && values.slice(0, half / 2) === values.slice(half / 2 + 3)).toBe(false);
    }),
  );
});

it("leaves out what two long values have in common", () => {
  const long = (word: string) => `${"a".repeat(500)} ${word} ${"b".repeat(500)}`;
  expect(summarise(orb({}, { description: long("old") }), orb({}, { description: long("new") }))).toEqual([
    "description ...aaaaaaaaaaa old bbbbbbbbbbb... → ...aaaaaaaaaaa new bbbbbbbbbbb...",
  ]);
});
