/** The names in stored data follow renames: chains, swaps, names that are used again, and the way back. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { checkDocument } from "../../shared/definition/check/check.ts";
import { compareDefinitions } from "../../shared/definition/compat.ts";
import { compileOrb } from "../../shared/definition/compile.ts";
import type { FieldDefinition, OrbDocument } from "../../shared/definition/document/document.ts";
import { storedNames } from "../../shared/definition/names/resolve.ts";
import type { StoredValues } from "../../shared/entry/model/snapshot.ts";
import { DocumentHistory } from "../support/document-history.ts";
import { testSeed } from "../support/random.ts";

type Was = string | string[] | undefined;
interface Field {
  name: string;
  was?: Was;
  fields?: Field[];
}

const fieldOf = ({ name, was, fields }: Field): FieldDefinition => ({
  name,
  ...(was === undefined ? {} : { was }),
  ...(fields === undefined ? { type: "string" } : { type: "object", fields: fields.map(fieldOf) }),
});

const documentOf = (
  fields: readonly Field[],
  schema: { id: string; was?: string } = { id: "s" },
): OrbDocument =>
  checkDocument({
    id: "shop",
    modules: [{ id: "m", type: "CONTENT", schemas: [{ ...schema, fields: fields.map(fieldOf) }] }],
  }).document;

/** The documents that were active, one after the other. */
class History extends DocumentHistory {
  constructor(fields: readonly Field[]) {
    super(documentOf(fields));
  }

  to(fields: readonly Field[], schema?: { id: string; was?: string }): this {
    return this.activate(documentOf(fields, schema));
  }
}

const named = (...names: string[]): Field[] => names.map((name) => ({ name }));

describe("a renamed field has the values of its earlier name", () => {
  test("also after a chain of renames, and after `was` is removed", () => {
    const history = new History(named("a"));
    const stored = history.write({ a: 1 });
    expect(history.to([{ name: "b", was: "a" }]).read(stored)).toEqual({ b: 1 });
    expect(history.to([{ name: "c", was: "b" }]).read(stored)).toEqual({ c: 1 });
    expect(history.to(named("c")).read(stored)).toEqual({ c: 1 });
    const later = history.write({ c: 2 });
    expect(history.to(named("a")).read(later)).toEqual({ a: 2 });
  });

  test("if the document skips a step of the chain", () => {
    const history = new History(named("a"));
    const stored = history.write({ a: 1 });
    expect(history.to([{ name: "c", was: ["b", "a"] }]).read(stored)).toEqual({ c: 1 });
  });

  test("if two fields swap their names, and swap them back", () => {
    const history = new History(named("a", "b"));
    const stored = history.write({ a: 1, b: 2 });
    const swapped: Field[] = [
      { name: "a", was: "b" },
      { name: "b", was: "a" },
    ];
    expect(history.to(swapped).read(stored)).toEqual({ a: 2, b: 1 });
    expect(history.to(swapped).read(stored)).toEqual({ a: 2, b: 1 });
    expect(history.to(named("a", "b")).read(stored)).toEqual({ a: 2, b: 1 });
    expect(history.to(swapped).read(stored)).toEqual({ a: 1, b: 2 });
  });

  test("at any depth, and in a renamed schema", () => {
    const history = new History([{ name: "o", fields: named("a", "b") }]);
    const stored = history.write({ o: { a: 1, b: 2 } });
    history.to(
      [
        {
          name: "p",
          was: "o",
          fields: [
            { name: "b", was: "a" },
            { name: "a", was: "b" },
          ],
        },
      ],
      { id: "Other", was: "s" },
    );
    expect(history.schema.home).toEqual({ type: "content", schema: "s" });
    expect(history.read(stored)).toEqual({ p: { a: 2, b: 1 } });
    expect(history.write({ p: { a: 2, b: 1 } })).toEqual(stored);
  });
});

