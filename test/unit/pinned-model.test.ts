/**
 * Callers that name an earlier revision of a definition write entries in its shape, while the definition changes. Random
 * documents, changes of them, and writes in all shapes: a write changes nothing that it does not name, and each shape
 * reads back what it wrote.
 */
import fc from "fast-check";
import { expect, test } from "vitest";
import type { Principal } from "../../shared/access/authorize.ts";
import { checkDocument } from "../../shared/definition/check/check.ts";
import { compileOrb } from "../../shared/definition/compile.ts";
import type { OrbDocument } from "../../shared/definition/document/document.ts";
import { pinnedNames } from "../../shared/definition/names/earlier.ts";
import { storedNames } from "../../shared/definition/names/resolve.ts";
import type { StoredNames } from "../../shared/definition/names/stored-names.ts";
import { validateValues } from "../../shared/definition/validate.ts";
import { withNames, withStoredNames } from "../../shared/entry/model/names.ts";
import { counterpartOf, isSameField } from "../../shared/entry/pinned/fields.ts";
import { shownAsOld } from "../../shared/entry/pinned/values.ts";
import { ShapeRefusal, shapedValues } from "../../shared/entry/pinned/write.ts";
import { equal } from "../../shared/kernel/json.ts";
import { rounds, testSeed } from "../support/random.ts";

type Field = {
  name: string;
  type: string;
  was?: string;
  list?: boolean;
  translatable?: boolean;
  scale?: number;
  from?: object;
  components?: string[];
  fields?: Field[];
};
interface Doc {
  fields: Field[];
  components: { id: string; was?: string; fields: Field[] }[];
}
type Values = Record<string, unknown>;

const LANGUAGES = ["en", "de"];
const WIDER: Record<string, string[]> = {
  integer: ["number", "decimal", "string"],
  number: ["decimal", "string"],
  decimal: ["string"],
  string: ["text"],
};

const documentOf = ({ fields, components }: Doc): OrbDocument =>
  checkDocument({
    id: "shop",
    languages: LANGUAGES,
    components,
    modules: [{ id: "m", type: "CONTENT", schemas: [{ id: "s", fields }] }],
  }).document;

const settled = ({ was: _, from: __, fields, ...field }: Field): Field => ({
  ...field,
  ...(fields === undefined ? {} : { fields: fields.map(settled) }),
});
const rest = ({ fields, components }: Doc): Doc => ({
  fields: fields.map(settled),
  components: components.map(({ id, fields: inner }) => ({ id, fields: inner.map(settled) })),
});

/** Draws numbers below a limit. */
type Draw = (limit: number) => number;
const pick = <T>(draw: Draw, items: readonly T[]): T | undefined => items[draw(Math.max(1, items.length))];

const FIRST: Doc = {
  components: [
    {
      id: "quote",
      fields: [
        { name: "words", type: "string" },
        { name: "n", type: "integer" },
      ],
    },
  ],
  fields: [
    { name: "a", type: "integer" },
    { name: "b", type: "string" },
    { name: "c", type: "string" },
    { name: "j", type: "json" },
    { name: "tags", type: "string", list: true },
    {
      name: "seo",
      type: "object",
      fields: [
        { name: "x", type: "string" },
        { name: "y", type: "integer" },
      ],
    },
    {
      name: "rows",
      type: "object",
      list: true,
      fields: [
        { name: "x", type: "string" },
        { name: "y", type: "integer" },
      ],
    },
    { name: "parts", type: "blocks", components: ["quote"] },
  ],
};

let names = 0;
const fresh = () => `f${names++}`;

