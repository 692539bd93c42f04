/** Changes of type by a rule of the document: `"from": { "convert": … }`. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { checkDocument } from "../../shared/definition/check/check.ts";
import { compareDefinitions } from "../../shared/definition/compat.ts";
import type { OrbDocument } from "../../shared/definition/document/document.ts";
import { storedNames } from "../../shared/definition/names/resolve.ts";
import { hasRulesOrMoves } from "../../shared/definition/names/stored-names.ts";
import { unconverted } from "../../shared/entry/model/names.ts";
import type { StoredValues } from "../../shared/entry/model/snapshot.ts";
import type { AppError } from "../../shared/kernel/errors.ts";
import { DocumentHistory } from "../support/document-history.ts";
import { testSeed } from "../support/random.ts";

type Field = Record<string, unknown>;

const documentOf = (fields: readonly Field[]): OrbDocument =>
  checkDocument({
    id: "shop",
    languages: ["en", "de"],
    markets: ["us", "eu"],
    modules: [{ id: "m", type: "CONTENT", schemas: [{ id: "s", fields }] }],
  }).document;

class History extends DocumentHistory {
  constructor(field: Field) {
    super(documentOf([{ name: "x", ...field }]));
  }

  to(field: Field): this {
    return this.activate(documentOf([{ name: "x", ...field }]));
  }

  lost(values: StoredValues): string[] {
    return unconverted(this.schema, { id: "0", values }).map(({ field, reason }) => `${field} ${reason}`);
  }
}

const value = { var: "value" };
const by = (convert: unknown) => ({ from: { convert } });
const isYes = by({ in: [value, ["yes", "on"]] });
const cents = by({ "*": [value, 100] });
const euros = by({ "/": [value, 100] });
/** Takes between four and five steps for each of the items. */
const slow = (items: number) => ({
  length: { map: [{ preserve: Array(items).fill(0) }, { "+": [1, 2] }] },
});
const sum = { reduce: [value, { "+": [{ var: "current" }, { var: "accumulator" }] }, 0] };

test.each<[string, Field, unknown, Field, unknown]>([
  ["to a type without a conversion", { type: "string" }, "yes", { type: "boolean", ...isYes }, true],
  [
    "in another way than the platform",
    { type: "decimal", scale: 2 },
    "1.50",
    { type: "integer", ...cents },
    150,
  ],
  [
    "in each language",
    { type: "string", translatable: true },
    { en: "yes", de: "ja" },
    { type: "boolean", translatable: true, ...isYes },
    { en: true, de: false },
  ],
  [
    "for the default language and market",
    { type: "string" },
    "on",
    { type: "boolean", translatable: true, marketSpecific: true, ...isYes },
    { us: { en: true } },
  ],
  [
    "from several languages to one",
    { type: "string", translatable: true },
    { en: "a", de: "b" },
    { type: "string", ...by({ var: "value.de" }) },
    "b",
  ],
  [
    "from markets to languages",
    { type: "string", marketSpecific: true },
    { us: "a", eu: "b" },
    {
      type: "string",
      translatable: true,
      ...by({ eachKey: { en: { var: "value.us" }, de: { var: "value.eu" } } }),
    },
    { en: "a", de: "b" },
  ],
  ["of a whole list", { type: "integer", list: true }, [1, 2, 3], { type: "integer", ...by(sum) }, 6],
  ["to nothing", { type: "string" }, "no", { type: "integer", ...by({ if: [false, 1, null] }) }, null],
])(
  "a rule converts a value %s, and the earlier document shows it again",
  (_, before, stored, after, made) => {
    const history = new History(before);
    const entry = history.write({ x: stored });
    history.to(after);
    expect(history.lost(entry)).toEqual([]);
    expect(history.read(entry)).toEqual({ x: made });
    expect(hasRulesOrMoves(history.names)).toBe(true);
    history.to(before);
    expect(history.lost(entry)).toEqual([]);
    expect(history.read(entry)).toEqual({ x: stored });
  },
);

