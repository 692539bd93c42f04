export { openSet } from "./change.ts";
export { addComment, listComments, resolveComment, type SetComment } from "./comments.ts";
export { type ReadContent, type ReviewedSet, reviewed } from "./content.ts";
export type { InOrb, OfSet } from "./input.ts";
export { getSet, listSets, publishedWith } from "./read.ts";
export { approveSet, closeSet, rejectSet, requestReview, updateSet } from "./review.ts";
