import { MASK } from "../../definition/document/mask.ts";
import { isObject } from "../../kernel/json.ts";

/** A sensitive value is stored as a JWE, an encrypted text that is valid only in one application, entry and field. */
export interface Sealed {
  $sealed: string;
}

export function isSealed(value: unknown): value is Sealed {
  return isObject(value) && typeof value.$sealed === "string" && Object.keys(value).length === 1;
}

/** Returns whether a field's value contains encrypted text. */
export function holdsSealed(value: unknown, depth = 2): boolean {
  if (isSealed(value)) return true;
  return depth > 0 && isObject(value) && Object.values(value).some((item) => holdsSealed(item, depth - 1));
}

export interface Secrets {
  readonly sensitive: readonly { name: string; marketSpecific: boolean; translatable: boolean }[];
  readonly markets: readonly string[];
  readonly languages: readonly string[];
}

function withoutSealed(value: unknown, depth: number): unknown {
  if (isSealed(value)) return MASK;
  if (depth === 0 || !isObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [key, withoutSealed(item, depth - 1)]),
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
  if (isOpen && !Object.values(values).some((value) => holdsSealed(value))) return { ...values };
  const fields = new Map(secrets?.sensitive.map((field) => [field.name, field]));
  return Object.fromEntries(
    Object.entries(values).map(([name, value]) => {
      const field = fields.get(name);
      if (secrets === undefined || field === undefined) return [name, withoutSealed(value, 2)];
      const levels = [
        ...(field.marketSpecific ? [secrets.markets] : []),
        ...(field.translatable ? [secrets.languages] : []),
      ];
      return [name, masked(value, levels)];
    }),
  );
}
