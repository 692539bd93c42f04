/**
 * Reads HTML as Portable Text, also HTML of pages and of word processors. A parser tells the reader each tag and text.
 * The reader needs no parser of its own, so that browsers can use theirs.
 */
import { Builder } from "./builder.ts";
import { type Converted, type Target, Unconvertible } from "./model.ts";

/** Maximum elements inside each other. The parser needs time for each open element. */
const MAX_DEPTH = 256;

const MARKS: Readonly<Record<string, string>> = {
  strong: "strong",
  b: "strong",
  em: "em",
  i: "em",
  u: "underline",
  ins: "underline",
  s: "strike-through",
  strike: "strike-through",
  del: "strike-through",
  code: "code",
  kbd: "code",
  samp: "code",
  tt: "code",
  sub: "sub",
  sup: "sup",
  mark: "highlight",
};

/** Elements that begin and end a paragraph, each with its style. */
const BLOCKS: Readonly<Record<string, string>> = {
  h1: "h1",
  h2: "h2",
  h3: "h3",
  h4: "h4",
  h5: "h5",
  h6: "h6",
  blockquote: "blockquote",
  ...Object.fromEntries(
    [
      "address article aside body caption center dd details dialog div dl dt fieldset figcaption figure footer form",
      "header hgroup html legend li main menu nav ol p pre search section summary table tbody td tfoot th thead tr ul",
    ]
      .join(" ")
      .split(" ")
      .map((name) => [name, ""]),
  ),
};

/** Elements whose content is not text for readers. `head` and its elements are left out without a warning. */
const UNSHOWN = ["head", "title", "meta", "link", "base", "xml"];
const REFUSED = (
  "script style template noscript iframe object embed applet svg math canvas audio video map select textarea button " +
  "input frameset noframes param source track"
).split(" ");

interface Element {
  name: string;
  style?: string;
  marks: string[];
  list?: { kind: string; used: boolean };
  address?: { href: string; title?: string };
  /** An item of a list, as Word writes it: a paragraph that begins with its bullet or number. */
  item?: { level: number; marker: string };
  isPre: boolean;
  /** Whether the element has the bullet or the number of Word's item. */
  isMarker: boolean;
  /** Whether the element and what it contains is left out. */
  isOut: boolean;
}

/** Returns the marks that word processors write as styles. */
function styledMarks(style: string): string[] {
  const has = (pattern: RegExp) => pattern.test(style);
  return [
    ...(has(/(?<![\w-])font-weight\s*:\s*(bold|[6-9]00)/i) ? ["strong"] : []),
    ...(has(/(?<![\w-])font-style\s*:\s*italic/i) ? ["em"] : []),
    ...(has(/text-decoration[^:;]*:[^;]*underline/i) ? ["underline"] : []),
    ...(has(/text-decoration[^:;]*:[^;]*line-through/i) ? ["strike-through"] : []),
    ...(has(/vertical-align\s*:\s*sub\b/i) ? ["sub"] : []),
    ...(has(/vertical-align\s*:\s*super/i) ? ["sup"] : []),
  ];
}

type Attributes = Readonly<Record<string, string>>;

export class HtmlReader {
  readonly #builder: Builder;
  readonly #target: Target;
  readonly #open: Element[] = [];

  constructor(target: Target) {
    this.#target = target;
    this.#builder = new Builder(target);
  }

