/** What differs between two versions of objects, blocks and rich text. */
import { applyPatch } from "rfc6902";
import { describe, expect, test } from "vitest";
import { placeName } from "../../functions/console/entries/nested-names.ts";
import { t } from "../../functions/console/texts/t.ts";
import { patch } from "../../shared/definition/document/diff.ts";
import { changesIn, differencesIn, merge, nameIn, pathOf, valueIn } from "../../shared/differences/index.ts";
import { wordChanges } from "../../shared/differences/words.ts";
import { testRandom } from "../support/random.ts";

const paragraph = (_key: string, text: string, more: object = {}) => ({
  _type: "block",
  _key,
  style: "normal",
  children: [{ _type: "span", _key: "s", text, marks: [] }],
  markDefs: [],
  ...more,
});
const a = () => paragraph("a", "One");
const short = (before: unknown, after: unknown) =>
  changesIn(before, after).map(({ kind, way, words = [] }) => [
    kind,
    way.join("."),
    words.map(({ op, text }) => `${{ keep: "", add: "+", remove: "-" }[op]}${text}`).join("|"),
  ]);

describe("the changes of nested values", () => {
  const [a, b, c] = [paragraph("a", "The lamp stands"), paragraph("b", "Two"), paragraph("c", "Three")];
  test.each([
    [
      "a word of a paragraph",
      [a, b],
      [paragraph("a", "The desk stands"), b],
      [["changed", "a", "The |-lamp|+desk| stands"]],
    ],
    ["a moved block", [a, b, c], [b, c, a], [["moved", "a", ""]]],
    [
      "a moved block that changes",
      [a, b, c],
      [paragraph("c", "Three four"), a, b],
      [
        ["moved", "c", ""],
        ["changed", "c", "Three|+ four"],
      ],
    ],
    [
      "a removed and an added block",
      [a, b],
      [b, c],
      [
        ["removed", "a", ""],
        ["added", "c", ""],
      ],
    ],
    ["the style of a paragraph", [a], [{ ...a, style: "h2" }], [["changed", "a.style", "-normal|+h2"]]],
    [
      "marks without other words",
      [b],
      [{ ...b, children: [{ _type: "span", _key: "x", text: "Two", marks: ["em"] }] }],
      [["changed", "b.children", ""]],
    ],
    [
      "text across spans",
      [a],
      [
        {
          ...a,
          children: ["The", " tall", " lamp stands"].map((text) => ({ _type: "span", text, marks: [] })),
        },
      ],
      [["changed", "a", "The |+tall |lamp stands"]],
    ],
    [
      "values inside blocks, in their language",
      [{ _key: "k", _type: "quote", text: { en: "One two", de: "Eins" }, size: 1 }],
      [{ _key: "k", _type: "quote", text: { en: "One three", de: null }, size: 2 }],
      [
        ["changed", "k.text.en", "One |-two|+three"],
        ["removed", "k.text.de", ""],
        ["changed", "k.size", ""],
      ],
    ],
    ["a list without keys", { tags: ["a"] }, { tags: ["a", "b"] }, [["changed", "tags", ""]]],
  ])("%s", (_, before, after, expected) => {
    expect(short(before, after)).toEqual(expected);
  });

  test("have a path in the newer version", () => {
    expect(pathOf({ body: { en: [a, b] } }, ["body", "en", "b", "style"])).toBe("/body/en/1/style");
  });
});

test("places inside nested values have names for people", () => {
  const quote = { _key: "q", _type: "quote", text: { de: "Ja" } };
  const fields = [{ name: "text", type: "string" as const, label: "Text", translatable: true }];
  const components = [{ id: "quote", name: "Quote", fields }];
  const field = { name: "body", type: "richText" as const, components: ["quote"] };
  const name = (way: string[], ...values: unknown[]) => placeName(field, { components }, way, values);
  expect(name(["a"], [a()])).toBe(`${t("history.paragraph")} 1`);
  expect(name(["a", "style"], [a()])).toBe(`${t("history.paragraph")} 1 · ${t("history.format")}`);
  expect(name(["q", "text", "de"], [a()], [a(), quote])).toBe("Quote 2 · Text · German");
  expect(name(["q", "text", "de"], undefined, [quote])).toBe("Quote 1 · Text · German");
  expect(placeName({ name: "seo", type: "object" }, {}, ["gone"], [{ gone: 1 }])).toBe("gone");
});

