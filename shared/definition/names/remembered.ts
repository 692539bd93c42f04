/**
 * Remembers which stored values the values of an entry were made of, while these are changed, narrowed and masked. See
 * `shared/entry/model/names.ts` for the use.
 */
type Values = Readonly<Record<string, unknown>>;

const sources = new WeakMap<Values, readonly Values[]>();

/** Returns the stored values of which values were made. */
export const sourcesOf = (values: Values): readonly Values[] => sources.get(values) ?? [];

/** Remembers the stored values of which values were made. */
export function madeOfStored(values: Values, stored: Values): void {
  sources.set(values, [stored]);
}

/** Returns the first values. Remembers that they have what they were made of, and what the others were made of. */
export function remembered<T extends Values>(values: T, ...from: readonly Values[]): T {
  const all = [values, ...from].flatMap(sourcesOf);
  if (all.length > 0) sources.set(values, [...new Set(all)]);
  return values;
}