  get #around(): Element | undefined {
    return this.#open.at(-1);
  }

  begin(name: string, attributes: Attributes): void {
    if (this.#open.length >= MAX_DEPTH)
      throw new Unconvertible("too_deep", `must not nest HTML elements deeper than ${MAX_DEPTH} levels`);
    const around = this.#around;
    const isOut = around?.isOut === true || UNSHOWN.includes(name) || this.#isRefused(name);
    const isPre = around?.isPre === true || name === "pre";
    const isMarker = around?.isMarker === true || /mso-list\s*:\s*ignore/i.test(attributes.style ?? "");
    const element: Element = { name, marks: [], isPre, isMarker, isOut };
    this.#open.push(element);
    if (isOut) return;
    const component = attributes["data-component"];
    if (component !== undefined) {
      this.#builder.component(component, attributes["data-key"] ?? "");
      element.isOut = true;
      return;
    }
    this.#mark(element, attributes);
    this.#single(name, attributes);
    if (Object.hasOwn(BLOCKS, name)) this.#block(element, attributes);
  }

  #isRefused(name: string): boolean {
    if (!REFUSED.includes(name) || this.#around?.isOut === true) return REFUSED.includes(name);
    this.#builder.warn(`contains the element ${name}, which was left out`);
    return true;
  }

  #mark(element: Element, attributes: Attributes): void {
    const { name } = element;
    const style = attributes.style ?? "";
    const mark = MARKS[name];
    // Google Docs wraps a whole document in a `b` that is not bold. Word has a property that ends with this name.
    const isPlain = name === "b" && /(?<![\w-])font-weight\s*:\s*(normal|400)/i.test(style);
    // In preformatted text, `code` is the usual child of `pre`.
    const isCode = mark === "code" && element.isPre;
    if (mark !== undefined && Object.hasOwn(MARKS, name) && !isPlain && !isCode) element.marks.push(mark);
    if (name === "span" || name === "a") element.marks.push(...styledMarks(style));
    const own = attributes["data-mark"];
    if (own !== undefined) element.marks.push(own);
    if (name !== "a") return;
    const [schema, id] = [attributes["data-schema"], attributes["data-id"]];
    const href = schema !== undefined && id !== undefined ? `/api/${schema}/${id}` : attributes.href?.trim();
    if (href !== undefined && href !== "")
      element.address = { href, ...(attributes.title === undefined ? {} : { title: attributes.title }) };
  }

  /** Handles elements without content. */
  #single(name: string, attributes: Attributes): void {
    if (name === "br" && this.#builder.isOpen) this.#add("\n");
    if (name === "hr") {
      this.#builder.close();
      this.#builder.warn("contains a line between paragraphs, which was left out");
    }
    if (name !== "img" && name !== "picture") return;
    if (name === "img")
      this.#builder.warn("contains an image, of which only the text was kept. Use a block with a file");
    this.text(attributes.alt ?? "");
  }

  #block(element: Element, attributes: Attributes): void {
    this.#end(this.#open.at(-2)?.isPre === true);
    const { name } = element;
    const style = attributes["data-style"] ?? BLOCKS[name];
    if (style !== undefined && style !== "") element.style = style;
    if (name === "pre") element.style = "code";
    const item = /mso-list\s*:[^;]*\blevel([1-9])/i.exec(attributes.style ?? "");
    if (item !== null && name !== "li") element.item = { level: Number(item[1]), marker: "" };
    const outer = this.#list;
    if (outer !== undefined && ["ul", "ol", "menu"].includes(name)) outer.used = true;
    if (name === "ul" || name === "menu") element.list = { kind: "bullet", used: true };
    if (name === "ol") element.list = { kind: attributes["data-list"] ?? "number", used: true };
    if (name === "ul" && attributes["data-list"] !== undefined)
      element.list = { kind: attributes["data-list"], used: true };
    const list = name === "li" ? this.#list : undefined;
    if (list !== undefined) list.used = false;
    if (name === "table")
      this.#builder.warn("contains a table, which it does not allow. Its cells are paragraphs now");
  }

  get #list() {
    return this.#open.findLast(({ list }) => list !== undefined)?.list;
  }

  get #item() {
    return this.#open.findLast(({ item }) => item !== undefined)?.item;
  }

  text(text: string): void {
    const around = this.#around;
    if (around?.isOut === true) return;
    if (around?.isMarker === true) {
      const item = this.#item;
      if (item !== undefined) item.marker += text;
      return;
    }
    // Word fills empty paragraphs with a space that browsers keep.
    if (around?.name === "o:p" && text.trim() === "") return;
    const isPre = around?.isPre === true;
    const spaced = isPre ? text.replaceAll("\r\n", "\n") : text.replaceAll(/[ \t\r\n\f]+/g, " ");
    if (!this.#builder.isOpen) {
      if (!isPre && (spaced === " " || spaced === "")) return;
      this.#begin();
    }
    this.#add(isPre || !this.#builder.endsWithSpace ? spaced : spaced.replace(/^ /, ""));
  }

  #add(text: string): void {
    const marks = this.#open.flatMap((element) => element.marks);
    const address = this.#open.findLast((element) => element.address !== undefined)?.address;
    const style = this.#open.findLast((element) => element.style !== undefined)?.style;
    const isCode = style === "code" && !this.#target.styles.includes("code");
    const more = isCode && this.#target.marks.includes("code") ? ["code"] : [];
    if (text === "\n") this.#builder.trimEnd(" ");
    this.#builder.text(text, [...marks, ...more], address);
  }

  #begin(): void {
    const list = this.#list;
    const isFirst = list?.used === false;
    const inItem = this.#open.some(({ name }) => name === "li");
    if (inItem && list !== undefined && !isFirst)
      this.#builder.warn(
        "contains an item of a list with several paragraphs. They are paragraphs behind the item now",
      );
    if (list !== undefined) list.used = true;
    const styled = this.#open.findLast(({ style }) => style !== undefined)?.style ?? "normal";
    const style = styled === "code" && !this.#target.styles.includes("code") ? "normal" : styled;
    if (style !== styled)
      this.#builder.warn("contains a block of code, which it does not allow. It is a paragraph now");
    const level = this.#open.filter((element) => element.list !== undefined).length;
    const item = this.#item;
    if (item === undefined)
      this.#builder.open({ style, ...(isFirst ? { listItem: list?.kind, level } : {}) });
    else {
      const isNumber = /^\s*([0-9]+|[a-z]{1,4})[.)]/i.test(item.marker);
      this.#builder.open({ style, listItem: isNumber ? "number" : "bullet", level: item.level });
    }
  }

  /** @param isPre whether the text that ends is preformatted */
  #end(isPre = this.#around?.isPre): void {
    this.#builder.trimEnd(isPre === true ? "\n" : " \n");
    this.#builder.close();
  }

  end(name: string): void {
    const element = this.#around;
    if (element === undefined || element.name !== name) return;
    if (!element.isOut && Object.hasOwn(BLOCKS, name)) {
      // An item without text is an item, too.
      if (name === "li" && this.#list?.used === false) this.#begin();
      this.#end();
    }
    this.#open.pop();
  }

  finish(): Converted {
    this.#end();
    return this.#builder.finish();
  }
}
