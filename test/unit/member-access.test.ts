/** Members of objects that a caller may not read or may not set: what reads leave out, and what writes keep or refuse. */
import { describe, expect, it } from "vitest";
import { principalIn } from "../../shared/access/authorize.ts";
import { fieldsNamed } from "../../shared/definition/walk.ts";
import {
  comparableBy,
  groupedByReaders,
  ofFields,
  readableBy,
  viewKey,
} from "../../shared/entry/model/fields.ts";
import { admitted, keepingHidden, merged, withLiveMembers } from "../../shared/entry/values/admitted.ts";
import type { Fault } from "../../shared/kernel/errors.ts";
import { definition, user } from "../support/entries.ts";

const hidden = { access: { read: ["admin"], write: ["admin"] } };
const fixed = { access: { write: ["admin"] } };
const blind = { access: { read: ["admin"], write: ["user"] } };

const orb = definition({
  id: "club",
  languages: ["en", "de"],
  components: [
    {
      id: "quote",
      fields: [
        { name: "text", type: "string" },
        { name: "rank", type: "integer", ...hidden },
      ],
    },
    {
      id: "plain",
      fields: [
        { name: "text", type: "string" },
        { name: "rank", type: "integer" },
      ],
    },
  ],
  modules: [
    {
      id: "pages",
      type: "CONTENT",
      schemas: [
        {
          id: "page",
          access: { read: "public", write: "user" },
          fields: [
            { name: "title", type: "string" },
            {
              name: "seo",
              type: "object",
              fields: [
                { name: "word", type: "string" },
                { name: "score", type: "integer", index: "ordered", ...hidden },
                { name: "state", type: "string", ...fixed },
                { name: "tip", type: "string", ...blind },
                {
                  name: "inner",
                  type: "object",
                  fields: [
                    { name: "a", type: "string" },
                    { name: "b", type: "string", ...hidden },
                  ],
                },
              ],
            },
            {
              name: "contacts",
              type: "object",
              list: true,
              fields: [
                { name: "name", type: "string" },
                { name: "note", type: "string", search: true, ...hidden },
                { name: "checked", type: "boolean", default: false, ...fixed },
                { name: "tip", type: "string", ...blind },
              ],
            },
            { name: "blocks", type: "blocks", components: ["quote", "plain"] },
            { name: "body", type: "richText", components: ["quote"] },
            {
              name: "local",
              type: "object",
              list: true,
              translatable: true,
              fields: [
                { name: "text", type: "string" },
                { name: "rank", type: "integer", ...hidden },
              ],
            },
            {
              name: "split",
              type: "object",
              fields: [
                { name: "text", type: "string", translatable: true },
                { name: "rank", type: "integer", translatable: true, ...hidden },
              ],
            },
            {
              name: "rows",
              type: "object",
              list: true,
              fields: [
                { name: "name", type: "string" },
                { name: "sum", type: "decimal", scale: 2, default: "0", ...fixed },
                { name: "at", type: "datetime", default: "2030-01-01T01:00:00+01:00", ...fixed },
                { name: "size", type: "string", enum: ["\u00e9"], default: "e\u0301", ...fixed },
                { name: "local", type: "decimal", scale: 1, translatable: true, default: "1", ...fixed },
                { name: "tags", type: "string", list: true, ...fixed },
                { name: "open", type: "boolean", default: true, ...fixed },
                { name: "tip", type: "string", ...blind },
              ],
            },
            {
              name: "notes",
              type: "object",
              list: true,
              ...blind,
              fields: [
                { name: "text", type: "string" },
                { name: "done", type: "boolean", access: { write: ["admin"] } },
              ],
            },
            {
              name: "deep",
              type: "object",
              list: true,
              fields: [
                { name: "name", type: "string" },
                { name: "fixed", type: "object", ...fixed, fields: [{ name: "a", type: "string" }] },
                {
                  name: "inner",
                  type: "object",
                  list: true,
                  fields: [
                    { name: "a", type: "string" },
                    { name: "b", type: "string", ...hidden },
                  ],
                },
              ],
            },
            { name: "vault", type: "object", ...hidden, fields: [{ name: "pin", type: "string" }] },
          ],
        },
      ],
    },
  ],
});
const schema = orb.compiled.schema("pages");
if (schema === undefined) throw new Error("the schema is missing");
const [ann, chief] = [user("ann"), user("chief", "admin")].map((actor) =>
  principalIn(actor, "club", orb.compiled),
);
if (ann === undefined || chief === undefined) throw new Error("a caller is missing");
const sender = { caller: ann, createdBy: "ann" };

