/** Writes in the shape of an earlier revision, on documents that show one rule each. */
import { describe, expect, it } from "vitest";
import { principalIn } from "../../shared/access/authorize.ts";
import { checkDocument } from "../../shared/definition/check/check.ts";
import { type CompiledOrb, compileOrb } from "../../shared/definition/compile.ts";
import { homeKey, homeOf } from "../../shared/definition/document/home.ts";
import { pinnedNames } from "../../shared/definition/names/earlier.ts";
import { storedNames } from "../../shared/definition/names/resolve.ts";
import type { StoredNames } from "../../shared/definition/names/stored-names.ts";
import { MAX_ITEMS, validateValues } from "../../shared/definition/validate.ts";
import type { SchemaPair } from "../../shared/entry/pinned/fields.ts";
import { shownAsOld } from "../../shared/entry/pinned/values.ts";
import { ShapeRefusal, shapedValues } from "../../shared/entry/pinned/write.ts";
import { admitted } from "../../shared/entry/values/admitted.ts";
import type { Fault } from "../../shared/kernel/errors.ts";
import { user } from "../support/entries.ts";

type Values = Record<string, unknown>;
interface Options {
  role?: "owner" | "admin" | "user";
  locale?: string;
  put?: boolean;
}

const [A, B, C] = ["a", "b", "c"].map((letter) => `0${letter.repeat(25)}`);

/** The result of a write: the stored values and what the earlier revision shows of them, or the refusal. */
interface Outcome {
  values?: unknown;
  shown?: unknown;
  code?: string;
  errors?: readonly Fault[];
}

interface Case {
  pair: SchemaPair;
  write(base: Values | undefined, sent: Values, options?: Options): Outcome;
  show(base: Values): unknown;
}

/** A schema before and after a change of the definition. */
function changeOf(
  before: object[],
  after: object[],
  more: { target?: object; languages?: string[] } = {},
  later: typeof more = more,
  /** Whether the schema has no entries when it changes. */
  isEmpty = false,
): Case {
  const documentOf = (fields: object[], { target = {}, ...rest }: { target?: object }) =>
    checkDocument({
      id: "shop",
      languages: ["en", "de"],
      ...rest,
      modules: [
        { id: "m", type: "CONTENT", schemas: [{ id: "s", access: { read: "user", write: "user" }, fields }] },
        {
          id: "x",
          type: "CONTENT",
          schemas: [{ id: "y", ...target, fields: [{ name: "n", type: "string" }] }],
        },
      ],
    }).document;
  const [first, second] = [documentOf(before, more), documentOf(after, later)];
  const names: StoredNames | undefined = storedNames(
    second,
    { document: first, names: undefined },
    new Set(isEmpty ? [homeKey(homeOf("CONTENT", "s"))] : []),
  );
  const live = compileOrb(second, names);
  const old = compileOrb(first, pinnedNames(first, undefined, { document: second, names }), true).schema(
    "m",
    "s",
  );
  const now = live.schema("m", "s");
  if (old === undefined || now === undefined) throw new Error("no schema");
  return caseOf({ old, now }, live);
}

function caseOf(pair: SchemaPair, live: CompiledOrb): Case {
  const { now } = pair;
  return {
    pair,
    show: (base) => shownAsOld(pair, now, base),
    write(base, sent, { role = "owner", locale, put = false } = {}) {
      const caller = principalIn(user("ann", role), "shop", live);
      const sender = { caller, createdBy: "someone" };
      try {
        const { values } = shapedValues(pair, 1, {
          ...{ sender, sent, merge: !put, base, locale, market: undefined },
        });
        const { given, faults } = admitted(now, sender, values, base as never, {});
        const checked = validateValues(now, given, { existing: base as never, newKey: () => "new" });
        const errors = [...faults, ...checked.faults];
        if (errors.length > 0) return { code: "invalid", errors };
        return { values: checked.values, shown: shownAsOld(pair, now, checked.values) };
      } catch (error) {
        if (!(error instanceof ShapeRefusal)) throw error;
        return { code: error.code, errors: error.errors ?? [] };
      }
    },
  };
}

