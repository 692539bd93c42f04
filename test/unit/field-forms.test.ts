/** Changes of type: values under earlier stored names are read as values of the new type, and back. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { checkDocument } from "../../shared/definition/check/check.ts";
import { compareDefinitions } from "../../shared/definition/compat.ts";
import { compileOrb } from "../../shared/definition/compile.ts";
import type { OrbDocument } from "../../shared/definition/document/document.ts";
import { FIELD_TYPES, type Json } from "../../shared/definition/fields/index.ts";
import { storedNames } from "../../shared/definition/names/resolve.ts";
import { FIELD_TRAITS, type FieldTypeName } from "../../shared/definition/types/traits.ts";
import { unconverted } from "../../shared/entry/model/names.ts";
import type { StoredValues } from "../../shared/entry/model/snapshot.ts";
import { DocumentHistory } from "../support/document-history.ts";
import { testSeed } from "../support/random.ts";

type Field = Record<string, unknown>;

const documentOf = (fields: readonly Field[]): OrbDocument =>
  checkDocument({
    id: "shop",
    languages: ["en", "de"],
    markets: ["us", "eu"],
    components: [{ id: "part", fields: [{ name: "n", type: "integer" }] }],
    modules: [{ id: "m", type: "CONTENT", schemas: [{ id: "s", fields }] }],
  }).document;

/** The documents that were active, one after the other. */
class History extends DocumentHistory {
  constructor(fields: readonly Field[]) {
    super(documentOf(fields));
  }

  to(fields: readonly Field[]): this {
    return this.activate(documentOf(fields));
  }

  lost(values: StoredValues): string[] {
    return unconverted(this.schema, { id: "0", values }).map(({ field, reason }) => `${field} ${reason}`);
  }
}

