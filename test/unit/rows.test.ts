/** Files of entries: what is read is what was written, and everything else is refused with its line. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { FIELD_TYPE_NAMES } from "../../shared/definition/types/traits.ts";
import { fromCell, toCell } from "../../shared/rows/cell.ts";
import { fieldCells, type RowField, WINDOW_CELLS } from "../../shared/rows/columns.ts";
import { RowFault } from "../../shared/rows/fault.ts";
import { readJsonRows } from "../../shared/rows/json-lines.ts";
import { readJsonText } from "../../shared/rows/json-text.ts";
import { linesOf } from "../../shared/rows/lines.ts";
import { withoutMasks } from "../../shared/rows/masks.ts";
import { textOf } from "../../shared/rows/row.ts";
import { cellsOfHead, openTable, rowOf } from "../../shared/rows/table.ts";
import { decodeUtf8 } from "../../shared/rows/utf8.ts";
import { entryCells, entryValues, headLine, type StoredEntry, tableLine } from "../../shared/rows/write.ts";
import { rounds, testSeed } from "../support/random.ts";
import { TRICKY_TEXTS } from "../support/texts.ts";

const places = { languages: ["en", "de"], markets: ["US", "EU"] };
const plain = FIELD_TYPE_NAMES.filter((type) => type !== "file");

/** Splits bytes into parts of a few sizes, so that parts end within characters and line ends. */
async function* partsOf(content: string | Uint8Array, size: number): AsyncGenerator<Uint8Array> {
  const bytes = typeof content === "string" ? new TextEncoder().encode(content) : content;
  for (let at = 0; at < bytes.length; at += size) yield bytes.slice(at, at + size);
}

async function linesFrom(text: string, size: number): Promise<string[]> {
  const lines: string[] = [];
  for await (const line of linesOf(decodeUtf8(partsOf(text, size)))) lines.push(line);
  return lines;
}

test("lines are the same however a text is cut, and take linear time", async () => {
  const text = "a\r\nb\n\nc\rd\r";
  for (let size = 1; size <= text.length; size++) {
    expect(await linesFrom(text, size), `parts of ${size} bytes`).toEqual(["a", "b", "", "c", "d", ""]);
  }
  // These 62,500 parts would take minutes if each copied the whole line again.
  const long = "x".repeat(1_000_000);
  expect(await linesFrom(long, 16)).toEqual([long]);
});

type Read = { line: number; entry: unknown } | { line: number; fault: string };

async function readTable(
  content: string | Uint8Array,
  fields: readonly RowField[],
  { size = 1 << 20, separator }: { size?: number; separator?: string } = {},
): Promise<Read[]> {
  const read: Read[] = [];
  try {
    const { head, records } = await openTable(decodeUtf8(partsOf(content, size)), separator);
    const cells = cellsOfHead(head, [...fieldCells(fields, places), ...WINDOW_CELLS]);
    for await (const record of records) {
      const row = record instanceof RowFault ? record : rowOf(record, head, cells);
      read.push(
        row instanceof RowFault
          ? { line: row.line, fault: row.message }
          : { line: row.row.line, entry: JSON.parse(textOf(row.row)) },
      );
    }
  } catch (error) {
    if (!(error instanceof RowFault)) throw error;
    read.push({ line: error.line, fault: error.message });
  }
  return read;
}

async function readJson(content: string | Uint8Array, fields: readonly RowField[] = [], size = 1 << 20) {
  const read: Read[] = [];
  for await (const one of readJsonRows(decodeUtf8(partsOf(content, size)), fields))
    read.push(
      one instanceof RowFault
        ? { line: one.line, fault: one.message }
        : { line: one.row.line, entry: JSON.parse(textOf(one.row)) },
    );
  return read;
}

const tricky = fc.constantFrom(...TRICKY_TEXTS, "\u0000");
const text = fc.oneof(
  tricky,
  fc.string({ unit: "binary" }).filter((one) => one.isWellFormed()),
);
const number = fc.oneof(
  fc.double({ noNaN: true, noDefaultInfinity: true }).map((one) => (one === 0 ? 0 : one)),
  fc.maxSafeInteger(),
);
const json = fc
  .jsonValue({ stringUnit: "binary" })
  .map((value) => JSON.parse(JSON.stringify(value).replaceAll("-0,", "0,")) as unknown)
  .filter((value) => value !== null && !JSON.stringify(value).includes("-0"));

