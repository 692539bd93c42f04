/** Whole pages of the web, read as rich text: all words for readers stay, and nothing that runs or has a style. */
import { readdirSync, readFileSync } from "node:fs";
import { gunzipSync } from "node:zlib";
import { expect, test } from "vitest";
import { addressFlaw } from "../../shared/definition/rich-text.ts";
import { fromHtml, type Target, toHtml, toText } from "../../shared/rich/index.ts";

const target: Target = {
  styles: ["normal", "h1", "h2", "h3", "h4", "h5", "h6", "blockquote", "code"],
  marks: ["strong", "em", "underline", "strike-through", "code", "sub", "sup"],
  lists: ["bullet", "number"],
  links: [],
  components: [],
  maxLevel: 10,
  maxBlocks: 10_000,
  maxSpans: 50_000,
  addressFlaw,
};

const folder = new URL("../fixtures/pages/", import.meta.url);
const pages = readdirSync(folder).filter((name) => name.endsWith(".gz"));

/** Elements whose content is not text for readers, or that rich text does not have. */
const LEFT_OUT =
  "head|script|style|template|noscript|iframe|svg|button|select|textarea|canvas|object|video|audio";
/** Elements that the reader writes in HTML, with their attributes. */
const ELEMENT =
  /^<(?:\/?(?:p|h[1-6]|blockquote|pre|code|ul|ol|li|strong|em|u|s|sub|sup|br)(?: data-(?:style|list)="[\w-]+")?|a(?: (?:href|title)="[^"<>]*")+|\/a)>$/;

const words = (text: string) => text.match(/[\p{L}\p{N}]+/gu) ?? [];
const decode = (text: string) =>
  text
    .replace(/&#x([0-9a-f]+);?/gi, (_, code: string) => String.fromCodePoint(Number.parseInt(code, 16)))
    .replace(/&#(\d+);?/g, (_, code: string) => String.fromCodePoint(Number(code)))
    .replace(/&(lt|gt|quot|amp|nbsp|copy|rarr|mdash|ldquo|rdquo|middot);?/g, " ");

/** The words of a page that its readers see, found without a parser. */
function seen(html: string): string[] {
  const shown = html
    .replace(/<!--[\s\S]*?-->/g, " ")
    .replace(new RegExp(`<(${LEFT_OUT})\\b[^>]*>[\\s\\S]*?</\\1\\s*>`, "gi"), " ")
    .replace(/<(?:[^<>"']|"[^"]*"|'[^']*')*>/g, "");
  return words(decode(shown));
}

test.each(pages)("%s keeps its words, and no script and no style", (name) => {
  const page = gunzipSync(readFileSync(new URL(name, folder))).toString();
  const { blocks } = fromHtml(page, target);
  const text = toText(blocks);

  for (const [, , code = ""] of page.matchAll(/<(script|style)\b[^>]*>([\s\S]*?)<\/\1>/gi))
    for (const line of code.split("\n").map((one) => one.trim()))
      if (line.length > 20) expect(text).not.toContain(line);
  const html = toHtml(blocks, { addressFlaw });
  for (const [element] of html.matchAll(/<[^>]*>/g)) expect(element).toMatch(ELEMENT);
  for (const [, address = ""] of html.matchAll(/href="([^"]*)"/g))
    expect(addressFlaw(address)).toBeUndefined();

  const found = new Map<string, number>();
  for (const word of words(text)) found.set(word, (found.get(word) ?? 0) + 1);
  const missing = seen(page).filter((word) => {
    const left = found.get(word) ?? 0;
    found.set(word, left - 1);
    return left <= 0;
  });
  expect(missing.length / Math.max(1, seen(page).length), missing.slice(0, 40).join(" ")).toBeLessThan(0.02);

  // What was pasted is stable: written as HTML and pasted again, it stays the same.
  expect(toHtml(fromHtml(html, target).blocks, { addressFlaw })).toBe(html);
});
