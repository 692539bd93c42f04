import type { CompiledField } from "./compile.ts";
import type { Json } from "./fields/index.ts";
import type { Values } from "./validate.ts";

export interface Leaf {
  value: Json;
  market: string | undefined;
  language: string | undefined;
  /** Path of the value: field, then market and language if the field has them. */
  trail: string[];
}

/** Returns the values of a field in all languages and markets. Skips values in the format of an older definition. */
export function leavesOf(field: CompiledField, values: Readonly<Values>): Leaf[] {
  const stored = Object.hasOwn(values, field.name) ? values[field.name] : undefined;
  if (stored === undefined || stored === null) return [];
  if (!field.marketSpecific && !field.translatable)
    return [{ value: stored, market: undefined, language: undefined, trail: [field.name] }];
  const leaves: Leaf[] = [];
  for (const [market, byMarket] of entriesOf(stored, field.marketSpecific)) {
    for (const [language, value] of entriesOf(byMarket, field.translatable)) {
      if (value === null) continue;
      const trail = [
        field.name,
        ...(market === undefined ? [] : [market]),
        ...(language === undefined ? [] : [language]),
      ];
      leaves.push({ value, market, language, trail });
    }
  }
  return leaves;
}

function entriesOf(value: Json, map: boolean): [string | undefined, Json][] {
  if (!map) return [[undefined, value]];
  return typeof value === "object" && value !== null && !Array.isArray(value) ? Object.entries(value) : [];
}

export function referenceTargets(field: CompiledField, values: Readonly<Values>): string[] {
  const ids = leavesOf(field, values).flatMap((leaf) =>
    Array.isArray(leaf.value) ? leaf.value : [leaf.value],
  );
  return [...new Set(ids.filter((id) => typeof id === "string"))];
}