const coded = (...codes: string[]) => codes.map((code) => expect.objectContaining({ code }));
const text = (name: string, more: object = {}) => ({ name, type: "string", ...more });
const object = (name: string, fields: object[], more: object = {}) => ({
  name,
  type: "object",
  fields,
  ...more,
});
const BLIND = { access: { read: ["admin"], write: ["user"] } };
const FIXED = { access: { write: ["owner"] } };

describe("references to one of several schemas", () => {
  const ref = (name: string, list: boolean, ...refs: string[]) => ({
    name,
    type: "reference",
    list,
    ref: refs,
  });
  const { write, show } = changeOf(
    [ref("r", false, "shop/m/s"), ref("l", true, "shop/m/s")],
    [ref("r", false, "shop/m/s", "shop/x/y"), ref("l", true, "shop/m/s", "shop/x/y")],
  );
  const base = {
    r: { schema: "shop/x/y", id: A },
    l: [
      { schema: "shop/x/y", id: A },
      { schema: "shop/m/s", id: B },
    ],
  };

  it("keeps those to schemas that the revision does not name", () => {
    expect(show(base)).toEqual(base);
    const l = [...base.l, { schema: "shop/m/s", id: C }];
    expect(write(base, { l }).values).toEqual({ ...base, l });
    expect(write(base, { l: [...base.l, C] }).values).toEqual({ ...base, l });
  });

  it("names a schema as the revision does", () => {
    const field = (name: string) => ({ name: "r", type: "reference", ref: ["shop/m/s", `shop/x/${name}`] });
    const { write, show } = changeOf(
      [field("y"), text("a", { translatable: true })],
      [{ ...field("z"), list: true }, text("a", { translatable: true })],
      {},
      { target: { id: "z", was: "y" } },
    );
    const base = { r: [{ schema: "shop/x/z", id: A }] };
    expect(show(base)).toEqual({ r: { schema: "shop/x/y", id: A } });
    expect(write(base, { r: { schema: "shop/x/y", id: B } })).toEqual({
      values: { r: [{ schema: "shop/x/z", id: B }] },
      shown: { r: { schema: "shop/x/y", id: B } },
    });
  });

  it("lets the current definition refuse others", () => {
    const typo = { schema: "shop/m/typo", id: B };
    expect(write(base, { r: typo }).errors).toEqual([
      expect.objectContaining({ path: "/values/r/schema", code: "enum" }),
    ]);
    expect(write(base, { l: [typo] }).errors).toEqual(coded("enum"));
    expect(write(base, { r: { id: B } }).errors).toEqual(coded("required"));
  });
});

it("checks the coordinates of a point that became a list", () => {
  const { write } = changeOf([{ name: "p", type: "point" }], [{ name: "p", type: "point", list: true }]);
  const base = { p: [{ lat: 1, lon: 2 }] };
  expect(write(base, { p: { lat: 5 } }, { put: true }).errors).toEqual(coded("required"));
  expect(write(base, { p: { lat: 5, lon: 6 } }).values).toEqual({ p: [{ lat: 5, lon: 6 }] });
});

describe("an object that became a list", () => {
  const members = [text("city"), text("zip")];
  const [address, list] = [object("address", members), object("address", members, { list: true })];
  const two = {
    address: [
      { _key: "x", city: "Rome" },
      { _key: "first", city: "Oslo" },
    ],
  };

  it.each([
    ["at the root", changeOf([address], [list]), (value: unknown) => ({ address: value }), two],
    [
      "in an object",
      changeOf([object("o", [address])], [object("o", [list])]),
      (value: unknown) => ({ o: { address: value } }),
      { o: two },
    ],
  ])("is the first item %s", (_, { write, show }, sent, base) => {
    expect(show(base)).toEqual(sent({ city: "Rome" }));
    expect(write(base, sent({ city: "Rome", zip: "9" })).values).toEqual(
      sent([
        { _key: "x", city: "Rome", zip: "9" },
        { _key: "first", city: "Oslo" },
      ]),
    );
    // Without it, the caller would see another item.
    expect(write(base, sent(null))).toMatchObject({ code: "shape_conflict", errors: coded("hidden_part") });
  });

  it("is cleared if it is the only item", () => {
    const { write } = changeOf([address], [list]);
    expect(write({ address: [{ _key: "x", city: "Rome" }] }, { address: null }).shown).toEqual({
      address: null,
    });
    expect(write(two, {}, { put: true }).errors).toEqual(coded("hidden_part"));
  });

  it.each([2, 3])("never loses one of %i items", (count) => {
    const { write, show } = changeOf([address], [list]);
    for (const keys of [
      ["first", "b", "c"],
      ["a", "first", "c"],
      ["a", "b", "c"],
    ]) {
      const items = keys.slice(0, count).map((key, at) => ({ _key: key, city: `c${at}` }));
      expect(show({ address: items })).toEqual({ address: { city: "c0" } });
      const changed = write({ address: items }, { address: { zip: "1" } });
      expect(changed.values).toEqual({ address: [{ ...items[0], zip: "1" }, ...items.slice(1)] });
    }
  });
});