test.each<[string, Field, unknown, Field, string]>([
  [
    "fails",
    { type: "string" },
    "many",
    { type: "integer", ...by({ "+": [value] }) },
    'x cannot be converted: "many". The rule fails',
  ],
  [
    "returns a value of another type",
    { type: "string" },
    "many",
    { type: "boolean", ...by(value) },
    'x cannot be converted: "many". The rule returns "many", which must be true or false',
  ],
  [
    "returns a value that the field does not allow",
    { type: "string" },
    "many",
    { type: "integer", max: 2, ...by({ length: value }) },
    "x would have a value that must be at most 2 (is 4): 4",
  ],
  [
    "returns no option",
    { type: "integer" },
    3,
    { type: "string", enum: ["low", "high"], ...by({ cat: ["n", value] }) },
    'x would have a value that must be one of: low, high: "n3"',
  ],
  [
    "returns no value of a required field",
    { type: "integer" },
    3,
    { type: "string", required: true, ...by({ if: [false, "", null] }) },
    "x would have no value, which is required",
  ],
  [
    "returns no value of a required field in the default language",
    { type: "string", translatable: true },
    { en: "none", de: "3" },
    {
      type: "integer",
      translatable: true,
      required: true,
      ...by({ if: [{ "==": [value, "none"] }, null, { "+": [value] }] }),
    },
    "x would have no value in en, which is required",
  ],
  [
    "returns an empty text for a required field",
    { type: "integer" },
    3,
    { type: "string", required: true, ...by({ cat: [""] }) },
    "x would have no value, which is required",
  ],
  [
    "takes too many steps for all languages together",
    { type: "string", translatable: true },
    { en: "a", de: "b" },
    { type: "integer", translatable: true, ...by(slow(1_500)) },
    'x cannot be converted: "b". The rule fails (too_many_steps)',
  ],
  [
    "takes too many steps",
    { type: "integer", list: true },
    Array.from({ length: 200 }, (_, at) => at % 2),
    { type: "string", ...by({ map: [value, { map: [{ preserve: Array(100).fill(0) }, 1] }] }) },
    "x cannot be converted: [0,1,0,1,0,1,0,1,0,1,0,1,0,1,0,1,0,1,0,1,0,1,0,1,0,1,0,1,0,1…. The rule fails (too_many_steps)",
  ],
])("tells why a value is lost if the rule %s", (_, before, stored, after, reason) => {
  const history = new History(before);
  const entry = history.write({ x: stored });
  const to = documentOf([{ name: "x", ...after }]);
  const names = { to: storedNames(to, history) };
  expect(compareDefinitions(history.document, to, names)[0]).toMatchObject({
    severity: "converted",
    code: "converted_field",
    field: "x",
    mayLose: true,
  });
  history.to(after);
  expect(history.lost(entry)).toEqual([reason]);
});

test("the values in all objects of an entry share the steps of a rule", () => {
  const nested = (field: Field) =>
    documentOf([{ name: "o", type: "object", list: true, fields: [{ name: "x", ...field }] }]);
  const history = new DocumentHistory(nested({ type: "boolean" }));
  const items = (count: number) =>
    history.write({ o: Array.from({ length: count }, (_, at) => ({ _key: `k${at}`, x: true })) });
  const [few, many] = [items(20), items(100)];
  history.activate(nested({ type: "integer", ...by(slow(50)) }));
  const lost = (values: StoredValues) => unconverted(history.schema, { id: "0", values });
  expect(lost(few)).toEqual([]);
  expect(lost(many)).toContainEqual({
    field: "o.x",
    reason: "cannot be converted: true. The rule fails (too_many_steps)",
  });
  expect(lost(many).length).toBeLessThan(80);
});

test("different values of a unique field may become equal ones", () => {
  const codes = (type: string, from: Field = {}) =>
    documentOf([{ name: "code", type, unique: true, ...from }]);
  const effects = (before: OrbDocument, after: OrbDocument) =>
    compareDefinitions(before, after, { to: storedNames(after, { document: before }) }).map(
      ({ severity, code, field }) => `${severity} ${code} ${field}`,
    );
  const claim = ["converted converted_field code", "claim added_unique code"];
  expect(effects(codes("string"), codes("integer", by({ "+": [value] })))).toEqual(claim);
  // Addresses that differ only in case are equal, and texts are not.
  expect(effects(codes("string"), codes("email"))).toEqual(claim);
  expect(effects(codes("integer"), codes("string"))).toEqual(["converted converted_field code"]);
});

describe("the way back over a rule", () => {
  const euro = { type: "decimal", scale: 2 };

  test("takes the conversion of the types, if the rule gives the same value again", () => {
    const history = new History({ type: "string" }).to({ type: "boolean", ...by({ "==": [value, "true"] }) });
    const written = history.write({ x: true });
    history.to({ type: "string" });
    expect(history.lost(written)).toEqual(["x cannot become string: true"]);
    const amount = new History({ type: "string" }).to({ type: "integer", ...by({ "+": [value] }) });
    const number = amount.write({ x: 12 });
    amount.to({ type: "string" });
    expect(amount.lost(number)).toEqual([]);
    expect(amount.read(number)).toEqual({ x: "12" });
  });

  test("needs a rule, if the conversion of the types gives another value", () => {
    const history = new History(euro);
    const old = history.write({ x: "1.50" });
    history.to({ type: "integer", ...cents });
    const written = history.write({ x: 275 });
    const { document, names } = history;
    history.to(euro);
    expect(history.read(old)).toEqual({ x: "1.50" });
    expect(history.lost(written)).toEqual([
      'x cannot be converted back to decimal: 275. Give the field a rule, as "from": { "convert": … }',
    ]);
    Object.assign(history, { document, names });
    history.to({ ...euro, ...euros });
    expect(history.lost(written)).toEqual([]);
    expect([old, written].map((one) => history.read(one))).toEqual([{ x: "1.50" }, { x: "2.75" }]);
    // On again: both rules are known.
    const back = history.write({ x: "3.25" });
    history.to({ type: "integer", ...cents });
    expect([old, written, back].map((one) => history.read(one))).toEqual([
      { x: 150 },
      { x: 275 },
      { x: 325 },
    ]);
  });

  test("and on by another rule makes another form of the first values", () => {
    const history = new History(euro);
    const old = history.write({ x: "1.50" });
    history
      .to({ type: "integer", ...cents })
      .to(euro)
      .to({ type: "integer", ...by({ "*": [value, 10] }) });
    expect(history.read(old)).toEqual({ x: 15 });
  });
});

