/** Turns the stored text of WordPress into the HTML that it stands for. */
import type { Loss } from "../model/source.ts";

/** Elements between which line ends have no meaning. */
const BLOCK =
  "address|article|aside|blockquote|dd|details|div|dl|dt|fieldset|figcaption|figure|footer|form|h[1-6]|header|hr|li|main|nav|ol|p|pre|section|table|tbody|td|tfoot|th|thead|tr|ul";
const AROUND_BLOCK = new RegExp(`\\s*(</?(?:${BLOCK})\\b[^<>]*>)\\s*`, "gi");
const BEGINS_BLOCK = new RegExp(`^</?(?:${BLOCK})\\b`, "i");
/** Beginnings of parts whose line ends stay. */
const VERBATIM = /<(pre|script|style|textarea)\b/gi;
const SHORTCODE = /\[(\w[\w-]{0,50})(?:\s[^[\]]{0,500})?\]/g;

/** Returns the HTML of a text, and tells what of it is not HTML. */
export function markupOf(stored: string, tell: (loss: Pick<Loss, "why" | "became">) => void): string {
  const text = stored.trim();
  const hasBlocks = /<!--\s+wp:/.test(text);
  const shortcodes = [...new Set([...text.matchAll(SHORTCODE)].map(([, name]) => name))];
  if (shortcodes.length > 0)
    tell({ why: `shortcodes have no meaning: ${shortcodes.join(", ")}`, became: "text, as it is stored" });
  return hasBlocks ? text : withParagraphs(text);
}

/** Makes paragraphs of texts with empty lines between them, as WordPress does when it shows a text. */
function withParagraphs(text: string): string {
  return partsOf(text)
    .map(({ part, isVerbatim }) => (isVerbatim ? part : paragraphsOf(part)))
    .join("");
}

function paragraphsOf(part: string): string {
  // Long runs of white space would make the search for elements slow.
  const short = part
    .replace(/\r\n?/g, "\n")
    .replace(/[^\S\n]+/g, " ")
    .replace(/\n(?: ?\n)+/g, "\n\n");
  return short
    .replace(AROUND_BLOCK, "\n\n$1\n\n")
    .split(/\n ?\n/)
    .map((one) => one.trim())
    .map((one) => (one === "" || BEGINS_BLOCK.test(one) ? one : `<p>${one.replaceAll("\n", "<br>")}</p>`))
    .join("");
}

function partsOf(text: string): { part: string; isVerbatim: boolean }[] {
  const parts: { part: string; isVerbatim: boolean }[] = [];
  const lower = text.toLowerCase();
  const unclosed = new Set<string>();
  let from = 0;
  for (const { 0: found, 1: name = "", index } of lower.matchAll(VERBATIM)) {
    if (index < from || unclosed.has(name)) continue;
    const close = lower.indexOf(`</${name}>`, index + found.length);
    if (close < 0) unclosed.add(name);
    else {
      const end = close + name.length + 3;
      parts.push({ part: text.slice(from, index), isVerbatim: false });
      parts.push({ part: text.slice(index, end), isVerbatim: true });
      from = end;
    }
  }
  return [...parts, { part: text.slice(from), isVerbatim: false }];
}