describe("fields that the caller may set and not read", () => {
  const { write } = changeOf(
    [
      text("title", BLIND),
      text("tag", BLIND),
      text("blurb"),
      text("note", BLIND),
      object("rows", [text("x")], BLIND),
    ],
    [
      text("headline", { was: "title", translatable: true, ...BLIND }),
      text("tag", { list: true, ...BLIND }),
      object("seo", [text("summary"), text("robots")], { from: { fields: { summary: "blurb" } }, ...BLIND }),
      text("note", BLIND),
      object("rows", [text("x"), text("y")], BLIND),
    ],
  );
  const base = {
    headline: { en: "T", de: "T" },
    tag: ["a", "b"],
    seo: { summary: "s", robots: "r" },
    note: "n",
    rows: { x: "1", y: "2" },
  };

  it.each([
    ["title", "T"],
    ["tag", "c"],
    ["blurb", "z"],
    ["blurb", null],
    ["rows", { x: "9" }],
  ])("cannot be set if their shape has changed: %s %j", (name, value) => {
    expect(write(base, { [name]: value }, { role: "user" })).toMatchObject({
      code: "shape_conflict",
      errors: [{ path: `/values/${name}`, code: "hidden_part" }],
    });
  });

  it("can be set in a new entry, and if their shape is the same", () => {
    expect(write(base, { note: "m" }, { role: "user" }).values).toEqual({ ...base, note: "m" });
    expect(write(undefined, { title: "T", tag: "c", blurb: "z" }, { role: "user" }).values).toEqual({
      headline: { en: "T" },
      tag: ["c"],
      seo: { summary: "z" },
    });
  });

  it("can be set in objects that the caller may read", () => {
    const secret = text("secret", BLIND);
    const same = changeOf([object("o", [text("a"), secret])], [object("o", [text("a"), secret])]);
    const wider = changeOf([object("o", [text("a"), secret])], [object("o", [text("a"), text("b"), secret])]);
    for (const { write } of [same, wider]) {
      const sent = { o: { a: "2", secret: "T" } };
      expect(write({ o: { a: "1", secret: "S" } }, sent, { role: "user" }).values).toEqual(sent);
      expect(write({ o: { a: "1", secret: "S" } }, { o: { a: "2" } }, { role: "user" }).values).toEqual({
        o: { a: "2", secret: "S" },
      });
    }
  });

  it("can be set with a locale, unless their values have languages", () => {
    const { write } = changeOf(
      [text("a"), text("note", BLIND)],
      [text("b", { was: "a" }), text("note", BLIND)],
    );
    expect(write({ note: "n" }, { note: "m" }, { role: "user", locale: "en" }).values).toEqual({ note: "m" });
  });
});

describe("empty values", () => {
  const list = { name: "tags", type: "string", list: true, default: ["new"] };
  const meta = { name: "meta", type: "json", required: true };
  const { write } = changeOf([list, meta, text("a")], [list, meta, text("b", { was: "a" })]);

  it("are values", () => {
    expect(write(undefined, { tags: [], meta: {} }).values).toEqual({ tags: [], meta: {} });
    expect(write({ tags: null, meta: { a: 1 } }, { tags: [], meta: {} }, { put: true }).values).toEqual({
      tags: [],
      meta: {},
    });
    expect(write({ tags: ["a"], meta: {} }, { tags: [] }).values).toEqual({ tags: [], meta: {} });
    expect(write({ tags: [], meta: {} }, { meta: {} }, { put: true }).values).toEqual({
      tags: ["new"],
      meta: {},
    });
  });
});

