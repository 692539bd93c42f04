/** New fields whose values a rule makes of several earlier ones: `"from": { "convert": { "var": "values.first" } }`. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { checkDocument } from "../../shared/definition/check/check.ts";
import { compareDefinitions } from "../../shared/definition/compat.ts";
import { compileOrb } from "../../shared/definition/compile.ts";
import type { OrbDocument } from "../../shared/definition/document/document.ts";
import { pinnedNames } from "../../shared/definition/names/earlier.ts";
import { storedNames } from "../../shared/definition/names/resolve.ts";
import { hasRulesOrMoves } from "../../shared/definition/names/stored-names.ts";
import { remembered, unconverted, withNames } from "../../shared/entry/model/names.ts";
import type { StoredValues } from "../../shared/entry/model/snapshot.ts";
import { AppError } from "../../shared/kernel/errors.ts";
import { DocumentHistory } from "../support/document-history.ts";
import { testSeed } from "../support/random.ts";

type Field = Record<string, unknown>;

const looseOf = (fields: readonly Field[]) => ({
  id: "shop",
  languages: ["en", "de"],
  markets: ["us", "eu"],
  modules: [{ id: "m", type: "CONTENT", schemas: [{ id: "s", fields }] }],
});
const documentOf = (fields: readonly Field[]): OrbDocument => checkDocument(looseOf(fields)).document;

class History extends DocumentHistory {
  constructor(...fields: Field[]) {
    super(documentOf(fields));
  }

  to(...fields: Field[]): this {
    return this.activate(documentOf(fields));
  }

  lost(values: StoredValues): string[] {
    return unconverted(this.schema, { id: "0", values }).map(({ field, reason }) => `${field} ${reason}`);
  }

  changes(...fields: Field[]) {
    const to = documentOf(fields);
    return compareDefinitions(this.document, to, { from: this.names, to: storedNames(to, this) }).map(
      ({ severity, code, field, mayLose }) => [severity, code, field, mayLose === true],
    );
  }
}

const v = (name: string) => ({ var: `values.${name}` });
const by = (convert: unknown) => ({ from: { convert } });
const first = { name: "first", type: "string" };
const last = { name: "last", type: "string" };
const name = { name: "name", type: "string" };
const full = { ...name, ...by({ cat: [v("first"), " ", v("last")] }) };
/** The rules for the way back. */
const back = [
  { ...first, ...by({ substr: [v("name"), 0, 3] }) },
  { ...last, ...by({ substr: [v("name"), 4] }) },
];

test("a rule makes the values of a new field, and the earlier document shows the earlier values again", () => {
  const history = new History(first, last);
  const entry = history.write({ first: "Ann", last: "Lee" });
  const empty = history.write({});
  expect(history.changes(full)).toEqual([
    ["tightened", "removed_field", "first", false],
    ["tightened", "removed_field", "last", false],
    ["converted", "converted_field", "name", true],
  ]);
  history.to(full);
  expect(hasRulesOrMoves(history.names)).toBe(true);
  expect([entry, empty].map((one) => history.lost(one))).toEqual([[], []]);
  expect(history.read(entry)).toMatchObject({ name: "Ann Lee" });
  expect(history.read(empty)).toEqual({});
  // The rule may stay in the document, and the field may get another name and type.
  history.to(full);
  history.to({ name: "title", was: "name", type: "string", list: true });
  expect(history.read(entry)).toMatchObject({ title: ["Ann Lee"] });
  history.to(first, last);
  expect(history.lost(entry)).toEqual([]);
  expect(history.read(entry)).toEqual({ first: "Ann", last: "Lee" });
});

test("a caller that names the revision with the rule sees its values, also after the field has another name", () => {
  const history = new History(first, last);
  const entry = history.write({ first: "Ann", last: "Lee" });
  history.to(full);
  const { document, names } = history;
  history.to({ name: "title", was: "name", type: "string" });
  const pinned = compileOrb(document, pinnedNames(document, names, history)).modules.get("m")?.only;
  expect(withNames(pinned, { id: "0", module: "", schema: "", values: entry }).values).toMatchObject({
    name: "Ann Lee",
  });
});

