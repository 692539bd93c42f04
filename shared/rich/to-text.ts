import { type Block, isTextBlock } from "./model.ts";

/** Renders Portable Text without formatting: a line for each item of a list, an empty line between paragraphs. */
export function toText(blocks: readonly Block[]): string {
  let text = "";
  let isItem = false;
  for (const block of blocks) {
    if (!isTextBlock(block)) continue;
    const own = block.children.map((span) => span.text).join("");
    const gap = text === "" ? "" : isItem && block.listItem !== undefined ? "\n" : "\n\n";
    text += gap + own;
    isItem = block.listItem !== undefined;
  }
  return text;
}