describe("lists of objects", () => {
  const rows = (name: string) => object(name, [text("a", { translatable: true }), text("b")], { list: true });
  const fields = [rows("rows"), rows("more")];
  // The items have a new language.
  const { write } = changeOf(fields, fields, { languages: ["en"] }, { languages: ["en", "de"] });
  const items = (count: number, more: object = {}) =>
    Array.from({ length: count }, (_, at) => ({ a: { en: "x" }, b: `b${at}`, ...more }));
  const stored = items(1000, { a: { en: "x", de: "x" } }).map((item, at) => ({ _key: `k${at}`, ...item }));

  it("refuses too many items before it compares them", () => {
    const sent = { rows: items(MAX_ITEMS * 10, { b: "new" }) };
    expect(write({ rows: stored }, sent, { put: true }).errors).toEqual(coded("too_many"));
  });

  it("gives items without keys those of the same ones, once each and in their positions", () => {
    const a = { en: "x", de: "y" };
    const base = {
      rows: [
        { _key: "a", b: "1" },
        { _key: "b", b: "1" },
        { _key: "c", b: "1" },
        { _key: "d", a, b: "2" },
      ],
    };
    const sent = { rows: [{ a: { en: "x" }, b: "2" }, { b: "1" }, { b: "1" }, { b: "1" }] };
    expect(write(base, sent, { put: true }).values).toEqual({
      rows: [base.rows[3], base.rows[1], base.rows[2], base.rows[0]],
    });
    const added = { rows: [{ b: "3" }, ...sent.rows] };
    expect(write(base, added, { put: true }).errors).toEqual([
      expect.objectContaining({ path: "/values/rows/0/_key", code: "required" }),
    ]);
  });

  it("lists a limited number of faults", () => {
    const sent = { rows: items(1000, { b: "new" }), more: items(1000, { b: "new" }) };
    const { errors = [] } = write({ rows: stored, more: stored }, sent, { put: true });
    expect(errors.length).toBeLessThanOrEqual(1001);
    expect(errors.at(-1)?.code).toBe("too_many_faults");
  });
});

it("keeps what the caller may not set if a PUT omits it", () => {
  const { write } = changeOf(
    [text("name"), text("tag", FIXED), object("o", [text("a"), text("b", FIXED)])],
    [
      text("name"),
      text("tag", { list: true, ...FIXED }),
      object("o", [text("a"), text("b", { list: true, ...FIXED })]),
    ],
  );
  const base = { name: "n", tag: ["a", "b"], o: { a: "1", b: ["x", "y"] } };
  const options = { put: true, role: "admin" } as const;
  expect(write(base, { name: "n2", o: { a: "2" } }, options).values).toEqual({
    ...base,
    name: "n2",
    o: { a: "2", b: ["x", "y"] },
  });
  expect(write(base, { name: "n2", tag: "c", o: base.o }, options).errors).toEqual([
    expect.objectContaining({ path: expect.stringMatching(/^\/values\/(tag|o)/) }),
  ]);
});

it("shows the first item of a list that a field moved into", () => {
  const seo = (list: boolean, more: object) =>
    object("seo", [text("summary"), text("robots")], { list, ...more });
  const document = (...fields: object[]) =>
    checkDocument({
      id: "shop",
      modules: [{ id: "m", type: "CONTENT", schemas: [{ id: "s", fields }] }],
    }).document;
  const first = document(text("blurb"), object("seo", [text("robots")]));
  const second = document(seo(false, { from: { fields: { summary: "blurb" } } }));
  const last = document(seo(true, {}));
  const between = storedNames(second, { document: first, names: undefined });
  const names = storedNames(last, { document: second, names: between });
  const live = compileOrb(last, names);
  const pinned = pinnedNames(first, undefined, { document: last, names });
  const old = compileOrb(first, pinned, true).schema("m", "s");
  const now = live.schema("m", "s");
  if (old === undefined || now === undefined) throw new Error("no schema");
  const { write, show } = caseOf({ old, now }, live);
  const base = {
    seo: [
      { _key: "a", summary: "A", robots: "r" },
      { _key: "b", summary: "B" },
    ],
  };
  expect(show(base)).toEqual({ blurb: "A", seo: { robots: "r" } });
  expect(write(base, { blurb: "C" }).values).toEqual({
    seo: [{ ...base.seo[0], summary: "C" }, base.seo[1]],
  });
  expect(write(base, { seo: { robots: "s" } }).values).toEqual({
    seo: [{ ...base.seo[0], robots: "s" }, base.seo[1]],
  });
});