test("a value that was written since is never replaced by the rule, even an empty one", () => {
  const history = new History(first, last);
  history.to(first, last, full);
  for (const values of [{ first: "Ann", last: "Lee" }, { first: "Ann", name: "Bo" }, { name: "Bo" }])
    expect(history.read(history.write(values))).toEqual(values);
  const withDefault = { ...full, default: "x" };
  history.to(first, last, withDefault);
  const cleared = history.write({ first: "Ann", name: null });
  expect(history.read(cleared)).toEqual({ first: "Ann", name: null });
  // An entry that was written without a value of the field has none, also after it gets a default.
  const other = new History(first, last).to(first, last, full);
  const without = other.write({ first: "Ann" });
  other.to(first, last, withDefault);
  expect(other.read(without)).toEqual({ first: "Ann" });
});

test("an earlier document tells which later values it would lose, until it has rules for the way back", () => {
  const history = new History(first, last);
  const before = history.write({ first: "Ann", last: "Lee" });
  history.to(full);
  const later = history.write({ name: "Bob Ray" });
  const { document, names } = history;
  expect(history.changes(first, last)).toContainEqual(["converted", "converted_field", "first", true]);
  history.to(first, last);
  expect(history.lost(before)).toEqual([]);
  expect(history.lost(later)).toEqual(
    ["first", "last"].map(
      (field) =>
        `${field} has no value in entries that were written with name: {"name":"Bob Ray"}. Give the field a rule, as "from": { "convert": … }`,
    ),
  );
  Object.assign(history, { document, names });
  history.to(...back);
  expect([before, later].map((one) => history.lost(one))).toEqual([[], []]);
  expect(history.read(before)).toEqual({ first: "Ann", last: "Lee" });
  expect(history.read(later)).toMatchObject({ first: "Bob", last: "Ray" });
  history.to(full);
  expect(history.read(before)).toMatchObject({ name: "Ann Lee" });
  expect(history.read(later)).toEqual({ name: "Bob Ray" });
});

test.each<[string, Field[], Record<string, unknown>, Field, unknown]>([
  [
    "in each language that one of them has",
    [{ ...first, translatable: true }, last],
    { first: { en: "Ann", de: "Anna" }, last: "Lee" },
    { ...full, translatable: true },
    { en: "Ann Lee", de: "Anna Lee" },
  ],
  [
    "for the default language",
    [first, last],
    { first: "A", last: "B" },
    { ...full, translatable: true },
    { en: "A B" },
  ],
  [
    "in each market and language",
    [
      { ...first, marketSpecific: true, translatable: true },
      { ...last, marketSpecific: true },
    ],
    { first: { us: { en: "A", de: "B" } }, last: { us: "X", eu: "Y" } },
    { ...full, marketSpecific: true, translatable: true },
    { us: { en: "A X", de: "B X" }, eu: { en: " Y" } },
  ],
  [
    "of all languages, if it has none",
    [{ ...first, translatable: true }],
    { first: { en: "A", de: "B" } },
    { ...name, ...by({ cat: [v("first.en"), v("first.de")] }) },
    "AB",
  ],
  [
    "of numbers, flags and lists",
    [
      { name: "n", type: "decimal", scale: 2 },
      { name: "b", type: "boolean" },
      { name: "l", type: "integer", list: true },
    ],
    { n: "1.50", b: true, l: [2, 3] },
    {
      name: "x",
      type: "number",
      ...by({
        if: [
          v("b"),
          { "+": [v("n"), { reduce: [v("l"), { "+": [{ var: "current" }, { var: "accumulator" }] }, 0] }] },
          0,
        ],
      }),
    },
    6.5,
  ],
])("a rule makes a value %s", (_, before, values, after, made) => {
  const history = new History(...before);
  const entry = history.write(values);
  history.to(after);
  expect(history.lost(entry)).toEqual([]);
  expect(history.read(entry)[String(after.name)]).toEqual(made);
});