test("a JSON Patch moves as few items as possible", () => {
  const random = testRandom();
  for (let round = 0; round < 200; round++) {
    const items = Array.from({ length: 1 + random.below(12) }, (_, at) => ({ _key: `k${at}`, n: at }));
    const kept = items.filter(() => random.below(5) > 0);
    const [moved] = kept.splice(random.below(kept.length), 1);
    const after = [...kept];
    if (moved !== undefined) after.splice(random.below(after.length + 1), 0, moved);
    if (random.below(2) === 0) after.splice(random.below(after.length + 1), 0, { _key: "new", n: 0 });
    const changes = patch({ list: items }, { list: after });
    const replayed = structuredClone({ list: items });
    applyPatch(replayed, changes);
    expect(replayed).toEqual({ list: after });
    expect(changes.filter(({ op }) => op === "move").length).toBeLessThanOrEqual(1);
  }
});

test("words are compared in bounded work, and both versions stay whole", () => {
  const random = testRandom();
  const text = (length: number) => Array.from({ length }, () => random.pick(["a", "b", "c"])).join(" ");
  const [before, after] = [text(60_000), text(60_000)];
  const changes = wordChanges(before, after);
  const side = (op: string) => changes.filter((one) => one.op !== op).map((one) => one.text);
  expect(side("add").join("")).toBe(before);
  expect(side("remove").join("")).toBe(after);
  const many = (seed: number) =>
    Array.from({ length: 400 }, (_, at) => paragraph(`${at}`, text(40 + ((seed * at) % 7))));
  expect(changesIn(many(1), many(2))).toHaveLength(400);
});

const schema = (id: string, ...fields: object[]) => ({ id, fields });
const orb = (...schemas: object[]) => ({ id: "shop", modules: [{ id: "m", type: "CONTENT", schemas }] });

test("lists differences by the names of items", () => {
  const from = orb(schema("a", { name: "x", type: "string" }), schema("b"));
  const to = orb(schema("b"), schema("a", { name: "x", type: "text" }, { name: "y", type: "date" }));
  expect(differencesIn(from, to).map(({ way }) => way.join("."))).toEqual([
    "modules.m.schemas.a.fields.x.type",
    "modules.m.schemas.a.fields.y",
  ]);
  expect(differencesIn(orb(schema("a"), schema("b")), orb(schema("b"), schema("a")))).toHaveLength(1);
});

test("merges changes of two people, and asks only where both changed the same value", () => {
  const base = orb(schema("a", { name: "x", type: "string" }, { name: "old", type: "string" }));
  const mine = orb(schema("a", { name: "x", type: "string", max: 5 }, { name: "mine", type: "date" }));
  const theirs = orb(
    schema(
      "a",
      { name: "x", type: "string", max: 9 },
      { name: "old", type: "string" },
      { name: "theirs", type: "date" },
    ),
    schema("b"),
  );
  const { value, conflicts } = merge(base, theirs, mine, { keyOf: nameIn, isTheirs: () => true });
  const way = ["modules", "m", "schemas", "a", "fields", "x", "max"];
  expect(conflicts).toEqual([way]);
  expect([mine, theirs].map((side) => valueIn(side, way))).toEqual([5, 9]);
  expect(value).toEqual(
    orb(
      schema(
        "a",
        { name: "x", type: "string", max: 9 },
        { name: "theirs", type: "date" },
        { name: "mine", type: "date" },
      ),
      schema("b"),
    ),
  );
  const removed = merge(base, theirs, orb(), { keyOf: nameIn });
  expect(removed.conflicts.map((one) => one.at(-1))).toEqual(["a"]);
  expect(removed.value).toEqual(orb(schema("b")));
});
