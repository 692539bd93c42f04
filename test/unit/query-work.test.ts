/** How much work conditions cost: each text is converted once for an entry, and each wanted value once for a query. */
import { expect, test } from "vitest";
import type { CompiledField } from "../../shared/definition/compile.ts";
import { FIELD_TYPES } from "../../shared/definition/fields/index.ts";
import { type FilterInput, matches } from "../../shared/entry/query/filter.ts";
import type { Condition, Where } from "../../shared/entry/query/parameters.ts";
import { REQUEST_WORK, ReadBudget } from "../../shared/store/budget.ts";

const LENGTH = 100_000;
const type = FIELD_TYPES.text;
const field = { name: "body", type, equality: type.equality, list: false } as unknown as CompiledField;
const listed = { ...field, list: true } as unknown as CompiledField;
const entry = (body: unknown) => ({ id: "0a", values: { body } }) as unknown as FilterInput;
const where = (operator: Condition["operator"], values: string[], of = field): Condition => ({
  subject: { kind: "field", name: "body", type, field: of },
  operator,
  values,
});

function workOf(conditions: Where[], body: unknown): number {
  const budget = new ReadBudget();
  matches(conditions, entry(body), undefined, undefined, budget);
  return budget.worked;
}

test("a text is converted once and searched for each condition", () => {
  const text = "a".repeat(LENGTH);
  const any = (count: number): Where[] => [
    { join: "or", of: Array.from({ length: count }, (_, i) => where("contains", [`b${i}`])) },
  ];
  expect(workOf(any(1), text)).toBeLessThan(2.01 * LENGTH);
  expect(workOf(any(20), text)).toBeGreaterThanOrEqual(21 * LENGTH);
  expect(workOf(any(20), text)).toBeLessThan(21.01 * LENGTH);
});

test("in costs as much for many values as for one, and startsWith not more than what it looks for", () => {
  const text = "a".repeat(LENGTH);
  const many = Array.from({ length: 100 }, (_, i) => `b${i}`.repeat(300));
  expect(workOf([where("in", many)], text)).toBe(workOf([where("in", ["b"])], text));
  expect(workOf([where("startsWith", ["aa"])], text)).toBeLessThan(100);
});

test("each item of a list counts", () => {
  expect(workOf([where("contains", ["b"], listed)], Array(1_000).fill(""))).toBeGreaterThan(10_000);
});

test("a budget is over when its work is done", () => {
  const budget = new ReadBudget();
  budget.work(REQUEST_WORK - 1);
  expect(budget.over).toBe(false);
  budget.work(1);
  expect([budget.over, budget.exhausted]).toEqual([true, true]);
  expect(() => budget.require()).toThrow("compare too much text");
});
