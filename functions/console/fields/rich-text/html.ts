/** Reads HTML with the browser's parser, which runs no script and loads nothing. */
import { addressFlaw, MAX_LEVEL } from "../../../../shared/definition/types/index.ts";
import { HtmlReader } from "../../../../shared/rich/html-reader.ts";
import type { Converted, Target } from "../../../../shared/rich/model.ts";
import type { Formats } from "./schema.ts";

/** Maximum paragraphs, and pieces of text, that one paste may add. The platform has the same limits. */
const MAX_BLOCKS = 1_000;
const MAX_SPANS = 20_000;

/** Returns what a paste must keep to. Blocks of components are not pasted from HTML, because it does not have their values. */
export function targetOf({ styles, marks, lists, links }: Formats): Target {
  return {
    ...{ styles, marks, lists, links, addressFlaw },
    components: [],
    maxLevel: MAX_LEVEL,
    maxBlocks: MAX_BLOCKS,
    maxSpans: MAX_SPANS,
  };
}

/**
 * Returns HTML without styles and scripts that the browser would apply. The Content-Security-Policy of the console forbids
 * them, and browsers report them also in documents that are not shown. Styles get another name, because they say which
 * words are bold.
 */
const inert = (html: string): string =>
  html
    .replaceAll(/<style\b[\s\S]*?(<\/style\s*>|$)/gi, "")
    .replaceAll(/<[a-z][^>]*>/gi, (tag) =>
      tag.replaceAll(/([\s/"'])(style|on[a-z]+)(?=\s*=)/gi, "$1data-css-$2"),
    );

/** The browser's Trusted Types. They exist only where the browser supports them. */
declare const trustedTypes:
  | {
      createPolicy(
        name: string,
        rules: { createHTML(html: string): string },
      ): { createHTML(html: string): string };
    }
  | undefined;

/**
 * The only policy that the Content-Security-Policy of the console allows. The parser creates a document that is not
 * shown, so what it contains has no effect.
 */
const policy =
  typeof trustedTypes === "undefined"
    ? { createHTML: inert }
    : trustedTypes.createPolicy("rich-text", { createHTML: inert });

function read(node: Node, reader: HtmlReader): void {
  if (node instanceof Text) reader.text(node.data);
  if (!(node instanceof Element)) return;
  const name = node.localName;
  const given = [...node.attributes].map(({ name: key, value }): [string, string] => [key, value]);
  const { "data-css-style": style, ...attributes } = Object.fromEntries(given);
  reader.begin(name, { ...attributes, ...(style === undefined ? {} : { style }) });
  for (const child of node.childNodes) read(child, reader);
  reader.end(name);
}

/**
 * Converts HTML to Portable Text that a field allows. Words that no element has are paragraphs.
 * @throws Unconvertible if the HTML is too large or too deep
 */
export function readHtml(html: string, formats: Formats): Converted {
  const reader = new HtmlReader(targetOf(formats));
  const { body } = new DOMParser().parseFromString(policy.createHTML(html), "text/html");
  for (const child of body.childNodes) read(child, reader);
  return reader.finish();
}
