/** Parses and computes aggregates: `aggregate[total]=sum(price)&group=category`. */

import { allFields } from "../../definition/walk.ts";
import {
  add,
  type Decimal,
  decimalIn,
  decimalOf,
  decimalText,
  divided,
  numberOf,
  parseDecimal,
  rounded,
  textOf,
  ZERO,
} from "../../kernel/decimal.ts";
import { AppError } from "../../kernel/errors.ts";
import { clip, joinNames } from "../../kernel/faults.ts";
import { type Choice, indexKind } from "../model/index.ts";
import { type FilterInput, plainValue, type SortValue } from "./filter.ts";
import { type ParameterReader, type Subject, subjectOf } from "./parameters.ts";

export const AGGREGATES = ["count", "sum", "avg", "min", "max"] as const;
type Operation = (typeof AGGREGATES)[number];

export const AGGREGATE_LIMITS = {
  /** Maximum aggregates in a query. */
  aggregates: 10,
  /** Maximum names in `group`. */
  groupedBy: 3,
  /** Maximum groups in a response. */
  groups: 1_000,
} as const;

interface Aggregate {
  name: string;
  operation: Operation;
  /** Undefined for `count`, which counts entries. */
  subject: Subject | undefined;
}

export interface Aggregation {
  aggregates: Aggregate[];
  group: Subject[];
}

const NAME = /^aggregate\[([A-Za-z][A-Za-z0-9_]{0,62})\]$/;
const FORM = /^(count|sum|avg|min|max)(?:\(([^()]{1,200})\))?$/;

/** Returns the name of the aggregate that a query parameter defines, or undefined for other parameters. */
export function aggregateName(parameter: string): string | undefined {
  return NAME.exec(parameter)?.[1];
}

const isNumber = ({ type }: Subject) => type.kind === "number";
const isSortable = (subject: Subject) => subject.kind === "property" || subject.field.sortable;

/**
 * Returns whether entries can be grouped by a field. The field must have few possible values, and an index must list
 * them.
 */
export function isGroupable(subject: Subject): boolean {
  if (subject.kind === "property") return subject.name === "createdBy" || subject.name === "updatedBy";
  const kind = indexKind(subject.field);
  return (kind === "eq" || kind === "ref") && !subject.field.list;
}

export function takesAggregate(operation: Operation, subject: Subject): boolean {
  if (operation === "count") return true;
  return operation === "min" || operation === "max" ? isSortable(subject) : isNumber(subject);
}

function readAggregate(reader: ParameterReader, name: string, text: string): Aggregate | undefined {
  const parameter = `aggregate[${name}]`;
  const [, written, of] = FORM.exec(text) ?? [];
  const operation = AGGREGATES.find((one) => one === written);
  if (operation === undefined || (of === undefined && operation !== "count")) {
    const forms = "count, count(field), sum(field), avg(field), min(field) or max(field)";
    reader.fault(parameter, "invalid_value", `must be ${forms} (is "${clip(text)}")`);
    return undefined;
  }
  if (of === undefined) return { name, operation, subject: undefined };
  const subject = subjectOf(reader, parameter, of, "filter");
  if (subject === undefined) return undefined;
  if (!takesAggregate(operation, subject)) {
    const message = `must not use ${operation} with "${of}", because its values have no ${operation}`;
    reader.fault(parameter, "unknown_operator", message);
    return undefined;
  }
  return { name, operation, subject };
}

/** Parses the parameters of an aggregation. Returns undefined if the query has none. */
export function readAggregation(
  reader: ParameterReader,
  aggregates: ReadonlyMap<string, string>,
  values: ReadonlyMap<string, string>,
): Aggregation | undefined {
  const group = values.get("group");
  if (aggregates.size === 0) {
    if (group !== undefined)
      reader.fault(
        "group",
        "not_applicable",
        "must be given together with aggregate[name]=count or another aggregate",
      );
    return undefined;
  }
  const { aggregates: most } = AGGREGATE_LIMITS;
  if (aggregates.size > most)
    reader.fault("aggregate", "too_many", `must not be given more than ${most} times`);
  for (const name of ["sort", "fields", "expand", "count", "limit"])
    if (values.has(name)) reader.fault(name, "not_applicable", "must not be combined with aggregate");
  const subjects: Subject[] = [];
  const names = group === undefined ? [] : reader.parts("group", group, AGGREGATE_LIMITS.groupedBy);
  for (const name of new Set(names)) {
    const subject = subjectOf(reader, "group", name, "filter");
    if (subject === undefined) continue;
    // The response has the name of the request, which may be that of an earlier revision of the definition.
    if (isGroupable(subject)) subjects.push({ ...subject, name } as Subject);
    else {
      const fields = (reader.compared === undefined ? [] : allFields(reader.compared)).map(
        (field): Subject => ({ kind: "field", name: field.name, type: field.type, field }),
      );
      const known = [
        ...fields.filter((one) => !(one.kind === "field" && one.field.sensitive) && isGroupable(one)),
      ];
      const usable = joinNames([...known.map((one) => one.name), "createdBy", "updatedBy"]);
      reader.fault("group", "not_groupable", `must not name "${clip(name)}". Use ${usable}.`);
    }
  }
  return {
    aggregates: [...aggregates]
      .slice(0, most)
      .map(([name, text]) => readAggregate(reader, name, text))
      .filter((one) => one !== undefined),
    group: subjects,
  };
}