/** Returns a random change of a document. */
function change(draw: Draw, before: Doc): Doc {
  const doc = rest(before);
  const at = draw(doc.fields.length);
  const field = doc.fields[at];
  if (field === undefined) return doc;
  const replace = (next: Field[]) => ({
    ...doc,
    fields: doc.fields.flatMap((one, i) => (i === at ? next : [one])),
  });
  switch (draw(10)) {
    case 0:
      return replace([{ ...field, was: field.name, name: fresh() }]);
    case 1: {
      const other = pick(draw, doc.fields);
      if (other === undefined || other === field) return doc;
      const swapped = new Map([
        [field.name, other.name],
        [other.name, field.name],
      ]);
      return {
        ...doc,
        fields: doc.fields.map((one) => ({
          ...one,
          name: swapped.get(one.name) ?? one.name,
          ...(swapped.has(one.name) ? { was: one.name } : {}),
        })),
      };
    }
    case 2: {
      const type = pick(draw, WIDER[field.type] ?? []);
      const { scale: _, ...plain } = field;
      return type === undefined
        ? doc
        : replace([{ ...plain, type, ...(type === "decimal" ? { scale: 2 } : {}) }]);
    }
    case 3:
      return field.type === "blocks" || field.list ? doc : replace([{ ...field, list: true }]);
    case 4:
      return field.type === "object" || field.type === "blocks"
        ? doc
        : replace([{ ...field, translatable: true }]);
    case 5:
      return {
        ...doc,
        fields: [...doc.fields, { name: fresh(), type: pick(draw, ["string", "integer"]) ?? "string" }],
      };
    case 6: {
      const id = fresh();
      return {
        components: [...doc.components, { id, fields: [{ name: "z", type: "string" }] }],
        fields: doc.fields.map((one) =>
          one.type === "blocks" ? { ...one, components: [...(one.components ?? []), id] } : one,
        ),
      };
    }
    case 7: {
      const component = pick(draw, doc.components);
      if (component === undefined) return doc;
      const id = fresh();
      return {
        components: doc.components.map((one) =>
          one === component
            ? {
                id,
                was: one.id,
                fields: one.fields.map((inner) => ({ ...inner, was: inner.name, name: fresh() })),
              }
            : one,
        ),
        fields: doc.fields.map((one) =>
          one.type === "blocks"
            ? {
                ...one,
                components: (one.components ?? []).map((name) => (name === component.id ? id : name)),
              }
            : one,
        ),
      };
    }
    case 8: {
      if (field.type !== "object") return doc;
      const inner = field.fields ?? [];
      return replace([
        {
          ...field,
          fields: [
            ...inner.map((one) => ({ ...one, was: one.name, name: fresh() })),
            { name: fresh(), type: "string" },
          ],
        },
      ]);
    }
    default: {
      const object = doc.fields.find(
        ({ type, list, translatable }) => type === "object" && !list && !translatable,
      );
      if (object === undefined || field.type === "object" || field.type === "blocks") return doc;
      const name = fresh();
      const { name: source, ...member } = field;
      return {
        ...doc,
        fields: doc.fields.flatMap((one) =>
          one === field
            ? []
            : one === object
              ? [
                  {
                    ...one,
                    from: { fields: { [name]: source } },
                    fields: [...(one.fields ?? []), { ...member, name }],
                  },
                ]
              : [one],
        ),
      };
    }
  }
}

function plainValue(draw: Draw, field: Field, components: Doc["components"]): unknown {
  switch (field.type) {
    case "integer":
      return draw(100);
    case "number":
      return draw(100) / (draw(2) === 0 ? 1 : 4);
    case "decimal":
      return `${draw(100)}.${draw(2) === 0 ? "00" : "25"}`;
    case "json":
      return pick(draw, [{}, [], { a: 1 }, { b: [] }]);
    case "object":
      return objectOf(draw, field.fields ?? [], components);
    default:
      return `w${draw(1000)}`;
  }
}

const objectOf = (draw: Draw, fields: readonly Field[], components: Doc["components"]): Values =>
  Object.fromEntries(
    fields.flatMap((field) => (draw(4) === 0 ? [] : [[field.name, anyValue(draw, field, components)]])),
  );