test.each<[string, Field, string]>([
  [
    "fails",
    { ...name, ...by({ "+": [v("first")] }) },
    'cannot be converted: {"first":"Ann"}. The rule fails',
  ],
  [
    "returns another type",
    { name: "name", type: "integer", ...by({ cat: [v("first"), v("last")] }) },
    'cannot be converted: {"first":"Ann","last":"Lee"}. The rule returns "AnnLee", which must be a number',
  ],
  [
    "returns a value that the field does not allow",
    { ...full, max: 3 },
    'would have a value that must be at most 3 characters long (is 7): "Ann Lee"',
  ],
  [
    "returns nothing for a required field",
    { ...name, required: true, ...by({ if: [v("last"), null, v("first")] }) },
    "would have no value, which is required",
  ],
])("tells if the rule %s", (_, field, reason) => {
  const history = new History(first, last);
  const entry = history.write({ first: "Ann", last: "Lee" });
  history.to(field);
  expect(history.lost(entry)).toEqual([`name ${reason}`]);
});

test("a rule reads the earlier fields under the names and in the forms that they had", () => {
  const count = { name: "count", type: "integer" };
  const history = new History(count, last);
  const first = history.write({ count: 3, last: "a" });
  history.to({ name: "size", was: "count", type: "string" }, last);
  const second = history.write({ size: "4", last: "b" });
  const label = { name: "label", type: "string", ...by({ cat: [v("size"), v("last")] }) };
  history.to({ name: "size", type: "string" }, label);
  // Later changes of the fields that the rule reads do not matter.
  history.to({ name: "amount", was: "size", type: "integer" }, label);
  expect([first, second].map((one) => history.read(one).label)).toEqual(["3a", "4b"]);
});

test.each<[string, Field[], Field[]]>([
  ["no field", [first], [{ ...name, ...by(v("nothing")) }]],
  ["an object", [{ name: "o", type: "object", fields: [first] }], [{ ...name, ...by(v("o.first")) }]],
  ["a sensitive field", [{ ...first, sensitive: true }], [{ ...name, ...by(v("first")) }]],
  ["other fields for one that exists", [first, name], [{ ...full, type: "text", list: true }]],
  ["a field of other readers", [{ ...first, access: { read: ["admin"] } }, last], [full]],
  [
    "a field that gets other readers",
    [first, last],
    [{ ...first, access: { read: ["admin"] } }, last, { ...full, access: { read: ["admin", "user"] } }],
  ],
])("refuses a rule that reads %s", (_, before, after) => {
  expect(new History(...before).changes(...after)).toContainEqual([
    "dangerous",
    "converted_field",
    "name",
    false,
  ]);
});

test.each<[string, Field, string]>([
  [
    "reads both",
    { ...name, ...by({ cat: [{ var: "value" }, v("first")] }) },
    '/cat/0/var must read values, not "value"',
  ],
  ["reads all values", { ...name, ...by({ var: "values" }) }, '/var must read value, not "values"'],
  [
    "is inside an object",
    { name: "o", type: "object", fields: [{ ...name, ...by(v("first")) }] },
    '/var must read value, not "values"',
  ],
])("refuses a document whose rule %s", (_, field, message) => {
  let refused: unknown;
  try {
    documentOf([field]);
  } catch (error) {
    refused = error;
  }
  expect(refused).toBeInstanceOf(AppError);
  const faults = refused instanceof AppError ? (refused.errors ?? []) : [];
  expect(faults.map((fault) => `${fault.path} ${fault.message}`)).toEqual([expect.stringContaining(message)]);
});

test("a rule may read a field of few readers for a field of no others", () => {
  const access = { read: ["admin", "owner"] };
  const history = new History({ ...first, access }, last);
  expect(history.changes({ ...full, access: { read: ["admin"] } })).toContainEqual([
    "converted",
    "converted_field",
    "name",
    true,
  ]);
});

test.each<[string, Field[][], Field[]]>([
  [
    "the values of another rule",
    [[first, last], [full], [name]],
    [{ name: "label", type: "string", ...by(v("name")) }],
  ],
  [
    "another rule than before",
    [
      [first, last],
      [first, last, full],
      [first, last],
    ],
    [{ ...name, ...by(v("first")) }],
  ],
  [
    "no rule",
    [
      [first, last],
      [first, last, full],
      [first, last],
    ],
    [first, last, name],
  ],
  [
    "a new field with the name of an earlier one",
    [
      [first, last],
      [first, last, full],
      [last],
      [{ name: "b", type: "string" }, last],
      [{ ...first, was: "b" }, last],
    ],
    [first, last, full],
  ],
])("refuses a field that comes back or is new with %s", (_, [start = [], ...steps], after) => {
  const history = new History(...start);
  for (const step of steps) history.to(...step);
  expect(history.changes(...after)).toContainEqual([
    "dangerous",
    "converted_field",
    after.at(-1)?.name,
    false,
  ]);
});