const ONE = { _key: "one", name: "Ann", note: "rich", checked: true, tip: "t1" };
const TWO = { _key: "two", name: "Bob", checked: false };
const QUOTE = { _type: "quote", _key: "q", text: "To be", rank: 1 };
const stored = {
  title: "Home",
  seo: { word: "w", score: 5, state: "good", tip: "secret", inner: { a: "a", b: "b" } },
  contacts: [ONE, TWO],
  blocks: [QUOTE, { _type: "plain", _key: "p", text: "or not", rank: 2 }],
  local: { en: [{ _key: "e", text: "e", rank: 3 }], de: [{ _key: "d", text: "d", rank: 4 }] },
  split: { text: { en: "t" }, rank: { en: 9 } },
  vault: { pin: "1111" },
};
const shown = {
  title: "Home",
  seo: { word: "w", state: "good", inner: { a: "a" } },
  contacts: [
    { _key: "one", name: "Ann", checked: true },
    { _key: "two", name: "Bob", checked: false },
  ],
  blocks: [
    { _type: "quote", _key: "q", text: "To be" },
    { _type: "plain", _key: "p", text: "or not", rank: 2 },
  ],
  local: { en: [{ _key: "e", text: "e" }], de: [{ _key: "d", text: "d" }] },
  split: { text: { en: "t" } },
};

/** An item of which the platform has stored the defaults. */
const ROW = {
  ...{ sum: "0.00", at: "2030-01-01T00:00:00.000Z", size: "\u00e9", local: { en: "1.0" }, open: true },
};

const told = (faults: readonly Fault[]) => faults.map(({ path, code }) => `${code} ${path}`);

describe("a read", () => {
  it("leaves out members at all depths, and whole objects of which nothing is left", () => {
    const view = readableBy(schema, ann, true);
    expect(ofFields(view, stored)).toEqual(shown);
    expect(ofFields(view, { seo: { score: 5 }, contacts: [{ _key: "x", note: "n" }] })).toEqual({
      contacts: [{ _key: "x" }],
    });
    expect(ofFields(readableBy(schema, chief, true), stored)).toEqual(stored);
  });

  it("leaves out values in the form of an earlier definition", () => {
    const old = {
      seo: [{ score: 5 }],
      contacts: { note: "n" },
      local: [{ rank: 3 }],
      blocks: [{ _type: "gone", rank: 1 }],
    };
    expect(ofFields(readableBy(schema, ann, true), old)).toEqual({ blocks: [] });
  });

  it("compares no hidden member, and has another ETag", () => {
    const names = ["seo.score", "contacts.note", "local.rank", "vault.pin", "seo.inner.b"];
    const view = comparableBy(schema, ann);
    expect(names.filter((name) => fieldsNamed(view, name).length > 0)).toEqual([]);
    expect([view.searched, view.ordered]).toEqual([[], []]);
    expect(fieldsNamed(view, "blocks.rank").map(({ component }) => component)).toEqual(["plain"]);
    expect(fieldsNamed(view, "seo.word")[0]?.parent?.shapes?.get("")?.has("score")).toBe(false);
    expect(names.every((name) => fieldsNamed(comparableBy(schema, chief), name).length === 1)).toBe(true);
    expect([viewKey(view).length, viewKey(comparableBy(schema, chief)).length]).toEqual([1, 0]);
  });

  it("measures hidden members apart from the objects that have them", () => {
    const size = (values: object) =>
      [...groupedByReaders(schema, values as never).values()].map((group) => JSON.stringify(group).length);
    const long = { ...stored, contacts: [{ ...ONE, note: "n".repeat(1_000) }, TWO] };
    const [before, after] = [size(stored), size(long)];
    expect(after.map((bytes, at) => bytes - (before[at] ?? 0))).toEqual([0, 996]);
  });
});

const [one, two] = shown.contacts;
const change = (values: object) => ({ ...shown, ...values });

