export {
  contentMessage,
  contentOf,
  type Item,
  isTooLargeHere,
  type ReadContent,
  readContent,
} from "./content.ts";
export { diffSet } from "./diff.ts";
export { movedOn } from "./publication.ts";
export { publishSet, requireEach } from "./publish.ts";
export { type Keep, rebaseEntry } from "./rebase.ts";
export { releaseClosed } from "./release.ts";
export { revertSet } from "./revert.ts";
export { takeOut } from "./take-out.ts";
export { undoSets } from "./undo.ts";
export { type ReadingIn, readingIn, type WithinSet, type WritingOptions, writingInto } from "./within.ts";