describe("a field that changes its type", () => {
  test.each<[string, Field, unknown, Field, unknown]>([
    ["integer to decimal", { type: "integer" }, 3, { type: "decimal", scale: 2 }, "3.00"],
    ["number to decimal", { type: "number" }, 1.5, { type: "decimal", scale: 2 }, "1.50"],
    ["number to string", { type: "number" }, 1e21, { type: "string" }, "1e+21"],
    ["decimal to text", { type: "decimal", scale: 2 }, "1.50", { type: "text" }, "1.50"],
    ["date to datetime", { type: "date" }, "2026-03-01", { type: "datetime" }, "2026-03-01T00:00:00.000Z"],
    ["url to string", { type: "url" }, "https://a.example/", { type: "string" }, "https://a.example/"],
    ["one to a list", { type: "string" }, "a", { type: "string", list: true }, ["a"]],
    [
      "an object to a list",
      { type: "object", component: "part" },
      { n: 1 },
      { type: "object", component: "part", list: true },
      [{ n: 1, _key: "first" }],
    ],
    ["plain to translatable", { type: "string" }, "a", { type: "string", translatable: true }, { en: "a" }],
    ["plain to a market", { type: "string" }, "a", { type: "string", marketSpecific: true }, { us: "a" }],
    [
      "everything at once",
      { type: "integer" },
      1,
      { type: "string", list: true, translatable: true, marketSpecific: true },
      { us: { en: ["1"] } },
    ],
    [
      "a list in languages to text",
      { type: "integer", list: true, translatable: true },
      { de: [1, 2] },
      { type: "string", list: true, translatable: true },
      { de: ["1", "2"] },
    ],
    [
      "sensitive to translatable",
      { type: "string", sensitive: true },
      { $sealed: "x" },
      { type: "string", sensitive: true, translatable: true },
      { en: { $sealed: "x" } },
    ],
  ])("%s, and back", (_, before, value, after, converted) => {
    const history = new History([{ name: "x", ...before }]);
    const stored = history.write({ x: value });
    history.to([{ name: "x", ...after }]);
    expect(history.read(stored)).toEqual({ x: converted });
    const written = history.write({ x: converted });
    expect(written).toEqual({ "x~2": converted });
    expect(history.read(written)).toEqual({ x: converted });
    history.to([{ name: "x", ...before }]);
    for (const one of [stored, written]) {
      expect(history.lost(one)).toEqual([]);
      expect(history.read(one)).toEqual({ x: value });
    }
    expect(history.write({ x: value })).toEqual({ x: value });
  });

  test("becomes rich text: a paragraph for each part between empty lines", () => {
    const history = new History([{ name: "x", type: "text" }]);
    const stored = history.write({ x: "a\nb\n\nc" });
    history.to([{ name: "x", type: "richText", styles: ["lead", "normal"] }]);
    const block = (key: string, text: string) => ({
      _type: "block",
      _key: key,
      style: "lead",
      children: [{ _type: "span", _key: "s1", text, marks: [] }],
      markDefs: [],
    });
    expect(history.read(stored)).toEqual({ x: [block("p1", "a\nb"), block("p2", "c")] });
    const plain = history.write({ x: [block("other", "d")] });
    const [{ children, ...rest }] = [block("other", "d")];
    const bold = history.write({ x: [{ ...rest, children: [{ ...children[0], marks: ["strong"] }] }] });
    history.to([{ name: "x", type: "text" }]);
    expect(history.read(plain)).toEqual({ x: "d" });
    expect(history.lost(plain)).toEqual([]);
    expect(history.lost(bold)).toMatchObject([expect.stringMatching(/^x would lose something as text: /)]);
    expect(history.read(bold)).toEqual({});
  });

  test("keeps the conversions of earlier changes, also with another name", () => {
    const history = new History([{ name: "x", type: "integer" }]);
    const first = history.write({ x: 1 });
    history.to([{ name: "y", was: "x", type: "decimal", scale: 2 }]);
    const second = history.write({ y: "2.50" });
    history.to([{ name: "y", type: "string", list: true }]);
    expect([first, second].map((one) => history.read(one))).toEqual([{ y: ["1.00"] }, { y: ["2.50"] }]);
    history.to([{ name: "x", was: "y", type: "integer" }]);
    expect(history.read(first)).toEqual({ x: 1 });
    expect(history.lost(second)).toEqual(['x cannot become integer: "2.50"']);
  });

  test("is one of the fields in an object that becomes a list", () => {
    const history = new History([{ name: "o", type: "object", fields: [{ name: "n", type: "integer" }] }]);
    const first = history.write({ o: { n: 1 } });
    history.to([{ name: "o", type: "object", fields: [{ name: "n", type: "string", translatable: true }] }]);
    const second = history.write({ o: { n: { de: "2" } } });
    history.to([
      {
        name: "p",
        was: "o",
        type: "object",
        list: true,
        fields: [{ name: "m", was: "n", type: "string", translatable: true }],
      },
    ]);
    expect(history.read(first)).toEqual({ p: [{ m: { en: "1" }, _key: "first" }] });
    expect(history.read(second)).toEqual({ p: [{ m: { de: "2" }, _key: "first" }] });
    history.to([{ name: "o", type: "object", fields: [{ name: "n", type: "integer" }] }]);
    expect(history.read(first)).toEqual({ o: { n: 1 } });
    expect(history.lost(second)).toEqual(["o.n has values in other languages: de"]);
  });

  test("in a component changes all blocks of it", () => {
    const history = new History([{ name: "x", type: "blocks", components: ["part"] }]);
    const stored = history.write({ x: [{ _type: "part", _key: "k", n: 1 }] });
    const document = structuredClone(history.document);
    document.components = [{ id: "part", fields: [{ name: "n", type: "integer", list: true }] }];
    history.names = storedNames(document, history);
    history.document = document;
    expect(history.read(stored)).toEqual({ x: [{ _type: "part", _key: "k", n: [1] }] });
  });

  test("keeps its stored name while its schema has no entries, or if its values stay as they are", () => {
    const before = { document: documentOf([{ name: "x", type: "integer" }]) };
    const homes = new Set(compileOrb(before.document).byHome.keys());
    expect(storedNames(documentOf([{ name: "x", type: "string" }]), before, homes)).toBeUndefined();
    expect(storedNames(documentOf([{ name: "x", type: "number" }]), before)).toBeUndefined();
    const pinned = { document: documentOf([{ name: "x", type: "string" }]) };
    const secret = documentOf([{ name: "x", type: "string", sensitive: true }]);
    expect(storedNames(secret, pinned)).toBeUndefined();
  });
});

