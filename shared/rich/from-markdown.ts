/** Converts Markdown (CommonMark) to Portable Text. */
import createParser, { type MarkdownIt, type StateInline, type Token } from "markdown-it";
import { Builder } from "./builder.ts";
import { fromHtml } from "./from-html.ts";
import { type Converted, type Target, Unconvertible } from "./model.ts";

/** Maximum lists and quotes inside each other. */
const MAX_NESTING = 60;

/**
 * Recognizes a tag in a line of text. The rule of the package tries several patterns that may read to the end of the
 * text, again for each `<`. This one reads at most 400 characters.
 */
const TAG = /<\/?[a-z][a-z0-9-]{0,30}(?:[\s/][^<>]{0,300})?>|<!--[^<>]{0,300}-->/iy;

function tag(state: StateInline, silent: boolean): boolean {
  TAG.lastIndex = state.pos;
  const [found] = TAG.exec(state.src) ?? [];
  if (found === undefined) return false;
  if (!silent) state.push("html_inline", "", 0).content = found;
  state.pos += found.length;
  return true;
}

/** Returns a parser of CommonMark whose time is bounded by the length of the text. */
export function markdownParser(hasStrike: boolean): MarkdownIt {
  const markdown = new createParser("commonmark", { maxNesting: MAX_NESTING });
  markdown.inline.ruler.at("html_inline", tag);
  // Each address is judged later, so that the text of a refused link stays and the answer has a warning.
  markdown.validateLink = () => true;
  if (hasStrike) markdown.enable("strikethrough");
  return markdown;
}

const MARKS: Readonly<Record<string, string>> = { strong: "strong", em: "em", s: "strike-through" };
const TAGS: Readonly<Record<string, string>> = { u: "underline", sub: "sub", sup: "sup", mark: "highlight" };

/** The place of a stored block of a component, as the Markdown of responses shows it. */
const PLACE = /^\s*<!-- ([a-zA-Z][a-zA-Z0-9-]{0,62}) ([A-Za-z0-9][A-Za-z0-9_-]{0,63}) -->\s*$/;

class Reader {
  readonly #builder: Builder;
  readonly #target: Target;
  /** The lists around the current token, and whether the current item has a block already. */
  readonly #lists: { kind: string; used: boolean }[] = [];
  #quotes = 0;

  constructor(target: Target) {
    this.#target = target;
    this.#builder = new Builder(target);
  }

  read(tokens: readonly Token[]): Converted {
    for (const token of tokens) this.#token(token);
    return this.#builder.finish();
  }