describe("a name that is used again", () => {
  test("does not show the values of the field that had it before", () => {
    const history = new History(named("a"));
    const stored = history.write({ a: 1 });
    history.to([{ name: "b", was: "a" }, { name: "a" }]);
    expect(history.read(stored)).toEqual({ b: 1 });
    const both = history.write({ a: 2, b: 3 });
    expect(both).toEqual({ a: 3, "a~2": 2 });
    expect(history.to([{ name: "b", was: "a" }]).read(both)).toEqual({ b: 3, "a~2": 2 });
    expect(history.to(named("b", "a")).read(both)).toEqual({ a: 2, b: 3 });
  });

  test("does not show the values of a removed field whose name another field took", () => {
    const history = new History(named("a", "b"));
    const stored = history.write({ a: 1, b: 2 });
    history.to([{ name: "b", was: "a" }]);
    expect(history.read(stored)).toEqual({ b: 1 });
    history.to([{ name: "c", was: "b" }, { name: "d" }]);
    expect(history.read(stored)).toMatchObject({ c: 1 });
    expect(history.read(stored)).not.toHaveProperty("d");
  });

  test("has its earlier values if it was only removed and added again", () => {
    const history = new History(named("a", "b"));
    const stored = history.write({ a: 1, b: 2 });
    expect(history.to(named("a")).names).toBeUndefined();
    expect(history.to(named("a", "b")).read(stored)).toEqual({ a: 1, b: 2 });
  });

  test("is a new home for entries if it is the id of a schema", () => {
    const schemas = (...all: object[]) =>
      checkDocument({
        id: "shop",
        modules: [{ id: "m", type: "CONTENT", schemas: all.map((one) => ({ fields: [], ...one })) }],
      }).document;
    const before = { document: schemas({ id: "a" }), names: undefined };
    const document = schemas({ id: "b", was: "a" }, { id: "a" });
    const compiled = compileOrb(document, storedNames(document, before));
    expect(compiled.schema("m", "b")?.home.schema).toBe("a");
    expect(compiled.schema("m", "a")?.home.schema).toBe("a_2");
    expect(compiled.schemaNamed("m", "a")?.id).toBe("a");
  });
});

test("a document without renames has no stored names, and its schema costs nothing", () => {
  const history = new History(named("a", "b")).to(named("a", "c"));
  expect(history.names).toBeUndefined();
  expect(history.schema.renamed).toBe(false);
  const values = { a: 1 };
  expect(history.write(values)).toBe(values);
});

test("a comparison tells renames from removals, and compares what belongs together", () => {
  const from = documentOf(named("a", "b"));
  const to = documentOf([{ name: "b", was: "a" }, { name: "c" }]);
  const names = { to: storedNames(to, { document: from }) };
  expect(compareDefinitions(from, to, names).map(({ code, field }) => [code, field])).toEqual([
    ["renamed_field", "b"],
    ["removed_field", "b"],
  ]);
});

test.each<Was>(["", [], "1st", ["a", "constructor"]])("refuses the earlier name %j", (was) => {
  expect(() => documentOf([{ name: "x", was }])).toThrow();
});

/** What one step does: to which field, and which name it uses. */
interface Step {
  kind: "rename" | "swap" | "add" | "reuse" | "remove" | "tidy" | "write" | "rewrite" | "carry";
  at: number;
  name: number;
}

interface Live {
  identity: number;
  name: string;
  was?: string;
  earlier: string[];
}

/** Knows which value belongs to which field, by identities that no rename changes. */
class Model {
  fields: Live[] = [];
  #next = 0;
  readonly #removed = new Set<string>();
  readonly entries: { stored: StoredValues; values: Map<number, unknown> }[] = [];

