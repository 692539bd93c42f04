/** Converts Markdown of other systems to Portable Text. */
import { isNestedTooDeep, markdownParser } from "../../../../shared/rich/index.ts";
import { fromHtmlOf, HTML, type HtmlContext } from "./html.ts";

/** An entry must be smaller than 512 KiB. */
const MAX_LENGTH = 400_000;

/** Returns Portable Text. Images and tables become blocks, as in HTML. */
export function fromMarkdownOf(text: string, context: HtmlContext): unknown[] {
  if (text.length > MAX_LENGTH) return fromHtmlOf(text, context);
  const markdown = markdownParser(true).enable("table");
  const tokens = markdown.parse(text, {});
  if (!isNestedTooDeep(tokens))
    return fromHtmlOf(markdown.renderer.render(tokens, markdown.options, {}), context);
  context.tell({
    why: "the text nests lists or quotes too deep",
    became: `one block ${HTML} with all of it`,
  });
  return [{ _type: HTML, _key: "b0", html: text }];
}