let keys = 0;
function anyValue(draw: Draw, field: Field, components: Doc["components"]): unknown {
  const one = () => {
    if (field.type === "blocks")
      return Array.from({ length: draw(4) }, () => {
        const component =
          components.find(({ id }) => id === pick(draw, field.components ?? [])) ?? components[0];
        return {
          _type: component?.id,
          _key: `k${keys++}`,
          ...objectOf(draw, component?.fields ?? [], components),
        };
      });
    if (!field.list) return plainValue(draw, field, components);
    return Array.from({ length: draw(3) }, () => {
      const item = plainValue(draw, field, components);
      return field.type === "object" ? { _key: `k${keys++}`, ...(item as Values) } : item;
    });
  };
  if (!field.translatable) return one();
  return Object.fromEntries(LANGUAGES.filter(() => draw(3) > 0).map((language) => [language, one()]));
}

/** Returns values with new items in front of those in lists of objects. @param drawn values with these items */
function withItems(draw: Draw, fields: readonly Field[], values: Values, drawn: Values): Values {
  for (const { name, type, list, translatable } of fields) {
    const [before, more] = [values[name], drawn[name]];
    if (type !== "object" || list !== true || translatable === true || draw(3) === 0) continue;
    if (Array.isArray(before) && Array.isArray(more)) values[name] = [...more, ...before];
  }
  return values;
}

interface Revision {
  doc: Doc;
  document: OrbDocument;
  names: StoredNames | undefined;
}

const ADMIN = { actor: { kind: "system" }, role: "owner" } as unknown as Principal;
const SENDER = { caller: ADMIN, createdBy: "someone" };
const schemaOf = (document: OrbDocument, stored: StoredNames | undefined, picks = false) => {
  const schema = compileOrb(document, stored, picks).modules.get("m")?.only;
  if (schema === undefined) throw new Error("the document has one schema");
  return schema;
};

const blank = (value: unknown): boolean =>
  value === null || value === undefined || (typeof value === "object" && Object.values(value).every(blank));
/** Returns a value without members and items that have no value. */
function tidy(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(tidy);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).flatMap(([key, one]) => (blank(one) ? [] : [[key, tidy(one)]])),
  );
}
const same = (one: unknown, other: unknown) => (blank(one) && blank(other)) || equal(tidy(one), tidy(other));

/** Returns all items with keys in a value, and its texts by language, which a write must not lose unless it saw them. */
function keysIn(value: unknown): string[] {
  if (Array.isArray(value)) return value.flatMap(keysIn);
  if (typeof value !== "object" || value === null) return [];
  const own = Reflect.get(value, "_key");
  return [...(typeof own === "string" ? [own] : []), ...Object.values(value).flatMap(keysIn)];
}