function typed(type: string): fc.Arbitrary<unknown> {
  if (type === "number") return number;
  if (type === "integer") return fc.maxSafeInteger();
  if (type === "decimal") return fc.tuple(fc.maxSafeInteger(), fc.nat(99)).map(([a, b]) => `${a}.${b}`);
  if (type === "boolean") return fc.boolean();
  // A reference is an id, or in a file to import an object with a unique value.
  if (type === "reference") return fc.nat().map((number) => `${number}abc`);
  if (type === "json") return fc.oneof(json, fc.constantFrom<unknown>("5", "true", "null", "text", 5, true));
  return text;
}

const field = (name: string): fc.Arbitrary<RowField> =>
  fc.record({
    name: fc.constant(name),
    type: fc.constantFrom(...plain),
    list: fc.boolean(),
    translatable: fc.boolean(),
    marketSpecific: fc.boolean(),
    default: fc.constantFrom<unknown>(undefined, "d"),
  });

/** Values of a field: none, null if it has a default, or a value for each language and market that has one. */
function held({ type, list, translatable, marketSpecific, default: otherwise }: RowField) {
  const one = list === true ? fc.array(typed(type), { maxLength: 4 }) : typed(type);
  const mapped = (inner: fc.Arbitrary<unknown>, keys: readonly string[]) =>
    fc
      .record(Object.fromEntries(keys.map((key) => [key, inner])), { requiredKeys: [] })
      .filter((map) => Object.keys(map).length > 0) as fc.Arbitrary<unknown>;
  const some = translatable === true ? mapped(one, places.languages) : one;
  const whole = marketSpecific === true ? mapped(some, places.markets) : some;
  return fc.oneof(
    { weight: 4, arbitrary: whole },
    { weight: 1, arbitrary: fc.constant(otherwise === undefined ? undefined : null) },
  );
}

const schema = fc.array(fc.constant(0), { minLength: 1, maxLength: 6 }).chain((all) =>
  fc.tuple(...all.map((_, at) => field(`f${at}`))).chain((fields) =>
    fc.record({
      fields: fc.constant(fields as RowField[]),
      entries: fc.array(
        fc.record({
          values: fc.record(Object.fromEntries(fields.map((one) => [one.name, held(one)]))),
          validFrom: fc.constantFrom(null, "2026-01-01T00:00:00.000Z"),
        }),
        { minLength: 1, maxLength: 5 },
      ),
      size: fc.integer({ min: 1, max: 40 }),
    }),
  ),
);

/** Removes what means no value: undefined, and null in fields without a default. */
function essence(fields: readonly RowField[], { values, validFrom }: StoredEntry) {
  const kept = fields.flatMap(({ name, default: otherwise }) => {
    const value = values[name];
    const none = (one: unknown): boolean =>
      one === undefined ||
      one === null ||
      (typeof one === "object" &&
        !Array.isArray(one) &&
        fields.some((field) => field.name === name && (field.translatable || field.marketSpecific)) &&
        Object.values(one).length > 0 &&
        Object.values(one).every(none));
    if (none(value)) return otherwise === undefined ? [] : [[name, null]];
    return [[name, value]];
  });
  return { values: Object.fromEntries(kept), validFrom: validFrom ?? null };
}

describe("round trips", () => {
  test.each(["," as const, "\t" as const])("a table with %j comes back exactly", async (separator) => {
    const property = fc.asyncProperty(schema, async ({ fields, entries, size }) => {
      const cells = [...fieldCells(fields, places), ...WINDOW_CELLS];
      const table = [
        headLine(cells, separator),
        ...entries.map((one) => tableLine(entryCells(cells, one), separator)),
      ];
      const read = await readTable(table.join(""), fields, { size });
      expect(read.map((one) => ("entry" in one ? essence(fields, one.entry as StoredEntry) : one))).toEqual(
        entries.map((one) => essence(fields, one)),
      );
    });
    await fc.assert(property, { seed: testSeed(), numRuns: rounds(150) });
  });

  test("JSON Lines come back exactly", async () => {
    const property = fc.asyncProperty(schema, async ({ fields, entries, size }) => {
      const lines = entries.map((one) => JSON.stringify({ ...one, values: entryValues(fields, one.values) }));
      const read = await readJson(`${lines.join("\n")}\n`, fields, size);
      expect(read.map((one) => ("entry" in one ? essence(fields, one.entry as StoredEntry) : one))).toEqual(
        entries.map((one) => essence(fields, one)),
      );
    });
    await fc.assert(property, { seed: testSeed(), numRuns: rounds(150) });
  });

  test("no cell of a text begins a formula", () => {
    const property = fc.property(text, (value) => {
      const cell = toCell({ name: "f", type: "string" }, value);
      expect(cell).not.toMatch(/^[=+\-@\t\r\n＝＋－＠]/);
      expect(fromCell({ name: "f", type: "string" }, cell)).toEqual({ json: JSON.stringify(value) });
    });
    fc.assert(property, { seed: testSeed(), numRuns: rounds(400) });
  });
});

