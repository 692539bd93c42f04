import type { Node } from "prosemirror-model";

const segmenter = new Intl.Segmenter(undefined, { granularity: "word" });
/** The words of blocks that did not change need not be counted again. */
const counts = new WeakMap<Node, number>();

function countIn(block: Node): number {
  const found = counts.get(block);
  if (found !== undefined) return found;
  let count = 0;
  for (const { isWordLike } of segmenter.segment(block.textBetween(0, block.content.size, "", " ")))
    if (isWordLike === true) count++;
  counts.set(block, count);
  return count;
}

/** Returns the number of words in the text of a document, in all languages. */
export const wordsIn = (doc: Node): number => doc.children.reduce((sum, block) => sum + countIn(block), 0);
