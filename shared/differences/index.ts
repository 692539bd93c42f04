/** Differences between two versions of a value. The functions load this folder only when a request needs it. */
export { changesIn, pathOf } from "./changes.ts";
export { type Merged, merge } from "./merge.ts";
export type { WordChange } from "./words.ts";