test.each<[string, Field, unknown, Field, string]>([
  ["digits", { type: "number" }, 1.234, { type: "decimal", scale: 2 }, "x cannot become decimal: 1.234"],
  [
    "leading zeros",
    { type: "string" },
    "007",
    { type: "integer" },
    'x would lose something as integer: "007"',
  ],
  ["words", { type: "string" }, "seven", { type: "integer" }, 'x cannot become integer: "seven"'],
  [
    "a time",
    { type: "datetime" },
    "2026-03-01T10:00:00.000Z",
    { type: "date" },
    'x would lose something as date: "2026-03-01T10:00:00.000Z"',
  ],
  ["items", { type: "string", list: true }, ["a", "b"], { type: "string" }, "x has 2 values"],
  [
    "languages",
    { type: "string", translatable: true },
    { en: "a", de: "b" },
    { type: "string" },
    "x has values in other languages: de",
  ],
  [
    "markets",
    { type: "string", marketSpecific: true },
    { eu: "b" },
    { type: "string" },
    "x has values in other markets: eu",
  ],
])("tells that a value would lose %s", (_, before, value, after, reason) => {
  const history = new History([{ name: "x", ...before }]);
  const stored = history.write({ x: value });
  const to = documentOf([{ name: "x", ...after }]);
  const names = { to: storedNames(to, history) };
  expect(compareDefinitions(history.document, to, names)).toMatchObject([
    { severity: "converted", code: "converted_field", field: "x", mayLose: true },
  ]);
  history.to([{ name: "x", ...after }]);
  expect(history.lost(stored)).toEqual([reason]);
  expect(history.read(stored)).toEqual({});
});

describe("the table of conversions", () => {
  const types = Object.keys(FIELD_TYPES) as FieldTypeName[];
  const pairs = types.flatMap((to) =>
    (Object.keys(FIELD_TYPES[to].madeFrom ?? {}) as FieldTypeName[]).map((from) => [from, to] as const),
  );
  test.each(pairs)(
    "from %s to %s has a way back, which a value that is always convertible takes",
    (from, to) => {
      const there = FIELD_TYPES[to].madeFrom?.[from];
      const back = FIELD_TYPES[from].madeFrom?.[to];
      expect(back).toBeDefined();
      const { example } = FIELD_TRAITS[from] as { example?: Json };
      if (there?.always !== true || example === undefined) return;
      const made = there.convert(example, { scale: 2 });
      expect(made).toBeDefined();
      expect(FIELD_TYPES[from].token(back?.convert(made as Json, {}) as Json)).toBe(
        FIELD_TYPES[from].token(example),
      );
    },
  );
});

test("a comparison tells a lossless change from one that must be checked", () => {
  const change = (before: Field, after: Field) => {
    const [from, to] = [documentOf([{ name: "x", ...before }]), documentOf([{ name: "x", ...after }])];
    const names = { to: storedNames(to, { document: from }) };
    return compareDefinitions(from, to, names).map(({ code, mayLose }) => [code, mayLose === true]);
  };
  expect(change({ type: "integer" }, { type: "string", list: true })).toEqual([["converted_field", false]]);
  expect(change({ type: "integer", list: true }, { type: "string" })).toEqual([["converted_field", true]]);
  expect(change({ type: "integer" }, { type: "boolean" })).toEqual([["changed_type", false]]);
  expect(change({ type: "integer" }, { type: "number" })).toEqual([["widened_type", false]]);
});

/** A shape of the field of the model. */
interface Shape {
  type: "integer" | "number" | "decimal" | "string" | "text";
  list: boolean;
  translatable: boolean;
  marketSpecific: boolean;
}

/** Converts a value as the documentation says, or returns undefined if it would lose something. */
function modelled(value: unknown, from: Shape, to: Shape): unknown {
  const single = (one: unknown): unknown => {
    if (from.type === to.type) return one;
    const text = String(one);
    if (to.type === "string" || to.type === "text") return text;
    if (to.type === "decimal") {
      const scaled = /^-?\d+(\.\d{1,2})?$/.test(text) ? Number(text).toFixed(2) : undefined;
      return from.type === "string" || from.type === "text" ? (scaled === text ? scaled : undefined) : scaled;
    }
    const number = Number(text);
    if (to.type === "integer" && !Number.isInteger(number)) return undefined;
    return from.type === "decimal" || String(number) === text ? number : undefined;
  };
  const items = (one: unknown): unknown => {
    const all = (from.list ? (one as unknown[]) : [one]).map(single);
    if (all.includes(undefined) || (!to.list && all.length > 1)) return undefined;
    return to.list ? all : (all[0] ?? null);
  };
  const map =
    (key: "en" | "us", was: boolean, is: boolean, below: (one: unknown) => unknown) => (one: unknown) => {
      const entries = was ? Object.entries(one as object) : [[key, one] as const];
      const all = entries.map(([name, each]) => [name, below(each)] as const);
      if (all.some(([, each]) => each === undefined)) return undefined;
      if (is) return Object.fromEntries(all);
      return all.some(([name]) => name !== key) ? undefined : (all[0]?.[1] ?? null);
    };
  return map(
    "us",
    from.marketSpecific,
    to.marketSpecific,
    map("en", from.translatable, to.translatable, items),
  )(value);
}

