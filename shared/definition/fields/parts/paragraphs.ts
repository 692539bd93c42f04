/** Rich text from and to plain text. `shared/rich` converts markup, and is too large for every request. */
import { isObject } from "../../../kernel/json.ts";
import { BLOCK, DEFAULT_FORMATS, SPAN } from "../../types/index.ts";
import type { Conversion, FieldType, Json } from "./type.ts";

/** Maximum items of a list. */
export const MAX_ITEMS = 1_000;
/** Stands between paragraphs of plain text. */
const BREAK = "\n\n";

/** Returns the text of each paragraph, heading and item of a list, without its formatting. */
function paragraphsOf(value: Json): string[] {
  if (!Array.isArray(value)) return [];
  return value.flatMap((block) => {
    if (!isObject(block) || !Array.isArray(block.children)) return [];
    const spans = block.children.map((span: unknown) => (isObject(span) ? span.text : undefined));
    return [spans.filter((text) => typeof text === "string").join("")];
  });
}

/** Returns the text that `search` finds in rich text. */
export const searchedText = (value: Json): string => paragraphsOf(value).join("\n");

/** Makes plain text of rich text that has nothing else. @param parse parses the plain text */
export const fromParagraphs = (parse: FieldType["parse"]): Conversion => ({
  always: false,
  convert: (value) => parse(paragraphsOf(value).join(BREAK), () => {}),
});

/** Makes rich text of plain text: a paragraph for each part between empty lines. */
export const toParagraphs: Conversion = {
  always: false,
  convert(value, { styles }) {
    const texts = String(value).split(BREAK);
    if (texts.length > MAX_ITEMS) return undefined;
    // The keys must be the same at each read, because clients and comparisons of revisions find blocks by them.
    return texts.map((text, at) => ({
      _type: BLOCK,
      _key: `p${at + 1}`,
      style: styles?.[0] ?? DEFAULT_FORMATS.styles[0],
      children: [{ _type: SPAN, _key: "s1", text, marks: [] }],
      markDefs: [],
    }));
  },
};