describe("a write of all values", () => {
  it.each<[string, object, object | string[]]>([
    ["of what was read", {}, {}],
    ["that moves an item", { contacts: [two, one] }, { contacts: [TWO, ONE] }],
    [
      "that changes an item",
      { contacts: [{ ...one, name: "Eve" }, two] },
      { contacts: [{ ...ONE, name: "Eve" }, TWO] },
    ],
    ["without keys, unchanged", { contacts: shown.contacts.map(({ _key, ...item }) => item) }, {}],
    [
      "that removes an item without values in hidden members",
      { contacts: [one] },
      ["read_only /values/contacts"],
    ],
    [
      "without keys, with a changed item that may have hidden values",
      { contacts: [{ name: "Eve", checked: true }, two] },
      [
        "required /values/contacts/0/_key",
        "read_only /values/contacts/0/checked",
        "read_only /values/contacts",
      ],
    ],
    [
      "that adds an item",
      { contacts: [one, two, { name: "Eve" }] },
      { contacts: [ONE, TWO, { name: "Eve" }] },
    ],
    [
      "that copies an item, with what may not be set",
      { contacts: [one, two, { ...one, _key: "three" }] },
      ["read_only /values/contacts/2/checked"],
    ],
    [
      "that copies an item without it",
      { contacts: [one, two, { _key: "three", name: "Ann" }] },
      { contacts: [ONE, TWO, { _key: "three", name: "Ann" }] },
    ],
    ["that removes an item with such members", { contacts: [two] }, ["read_only /values/contacts"]],
    ["that removes all items", { blocks: [] }, ["read_only /values/blocks"]],
    ["that clears the list", { blocks: null }, ["read_only /values/blocks"]],
    ["that omits the list", { blocks: undefined }, ["read_only /values/blocks"]],
    [
      "that gives an item a new key",
      { contacts: [{ ...one, _key: "new", checked: undefined }, two] },
      ["read_only /values/contacts"],
    ],
    [
      "that sets a hidden member",
      { contacts: [{ ...one, note: "x" }, two] },
      ["unknown_property /values/contacts/0/note"],
    ],
    [
      "that guesses a hidden member",
      { contacts: [{ ...one, note: "rich" }, two] },
      ["unknown_property /values/contacts/0/note"],
    ],
    [
      "that sets a fixed member",
      { contacts: [{ ...one, checked: false }, two] },
      ["read_only /values/contacts/0/checked"],
    ],
    ["that clears a fixed member", { seo: { ...shown.seo, state: null } }, ["read_only /values/seo/state"]],
    [
      "that sets a member that it cannot read",
      { seo: { ...shown.seo, tip: "new" } },
      { seo: { ...stored.seo, tip: "new" } },
    ],
    [
      "that clears a member that it cannot read",
      { contacts: [{ ...one, tip: null }, two] },
      { contacts: [{ ...ONE, tip: null }, TWO] },
    ],
    [
      "that sends a mask for what it cannot read",
      { seo: { ...shown.seo, tip: "••••••••" } },
      ["write_only /values/seo/tip"],
    ],
    [
      "that clears an object",
      { seo: null },
      { seo: { score: 5, state: "good", tip: "secret", inner: { b: "b" } } },
    ],
    [
      "that clears an object inside",
      { seo: { ...shown.seo, inner: null } },
      { seo: { ...stored.seo, inner: { b: "b" } } },
    ],
    [
      "that sets a member deeper inside",
      { seo: { ...shown.seo, inner: { a: "z", b: "z" } } },
      ["unknown_property /values/seo/inner/b"],
    ],
    [
      "that makes a block another one",
      { blocks: [{ _type: "plain", _key: "q" }, shown.blocks[1]] },
      ["read_only /values/blocks"],
    ],
    [
      "that sets the member of the other component",
      { blocks: [shown.blocks[0], { ...shown.blocks[1], rank: 7 }] },
      { blocks: [QUOTE, { _type: "plain", _key: "p", text: "or not", rank: 7 }] },
    ],
    [
      "that moves an item to another language",
      { local: { en: [...shown.local.en, ...shown.local.de], de: [] } },
      ["read_only /values/local/de"],
    ],
    ["that omits a language", { local: { en: shown.local.en } }, ["read_only /values/local/de"]],
    ["that names a hidden object", { vault: {} }, ["unknown_property /values/vault"]],
  ])("%s", (_, sent, result) => {
    const { given, faults } = admitted(schema, sender, change(sent), stored, {});
    if (Array.isArray(result)) expect(told(faults)).toEqual(result);
    else expect([told(faults), given]).toEqual([[], { ...stored, ...result }]);
  });

  it.each<[string, object, boolean]>([
    ["no value", {}, true],
    ["the defaults", ROW, true],
    [
      "the defaults as the document has them",
      { sum: "0", at: "2030-01-01T00:00:00Z", size: "e\u0301" },
      true,
    ],
    ["an empty list", { tags: [] }, true],
    ["another number", { sum: "0.01" }, false],
    ["another text in one language", { local: { en: "1.0", de: "1.0" } }, false],
    ["a cleared member that has a default", { open: null }, false],
    ["a cleared member without a default", { tags: null }, true],
    ["a value that the field no longer allows", { size: "gone" }, false],
    ["a member that it may set and not read", { tip: "t" }, true],
  ])("that removes an item with %s", (_, values, isAllowed) => {
    const before = { ...stored, rows: [{ _key: "r", name: "Ann", ...values }] };
    const { given, faults } = admitted(schema, sender, { ...shown, rows: [] }, before, {});
    expect(told(faults)).toEqual(isAllowed ? [] : ["read_only /values/rows"]);
    if (isAllowed) expect(given).toEqual({ ...stored, rows: [] });
  });

  it.each<[string, object[], object[], string[]]>([
    ["changes an item", [{ name: "Eve" }], [{ _key: "r", name: "Ann" }], ["required /values/rows/0/_key"]],
    ["sends a new key", [{ _key: "n", name: "Eve" }], [{ _key: "r", name: "Ann" }], []],
    ["adds an item", [{ name: "Ann" }, { name: "Eve" }], [{ _key: "r", name: "Ann", tip: "t" }], []],
  ])(
    "without keys asks for the key of an item that may have values it cannot read: %s",
    (_, sent, rows, found) => {
      for (const tip of [{}, { tip: "t" }]) {
        const before = { ...stored, rows: rows.map((row) => ({ ...row, ...tip })) };
        expect(told(admitted(schema, sender, { ...shown, rows: sent }, before, {}).faults)).toEqual(found);
      }
    },
  );

  it("answers alike whatever hidden members have", () => {
    const told = (before: object, sent: object) =>
      admitted(schema, sender, { ...shown, ...sent }, { ...stored, ...before }, {}).faults;
    const two = (note: object) => ({ contacts: [ONE, { ...TWO, ...note }] });
    const withoutTwo = { contacts: [one] };
    expect(told(two({ note: "n" }), withoutTwo)).toEqual(told(two({}), withoutTwo));
    const deep = (inner: object[]) => ({ deep: [{ _key: "d", inner }] });
    const full = told(deep([{ _key: "i", b: "b" }]), { deep: [] });
    expect([full.length, told(deep([{ _key: "i" }]), { deep: [] })]).toEqual([1, full]);
    expect(told(deep([]), { deep: [] })).toEqual([]);
    for (const notes of [[], [{ text: "new" }], null]) {
      const held = told({ notes: [{ _key: "n", text: "t", done: true }] }, { notes });
      expect(held.map(({ path, code }) => `${code} ${path}`)).toEqual(["read_only /values/notes"]);
      expect(JSON.stringify(held)).not.toMatch(/_key|"n"/);
      expect([
        told({ notes: [{ _key: "n", text: "t" }] }, { notes }),
        told({}, { notes }),
        told({ notes: [] }, { notes }),
      ]).toEqual([held, held, held]);
    }
    expect(admitted(schema, sender, { notes: [{ text: "new" }] }, undefined, {})).toEqual({
      given: { notes: [{ text: "new" }] },
      faults: [],
    });
    const notes = [{ _key: "n", text: "t", done: true }];
    const kept = admitted(schema, sender, { title: "x" }, { ...stored, notes }, { locale: "en" });
    expect(kept).toMatchObject({ given: { notes }, faults: [] });
  });

  it("sets nothing hidden in a new entry", () => {
    const sent = {
      seo: { word: "w", score: 1 },
      contacts: [
        { name: "a", checked: true },
        { name: "b", note: "n" },
      ],
    };
    const { given, faults } = admitted(schema, sender, sent, undefined, {});
    expect(told(faults)).toEqual([
      "unknown_property /values/seo/score",
      "unknown_property /values/contacts/1/note",
      "read_only /values/contacts/0/checked",
    ]);
    expect(given).toEqual({ seo: { word: "w" }, contacts: [{ name: "a" }, { name: "b" }] });
  });
});

