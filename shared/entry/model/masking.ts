import type { CompiledField } from "../../definition/compile.ts";
import { MASK } from "../../definition/document/index.ts";
import { remembered } from "../../definition/names/index.ts";
import type { Values } from "../../definition/validate.ts";
import { leavesOf, replaceLeaves } from "../../definition/walk.ts";
import { isObject } from "../../kernel/json.ts";

/** A sensitive value is stored as a JWE, an encrypted text that is valid only in one application, entry and field. */
export interface Sealed {
  $sealed: string;
}

export function isSealed(value: unknown): value is Sealed {
  return isObject(value) && typeof value.$sealed === "string" && Object.keys(value).length === 1;
}

/** Returns whether a value contains encrypted text, at any depth. */
export function holdsSealed(value: unknown): boolean {
  if (typeof value !== "object" || value === null) return false;
  if (Array.isArray(value)) return value.some(holdsSealed);
  return isSealed(value) || Object.values(value).some(holdsSealed);
}

export interface Secrets {
  readonly sensitive: readonly CompiledField[];
  readonly markets: readonly string[];
  readonly languages: readonly string[];
}

/** Replaces encrypted text with the mask, at any depth. */
export function withoutSealed(value: unknown): unknown {
  if (isSealed(value)) return MASK;
  if (!holdsSealed(value)) return value;
  if (Array.isArray(value)) return value.map(withoutSealed);
  return Object.fromEntries(Object.entries(value as object).map(([key, item]) => [key, withoutSealed(item)]));
}

/** Masks the values of sensitive fields inside objects. */
function withoutNested(
  values: Readonly<Record<string, unknown>>,
  sensitive: readonly CompiledField[],
): Readonly<Record<string, unknown>> {
  const nested = sensitive.filter(({ parent }) => parent !== undefined);
  if (nested.length === 0) return values;
  const places = nested.flatMap((field) => leavesOf(field, values as Values));
  return replaceLeaves(
    values,
    places.map(({ trail }) => ({ trail, value: MASK })),
  );
}

/**
 * Masks all values of a sensitive field, even those that were stored unencrypted before the field became sensitive.
 * Keeps only the names of markets and languages. Other keys of an object may be secret themselves.
 */
function masked(value: unknown, levels: readonly (readonly string[])[]): unknown {
  if (value === null) return null;
  const [keys, ...below] = levels;
  if (keys === undefined || !isObject(value) || isSealed(value)) return MASK;
  const left = Object.entries(value).filter(([key, item]) => keys.includes(key) || holdsSealed(item));
  if (left.length === 0) return MASK;
  return Object.fromEntries(left.map(([key, item]) => [key, masked(item, below)]));
}

/** Replaces encrypted text, and all values of sensitive fields, with the mask. */
export function maskValues(
  values: Readonly<Record<string, unknown>>,
  secrets?: Secrets,
): Record<string, unknown> {
  const isOpen = secrets === undefined || secrets.sensitive.length === 0;
  if (isOpen && !Object.values(values).some((value) => holdsSealed(value)))
    return remembered({ ...values }, values);
  const fields = new Map(secrets?.sensitive.map((field) => [field.name, field]));
  const shown = secrets === undefined ? values : withoutNested(values, secrets.sensitive);
  const masks = Object.fromEntries(
    Object.entries(shown).map(([name, value]) => {
      const field = fields.get(name);
      if (secrets === undefined || field === undefined) return [name, withoutSealed(value)];
      const levels = [
        ...(field.marketSpecific ? [secrets.markets] : []),
        ...(field.translatable ? [secrets.languages] : []),
      ];
      return [name, masked(value, levels)];
    }),
  );
  return remembered(masks, values);
}