  #token(token: Token): void {
    const { type } = token;
    const list = this.#lists.at(-1);
    switch (type) {
      case "bullet_list_open":
      case "ordered_list_open":
        if (list !== undefined) list.used = true;
        if ((token.attrGet("start") ?? 1) !== 1)
          this.#builder.warn("contains a list that does not begin with 1. It begins with 1 now");
        this.#lists.push({ kind: type === "bullet_list_open" ? "bullet" : "number", used: true });
        break;
      case "bullet_list_close":
      case "ordered_list_close":
        this.#lists.pop();
        break;
      case "list_item_open":
        if (list !== undefined) list.used = false;
        break;
      case "list_item_close":
        if (list?.used === false) this.#open("normal");
        break;
      case "blockquote_open":
        if (++this.#quotes > 1) this.#builder.warn("contains a quote inside a quote. Both are one quote now");
        if (this.#lists.length > 0)
          this.#builder.warn("contains a quote inside a list. It is a quote behind the list now");
        break;
      case "blockquote_close":
        this.#quotes--;
        break;
      case "paragraph_open":
        this.#open("normal");
        break;
      case "heading_open":
        this.#open(token.tag);
        break;
      case "inline":
        this.#inline(token.children ?? []);
        break;
      case "fence":
      case "code_block":
        this.#code(token);
        break;
      case "hr":
        this.#builder.warn("contains a line between paragraphs, which was left out");
        break;
      case "html_block":
        this.#html(token.content);
        break;
      default:
        if (type.endsWith("_close")) this.#builder.close();
    }
  }

  #open(style: string): void {
    const list = this.#lists.at(-1);
    const isFirst = list?.used === false;
    if (list !== undefined && !isFirst)
      this.#builder.warn(
        "contains an item of a list with several paragraphs. They are paragraphs behind the item now",
      );
    if (list !== undefined) list.used = true;
    const isQuote = this.#quotes > 0;
    if (isQuote && style !== "normal")
      this.#builder.warn("contains a heading or code inside a quote. It is no part of the quote now");
    this.#builder.open({
      style: isQuote && style === "normal" ? "blockquote" : style,
      ...(isFirst ? { listItem: list?.kind, level: this.#lists.length } : {}),
    });
  }

  #code({ content, info }: Token): void {
    const text = content.replace(/\n$/, "");
    if (info.trim() !== "")
      this.#builder.warn("contains the language of a block of code, which was left out");
    if (this.#target.styles.includes("code")) {
      this.#open("code");
      this.#builder.text(text, []);
    } else {
      this.#builder.warn("contains a block of code, which it does not allow. It is a paragraph now");
      this.#open("normal");
      this.#builder.text(text, this.#target.marks.includes("code") ? ["code"] : []);
    }
    this.#builder.close();
  }

  #html(content: string): void {
    const [, type, key] = PLACE.exec(content) ?? [];
    if (type !== undefined && key !== undefined) this.#builder.component(type, key);
    else this.#builder.add(fromHtml(content, this.#target));
  }

  #inline(tokens: readonly Token[]): void {
    const marks: string[] = [];
    let address: { href: string; title?: string } | undefined;
    const add = (text: string, ...more: string[]) => this.#builder.text(text, [...marks, ...more], address);
    const leave = (mark: string) => {
      const at = marks.lastIndexOf(mark);
      if (at >= 0) marks.splice(at, 1);
    };
    for (const [at, token] of tokens.entries()) {
      const { type, content } = token;
      const mark = MARKS[type.replace(/_(open|close)$/, "")];
      if (mark !== undefined && type.endsWith("_open")) marks.push(mark);
      else if (mark !== undefined) leave(mark);
      else if (type === "text" || type === "text_special") add(content);
      else if (type === "softbreak") add(" ");
      else if (type === "hardbreak") add("\n");
      else if (type === "code_inline") add(content, "code");
      else if (type === "link_open") {
        const title = token.attrGet("title");
        address = {
          href: String(token.attrGet("href") ?? ""),
          ...(title === null ? {} : { title: String(title) }),
        };
        if (tokens[at + 1]?.type === "link_close")
          this.#builder.warn("contains a link without text, which was left out");
      } else if (type === "link_close") address = undefined;
      else if (type === "image") {
        this.#builder.warn("contains an image, of which only the text was kept. Use a block with a file");
        add(content);
      } else if (type === "html_inline") {
        const [, end, name = ""] = /^<(\/?)([a-z0-9-]+)/i.exec(content) ?? [];
        const own = TAGS[name.toLowerCase()];
        if (name.toLowerCase() === "br") add("\n");
        else if (own !== undefined && end === "/") leave(own);
        else if (own !== undefined) marks.push(own);
        else this.#builder.warn(`contains the HTML ${content.slice(0, 40)}, which was left out`);
      }
    }
  }
}

/** Returns whether a text nests deeper than the parser reads. It leaves out what is nested deeper. */
export const isNestedTooDeep = (tokens: readonly Token[]): boolean =>
  tokens.some(({ level }) => level >= MAX_NESTING - 2);

export function fromMarkdown(text: string, target: Target): Converted {
  const markdown = markdownParser(target.marks.includes("strike-through"));
  const tokens = markdown.parse(text, {});
  if (isNestedTooDeep(tokens))
    throw new Unconvertible(
      "too_deep",
      `must not nest lists and quotes deeper than ${MAX_NESTING / 2} levels`,
    );
  return new Reader(target).read(tokens);
}