describe("a patch", () => {
  it.each<[string, object, object, object | string[]]>([
    ["of one item", { contacts: { one: { name: "Eve" } } }, {}, { contacts: [{ ...ONE, name: "Eve" }, TWO] }],
    ["that moves an item", { contacts: { one: { _after: "two" } } }, {}, { contacts: [TWO, ONE] }],
    ["that removes an item", { contacts: { one: null } }, {}, ["read_only /values/contacts"]],
    [
      "that removes an item and adds it again",
      { contacts: { one: { _after: null, name: "x" } } },
      {},
      { contacts: [{ ...ONE, name: "x" }, TWO] },
    ],
    [
      "of a hidden member",
      { contacts: { one: { note: "x" } } },
      {},
      ["unknown_property /values/contacts/0/note"],
    ],
    [
      "of a fixed member",
      { contacts: { two: { checked: true } } },
      {},
      ["read_only /values/contacts/1/checked"],
    ],
    ["of a member in an object", { seo: { word: "x" } }, {}, { seo: { ...stored.seo, word: "x" } }],
    [
      "that makes a block another one",
      { blocks: { q: { _type: "plain", text: "x" } } },
      {},
      ["read_only /values/blocks"],
    ],
    [
      "in one language",
      { local: [{ _key: "e", text: "x" }] },
      { locale: "en" },
      { local: { ...stored.local, en: [{ _key: "e", text: "x", rank: 3 }] } },
    ],
    [
      "in one language, of one item",
      { local: { e: { text: "x" } } },
      { locale: "en" },
      { local: { ...stored.local, en: [{ _key: "e", text: "x", rank: 3 }] } },
    ],
    [
      "in one language, of a translated member",
      { split: { text: "x" } },
      { locale: "de" },
      { split: { text: { en: "t", de: "x" }, rank: { en: 9 } } },
    ],
    [
      "in one language, of a hidden member",
      { split: { rank: 1 } },
      { locale: "de" },
      ["unknown_property /values/split/rank"],
    ],
    [
      "in one language, of a member that it cannot read",
      { seo: { tip: "x" } },
      { locale: "de" },
      { seo: { ...stored.seo, tip: "x" } },
    ],
  ])("%s", (_, patch, place, result) => {
    const faults: Fault[] = [];
    const sent = merged(schema, sender, patch, stored, place, faults);
    const found = admitted(schema, sender, sent, stored, place);
    if (Array.isArray(result)) expect(told([...faults, ...found.faults])).toEqual(result);
    else expect([told([...faults, ...found.faults]), found.given]).toEqual([[], { ...stored, ...result }]);
  });
});