test("the earlier document leads back to a rule, although its sources are gone", () => {
  const other = { name: "x", type: "string" };
  const history = new History(first, last, other);
  const entry = history.write({ first: "Ann", last: "Lee" });
  history.to(full, other).to(other);
  const between = history.write({ x: "y" });
  expect(history.changes(full, other).filter(([severity]) => severity === "dangerous")).toEqual([]);
  history.to(full, other);
  expect([entry, between].map((one) => history.read(one).name)).toEqual(["Ann Lee", undefined]);
  // A document whose field has lost its rule gets it back.
  history.to(name, other);
  expect(history.changes(full, other)).toEqual([]);
});

const seo = { name: "seo", type: "object", fields: [name], from: { fields: { name: "name" } } };
const inO = { name: "o", type: "object", fields: [first], from: { fields: { first: "first" } } };

test.each<[string, Field[][], Field[], string]>([
  ["a field that a rule makes", [[first, last], [full]], [seo], "seo.name"],
  [
    "a field that a rule reads",
    [
      [first, last],
      [first, last, full],
    ],
    [inO, last, name],
    "o.first",
  ],
  ["a field that a rule is to read", [[first, last]], [inO, last, full], "o.first"],
])(
  "%s can move into an object when all entries have been written",
  (_, [start = [], ...steps], after, path) => {
    const history = new History(...start);
    const entry = history.write({ first: "Ann", last: "Lee" });
    for (const step of steps) history.to(...step);
    const later = steps.length === 0 ? undefined : history.write(history.read(entry));
    expect(history.changes(...after)).toContainEqual(["renamed", "moved_field", path, true]);
    history.to(...after);
    expect(history.lost(entry)).toEqual([expect.stringContaining(`${path} is in an object now, but`)]);
    if (later !== undefined) expect(history.lost(later)).toEqual([]);
  },
);

test("no rule replaces a value that comes back from an object, or misses one", () => {
  const history = new History(first, last).to(first, last, full).to(first, last, seo);
  const entry = history.write({ first: "A", last: "B", seo: { name: "Cy" } });
  const empty = history.write({ first: "A", last: "B" });
  history.to(first, last, name);
  expect([entry, empty].map((one) => history.read(one).name)).toEqual(["Cy", undefined]);
  const other = new History(first, last).to(inO, last);
  const inside = other.write({ o: { first: "Ann" }, last: "Lee" });
  other.to(first, last).to(first, last, full);
  expect(other.lost(inside)).toEqual([]);
  expect(other.read(inside)).toMatchObject({ name: "Ann Lee" });
});

test("a rule reads the default of a variable", () => {
  const history = new History(first, last);
  const entry = history.write({ first: "Ann" });
  history.to({ ...name, ...by({ var: ["values.last", v("first")] }) });
  expect(history.read(entry)).toMatchObject({ name: "Ann" });
});

test.each<[string, unknown]>([
  ["val", { cat: [v("first"), { val: ["values", "last"] }] }],
  ["exists", { cat: [v("first"), { exists: ["values", "last"] }] }],
  ["missing", { cat: [v("first"), { missing: ["values.last"] }] }],
  ["missing_some", { cat: [v("first"), { missing_some: [1, ["values.last"]] }] }],
  ["var", { cat: [v("first"), { var: { cat: ["values.", "last"] } }] }],
  ["var", { cat: [v("first"), { var: "values" }] }],
])("refuses a rule whose sources %s hides", (operator, rule) => {
  let refused: unknown;
  try {
    documentOf([{ ...name, ...by(rule) }]);
  } catch (error) {
    refused = error;
  }
  const faults = refused instanceof AppError ? (refused.errors ?? []) : [];
  expect(faults.map(({ code, message }) => `${code} ${message}`)).toContainEqual(
    expect.stringMatching(new RegExp(`^not_applicable .* not by ${operator} in another way`)),
  );
});

