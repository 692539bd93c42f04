/** Walks stored values: the single values of a field with the market and language they are kept under. */
import type { CompiledField } from "./compile.ts";
import type { Json } from "./fields/index.ts";
import type { Values } from "./validate.ts";

/** One value of a field (a list stays a list) and where it is kept. */
export interface Leaf {
  value: Json;
  market: string | undefined;
  language: string | undefined;
  /** Field, then market and language as the field has them. */
  trail: string[];
}

/** All values of one field. Values that predate a change of the definition and do not fit it are left out. */
export function leavesOf(field: CompiledField, values: Readonly<Values>): Leaf[] {
  const stored = Object.hasOwn(values, field.name) ? values[field.name] : undefined;
  if (stored === undefined || stored === null) return [];
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

/** The ids that a reference field points to. */
export function referenceTargets(field: CompiledField, values: Readonly<Values>): string[] {
  const ids = leavesOf(field, values).flatMap((leaf) =>
    Array.isArray(leaf.value) ? leaf.value : [leaf.value],
  );
  return [...new Set(ids.filter((id) => typeof id === "string"))];
}