describe("other writes", () => {
  it("restore an older revision without what the caller may not set", () => {
    const old = {
      ...stored,
      seo: { word: "old", score: 1, state: "bad", tip: "old" },
      contacts: [
        { _key: "gone", name: "Zoe", note: "old" },
        { ...ONE, name: "Anna", note: "old" },
        { ...TWO, name: "Rob" },
      ],
    };
    const faults: Fault[] = [];
    expect(keepingHidden(schema, sender, old, stored, faults)).toEqual({
      ...stored,
      seo: { ...stored.seo, word: "old", inner: { b: "b" } },
      contacts: [
        { _key: "gone", name: "Zoe" },
        { ...ONE, name: "Anna" },
        { ...TWO, name: "Rob" },
      ],
    });
    expect(faults).toEqual([]);
    keepingHidden(schema, sender, { ...old, contacts: [ONE] }, stored, faults);
    expect(told(faults)).toEqual(["read_only /values/contacts"]);
    const all = { caller: chief, createdBy: "ann" };
    expect(keepingHidden(schema, all, old, stored, [])).toEqual(old);
  });

  it("publish only members of the draft that they name, and no hidden ones", () => {
    const live = { ...stored, deep: [{ _key: "d", name: "n", fixed: { a: "live" } }], rows: [] };
    const draft = {
      ...stored,
      seo: { ...stored.seo, state: "draft", score: 6 },
      contacts: [
        { ...TWO, checked: true },
        { ...ONE, note: "draft", checked: false },
        { _key: "new", note: "first", checked: true },
      ],
      deep: [{ _key: "d", name: "n", fixed: { a: "draft" } }],
    };
    const named = {
      seo: { word: "z" },
      contacts: [{ _key: "two" }, { _key: "one", checked: false }],
      deep: [],
    };
    expect(withLiveMembers(schema, sender, draft, live, named)).toMatchObject({
      seo: stored.seo,
      contacts: [TWO, { ...ONE, checked: false }, { _key: "new", note: "first", checked: true }],
      deep: live.deep,
    });
    // Items without keys are those that the client read.
    const keyless = { deep: [{ name: "n", fixed: { a: "draft" } }] };
    expect(withLiveMembers(schema, sender, draft, live, keyless).deep).toEqual(draft.deep);
  });

  it("publish no member that they may not set and do not name, in an object that is not live", () => {
    const { seo: _, ...live } = stored;
    const draft = { ...stored, seo: { word: "w", state: "draft", score: 6 } };
    expect(withLiveMembers(schema, sender, draft, live, { seo: { word: "z" } }).seo).toEqual({ word: "w" });
  });
});