const fields: RowField[] = [
  { name: "name", type: "string" },
  { name: "qty", type: "integer" },
  { name: "price", type: "number", marketSpecific: true },
  { name: "ok", type: "boolean" },
  { name: "tags", type: "string", list: true },
  { name: "data", type: "json" },
  { name: "secret", type: "string", sensitive: true },
];
const one = (read: Read[]) => read.map((row) => ("fault" in row ? row : row.entry));

describe("tables", () => {
  test.each([
    ["CRLF", "name,qty\r\na,1\r\nb,2\r\n"],
    ["LF", "name,qty\na,1\nb,2"],
    ["CR", "name,qty\ra,1\rb,2\r"],
    ["semicolons", "name;qty\na;1\nb;2\n"],
    ["tabs", "name\tqty\na\t1\nb\t2\n"],
    ["a declared separator", "sep=;\r\nname;qty\r\na;1\r\nb;2\r\n"],
    ["a byte order mark", "\uFEFFname,qty\na,1\n\nb,2\n"],
    ["quotes", '"name","qty"\n"a","1"\n"b","2"\n'],
  ])("with %s are read", async (_, content) => {
    for (const size of [1, 3, 1_000])
      expect(one(await readTable(content, fields, { size }))).toEqual([
        { values: { name: "a", qty: 1 } },
        { values: { name: "b", qty: 2 } },
      ]);
  });

  test.each([
    [
      "Windows-1252",
      new Uint8Array([...Buffer.from("name,qty\na,1\nK"), 0xe4, ...Buffer.from("se,2\n")]),
      3,
      /byte 2 of the line is E4.*Save the file as UTF-8/,
    ],
    ["UTF-16", new Uint8Array([0xff, 0xfe, 0x6e, 0]), 1, /UTF-16/],
    ["an overlong form", new Uint8Array([...Buffer.from("name\n"), 0xc0, 0x80]), 2, /is not UTF-8: byte 1/],
    ["a cut character", new Uint8Array([...Buffer.from("name\na"), 0xe2, 0x82]), 2, /is not UTF-8: byte 2/],
    ["an open quote", 'name,qty\n"a,1\nb,2\n', 2, /quote in cell 1 that is not closed/],
    ["text after a quote", 'name,qty\n"a"b,1\n', 2, /after the closing quote of cell 1/],
    ["two columns of one name", "name,qty,name\na,1,b\n", 1, /two columns name/],
    ["a column without a name", "name,,qty\na,1,2\n", 1, /no name for column 2 of 3/],
    ["an unknown column", "name,weight\na,1\n", 1, /no field for the column weight/],
    ["a column without its market", "price\n1\n", 1, /needs a language or market: price.US, price.EU/],
    ["a short row", "name,qty\na,1\nb\n", 3, /1 cell fewer than there are column names/],
    ["a long row", 'name,qty\n"a\nb",1\nb,2,3\n', 4, /1 cell more than there are column names/],
    ["a decimal comma", 'price.US\n"1,5"\n', 2, /price.US must be a number such as -1234.5/],
    ["a huge number", "price.US\n1e400\n", 2, /too large for double precision/],
    ["too many digits", "price.US\n0.12345678901234567890\n", 2, /more digits than double precision/],
    ["a large integer", "qty\n9007199254740993\n", 2, /it would become 9007199254740992/],
    ["a leading zero", "qty\n007\n", 2, /must be a number/],
    ["yes", "ok\nyes\n", 2, /ok must be true or false \(is yes\)/],
    ["a list without brackets", 'tags,qty\n"a, b",1\n', 2, /tags must be a JSON array such as/],
    ["JSON without quotes", "data\nhello\n", 2, /data must be JSON; write a text as "text"/],
    ["JSON with a name twice", 'data\n"{""a"":1,""a"":2}"\n', 2, /the property "a" is given twice/],
    ["no content", "", 1, /names of the columns/],
  ])("with %s are refused with their line", async (_, content, line, message) => {
    for (const size of [1, 1_000]) {
      const fault = (await readTable(content, fields, { size })).find((row) => "fault" in row);
      expect(fault).toEqual({ line, fault: expect.stringMatching(message) });
    }
  });

  test("read booleans of spreadsheets, and numbers in every form of JSON", async () => {
    const content = "ok,qty,price.EU\nTRUE,1e3,-0.5\nFalse,-7,1.50\n,,6.02214076e23\n";
    expect(one(await readTable(content, fields))).toEqual([
      { values: { ok: true, qty: 1000, price: { EU: -0.5 } } },
      { values: { ok: false, qty: -7, price: { EU: 1.5 } } },
      { values: { price: { EU: 6.02214076e23 } } },
    ]);
  });

  test("keep texts of others as they are, except for the apostrophe of a formula", async () => {
    const content = "name\n'tis\nnull\n'=1+1\n=1+1\n 5 \n";
    expect(one(await readTable(content, fields))).toEqual(
      ["'tis", "null", "=1+1", "=1+1", " 5 "].map((name) => ({ values: { name } })),
    );
  });

  test("leave out masks of sensitive fields and columns of the platform, and keep other values", async () => {
    const content = "id,name,secret\n1,a,••••••••\n2,b,s\n";
    expect(one(await readTable(content, fields))).toEqual([
      { values: { name: "a" } },
      { values: { name: "b", secret: "s" } },
    ]);
  });
});