test("a rule counts once: it can stay in the document when the type changes again", () => {
  const history = new History({ type: "string" });
  const stored = history.write({ x: "yes" });
  history.to({ type: "integer", ...by({ length: value }) });
  history.to({ type: "string", list: true, ...by({ length: value }) });
  expect(history.read(stored)).toEqual({ x: ["3"] });
});

test("a rule without a change of type changes nothing", () => {
  const history = new History({ type: "string" });
  const stored = history.write({ x: "a" });
  history.to({ type: "string", ...by({ cat: [value, "!"] }) });
  expect(history.names).toBeUndefined();
  expect(history.read(stored)).toEqual({ x: "a" });
});

test.each<[string, Field, string, string]>([
  [
    "reads what it does not get",
    { type: "string", ...by({ var: "valeu" }) },
    "/convert/var",
    "unknown_variable",
  ],
  ["has no operator", { type: "string", ...by({ shout: value }) }, "/convert/shout", "unknown_operator"],
  ["is missing", { type: "string", from: {} }, "", "type"],
  [
    "makes objects",
    { type: "object", fields: [{ name: "n", type: "string" }], ...by(value) },
    "",
    "not_applicable",
  ],
  ["would read encrypted values", { type: "string", sensitive: true, ...by(value) }, "", "not_applicable"],
])("rejects a rule that %s", (_, field, path, code) => {
  try {
    documentOf([{ name: "x", ...field }]);
    expect.unreachable();
  } catch (error) {
    const found = expect.objectContaining({ path: `/modules/0/schemas/0/fields/0/from${path}`, code });
    expect((error as AppError).errors).toContainEqual(found);
  }
});

/** The types of the model, each with the rule that makes it of the others. All show a number in another way. */
const MODEL = {
  digits: { field: { type: "string" }, write: (n: number) => String(n), read: { "+": [value] } },
  tenths: { field: { type: "integer" }, write: (n: number) => n * 10, read: { "/": [value, 10] } },
  marked: { field: { type: "text" }, write: (n: number) => `n${n}`, read: { "+": [{ substr: [value, 1] }] } },
  listed: {
    field: { type: "number", list: true },
    write: (n: number) => [n],
    read: { "+": [{ var: "value.0" }] },
  },
} as const;
type Kind = keyof typeof MODEL;

const MADE: Record<Kind, (number: unknown) => unknown> = {
  digits: (number) => ({ cat: [number] }),
  tenths: (number) => ({ "*": [number, 10] }),
  marked: (number) => ({ cat: ["n", number] }),
  listed: (number) => ({ merge: [number] }),
};

test("every value follows each rule, and each way back, whatever was written in between", () => {
  const kinds = Object.keys(MODEL) as Kind[];
  const step = fc.record({
    act: fc.constantFrom("write", "rewrite", "change"),
    kind: fc.constantFrom(...kinds),
    number: fc.nat(500),
    nested: fc.boolean(),
  });
  const fieldsOf = (kind: Kind, before?: Kind) => {
    const rule = before === undefined ? {} : by(MADE[kind](MODEL[before].read));
    const field = { name: "x", ...MODEL[kind].field, ...rule };
    return documentOf([field, { name: "o", type: "object", list: true, fields: [field] }]);
  };
  const property = fc.property(fc.array(step, { maxLength: 25 }), (steps) => {
    let kind: Kind = "digits";
    const history = new DocumentHistory(fieldsOf(kind));
    const shown = (number: number) => {
      const x = MODEL[kind].write(number);
      return { x, o: [{ _key: "a", x }, { _key: "b" }] };
    };
    const entries: { number: number; stored: StoredValues }[] = [];
    for (const { act, kind: next, number } of steps) {
      const [first] = entries;
      if (act === "write") entries.push({ number, stored: history.write(shown(number)) });
      else if (act === "rewrite" && first !== undefined)
        first.stored = history.write(history.read(first.stored));
      else if (act === "change" && next !== kind) {
        history.activate(fieldsOf(next, kind));
        kind = next;
      }
      for (const entry of entries) {
        expect(unconverted(history.schema, { id: "0", values: entry.stored })).toEqual([]);
        expect(history.read(entry.stored)).toEqual(shown(entry.number));
      }
    }
  });
  fc.assert(property, { seed: testSeed(), numRuns: 200 });
});
