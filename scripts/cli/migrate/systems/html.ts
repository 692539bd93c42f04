/** Converts HTML of other systems to Portable Text. Elements that text cannot have become blocks of components. */
import { Parser } from "htmlparser2";
import { fromHtml, Unconvertible } from "../../../../shared/rich/index.ts";
import type { ComponentDefinition, Linked, Loss } from "../model/source.ts";
import { isSafe } from "./links.ts";

/** Component for an image between paragraphs. */
export const IMAGE = "image";
/** Component for elements that text cannot have. */
export const HTML = "html";
export const HTML_FORMATS = {
  styles: ["normal", "h1", "h2", "h3", "h4", "h5", "h6", "blockquote", "code"],
  marks: ["strong", "em", "underline", "strike-through", "code", "sub", "sup", "highlight"],
  lists: ["bullet", "number"],
} as const;

/** Returns the components of the blocks. @param attachments schema of the images, if they are entries */
export const htmlComponents = (attachments?: string): ComponentDefinition[] => [
  {
    ...{ id: IMAGE, name: "Image" },
    fields: [
      ...(attachments === undefined ? [] : [{ name: "attachment", type: "reference", ref: attachments }]),
      { name: "address", type: "string" },
      { name: "alt", type: "text" },
      { name: "title", type: "string" },
    ],
  },
  { id: HTML, name: "HTML", fields: [{ name: "html", type: "text" }] },
];

/** Elements that are kept as HTML. */
const KEPT = new Set(
  "table iframe object embed applet svg math canvas audio video map select textarea button form script style hr".split(
    " ",
  ),
);
/** Comments that begin and end a block of WordPress. Comments that are blocks themselves end with a slash. */
const DELIMITER = /^\s*\/?wp:[\w/-]+(?:\s+\{[\s\S]*\})?\s*$/;
/** An entry must be smaller than 512 KiB, and formatted text takes more space than HTML. */
const MAX_LENGTH = 400_000;
/** Maximum elements inside each other. The parser needs time for each open element. */
const MAX_DEPTH = 256;
const MAX_BLOCKS = 1_000;
const MAX_SPANS = 20_000;

export interface HtmlContext {
  tell(loss: Pick<Loss, "why" | "became">): void;
  /** Returns the entry of an image by its address. */
  imageAt(address: string): Linked | undefined;
}

interface Cut {
  /** The HTML with places for blocks. */
  html: string;
  blocks: Map<string, Record<string, unknown>>;
}

/** Returns Portable Text. HTML that cannot be converted becomes one block with all of it. */
export function fromHtmlOf(html: string, context: HtmlContext): unknown[] {
  if (html.trim() === "") return [];
  if (html.length > MAX_LENGTH) {
    const kib = Math.ceil(html.length / 1024);
    context.tell({ why: `the text has ${kib} KiB, and an entry has less than 512`, became: "left out" });
    return [];
  }
  try {
    const { html: cut, blocks } = cutOut(html, context);
    const converted = fromHtml(cut, {
      ...HTML_FORMATS,
      ...{ links: [], components: [IMAGE, HTML], maxLevel: 10, maxBlocks: MAX_BLOCKS, maxSpans: MAX_SPANS },
      addressFlaw: (href) => (isSafe(href) ? undefined : "is not allowed"),
    });
    for (const warning of converted.warnings)
      context.tell({ why: `the text ${warning}`, became: "text as the warning says" });
    return converted.blocks.map((block, at) => withKeys(blocks.get(block._key ?? "") ?? { ...block }, at));
  } catch (error) {
    if (!(error instanceof Unconvertible)) throw error;
    context.tell({ why: `the text ${error.message}`, became: `one block ${HTML} with all of it` });
    return [{ _type: HTML, _key: "b0", html }];
  }
}

/** Gives a block and its spans keys that are the same in each run. */
function withKeys(block: Record<string, unknown>, at: number): Record<string, unknown> {
  const { children } = block;
  return {
    ...block,
    _key: `b${at}`,
    ...(Array.isArray(children)
      ? { children: children.map((span: unknown, index) => ({ ...Object(span), _key: `b${at}s${index}` })) }
      : {}),
  };
}

/** Replaces elements that text cannot have by places for blocks. */
function cutOut(html: string, context: HtmlContext): Cut {
  const blocks = new Map<string, Record<string, unknown>>();
  const parts: string[] = [];
  /** Comments that begin a block of WordPress, and say how it looks. */
  const attributed: string[] = [];
  let from = 0;
  let depth = 0;
  /** The element that is kept, with its beginning and the elements of its name that are open inside it. */
  let kept: { name: string; start: number; depth: number } | undefined;
  const replace = (start: number, end: number, block: Record<string, unknown> & { _type: string }) => {
    const key = `x${blocks.size}`;
    blocks.set(key, block);
    parts.push(html.slice(from, start), `<div data-component="${block._type}" data-key="${key}"></div>`);
    from = end;
  };
  const parser: Parser = new Parser(
    {
      onopentag(name, attributes) {
        if (++depth > MAX_DEPTH)
          throw new Unconvertible("too_deep", `nests elements deeper than ${MAX_DEPTH} levels`);
        if (kept !== undefined) {
          if (name === kept.name) kept.depth++;
        } else if (name === "img")
          replace(parser.startIndex, parser.endIndex + 1, imageOf(attributes, context));
        else if (KEPT.has(name)) kept = { name, start: parser.startIndex, depth: 1 };
      },
      oncomment(comment) {
        if (kept !== undefined) return;
        if (DELIMITER.test(comment)) {
          if (comment.includes("{")) attributed.push(comment);
          return;
        }
        const html = `<!--${comment}-->`;
        replace(parser.startIndex, parser.endIndex + 1, { _type: HTML, html });
        context.tell({
          why: `text has no comments: ${html.slice(0, 100)}`,
          became: `a block ${HTML} with the comment`,
        });
      },
      onclosetag(name) {
        depth--;
        if (kept === undefined || name !== kept.name || --kept.depth > 0) return;
        const end = Math.min(html.length, parser.endIndex + 1);
        replace(kept.start, end, { _type: HTML, html: html.slice(kept.start, end) });
        context.tell({ why: `text has no ${kept.name}`, became: `a block ${HTML} with the element` });
        kept = undefined;
      },
    },
    { decodeEntities: true, lowerCaseTags: true, lowerCaseAttributeNames: true },
  );
  parser.write(html);
  parser.end();
  parts.push(html.slice(from));
  if (attributed.length > 0)
    context.tell({
      why: `${attributed.length} of its blocks have attributes, such as ${attributed[0]?.trim().slice(0, 80)}`,
      became: "the content of the blocks",
    });
  return { html: parts.join(""), blocks };
}

function imageOf(attributes: Readonly<Record<string, string>>, { imageAt }: HtmlContext) {
  const { src = "", alt = "", title = "" } = attributes;
  const attachment = imageAt(src);
  return {
    _type: IMAGE,
    ...(attachment === undefined ? {} : { attachment }),
    ...(src === "" ? {} : { address: src.slice(0, 2_000) }),
    ...(alt === "" ? {} : { alt }),
    ...(title === "" ? {} : { title }),
  };
}
