/** Adds numbers to stored values, so that clients can change a counter without reading it. */
import type { CompiledField, CompiledSchema } from "../../definition/compile.ts";
import { unknownField } from "../../definition/validate.ts";
import {
  type Decimal,
  decimalIn,
  decimalOf,
  decimalText,
  numberOf,
  add as sumOf,
} from "../../kernel/decimal.ts";
import { AppError, type Fault } from "../../kernel/errors.ts";
import { escapeSegment } from "../../kernel/faults.ts";
import { isObject } from "../../kernel/json.ts";

const NUMERIC: ReadonlySet<string> = new Set(["integer", "number", "decimal"]);

function isAddable({ definition, list, translatable, marketSpecific, sensitive }: CompiledField): boolean {
  return NUMERIC.has(definition.type) && !list && !translatable && !marketSpecific && !sensitive;
}

function decimalFrom(value: unknown): Decimal | undefined {
  if (typeof value === "number") return Number.isFinite(value) ? decimalOf(value) : undefined;
  return typeof value === "string" ? decimalIn(value) : undefined;
}

/**
 * Returns the values of a request with the sums that `add` makes of the stored values. A missing value counts as 0.
 * Returns values that are no object as they are, because they are not valid.
 * @param schema has only the fields that the caller may read
 * @param stored values of the revision that the request is applied to
 * @param faults takes the faults of `add`
 */
export function withSums(
  schema: CompiledSchema,
  { values, add }: { values?: unknown; add?: unknown },
  stored: Readonly<Record<string, unknown>>,
  faults: Fault[],
): unknown {
  if (add === undefined || (values !== undefined && !isObject(values))) return values;
  if (!isObject(add)) {
    faults.push({ path: "/add", code: "type", message: "must be an object of numbers by field name" });
    return values;
  }
  const sums: [string, unknown][] = [];
  for (const [name, amount] of Object.entries(add)) {
    const path = `/add/${escapeSegment(name)}`;
    const field = schema.fields.get(name);
    const refuse = (code: string, message: string) => faults.push({ path, code, message });
    if (field === undefined) faults.push(unknownField(schema, path, [...schema.fields.keys()]));
    else if (!isAddable(field))
      refuse(
        "not_applicable",
        "must be a field of type integer, number or decimal, with one value for each entry",
      );
    else if (values !== undefined && Object.hasOwn(values, name))
      refuse("duplicate", "must not be in values too. Send one of the two.");
    else {
      const sum = summed(field, stored[name], amount);
      if (sum === undefined) refuse("type", "must be a number");
      else sums.push([name, sum]);
    }
  }
  return { ...values, ...Object.fromEntries(sums) };
}

function summed(
  { definition }: CompiledField,
  stored: unknown,
  amount: unknown,
): number | string | undefined {
  const isText = definition.type === "decimal";
  const by = isText || typeof amount === "number" ? decimalFrom(amount) : undefined;
  if (by === undefined) return undefined;
  const sum = sumOf(decimalFrom(stored ?? 0) ?? decimalOf(0), by);
  return isText ? decimalText(sum) : (numberOf(sum) ?? undefined);
}

/**
 * Wraps a function, so that its faults of values that `add` has made have the path of `add`.
 * @param asSent returns an error with the names of the request, which may be those of an earlier revision
 */
export function asAdded<S, R>(
  add: unknown,
  decide: (state: S) => Promise<R>,
  asSent: (error: AppError) => AppError = (error) => error,
): (state: S) => Promise<R> {
  if (!isObject(add)) return decide;
  const paths = new Set(Object.keys(add).map((name) => `/values/${escapeSegment(name)}`));
  return async (state) => {
    try {
      return await decide(state);
    } catch (error) {
      if (!(error instanceof AppError) || error.errors === undefined) throw error;
      const sent = asSent(error);
      const errors = (sent.errors ?? []).map((fault) =>
        paths.has(fault.path) ? { ...fault, path: fault.path.replace("/values", "/add") } : fault,
      );
      throw sent.withFaults(errors);
    }
  };
}
