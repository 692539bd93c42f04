/** Sealed values, and the mask that readers get instead of them. Pure. */
import { MASK } from "../../definition/document/mask.ts";
import { isObject } from "../../kernel/json.ts";

/** A sensitive value as it is stored (JWE, bound to orb, entry and field). */
export interface Sealed {
  $sealed: string;
}

/** Whether a stored value is a sealed one. */
export function isSealed(value: unknown): value is Sealed {
  return isObject(value) && typeof value.$sealed === "string" && Object.keys(value).length === 1;
}

/** Whether a sealed value stands at a field or in its maps. */
export function holdsSealed(value: unknown, depth = 2): boolean {
  if (isSealed(value)) return true;
  return depth > 0 && isObject(value) && Object.values(value).some((item) => holdsSealed(item, depth - 1));
}

/** The parts of a schema that tell which values readers must not see. A compiled schema has them. */
export interface Secrets {
  readonly sensitive: readonly { name: string; marketSpecific: boolean; translatable: boolean }[];
  readonly markets: readonly string[];
  readonly languages: readonly string[];
}

/** Sealed values stand at a field, or in its maps by market and language: two levels below, never deeper. */
function withoutSealed(value: unknown, depth: number): unknown {
  if (isSealed(value)) return MASK;
  if (depth === 0 || !isObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [key, withoutSealed(item, depth - 1)]),
  );
}

/**
 * Masks every value of a sensitive field, also one that is stored in plain text because the field was not sensitive then. Keeps
 * the keys of the orb's markets and languages, and those above sealed values. Other keys may belong to the value itself.
 * @param levels the keys of the maps above the field's values, outermost first
 */
function masked(value: unknown, levels: readonly (readonly string[])[]): unknown {
  if (value === null) return null;
  const [keys, ...below] = levels;
  if (keys === undefined || !isObject(value) || isSealed(value)) return MASK;
  const left = Object.entries(value).filter(([key, item]) => keys.includes(key) || holdsSealed(item));
  if (left.length === 0) return MASK;
  return Object.fromEntries(left.map(([key, item]) => [key, masked(item, below)]));
}

/**
 * Values with the mask in place of each sealed value, and of each value of a field that the definition calls sensitive.
 * @param secrets undefined if no definition has the fields, or if the values were sealed by this very definition
 */
export function maskValues(
  values: Readonly<Record<string, unknown>>,
  secrets?: Secrets,
): Record<string, unknown> {
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