export interface GroupResult {
  key: Record<string, SortValue>;
  values: Record<string, SortValue>;
}

/** Intermediate result of one aggregate, such as a sum, for one group. */
interface Running {
  count: number;
  sum: Decimal;
  bound: SortValue;
}

interface RunningGroup {
  key: SortValue[];
  running: Running[];
}

/** Error 422: there are too many groups for a response, or for a cursor. */
export function tooManyGroups(): AppError {
  const detail = "This aggregate has too many groups. Group by fewer fields, or add a filter.";
  return new AppError("invalid", "too_many_groups", detail, { data: { limit: AGGREGATE_LIMITS.groups } });
}

/** Aggregates entries by group. */
export class Totals {
  readonly #of: Aggregation;
  readonly #choice: Choice;
  readonly #groups = new Map<string, RunningGroup>();

  constructor(of: Aggregation, choice: Choice) {
    this.#of = of;
    this.#choice = choice;
    if (of.group.length === 0) this.#groupOf([]);
  }

  #groupOf(key: SortValue[]): RunningGroup {
    const id = JSON.stringify(key);
    const found = this.#groups.get(id);
    if (found !== undefined) return found;
    if (this.#groups.size >= AGGREGATE_LIMITS.groups) throw tooManyGroups();
    const running = this.#of.aggregates.map((): Running => ({ count: 0, sum: ZERO, bound: null }));
    const made = { key, running };
    this.#groups.set(id, made);
    return made;
  }

  add(entry: FilterInput): void {
    const { aggregates, group } = this.#of;
    const { running } = this.#groupOf(group.map((subject) => plainValue(subject, entry, this.#choice)));
    aggregates.forEach(({ operation, subject }, at) => {
      const one = running[at];
      if (one === undefined) return;
      if (subject === undefined) {
        one.count++;
        return;
      }
      const value = plainValue(subject, entry, this.#choice);
      // Skip a stored value that does not fit the field's current type. It was stored when the field had another type.
      if (value === null || subject.type.token(value) === null) return;
      one.count++;
      if (operation === "sum" || operation === "avg") one.sum = add(one.sum, summandOf(value));
      const { compare } = subject.kind === "field" ? subject.field : subject.type;
      const order = one.bound === null ? 0 : compare(value, one.bound);
      const replaces = one.bound === null || (operation === "min" ? order < 0 : order > 0);
      if ((operation === "min" || operation === "max") && replaces) one.bound = value;
    });
  }

  results(): GroupResult[] {
    const { aggregates, group } = this.#of;
    const named = (values: readonly SortValue[], names: readonly { name: string }[]) =>
      Object.fromEntries(names.map(({ name }, at) => [name, values[at] ?? null]));
    return [...this.#groups]
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([, { key, running }]) => ({
        key: named(key, group),
        values: named(
          running.map((one, at) => resultOf(aggregates[at], one)),
          aggregates,
        ),
      }));
  }

  /** Returns the intermediate results, to be stored in a cursor. */
  state(): SortValue[] {
    return [...this.#groups.values()].flatMap(({ key, running }) => [
      ...key,
      ...running.flatMap(({ count, sum, bound }) => [count, textOf(sum), bound]),
    ]);
  }

  /** Continues from the intermediate results in a cursor. Returns false if they belong to another aggregation. */
  restore(state: readonly SortValue[]): boolean {
    const { aggregates, group } = this.#of;
    const size = group.length + 3 * aggregates.length;
    if (state.length % size !== 0) return false;
    for (let at = 0; at < state.length; at += size) {
      const { running } = this.#groupOf(state.slice(at, at + group.length));
      for (const [i, one] of running.entries()) {
        const [count, text, bound = null] = state.slice(at + group.length + 3 * i);
        const sum = parseDecimal(text);
        if (typeof count !== "number" || !Number.isSafeInteger(count) || count < 0 || sum === undefined)
          return false;
        Object.assign(one, { count, sum, bound });
      }
    }
    return true;
  }
}

const summandOf = (value: SortValue): Decimal =>
  (typeof value === "string" ? decimalIn(value) : typeof value === "number" ? decimalOf(value) : undefined) ??
  ZERO;

/** Additional digits of an average of decimal numbers. */
const AVERAGE_DIGITS = 6;

/**
 * Returns the result in the form of the field's values. Sums of decimal numbers have the digits of the field, or more
 * if stored values have more.
 */
function resultOf(of: Aggregate | undefined, { count, sum, bound }: Running): SortValue {
  const { operation, subject } = of ?? {};
  const scale = subject?.kind === "field" ? subject.type.sumScale?.(subject.field.definition) : undefined;
  switch (operation) {
    case "count":
      return count;
    case "sum":
      return scale === undefined ? numberOf(sum) : decimalText(rounded(sum, Math.max(scale, sum.scale)));
    case "avg":
      if (count === 0) return null;
      return scale === undefined
        ? numberOf(divided(sum, count))
        : decimalText(rounded(divided(sum, count), scale + AVERAGE_DIGITS));
    default:
      return bound;
  }
}
