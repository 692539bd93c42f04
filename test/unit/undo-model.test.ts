/**
 * Changes of a document that lose something, with writes between them, and then the earlier document again. Whatever no
 * write has changed is what it was, in each document, also if no rule leads back.
 */
import { expect, test } from "vitest";
import { checkDocument } from "../../shared/definition/check/check.ts";
import { compareDefinitions } from "../../shared/definition/compat.ts";
import type { OrbDocument } from "../../shared/definition/document/document.ts";
import { homeKey, homeOf } from "../../shared/definition/document/home.ts";
import { storedNames } from "../../shared/definition/names/resolve.ts";
import type { StoredNames } from "../../shared/definition/names/stored-names.ts";
import { compareRetired, type Retired, retiredAfter } from "../../shared/definition/retired.ts";
import { validateValues } from "../../shared/definition/validate.ts";
import { storedInput } from "../../shared/entry/model/known.ts";
import { remembered, unconverted } from "../../shared/entry/model/names.ts";
import type { StoredValues } from "../../shared/entry/model/snapshot.ts";
import { AppError } from "../../shared/kernel/errors.ts";
import { DocumentHistory } from "../support/document-history.ts";
import { type Random, testRandom } from "../support/random.ts";

type Values = Record<string, unknown>;

/** A field or a member, and the values of the first document that it stands for. */
interface Leaf {
  /** Ids of fields of the first document: `x`, or `seo.x`. */
  of: readonly string[];
  name: string;
  parent?: "seo" | "rows";
  type: string;
  list?: boolean;
  translatable?: boolean;
  /** What the change says about the field. */
  was?: string;
  from?: object;
  /** Name of the field that moved into the object with this change. */
  moved?: string;
}
type Doc = readonly Leaf[];

const leaf = (id: string, type: string, more: Partial<Leaf> = {}): Leaf => ({
  of: [id],
  name: id.split(".").at(-1) ?? id,
  type,
  ...more,
});
const FIRST: Doc = [
  leaf("a", "integer"),
  leaf("b", "string"),
  leaf("c", "boolean"),
  leaf("text", "string", { translatable: true }),
  leaf("tags", "string", { list: true }),
  leaf("first", "string"),
  leaf("last", "string"),
  leaf("seo.x", "string", { parent: "seo" }),
  leaf("seo.y", "integer", { parent: "seo" }),
  leaf("rows.x", "string", { parent: "rows" }),
  leaf("rows.y", "integer", { parent: "rows" }),
];

const COUNTS = new Map([[homeKey(homeOf("CONTENT", "s")), 1]]);

const fieldOf = ({ of: _, parent: __, moved: ___, type, ...field }: Leaf) => ({
  ...field,
  type,
  ...(type === "decimal" ? { scale: 2 } : {}),
});
const settled = ({ was: _, from: __, moved: ___, ...left }: Leaf): Leaf => left;
const inside = (doc: Doc, parent: "seo" | "rows") => doc.filter((one) => one.parent === parent);

function documentOf(doc: Doc): OrbDocument {
  const moves = inside(doc, "seo").flatMap(({ name, moved }) => (moved === undefined ? [] : [[name, moved]]));
  const from = moves.length === 0 ? {} : { from: { fields: Object.fromEntries(moves) } };
  const seo = { name: "seo", type: "object", fields: inside(doc, "seo").map(fieldOf), ...from };
  const rows = { name: "rows", type: "object", list: true, fields: inside(doc, "rows").map(fieldOf) };
  const fields = [...doc.filter(({ parent }) => parent === undefined).map(fieldOf), seo, rows];
  return checkDocument({
    id: "shop",
    languages: ["en", "de"],
    modules: [{ id: "m", type: "CONTENT", schemas: [{ id: "s", fields }] }],
  }).document;
}

const value = { var: "value" };
/** Rules by the types that they lead from and to. None of them leads back. */
const RULES: readonly [string, string, unknown][] = [
  ["integer", "string", { cat: [value, " pieces"] }],
  ["integer", "boolean", { ">": [value, 4] }],
  ["string", "boolean", { in: ["1", value] }],
  ["string", "integer", { if: [{ in: ["1", value] }, 1, { in: ["2", value] }, null, 3] }],
  ["boolean", "string", { if: [value, "yes", "no"] }],
  ["boolean", "integer", { if: [value, 1, null] }],
  ["decimal", "string", { cat: ["about ", value] }],
];
const WIDER: readonly [string, string][] = [
  ["integer", "decimal"],
  ["integer", "string"],
  ["string", "text"],
];

let fresh = 0;

