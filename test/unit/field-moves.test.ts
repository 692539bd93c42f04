/** Fields that become members of an object, and back: no stored value is rewritten. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { checkDocument } from "../../shared/definition/check/check.ts";
import { compareDefinitions } from "../../shared/definition/compat.ts";
import type { OrbDocument } from "../../shared/definition/document/document.ts";
import { storedNames } from "../../shared/definition/names/resolve.ts";
import type { StoredValues } from "../../shared/entry/model/snapshot.ts";
import type { AppError } from "../../shared/kernel/errors.ts";
import { DocumentHistory } from "../support/document-history.ts";
import { testSeed } from "../support/random.ts";

type Field = Record<string, unknown>;

const PARTS = [
  { name: "title", type: "string" },
  { name: "robots", type: "string" },
];
const documentOf = (...fields: readonly Field[]): OrbDocument =>
  checkDocument({
    id: "shop",
    languages: ["en", "de"],
    components: [{ id: "seo", fields: PARTS }],
    modules: [{ id: "m", type: "CONTENT", schemas: [{ id: "s", fields }] }],
  }).document;

const flat = (name: string, more: Field = {}) => ({ name, type: "string", ...more });
const seo = (fields: readonly Field[], from?: Field, more: Field = {}) => ({
  name: "seo",
  type: "object",
  fields,
  ...(from === undefined ? {} : { from: { fields: from } }),
  ...more,
});
const INSIDE = seo([flat("title")], { title: "metaTitle" });

const effects = (history: DocumentHistory, to: OrbDocument) =>
  compareDefinitions(history.document, to, { from: history.names, to: storedNames(to, history) }).map(
    ({ code, field, severity }) => `${severity} ${code} ${field}`,
  );

describe("a field that becomes a member of an object", () => {
  test("keeps its values, and the earlier document shows them again, with those written meanwhile", () => {
    const before = documentOf(flat("name"), flat("metaTitle"));
    const after = documentOf(flat("name"), INSIDE);
    const history = new DocumentHistory(before);
    const old = history.write({ name: "a", metaTitle: "A" });
    expect(effects(history, after)).toEqual(["renamed moved_field seo.title"]);
    history.activate(after);
    expect(history.read(old)).toEqual({ name: "a", seo: { title: "A" } });
    const written = history.write({ name: "b", seo: { title: "B" } });
    const again = history.write(history.read(old));
    const cleared = history.write({ name: "c" });
    expect(history.read(again)).toEqual({ name: "a", seo: { title: "A" } });
    expect(effects(history, before)).toEqual(["renamed moved_field metaTitle"]);
    history.activate(before);
    expect([old, written, again, cleared].map((one) => history.read(one).metaTitle)).toEqual([
      "A",
      "B",
      "A",
      undefined,
    ]);
    const flatAgain = history.write({ metaTitle: "C" });
    history.activate(after);
    expect([old, written, flatAgain].map((one) => history.read(one).seo)).toEqual([
      { title: "A" },
      { title: "B" },
      { title: "C" },
    ]);
  });

  test("can be one of a component, beside members with values, and in languages", () => {
    const own = { name: "seo", type: "object", component: "seo" };
    const before = documentOf({ ...own, component: undefined, fields: [flat("robots")] }, flat("metaTitle"));
    const history = new DocumentHistory(before);
    const both = history.write({ seo: { robots: "none" }, metaTitle: "A" });
    history.activate(documentOf(seo([flat("robots"), flat("title")], { title: "metaTitle" })));
    expect(history.read(both)).toEqual({ seo: { robots: "none", title: "A" } });
    const translated = new DocumentHistory(documentOf(flat("metaTitle", { translatable: true })));
    const stored = translated.write({ metaTitle: { en: "A", de: "B" } });
    translated.activate(documentOf(seo([flat("title", { translatable: true })], { title: "metaTitle" })));
    expect(translated.read(stored)).toEqual({ seo: { title: { en: "A", de: "B" } } });
    const component = new DocumentHistory(documentOf(flat("metaTitle")));
    const one = component.write({ metaTitle: "A" });
    component.activate(documentOf({ ...own, from: { fields: { title: "metaTitle" } } }));
    expect(component.read(one)).toEqual({ seo: { title: "A" } });
  });

  test("follows renames and changes of type before and after", () => {
    const history = new DocumentHistory(documentOf({ name: "t", type: "integer" }));
    const first = history.write({ t: 1 });
    history.activate(documentOf(flat("metaTitle", { was: "t" })));
    const second = history.write({ metaTitle: "2" });
    history.activate(documentOf(INSIDE));
    expect([first, second].map((one) => history.read(one))).toEqual([
      { seo: { title: "1" } },
      { seo: { title: "2" } },
    ]);
    const third = history.write({ seo: { title: "3" } });
    const renamed = { ...seo([{ name: "head", was: "title", type: "integer" }]), name: "meta", was: "seo" };
    history.activate(documentOf(renamed));
    const fourth = history.write({ meta: { head: 4 } });
    const all = [first, second, third, fourth];
    expect(all.map((one) => history.read(one))).toEqual([1, 2, 3, 4].map((head) => ({ meta: { head } })));
    history.activate(documentOf(flat("metaTitle")));
    expect(all.map((one) => history.read(one).metaTitle)).toEqual(["1", "2", "3", "4"]);
  });

  test("leaves its name to another field", () => {
    const history = new DocumentHistory(documentOf(flat("metaTitle")));
    const stored = history.write({ metaTitle: "A" });
    history.activate(documentOf(INSIDE));
    history.activate(documentOf(seo([flat("title")]), flat("metaTitle")));
    expect(history.read(stored)).toEqual({ seo: { title: "A" } });
    expect(history.read(history.write({ metaTitle: "new" }))).toEqual({ metaTitle: "new" });
  });

  const FLAT = documentOf(flat("metaTitle"));
  const BOTH = [flat("robots"), flat("title")];
  const ofComponent = (name: string) => ({ name, type: "object", component: "seo" });
  const renamed = (...fields: Field[]) => ({ ...seo(fields), name: "meta" });
  test.each<[string, OrbDocument[], Field[]]>([
    ["a new object", [documentOf(INSIDE), FLAT], [seo([flat("title")])]],
    [
      "an object that stayed",
      [documentOf(seo(BOTH, { title: "metaTitle" })), documentOf(flat("metaTitle"), seo([flat("robots")]))],
      [seo(BOTH)],
    ],
    [
      "an object with an earlier name",
      [documentOf(INSIDE), documentOf({ ...renamed(flat("head", { was: "title" })), was: "seo" }), FLAT],
      [renamed(flat("head"), flat("title"))],
    ],
    [
      "an object of a component that another one has",
      [
        documentOf(ofComponent("og"), { ...ofComponent("seo"), from: { fields: { title: "metaTitle" } } }),
        documentOf(ofComponent("og"), flat("metaTitle")),
      ],
      [ofComponent("og"), ofComponent("seo")],
    ],
  ])("keeps its values on its own again, beside a new member in %s", (_, [inside, ...rest], objects) => {
    const history = new DocumentHistory(FLAT).activate(inside ?? FLAT);
    const stored = history.write({ seo: { title: "A" } });
    for (const document of rest) history.activate(document);
    expect(history.read(stored).metaTitle).toBe("A");
    history.activate(documentOf(flat("metaTitle"), ...objects));
    const name = String(objects.at(-1)?.name);
    const both = history.write({ metaTitle: "B", [name]: { title: "C" } });
    const again = history.write(history.read(stored));
    expect(history.read(both)).toEqual({ metaTitle: "B", [name]: { title: "C" } });
    for (const one of [stored, again]) {
      const { metaTitle, [name]: object } = history.read(one);
      expect([metaTitle, Object(object).title]).toEqual(["A", undefined]);
    }
    history.activate(FLAT);
    expect([stored, both, again].map((one) => history.read(one).metaTitle)).toEqual(["A", "B", "A"]);
  });

  const SEO_OLD = { seo: { robots: "none", title: "old" } };
  test.each<[string, readonly Field[], readonly Field[]]>([
    ["a member of an object", [seo(BOTH)], [seo(BOTH, { title: "metaTitle" })]],
    [
      "a member of a component that no other object has",
      [ofComponent("seo")],
      [{ ...ofComponent("seo"), from: { fields: { title: "metaTitle" } } }],
    ],
  ])("takes the place of %s that was removed, also if it has no value", (_, first, last) => {
    const parts = (fields: readonly Field[]) => ({ components: [{ id: "seo", fields }] });
    const with_ = (components: object, ...fields: readonly Field[]) =>
      checkDocument({ ...documentOf(...fields), ...components }).document;
    const meta = flat("metaTitle");
    const history = new DocumentHistory(with_(parts(BOTH), meta, ...first));
    const both = history.write({ metaTitle: "new", ...SEO_OLD });
    const other = history.write(SEO_OLD);
    const less = first.map((field) => (field.fields === undefined ? field : seo([flat("robots")])));
    history.activate(with_(parts([flat("robots")]), meta, ...less));
    const after = with_(parts(BOTH), ...last);
    expect(effects(history, after)).toEqual(["renamed moved_field seo.title"]);
    history.activate(after);
    expect(history.read(both)).toEqual({ seo: { robots: "none", title: "new" } });
    expect(history.read(other)).toEqual({ seo: { robots: "none" } });
    const written = history.write(history.read(both));
    history.activate(with_(parts([flat("robots")]), meta, ...less));
    expect([both, other, written].map((one) => history.read(one).metaTitle)).toEqual([
      "new",
      undefined,
      "new",
    ]);
    history.activate(after);
    expect(history.read(written)).toEqual({ seo: { robots: "none", title: "new" } });
  });

  test("moves into an object that was a list, and stays there if the object gets a component", () => {
    const robots = flat("robots");
    const history = new DocumentHistory(
      documentOf(flat("metaTitle"), seo([robots], undefined, { list: true })),
    );
    const stored = history.write({ metaTitle: "A", seo: [{ _key: "a", robots: "none" }] });
    history.activate(documentOf(flat("metaTitle"), seo([robots])));
    history.activate(documentOf(seo(BOTH, { title: "metaTitle" })));
    const shown = { seo: { robots: "none", title: "A" } };
    expect(history.read(stored)).toEqual(shown);
    const plain = new DocumentHistory(documentOf(flat("metaTitle"), seo([robots])));
    const one = plain.write({ metaTitle: "A", seo: { robots: "none" } });
    plain.activate(documentOf(seo(BOTH, { title: "metaTitle" })));
    const written = plain.write(plain.read(one));
    // The component has the members of the object under other stored names, so this is told as a removal.
    const after = documentOf(ofComponent("seo"));
    expect(effects(plain, after).join()).toContain("removed_field seo.title");
    plain.activate(after);
    expect(plain.read(written).seo).toMatchObject({ robots: "none" });
  });

  test("keeps its values on its own, if its object gets the members of a component", () => {
    const og = ofComponent("og");
    const history = new DocumentHistory(documentOf(flat("metaTitle"), seo([flat("robots")]), og));
    history.activate(documentOf(seo(BOTH, { title: "metaTitle" }), og));
    const inside = history.write({ seo: { robots: "none", title: "A" } });
    history.activate(documentOf(flat("metaTitle"), seo([flat("robots")]), og));
    const after = documentOf(flat("metaTitle"), ofComponent("seo"), og);
    history.activate(after);
    expect(history.read(inside).metaTitle).toBe("A");
    const beside = history.write({ seo: { title: "B" } });
    expect(history.read(beside).metaTitle).toBeUndefined();
  });

  test("is refused if it has another type, or if the member has values of its own", () => {
    const history = new DocumentHistory(documentOf(flat("metaTitle")));
    const other = documentOf(seo([{ name: "title", type: "integer" }], { title: "metaTitle" }));
    expect(effects(history, other)).toContain("dangerous moved_field seo.title");
    const taken = new DocumentHistory(documentOf(flat("metaTitle"), seo([flat("title")])));
    expect(effects(taken, documentOf(INSIDE))).toContain("dangerous moved_field seo.title");
  });

  test("reserves unique values in its new place, and tells what else changes", () => {
    const history = new DocumentHistory(documentOf(flat("metaTitle", { unique: true })));
    const after = documentOf(seo([flat("title", { unique: true, required: true })], { title: "metaTitle" }));
    expect(effects(history, after)).toEqual([
      "renamed moved_field seo.title",
      "claim added_unique seo.title",
      "tightened added_required seo.title",
    ]);
  });
});

test.each<[string, readonly Field[], string, string]>([
  ["a field that the schema still has", [flat("metaTitle"), INSIDE], "/1/from/fields/title", "duplicate"],
  ["no member", [seo([flat("title")], { head: "metaTitle" })], "/0/from/fields/head", "unknown_reference"],
  [
    "a list",
    [seo([flat("title")], { title: "metaTitle" }, { list: true })],
    "/0/from/fields",
    "not_applicable",
  ],
  [
    "a secret",
    [seo([flat("title", { sensitive: true })], { title: "metaTitle" })],
    "/0/from/fields/title",
    "not_applicable",
  ],
])("rejects fields of an object that name %s", (_, fields, path, code) => {
  try {
    documentOf(...fields);
    expect.unreachable();
  } catch (error) {
    const found = expect.objectContaining({ path: `/modules/0/schemas/0/fields${path}`, code });
    expect((error as AppError).errors).toContainEqual(found);
  }
});

test("every value stays, however often fields move in and out, change their type and are written in between", () => {
  const step = fc.record({
    act: fc.constantFrom("write", "rewrite", "clear", "move", "type"),
    at: fc.nat(20),
    number: fc.nat(500),
  });
  const property = fc.property(fc.array(step, { maxLength: 25 }), (steps) => {
    let [inside, memberType] = [false, "integer"];
    // The earlier document has the earlier type.
    const typeNow = () => (inside ? memberType : "integer");
    const documentNow = () => {
      const own = { type: typeNow() };
      const fields = [
        { name: "head", ...own },
        { name: "note", ...own },
      ];
      return inside
        ? documentOf(flat("name"), seo(fields, { head: "title", note: "text" }))
        : documentOf(flat("name"), { name: "title", ...own }, { name: "text", ...own });
    };
    const history = new DocumentHistory(documentNow());
    const shown = (number: number | null) => {
      if (number === null) return { name: "x" };
      const value = typeNow() === "integer" ? number : String(number);
      return {
        name: "x",
        ...(inside ? { seo: { head: value, note: value } } : { title: value, text: value }),
      };
    };
    const entries: { number: number | null; stored: StoredValues }[] = [];
    for (const { act, at, number } of steps) {
      const entry = entries[at % Math.max(1, entries.length)];
      if (act === "write") entries.push({ number, stored: history.write(shown(number)) });
      else if (act === "move" || act === "type") {
        if (act === "move") inside = !inside;
        else if (inside) memberType = memberType === "integer" ? "string" : "integer";
        history.activate(documentNow());
      } else if (entry !== undefined) {
        if (act === "clear") entry.number = null;
        entry.stored = history.write(act === "clear" ? shown(null) : history.read(entry.stored));
      }
      for (const one of entries) {
        // The object stays until the next write, as the values of all removed fields do.
        const { seo: object, ...own } = history.read(one.stored);
        expect(inside && object !== undefined ? { ...own, seo: object } : own).toEqual(shown(one.number));
      }
    }
  });
  fc.assert(property, { seed: testSeed(), numRuns: 300 });
});

test("a field takes its values to members that were removed and added again, with their old values stored", () => {
  const SHAPES = {
    flat: [flat("text"), seo([flat("note")])],
    beside: [flat("text"), seo([flat("note"), flat("head")])],
    inside: [seo([flat("note"), flat("head")], { head: "text" })],
    component: [{ name: "seo", type: "object", component: "both", from: { fields: { head: "text" } } }],
  } as const;
  type Shape = keyof typeof SHAPES;
  const FROM: Record<Shape, readonly Shape[]> = {
    flat: ["beside", "inside", "component"],
    beside: ["flat"],
    inside: ["flat"],
    component: ["flat"],
  };
  const isOfComponent = ({ scope }: { scope: string }) => scope.startsWith("component/");
  const documents = new Map<Shape, OrbDocument>();
  const inShape = (shape: Shape) => {
    const known = documents.get(shape) ?? made(shape);
    documents.set(shape, known);
    return known;
  };
  const made = (shape: Shape) =>
    checkDocument({
      ...documentOf(flat("text")),
      components: [{ id: "both", fields: [flat("note"), flat("head")] }],
      modules: [{ id: "m", type: "CONTENT", schemas: [{ id: "s", fields: SHAPES[shape] }] }],
    }).document;
  const shapes = fc.array(
    fc.record({ next: fc.nat(2), writes: fc.array(fc.nat(9), { maxLength: 3 }), rewrites: fc.nat(3) }),
    { maxLength: 10 },
  );
  const property = fc.property(shapes, (steps) => {
    let shape: Shape = "flat";
    const history = new DocumentHistory(inShape(shape));
    const entries: { text: string | undefined; stored: StoredValues; head: string | undefined }[] = [];
    const isInside = () => shape === "inside" || shape === "component";
    const values = (text: string | undefined, head: string | undefined): Field => {
      const member = isInside() ? text : shape === "beside" ? head : undefined;
      return {
        ...(isInside() || text === undefined ? {} : { text }),
        seo: { note: "n", ...(member === undefined ? {} : { head: member }) },
      };
    };
    for (const { next, writes, rewrites } of steps) {
      const to: Shape = FROM[shape][next % FROM[shape].length] ?? "flat";
      expect(effects(history, inShape(to)).join()).not.toContain("dangerous");
      shape = to;
      history.activate(inShape(shape));
      for (const [at, number] of writes.entries()) {
        const text = number === 0 ? undefined : `t${number}`;
        const head = shape === "beside" ? `h${at}` : undefined;
        entries.push({ text, head, stored: history.write(values(text, head)) });
      }
      for (const one of entries.slice(0, rewrites)) one.stored = history.write(values(one.text, "again"));
      for (const one of entries) {
        const { text, seo: object } = history.read(one.stored);
        const { note, head } = Object(object);
        expect(note).toBe("n");
        // The component has its member already, so an old value of it may show where the field has none.
        if (
          one.text === undefined &&
          history.names?.["content/s"]?.some(({ moved }) => moved?.some(isOfComponent))
        )
          continue;
        expect(isInside() ? head : text, shape).toBe(one.text);
      }
    }
  });
  fc.assert(property, { seed: testSeed(), numRuns: 100 });
});