/** Returns whether the values of a shape are values of another one as they are. */
const holds = ({ type, ...before }: Shape, { type: next, ...after }: Shape): boolean =>
  JSON.stringify(before) === JSON.stringify(after) &&
  (type === next || (type === "integer" && next === "number") || (type === "string" && next === "text"));

const shapeArbitrary: fc.Arbitrary<Shape> = fc.record({
  type: fc.constantFrom(...(["integer", "number", "decimal", "string", "text"] as const)),
  list: fc.boolean(),
  translatable: fc.boolean(),
  marketSpecific: fc.boolean(),
});

const stepArbitrary = fc.record({
  kind: fc.constantFrom(...(["change", "change", "back", "write", "rewrite", "rename"] as const)),
  shape: shapeArbitrary,
  number: fc.nat(999),
  twice: fc.boolean(),
  at: fc.nat(20),
});

/** Returns a value of a shape. */
function writtenValue(
  { type, list, translatable, marketSpecific }: Shape,
  number: number,
  twice: boolean,
): unknown {
  const one = type === "integer" ? number : number / 100;
  const single = type === "integer" || type === "number" ? one : one.toFixed(2);
  const items = list ? (twice ? [single, single] : [single]) : single;
  const inLanguages = translatable ? { [twice ? "de" : "en"]: items } : items;
  return marketSpecific ? { us: inLanguages } : inLanguages;
}

test("every value stays what readers saw at each change, and a change that would lose one is found", () => {
  const property = fc.property(fc.array(stepArbitrary, { maxLength: 25 }), (steps) => {
    let shape: Shape = { type: "integer", list: false, translatable: false, marketSpecific: false };
    let name = "x";
    const fieldsOf = (one: Shape, was?: string) => {
      const field = {
        name,
        ...one,
        ...(was === undefined ? {} : { was }),
        ...(one.type === "decimal" ? { scale: 2 } : {}),
      };
      return [field, { name: "o", type: "object", fields: [field] }];
    };
    const history = new History(fieldsOf(shape));
    const shapes = [shape];
    const entries: { stored: StoredValues; shown: unknown }[] = [];
    const both = (value: unknown) => ({ [name]: value, o: { [name]: value } });
    for (const { kind, shape: wanted, number, twice, at } of steps) {
      if (kind === "write") {
        const shown = writtenValue(shape, number, twice);
        entries.push({ stored: history.write(both(shown)), shown });
      } else if (kind === "rewrite") {
        const entry = entries[at % Math.max(1, entries.length)];
        if (entry !== undefined) entry.stored = history.write(history.read(entry.stored));
      } else if (kind === "rename") {
        const was = name;
        name = `n${number}`;
        history.to(fieldsOf(shape, was));
        history.to(fieldsOf(shape));
      } else {
        const next = kind === "back" ? (shapes[at % shapes.length] ?? shape) : wanted;
        const [document, names] = [history.document, history.names];
        const shown = entries.map((entry) => modelled(entry.shown, shape, next));
        history.to(fieldsOf(next));
        const isDirect = holds(shape, next) || !shapes.some((one) => holds(one, next));
        const lost = entries.map(({ stored }) => history.lost(stored).length > 0);
        // On the way back over several changes, more may be lost than by a direct one.
        if (isDirect) expect(lost).toEqual(shown.map((one) => one === undefined));
        if (lost.includes(true) || shown.includes(undefined)) {
          history.document = document;
          history.names = names;
        } else {
          shape = next;
          shapes.push(next);
          for (const [index, entry] of entries.entries()) {
            if (isDirect) entry.shown = shown[index];
            else entry.shown = history.read(entry.stored)[name];
          }
        }
      }
      for (const { stored, shown } of entries) expect(history.read(stored)).toEqual(both(shown));
    }
  });
  fc.assert(property, { seed: testSeed(), numRuns: 400 });
});
