/** Differences between two versions of a value. The functions load this folder only when a request needs it. */
export { changesIn, type KeyOf, pathOf } from "./changes.ts";
export { type Merged, merge } from "./merge.ts";
export { type Difference, differencesIn, nameIn, valueIn } from "./named.ts";
export type { WordChange } from "./words.ts";