/** Returns a document after a random change; undefined if it is impossible. */
function changed(random: Random, before: Doc): Doc | undefined {
  const doc = before.map(settled);
  const at = random.below(doc.length);
  const one = doc[at] as Leaf;
  const replaced = (next: Leaf) => doc.toSpliced(at, 1, next);
  const name = `f${fresh++}`;
  switch (random.below(8)) {
    case 0:
      return replaced({ ...one, name, was: one.name });
    case 1: {
      const type = random.pick(WIDER.filter(([from]) => from === one.type).concat([["", ""]]))[1];
      return type === "" ? undefined : replaced({ ...one, type });
    }
    case 2:
      return one.list === true ? undefined : replaced({ ...one, list: true });
    case 3:
      return one.translatable === true ? undefined : replaced({ ...one, translatable: true });
    case 4: {
      if (one.parent !== undefined) return undefined;
      const { list: _, translatable: __, ...plain } = one;
      if (one.list === true || one.translatable === true) return undefined;
      return replaced({ ...plain, name, parent: "seo", moved: one.name });
    }
    case 6:
      // What a rule made comes back with the rule only.
      if (one.parent !== undefined || one.type === "text" || one.of.length > 1) return undefined;
      return doc.toSpliced(at, 1);
    case 5: {
      const [first, last] = [random.pick(doc), random.pick(doc)];
      // A text has the stored name of the string that it was, so a removed one comes back as a text.
      // Of a value that an earlier rule made null, a rule makes nothing that could stay.
      const mayBeNull = ({ of, type }: Leaf) =>
        type === "integer" && FIRST.some((each) => each.of[0] === of[0] && each.type !== type);
      const isSource = (each: Leaf) =>
        each.parent === undefined &&
        each.of.length === 1 &&
        each.type !== "text" &&
        !mayBeNull(each) &&
        each.translatable !== true &&
        each.list !== true;
      if (first === last || !isSource(first) || !isSource(last)) return undefined;
      const convert = { cat: [{ var: `values.${first.name}` }, " ", { var: `values.${last.name}` }] };
      const full: Leaf = { of: [...first.of, ...last.of], name, type: "string", from: { convert } };
      return [...doc.filter((each) => each !== first && each !== last), full];
    }
    default: {
      if (one.list === true) return undefined;
      const rule = random.pick(RULES.filter(([from]) => from === one.type).concat([["", "", null]]));
      if (rule[0] === "") return undefined;
      return replaced({ ...one, type: rule[1], from: { convert: rule[2] } });
    }
  }
}

function single(random: Random, type: string): unknown {
  switch (type) {
    case "integer":
      return random.below(9);
    case "decimal":
      return `${random.below(9)}.${random.pick(["00", "25"])}`;
    case "boolean":
      return random.below(2) === 0;
    default:
      return `w${random.below(30)}`;
  }
}

function anyValue(random: Random, { type, list, translatable }: Leaf): unknown {
  const one = () => single(random, type);
  const items = () => (list === true ? Array.from({ length: random.below(3) }, one) : one());
  return translatable === true ? { en: items(), ...(random.below(2) === 0 ? { de: items() } : {}) } : items();
}

const objectOf = (random: Random, leaves: Doc): Values =>
  Object.fromEntries(
    leaves.flatMap((one) => (random.below(4) === 0 ? [] : [[one.name, anyValue(random, one)]])),
  );

const entryOf = (random: Random): Values => ({
  ...objectOf(
    random,
    FIRST.filter(({ parent }) => parent === undefined),
  ),
  seo: objectOf(random, inside(FIRST, "seo")),
  rows: ["k", "l"].map((_key) => ({ _key, ...objectOf(random, inside(FIRST, "rows")) })),
});

/** Returns a value without nulls and empty objects, which stand for nothing. */
const tidy = (given: unknown): unknown => {
  if (Array.isArray(given)) return given.map(tidy);
  if (typeof given !== "object" || given === null) return given ?? undefined;
  const left = Object.entries(given).filter(([, one]) => one !== null);
  return left.length === 0 ? undefined : Object.fromEntries(left.map(([name, one]) => [name, tidy(one)]));
};

/** An entry, what was written to it in the first document, and what no write has changed since. */
interface Entry {
  stored: StoredValues;
  original: Values;
  /** Ids of the first document; in lists with the key of the item. */
  touched: Set<string>;
}

/** Returns the values of the first document by their ids. */
function idsOf(values: Values): Map<string, unknown> {
  const { seo = {}, rows = [], ...plain } = values as { seo?: Values | null; rows?: Values[] } & Values;
  return new Map([
    ...Object.entries(plain),
    ...Object.entries(seo ?? {}).map(([name, one]) => [`seo.${name}`, one] as const),
    ...rows.flatMap((row) =>
      Object.entries(row).map(([name, one]) => [`rows.${name} ${row._key}`, one] as const),
    ),
  ]);
}

class Model {
  readonly history = new DocumentHistory(documentOf(FIRST));
  doc: Doc = FIRST;
  /** The documents before, oldest first. */
  readonly earlier: Doc[] = [];
  /** Removed fields. */
  retired: readonly Retired[] = [];

  /** Stores values as a write does: validated, and based on the values of a stored revision. */
  store(given: Values, ...from: Values[]): StoredValues {
    const checked = validateValues(this.history.schema, given, { existing: (from[0] ?? {}) as never });
    expect(checked.faults).toEqual([]);
    return this.history.write(remembered(checked.values as Values, ...from));
  }