describe("masks of sensitive values inside objects", () => {
  const pin: RowField = { name: "pin", type: "string", sensitive: true };
  const city: RowField = { name: "city", type: "string" };
  const object: RowField = { name: "f", type: "object", translatable: true, fields: [pin, city] };
  const blocks: RowField = {
    ...{ name: "f", type: "blocks", list: true },
    blocks: [{ component: "card", fields: [pin, { ...object, name: "at" }] }],
  };
  const M = "••••••••";
  const list = (more: string) => `[{"_type":"card","_key":"a",${more}"at":{"de":{"city":"${M}","n":1.0}}}]`;
  test.each([
    [object, `{"city":"${M}","pin":"${M}"}`, `{"city":"${M}"}`, ["f.pin"]],
    [object, `{"de":{"pin":"${M}"},"en":null}`, `{"de":{},"en":null}`, ["f.pin"]],
    [object, `{"pin":"x"}`, `{"pin":"x"}`, []],
    [blocks, list(`"pin":"${M}",`), list(""), ["f.pin"]],
    [pin, `{"de":"${M}"}`, undefined, ["pin"]],
    [city, `"${M}"`, `"${M}"`, []],
  ])("are left out of %j: %s", (field, text, expected, masked) => {
    expect(withoutMasks(field, text, true)).toEqual({ text: expected, masked });
  });

  test("stay in the lists of a row that changes an entry", () => {
    const text = list(`"pin":"${M}",`);
    expect(withoutMasks(blocks, text, false)).toEqual({ text, masked: [] });
  });
});

describe("JSON Lines", () => {
  test.each([
    ["a byte order mark", '\uFEFF{"values":{"name":"a"}}\n'],
    ["line separators in a text", '{"values":{"name":"a"}}\r\n\n'],
    ["carriage returns", '{"values":{"name":"a"}}\r'],
    ["a list", '[\n {"values": {"name": "a"}}\n]'],
    ["bare values", '{"name":"a"}'],
    ["properties of the platform", '{"id":"x","revision":3,"values":{"name":"a","secret":"••••••••"}}'],
  ])("with %s are read", async (_, content) => {
    for (const size of [1, 1_000])
      expect(one(await readJson(content, fields, size))).toEqual([{ values: { name: "a" } }]);
  });

  test("keep line separators in texts, and members that only the platform judges", async () => {
    const content = '{"values":{"name":"a\u2028b\u2029"},"publish":"no","more":1}\n';
    expect(one(await readJson(content, fields))).toEqual([JSON.parse(content)]);
  });

  test.each([
    ['{"values":{"qty":1e999}}', /1e999 is too large/],
    ['{"values":{"data":[12345678901234567890]}}', /more digits/],
    ['{"values":{"data":0.1234567890123456789}}', /more digits/],
    ['{"values":{"name":"a","name":"b"}}', /"name" is given twice/],
    ['{"values":{"a":1,"\\u0061":2}}', /"a" is given twice/],
    ['{"values":{"name":"a"}', /is not JSON: see column/],
    ['"text"', /is not a JSON object/],
    ['{"values":{"name":"a\u0000"}}', /is not JSON: see column 21/],
  ])("%s is refused with its line", async (line, message) => {
    const content = `{"values":{}}\n\n${line}\n`;
    expect((await readJson(content, fields))[1]).toEqual({ line: 3, fault: expect.stringMatching(message) });
  });

  test("numbers that double precision keeps are not refused", () => {
    for (const number of [
      "1.10",
      "100000000000000000000",
      "1E-7",
      "5e-324",
      "-0",
      "0.1",
      "1.7976931348623157e308",
    ])
      expect(readJsonText(`[${number}]`)).toMatchObject({ kind: "list" });
    const property = fc.property(fc.double({ noNaN: true, noDefaultInfinity: true }), (value) => {
      expect(readJsonText(JSON.stringify([value]))).toMatchObject({ kind: "list" });
    });
    fc.assert(property, { seed: testSeed() });
  });
});