test("every entry shows what was written last, through any changes there and back", () => {
  const kinds = fc.constantFrom("split", "join", "write", "rewrite", "rename");
  const steps = fc.array(
    fc.record({ kind: kinds, at: fc.nat(20), text: fc.stringMatching(/^[a-z]{3} [a-z]{1,4}$/) }),
    {
      maxLength: 25,
    },
  );
  const property = fc.property(steps, (all) => {
    let joined = false;
    let own = "name";
    const history = new History(first, last);
    const entries: { stored: StoredValues; text: string }[] = [];
    const valuesOf = (text: string) =>
      joined ? { [own]: text } : { first: text.slice(0, 3), last: text.slice(4) };
    const fields = () =>
      joined
        ? [{ ...full, name: own }]
        : back.map((one, at) => ({
            ...one,
            ...by(at === 0 ? { substr: [v(own), 0, 3] } : { substr: [v(own), 4] }),
          }));
    for (const { kind, at, text } of all) {
      const entry = entries[at % Math.max(1, entries.length)];
      if (kind === "write") entries.push({ stored: history.write(valuesOf(text)), text });
      else if (kind === "rewrite" && entry !== undefined)
        Object.assign(entry, { stored: history.write(valuesOf(text)), text });
      else if (kind === "rename" && joined) {
        const was = own;
        own = was === "name" ? "title" : "name";
        history.to({ name: own, was, type: "string" });
      } else if (kind === "join" || kind === "split") {
        joined = kind === "join";
        history.to(...fields());
      }
      for (const { stored, text: wanted } of entries) {
        expect(history.lost(stored)).toEqual([]);
        expect(history.read(stored)).toMatchObject(valuesOf(wanted));
      }
    }
  });
  fc.assert(property, { seed: testSeed(), numRuns: 300 });
});

/** A field that exists, and another one that its new rule reads. */
const price = { name: "price", type: "integer" };
const factor = { name: "factor", type: "integer" };
const total = {
  ...{ name: "price", type: "decimal", scale: 2 },
  ...by({ "*": [v("price"), v("factor")] }),
};
/** The rule for the way back. It reads the later value alone. */
const halved = { ...price, ...by({ "/": [{ var: "value" }, 2] }) };

test("a rule that reads several fields converts a field that exists, and the earlier document shows its values again", () => {
  const history = new History(price, factor);
  const [entry, alone, empty] = [
    history.write({ price: 3, factor: 2 }),
    history.write({ factor: 2 }),
    history.write({}),
  ];
  expect(history.changes(total, factor)).toEqual([["converted", "converted_field", "price", true]]);
  history.to(total, factor);
  expect([entry, alone, empty].map((one) => history.lost(one))).toEqual([[], [], []]);
  expect(history.read(entry)).toEqual({ price: "6.00", factor: 2 });
  expect(history.read(empty)).toEqual({});
  // The rule may stay in the document, or leave it.
  history.to(total, factor);
  history.to({ name: "price", type: "decimal", scale: 2 }, factor);
  expect(history.read(entry)).toEqual({ price: "6.00", factor: 2 });
  const later = history.write({ price: "8.00", factor: 2 });
  expect(history.read(later)).toEqual({ price: "8.00", factor: 2 });
  // No rule replaces what was written later, or nothing.
  expect(history.read(history.write({ factor: 2 }))).toEqual({ factor: 2 });
  expect(history.read(history.write({ price: null, factor: 2 }))).toEqual({ price: null, factor: 2 });
  const { document, names } = history;
  history.to(price, factor);
  expect(history.lost(entry)).toEqual([]);
  expect(history.read(entry)).toEqual({ price: 3, factor: 2 });
  expect(history.lost(later)).toEqual([
    'price cannot be converted back to integer: "8.00". Give the field a rule, as "from": { "convert": … }',
  ]);
  Object.assign(history, { document, names });
  history.to(halved, factor);
  expect([entry, later].map((one) => history.lost(one))).toEqual([[], []]);
  expect(history.read(later)).toMatchObject({ price: 4, factor: 2 });
  expect(history.read(entry)).toEqual({ price: 3, factor: 2 });
  // And on again.
  history.to(total, factor);
  expect(history.read(entry)).toEqual({ price: "6.00", factor: 2 });
  expect(history.read(later)).toEqual({ price: "8.00", factor: 2 });
});

