/** The cells of an entry, as the console's form edits, compares and sends them. */
import { expect, test } from "vitest";
import {
  type Content,
  cellsOf,
  compareChanges,
  differing,
  isMissing,
  newContent,
  pointerOf,
  same,
  valuesToSend,
  withValue,
} from "../../functions/console/model/cells.ts";
import type { FieldModel, OrbModel } from "../../functions/console/model/orb.ts";
import { mayField } from "../../functions/console/model/rights.ts";

const orb: OrbModel = {
  id: "o",
  languages: ["en", "de"],
  markets: ["US", "EU"],
  modules: [],
  roles: [{ id: "buyer", name: "Buyers" }],
};
const fields: FieldModel[] = [
  { name: "title", type: "string", translatable: true },
  { name: "offer", type: "string", translatable: true, marketSpecific: true },
  { name: "tags", type: "string", list: true },
  { name: "size", type: "integer", default: 3 },
];
const cells = cellsOf({ fields }, orb);
const content = (values: Record<string, unknown>): Content => ({ values, validFrom: null, validTo: null });
const cell = (pointer: string) => {
  const found = cells.find((one) => pointerOf(one) === pointer);
  if (found === undefined) throw new Error(`There is no cell ${pointer}.`);
  return found;
};

test("has a cell for each market and language of a field", () => {
  expect(cells.map(pointerOf)).toEqual([
    "/values/title/en",
    "/values/title/de",
    "/values/offer/US/en",
    "/values/offer/US/de",
    "/values/offer/EU/en",
    "/values/offer/EU/de",
    "/values/tags",
    "/values/size",
  ]);
});

test("treats no value, an empty list and an empty text as the same, but not false and zero", () => {
  for (const empty of [null, undefined, "", [], [null]]) expect(same(empty, null)).toBe(true);
  for (const value of [false, 0, {}]) expect(same(value, null)).toBe(false);
  expect(same({ a: 1, b: [2] }, { b: [2], a: 1 })).toBe(true);
  expect(same({ a: 1 }, { a: 1, b: null })).toBe(false);
});

test("sends whole maps, and null for empty values", () => {
  const typed = withValue(content({ tags: ["x", null] }), cell("/values/offer/EU/de"), "Rabatt");
  expect(valuesToSend(withValue(typed, cell("/values/title/en"), ""), fields, orb)).toEqual({
    title: null,
    offer: { EU: { de: "Rabatt" } },
    tags: ["x"],
    size: null,
  });
});

test("distinguishes values that one person changed from values that both changed", () => {
  const base = content({ title: { en: "A", de: "A" }, tags: ["x"], size: 1 });
  const mine = content({ title: { en: "M", de: "A" }, tags: ["x", "m"], size: 2 });
  const theirs = content({ title: { en: "T", de: "T" }, tags: ["x"], size: 2 });
  const found = compareChanges(cells, base, mine, theirs);
  expect(found.map((one) => [pointerOf(one.cell), one.by])).toEqual([
    ["/values/title/en", "both"],
    ["/values/title/de", "them"],
    ["/values/tags", "me"],
  ]);
  expect(differing(cells, mine, theirs)).toHaveLength(3);
});

test("marks a language as missing if another one has a value in the same market", () => {
  const value = content({ offer: { US: { en: "Sale" } } });
  const missing = cells.filter((one) => isMissing(value, one, orb.languages));
  expect(missing.map(pointerOf)).toEqual(["/values/offer/US/de"]);
});

test("begins a new entry with the defaults", () => {
  expect(newContent({ id: "s", fields }, orb).values).toEqual({ size: 3 });
});

test("decides who may set a field as the platform does", () => {
  const of = (...write: string[]): FieldModel => ({ name: "f", type: "string", access: { write } });
  const as = (role: string, orbRole = "", own = false) => ({ role, orbRole, own });
  expect(mayField({ name: "f", type: "string" }, "write", as("user"), orb)).toBe(true);
  expect(mayField(of("buyer"), "write", as("user", "buyer"), orb)).toBe(true);
  expect(mayField(of("buyer"), "write", as("user", "other"), orb)).toBe(false);
  expect(mayField(of("buyer"), "write", as("admin"), orb)).toBe(true);
  expect(mayField(of("own"), "write", as("user", "", true), orb)).toBe(true);
  expect(mayField(of("own"), "write", as("user"), orb)).toBe(false);
  expect(mayField(of("handler:a.b"), "write", as("owner"), orb)).toBe(false);
});