  /** Publishes a document, unless it would be refused. */
  activate(doc: Doc, entries: readonly Entry[]): boolean {
    const { document, names } = this.history;
    try {
      const to = documentOf(doc);
      const after = storedNames(to, this.history);
      const changes = compareDefinitions(document, to, { from: names, to: after });
      if (changes.some(({ severity }) => severity === "dangerous")) return false;
      const next = new DocumentHistory(document);
      next.names = names;
      next.activate(to);
      if (entries.some(({ stored }) => unconverted(next.schema, { id: "0", values: stored }).length > 0))
        return false;
    } catch (error) {
      if (error instanceof AppError) return false;
      throw error;
    }
    this.#retire(documentOf(doc), storedNames(documentOf(doc), this.history));
    this.history.activate(documentOf(doc));
    this.earlier.push(this.doc);
    this.doc = doc;
    return true;
  }

  /** Publishes a document, whatever the values of entries. Returns the changes that no entries allow. */
  activateAnyway(doc: Doc): string[] {
    const { document, names } = this.history;
    const to = documentOf(doc);
    const after = storedNames(to, this.history);
    const changes = [
      ...compareDefinitions(document, to, { from: names, to: after }),
      ...compareRetired(this.retired, to, after, { document, names }),
    ];
    this.#retire(to, after);
    this.history.activate(to);
    return changes.filter(({ severity }) => severity === "dangerous").map(({ message }) => message);
  }

  #retire(to: OrbDocument, after: StoredNames | undefined): void {
    const { document, names } = this.history;
    this.retired = retiredAfter(document, this.retired, to, COUNTS, { from: names, to: after });
  }

  /** Writes an entry: most values stay. */
  write(random: Random, entry: Entry): void {
    const named = this.history.read(entry.stored);
    const given = structuredClone(storedInput(this.history.schema, named)) as Values;
    const one = random.pick(this.doc);
    const next = anyValue(random, one);
    const seo = given.seo as Values | undefined;
    const row = random.pick((given.rows as Values[] | undefined)?.concat() ?? [{}]);
    const act = random.below(4);
    if (act === 0 && one.parent === undefined) given[one.name] = next;
    else if (act === 0 && one.parent === "seo") given.seo = { ...seo, [one.name]: next };
    else if (act === 0) row[one.name] = next;
    else if (act === 1) given.rows = (given.rows as Values[] | undefined)?.toReversed();
    // A write drops the values of removed fields.
    const present = new Set(this.doc.flatMap(({ of }) => of));
    for (const { of } of FIRST) for (const id of of) if (!present.has(id)) entry.touched.add(id);
    if (act === 0)
      for (const id of one.of) entry.touched.add(one.parent === "rows" ? `${id} ${row._key}` : id);
    const before = Object.entries(given);
    entry.stored = this.store(given, named);
    // The current document shows what was written.
    const after = storedInput(this.history.schema, this.history.read(entry.stored));
    for (const [name, sent] of before) expect(tidy(after[name]), name).toEqual(tidy(sent));
  }
}

test("the earlier document brings back what no write has changed, also without a rule that leads back", () => {
  const random = testRandom();
  const counts = { undone: 0, lossy: 0, refused: 0 };
  for (let run = 0; run < 150; run++) {
    const model = new Model();
    const entries = Array.from({ length: 3 }, (): Entry => {
      const original = entryOf(random);
      return { stored: model.store(original), original, touched: new Set() };
    });
    for (let step = 0; step < 5; step++) {
      const doc = changed(random, model.doc);
      if (doc === undefined || !model.activate(doc, entries)) continue;
      if (doc.some(({ from }) => from !== undefined)) counts.lossy++;
      // A name or a rule counts once.
      model.activate(doc.map(settled), entries);
      for (let write = random.below(4); write > 0; write--) model.write(random, random.pick(entries));
    }
    // At once, or change by change.
    const back = random.below(2) === 0 ? [FIRST] : model.earlier.toReversed();
    for (const doc of back) expect(model.activateAnyway(doc.map(settled))).toEqual([]);
    for (const { stored, original, touched } of entries) {
      const told = JSON.stringify({ original, stored, touched: [...touched], names: model.history.names });
      const lost = unconverted(model.history.schema, { id: "0", values: stored });
      const isTouched = (field: string) => [...touched].some((id) => id.split(" ")[0] === field);
      expect(
        lost.filter(({ field }) => !isTouched(field)),
        told,
      ).toEqual([]);
      if (lost.length > 0) counts.refused++;
      const shown = idsOf(storedInput(model.history.schema, model.history.read(stored)) as Values);
      for (const [id, one] of idsOf(original))
        if (!touched.has(id)) expect(tidy(shown.get(id)), `${id} ${told}`).toEqual(tidy(one));
      counts.undone++;
    }
  }
  expect(counts.undone).toBeGreaterThan(400);
  expect(counts.lossy).toBeGreaterThan(30);
});