test.each([{ price: 3, factor: 2 }, { factor: 2 }, { price: 3 }, {}, { price: null, factor: 2 }])(
  "writes of other fields keep what %o had before a rule over several fields",
  (values) => {
    const note = { name: "note", type: "string" };
    const text = { name: "price", type: "string", ...by({ cat: [{ var: "value" }, " USD"] }) };
    const history = new History(price, factor, note);
    let entry = history.write({ ...values, note: "a" });
    const touch = (change: Record<string, unknown>) => {
      const named = history.read(entry);
      entry = history.write(remembered({ ...named, ...change }, named));
      expect(history.read(entry)).toEqual({ ...named, ...change });
    };
    for (const [at, field] of [total, text, total].entries()) {
      history.to(field, factor, note);
      touch({ note: `first ${at}` });
      touch({ note: `second ${at}` });
    }
    const kept = entry;
    touch({ price: "8.00" });
    touch({ price: history.read(kept).price ?? "9.00" });
    history.to(price, factor, note);
    expect(history.lost(kept)).toEqual([]);
    expect({ price: null, ...history.read(kept) }).toMatchObject({
      price: null,
      ...values,
      note: "second 2",
    });
    // A value that was rewritten does not come back.
    expect(history.lost(entry)).toHaveLength(1);
  },
);

test("a rule that fails for several fields is told once, and one without a change of type is refused", () => {
  const history = new History(price, factor);
  const entry = history.write({ price: 3, factor: 0 });
  const ratio = { name: "price", type: "string", ...by({ if: [v("factor"), "x", { throw: "none" }] }) };
  history.to(ratio, factor);
  expect(history.lost(entry)).toHaveLength(1);
  expect(history.read(entry)).toEqual({ factor: 0 });
  const other = new History(price, factor);
  expect(other.changes({ ...total, type: "integer", scale: undefined }, factor)).toEqual([
    ["dangerous", "converted_field", "price", false],
  ]);
  other.to(total, factor);
  const another = { ...total, type: "string", scale: undefined, ...by({ cat: [v("price"), v("factor")] }) };
  expect(other.changes(another, factor)).toContainEqual(["dangerous", "converted_field", "price", false]);
});

test("every entry shows what was written last, while a rule over several fields comes and goes", () => {
  const kinds = fc.constantFrom("on", "off", "write", "rewrite");
  const steps = fc.array(fc.record({ kind: kinds, at: fc.nat(20), n: fc.integer({ min: 0, max: 500 }) }), {
    maxLength: 25,
  });
  const property = fc.property(steps, (all) => {
    let isOn = false;
    const history = new History(price, factor);
    const entries: { stored: StoredValues; n: number }[] = [];
    const valuesOf = (n: number) => (isOn ? { price: `${n * 2}.00`, factor: 2 } : { price: n, factor: 2 });
    for (const { kind, at, n } of all) {
      const entry = entries[at % Math.max(1, entries.length)];
      if (kind === "write") entries.push({ stored: history.write(valuesOf(n)), n });
      else if (kind === "rewrite" && entry !== undefined)
        Object.assign(entry, { stored: history.write(valuesOf(n)), n });
      else if (kind === "on" || kind === "off") {
        isOn = kind === "on";
        history.to(isOn ? total : halved, factor);
      }
      for (const { stored, n: wanted } of entries) {
        expect(history.lost(stored)).toEqual([]);
        expect(history.read(stored)).toMatchObject(valuesOf(wanted));
      }
    }
  });
  fc.assert(property, { seed: testSeed(), numRuns: 300 });
});