  constructor() {
    for (const name of ["a", "b", "c"]) this.fields.push({ identity: this.#next++, name, earlier: [] });
  }

  free(name: string): boolean {
    return !this.#removed.has(name) && this.fields.every((one) => one.name !== name);
  }

  /** Changes the document. Returns false if the step does not fit. */
  change({ kind, at, name: number }: Step): boolean {
    const name = `f${number}`;
    const field = this.fields[at % this.fields.length];
    const other = this.fields[(at + 1) % this.fields.length];
    if (field === undefined || other === undefined) return false;
    const renamed = (one: Live, to: string) => {
      const { was: _, ...rest } = one;
      return { ...rest, name: to, was: one.name, earlier: [...one.earlier, one.name] };
    };
    const without = this.fields.filter((one) => one !== field);
    // A rename that repeats the `was` that the field has already is taken as done.
    if (kind === "rename") {
      if (!this.free(name) || this.#used(name)) return false;
      this.fields = [...without, renamed(field, name)];
    } else if (kind === "swap") {
      if (field === other || field.was === other.name || other.was === field.name) return false;
      const rest = without.filter((one) => one !== other);
      this.fields = [...rest, renamed(field, other.name), renamed(other, field.name)];
    } else if (kind === "add") {
      if (!this.free(name) || this.#used(name)) return false;
      this.fields = [...this.fields, { identity: this.#next++, name, earlier: [] }];
    } else if (kind === "reuse") {
      const [again] = this.fields.flatMap(({ earlier }) => earlier).filter((one) => this.free(one));
      if (again === undefined) return false;
      this.fields = [...this.fields, { identity: this.#next++, name: again, earlier: [] }];
    } else if (kind === "remove") {
      if (this.fields.length < 3) return false;
      // A name that was removed leads back to its values, which other tests check.
      for (const one of [field.name, ...field.earlier]) this.#removed.add(one);
      this.fields = without;
    } else if (kind === "tidy") {
      this.fields = this.fields.map(({ was: _, ...rest }) => rest);
    }
    return true;
  }

  #used(name: string): boolean {
    return this.fields.some(({ earlier }) => earlier.includes(name));
  }

  get document(): Field[] {
    const around = this.fields.map(({ name, was }) => ({ name, was }));
    return [...around, { name: "o", fields: around }];
  }

  expected(values: ReadonlyMap<number, unknown>): Record<string, unknown> {
    const some = this.fields.flatMap(({ identity, name }) =>
      values.has(identity) ? [[name, values.get(identity)] as const] : [],
    );
    return { ...Object.fromEntries(some), o: Object.fromEntries(some) };
  }
}

/** Returns only the values of fields that the document has. */
function known(history: History, values: Record<string, unknown>): Record<string, unknown> {
  const names = new Set(history.schema.fields.keys());
  const object = Object.entries(values.o as object).filter(([name]) => names.has(name));
  const own = Object.entries(values).filter(([name]) => names.has(name));
  return { ...Object.fromEntries(own), o: Object.fromEntries(object) };
}

test("every value is read under the name that its field has now, whatever changed since it was written", () => {
  const step: fc.Arbitrary<Step> = fc.record({
    kind: fc.constantFrom(
      ...(["rename", "swap", "add", "reuse", "remove", "tidy", "write", "rewrite", "carry"] as const),
    ),
    at: fc.nat(20),
    name: fc.nat(30),
  });
  const property = fc.property(fc.array(step, { maxLength: 25 }), (steps) => {
    const model = new Model();
    const history = new History(model.document);
    let value = 0;
    for (const one of steps) {
      if (one.kind === "write") {
        const values = new Map(model.fields.map(({ identity }) => [identity, ++value]));
        model.entries.push({ stored: history.write(model.expected(values)), values });
      } else if (one.kind === "rewrite" || one.kind === "carry") {
        const entry = model.entries[one.at % Math.max(1, model.entries.length)];
        if (entry === undefined) continue;
        const read = history.read(entry.stored);
        // A write of values drops those of removed fields. Others, such as a publication, carry all values on.
        entry.stored = history.write(one.kind === "carry" ? read : known(history, read));
        const kept = new Set(model.fields.map(({ identity }) => identity));
        for (const identity of entry.values.keys())
          if (one.kind === "rewrite" && !kept.has(identity)) entry.values.delete(identity);
      } else if (model.change(one)) history.to(model.document);
      for (const { stored, values } of model.entries)
        expect(known(history, history.read(stored))).toEqual(model.expected(values));
    }
  });
  fc.assert(property, { seed: testSeed(), numRuns: 400 });
});