describe("a field whose type changed while there were no entries", () => {
  const { show, write } = changeOf(
    [text("title"), text("tag"), text("n"), text("j")],
    [
      text("title", { translatable: true }),
      text("tag", { list: true }),
      { name: "n", type: "integer" },
      { name: "j", type: "point" },
    ],
    {},
    {},
    true,
  );
  const base = { title: { en: "T", de: "U" }, tag: ["a", "b"], n: 5, j: { lat: 1, lon: 2 } };

  it("has values of the earlier type", () => {
    expect(show(base)).toEqual({ title: "T", tag: "a", n: "5" });
  });

  it("is written in the earlier type, and keeps what that type lacks", () => {
    expect(write(base, { title: "V", n: "7" }).values).toEqual({
      ...base,
      title: { en: "V", de: "U" },
      n: 7,
    });
    expect(write(undefined, { title: "V", tag: "c", n: "-3" }).values).toEqual({
      title: { en: "V" },
      tag: ["c"],
      n: -3,
    });
    const { n: _, ...others } = base;
    expect(write(base, { n: null }).values).toEqual(others);
    expect(write(base, {}).values).toEqual(base);
  });

  it("is not written with a value that the current type cannot have", () => {
    expect(write(base, { n: "seven" })).toMatchObject({
      code: "shape_conflict",
      errors: [{ path: "/values/n", code: "not_convertible" }],
    });
    expect(write(base, { tag: "c" })).toMatchObject({
      code: "shape_conflict",
      errors: [{ path: "/values/tag", code: "hidden_part" }],
    });
  });
});

it("refuses values in languages that the orb no longer has", () => {
  const a = text("a", { translatable: true });
  const { write } = changeOf([a], [a], { languages: ["en", "de"] }, { languages: ["en"] });
  expect(write({ a: { en: "x" } }, { a: { de: "y" } })).toMatchObject({
    code: "shape_conflict",
    errors: [{ path: "/values/a/de", code: "not_convertible" }],
  });
  expect(write({ a: { en: "x" } }, { a: { en: "z", de: null } }).values).toEqual({ a: { en: "z" } });
  expect(write({ a: { en: "x" } }, { a: { fr: "y" } }).errors).toEqual(coded("unknown_language"));
});

describe("a field that a rule makes of others", () => {
  const rule = { convert: { cat: [{ var: "values.first" }, " ", { var: "values.last" }] } };
  const fields = [text("first"), text("last")];
  const madeWith = (more: object = {}) =>
    changeOf(fields, [...fields, { ...text("name"), from: rule, ...more }]);
  const base = { first: "Ann", last: "Lee" };

  it.each([
    ["is edited", { name: "Dr Ann Lee" }],
    ["is empty", {}],
    ["has what the rule makes", { name: "Ann Lee" }],
  ])("stays as it is if an earlier shape changes the others and it %s", (_, own) => {
    const { write } = madeWith();
    expect(write({ ...base, ...own }, { first: "Bob" }).values).toEqual({ ...base, ...own, first: "Bob" });
  });

  it("stays if the caller may not set or read it, and is made in new entries of those who may", () => {
    for (const access of [{ write: ["owner"] }, { read: ["owner"], write: ["owner"] }]) {
      const { write } = madeWith({ access });
      const stored = { ...base, name: "Ann Lee" };
      const changed = write(stored, { first: "Bob" }, { role: "admin" });
      expect([changed.code, changed.errors]).toEqual([undefined, undefined]);
      expect(write(undefined, base, { role: "admin" }).values).toEqual(base);
      expect(write(undefined, base).values).toEqual(stored);
    }
  });
});