/** Publishes a document as the platform does: not if it is refused, or if an entry would lose a value. */
function publish(history: History, fields: readonly Field[], entries: readonly StoredValues[]): boolean {
  const changes = history.changes(...fields);
  const heirs = changes.filter(([, code]) => code === "moved_field" || code === "converted_field");
  // The dry run tells such a removal, so it is no loss without a word.
  const isRemoval = ([severity, code]: (typeof changes)[number]) =>
    severity === "removal" || (code === "removed_field" && heirs.length === 0);
  if (changes.some((change) => change[0] === "dangerous" || isRemoval(change))) return false;
  const { document, names } = history;
  history.to(...fields);
  const unsure = new Set(changes.flatMap(([, , field, mayLose]) => (mayLose ? [field] : [])));
  const isLost = (values: StoredValues) =>
    unconverted(history.schema, { id: "0", values }).some(({ field }) => unsure.has(field));
  if (!entries.some(isLost)) return true;
  Object.assign(history, { document, names });
  return false;
}

test("no publication that is accepted loses a value: joins, moves, renames and returns in any order", () => {
  type Shape = "split" | "inO" | "joined" | "inSeo" | "label" | "plain";
  const shapes: Shape[] = ["split", "inO", "joined", "plain", "inSeo", "label"];
  const steps = fc.array(
    fc.record({
      shape: fc.constantFrom(...shapes),
      own: fc.constantFrom("name", "title"),
      ruled: fc.boolean(),
      writes: fc.array(fc.record({ at: fc.nat(5), text: fc.stringMatching(/^[a-z]{3} [a-z]{1,4}$/) }), {
        maxLength: 2,
      }),
    }),
    { maxLength: 15 },
  );
  const fieldsOf = (shape: Shape, own: string, was: string, ruled: boolean): Field[] => {
    const named = { name: own, type: "string", ...(was === own ? {} : { was }) };
    const parts = ruled
      ? [
          { ...first, ...by({ substr: [v(was), 0, 3] }) },
          { ...last, ...by({ substr: [v(was), 4] }) },
        ]
      : [first, last];
    const member = { name: "m", type: "string" };
    return {
      split: parts,
      inO: [inO, last],
      joined: [{ ...named, from: full.from }],
      plain: [named],
      inSeo: [{ name: "seo", type: "object", fields: [member], from: { fields: { m: was } } }],
      label: [{ name: "label", type: "string", ...by(v(was)) }],
    }[shape];
  };
  const valuesOf = (shape: Shape, own: string, text: string): Record<string, unknown> => {
    const [one, two] = [text.slice(0, 3), text.slice(4)];
    return {
      split: { first: one, last: two },
      inO: { o: { first: one }, last: two },
      joined: { [own]: text },
      plain: { [own]: text },
      inSeo: { seo: { m: text } },
      label: { label: text },
    }[shape];
  };
  const accepted = new Set<string>();
  const property = fc.property(steps, (all) => {
    const history = new History(first, last);
    const entries = ["ann lee", "bob ray"].map((text) => ({
      stored: history.write(valuesOf("split", "name", text)),
      text,
    }));
    let [shape, own]: [Shape, string] = ["split", "name"];
    for (const { shape: next, own: to, ruled, writes } of all) {
      const stored = entries.map((entry) => entry.stored);
      // Only a field that the document has can move.
      const canMove = { inO: ["split", "inO"], inSeo: ["joined", "plain", "inSeo"] };
      if (next in canMove && !Reflect.get(canMove, next).includes(shape)) continue;
      if (publish(history, fieldsOf(next, to, own, ruled), stored)) {
        accepted.add(`${shape} ${next}`);
        [shape, own] = [next, to];
      }
      for (const { at, text } of writes)
        entries[at] === undefined
          ? entries.push({ text, stored: history.write(valuesOf(shape, own, text)) })
          : Object.assign(entries[at], { text, stored: history.write(valuesOf(shape, own, text)) });
      for (const { stored: one, text } of entries)
        expect(history.read(one)).toMatchObject(valuesOf(shape, own, text));
    }
  });
  const ways = ["split joined", "joined split", "joined plain", "split inO", "inO split", "plain inSeo"];
  // Some ways are rarer than others.
  for (let more = 0; more === 0 || (more < 20 && !ways.every((way) => accepted.has(way))); more++)
    fc.assert(property, { seed: testSeed() + more, numRuns: 500 });
  for (const way of ways) expect(accepted).toContain(way);
});