test("a write in an earlier shape loses nothing, and each shape reads back what it wrote", () => {
  const counts = { written: 0, refused: 0, changes: 0 };
  fc.assert(
    fc.property(fc.infiniteStream(fc.nat({ max: 1_000_000 })), (stream) => {
      const draw: Draw = (limit) => (stream.next().value as number) % limit;
      const revisions: Revision[] = [{ doc: FIRST, document: documentOf(FIRST), names: undefined }];
      let stored = withStoredNames(schemaOf(documentOf(FIRST), undefined), { values: {} as Values }).values;
      for (let step = 0; step < 14; step++) {
        const live = revisions.at(-1) as Revision;
        const now = schemaOf(live.document, live.names);
        const values = withNames(now, { id: "0", module: "m", schema: "s", values: stored }).values;
        const act = draw(4);
        if (act === 0) {
          // A rename counts once, so the next one needs a document without it.
          const plain = rest(live.doc);
          const between = documentOf(plain);
          revisions.push({ doc: plain, document: between, names: storedNames(between, live) });
          const doc = change(draw, plain);
          const document = documentOf(doc);
          revisions.push({ doc, document, names: storedNames(document, revisions.at(-1) as Revision) });
          counts.changes++;
          continue;
        }
        if (act === 1) {
          const fields = rest(live.doc).fields;
          const drawn = objectOf(draw, fields, live.doc.components);
          const given = draw(2) === 0 ? drawn : withItems(draw, fields, { ...values }, drawn);
          const checked = validateValues(now, given);
          expect(checked.faults).toEqual([]);
          stored = withStoredNames(now, { values: checked.values as Values }).values;
          continue;
        }
        const revision = pick(draw, revisions) as Revision;
        const old = schemaOf(revision.document, pinnedNames(revision.document, revision.names, live), true);
        const pair = { old, now };
        const before = shownAsOld(pair, now, values);
        const merge = draw(2) === 0;
        const changed = objectOf(
          draw,
          rest(revision.doc).fields.filter(
            (field) => draw(3) === 0 && !blank(counterpartOf(pair, old.fields.get(field.name) as never)),
          ),
          revision.doc.components,
        );
        const sent = merge ? changed : { ...before, ...changed };
        let made: Values;
        try {
          made = shapedValues(pair, 1, {
            sender: SENDER,
            sent,
            merge: false,
            base: values,
            locale: undefined,
            market: undefined,
            ...(merge ? { merge } : {}),
          }).values as Values;
        } catch (error) {
          if (!(error instanceof ShapeRefusal)) throw error;
          expect(error.code, JSON.stringify(error.errors)).toBe("shape_conflict");
          counts.refused++;
          continue;
        }
        const checked = validateValues(now, made);
        expect(
          checked.faults,
          JSON.stringify({ made, sent, revisions, at: revisions.indexOf(revision) }),
        ).toEqual([]);
        const after = shownAsOld(pair, now, checked.values);
        const told = JSON.stringify({
          was: revision.doc,
          is: live.doc,
          values,
          before,
          sent,
          merge,
          made,
          after,
        });
        const wanted = merge ? undefined : sent;
        // Each shape reads back what it wrote.
        for (const name of Object.keys(before).concat(Object.keys(changed))) {
          const expected =
            Object.hasOwn(changed, name) && !(merge && isMap(changed[name])) ? changed[name] : wanted?.[name];
          if (merge && Object.hasOwn(changed, name) && isMap(changed[name])) continue;
          if (Object.hasOwn(changed, name) || wanted !== undefined)
            expect(same(after[name], expected), `${name} of ${told}`).toBe(true);
          else expect(same(after[name], before[name]), `${name} stays ${told}`).toBe(true);
          // Empty lists and objects are values.
          const field = old.fields.get(name);
          const is = field === undefined ? undefined : counterpartOf(pair, field);
          const isPlain = field?.shapes === undefined && field?.translatable !== true && !isNone(expected);
          if (field !== undefined && is?.parent === undefined && is && isPlain && isSameField(field, is))
            expect(after[name], `${name} is ${told}`).toEqual(expected);
        }
        // Fields that the earlier shape does not have, and those that the write does not name, stay exactly.
        for (const [name, field] of now.fields) {
          const touched = [...old.fields.values()].some((one) => {
            const found = counterpartOf(pair, one);
            const root = found === undefined ? undefined : rootName(found);
            return root === name && Object.hasOwn(changed, one.name);
          });
          if (!touched)
            expect(same(checked.values[name], values[name]), `${field.name} untouched ${told}`).toBe(true);
        }
        // Items that the earlier shape does not show stay.
        const shown = new Set(keysIn(before));
        const left = new Set(keysIn(checked.values));
        for (const key of keysIn(values))
          if (!shown.has(key)) expect(left.has(key), `${key} ${told}`).toBe(true);
        stored = withStoredNames(now, { values: checked.values as Values }).values;
        counts.written++;
      }
    }),
    { numRuns: rounds(150), seed: testSeed() },
  );
  expect(counts.written).toBeGreaterThan(100);
  expect(counts.changes).toBeGreaterThan(100);
});

const isNone = (value: unknown) => value === null || value === undefined;
const isMap = (value: unknown) => typeof value === "object" && value !== null && !Array.isArray(value);
function rootName(field: { key: string; parent: unknown }): string {
  return field.parent === undefined ? field.key : rootName(field.parent as typeof field);
}
