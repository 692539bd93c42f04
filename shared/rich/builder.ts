/** Builds Portable Text that a field allows, and collects warnings about everything that it does not allow. */
import {
  type Block,
  type Converted,
  type Link,
  type Target,
  type TextBlock,
  Unconvertible,
} from "./model.ts";

/** Maximum different warnings about one text. */
const MAX_WARNINGS = 50;

export interface Place {
  style: string;
  listItem?: string | undefined;
  level?: number;
}

export interface Address {
  href: string;
  title?: string | undefined;
}

/** A span whose text still grows. Its parts are joined once, because joining at each addition would take long. */
interface OpenSpan {
  parts: string[];
  marks: string[];
}

const tooMany = (most: number, what: string) =>
  new Unconvertible("too_many", `must have at most ${most} ${what}`);

export class Builder {
  readonly target: Target;
  readonly #blocks: Block[] = [];
  readonly #warnings = new Map<string, number>();
  #open: TextBlock | undefined;
  #spans: OpenSpan[] = [];
  #count = 0;

  constructor(target: Target) {
    this.target = target;
  }

  /** @param what continues a sentence that begins with the name of the field */
  warn(what: string): void {
    if (!this.#warnings.has(what) && this.#warnings.size >= MAX_WARNINGS) return;
    this.#warnings.set(what, (this.#warnings.get(what) ?? 0) + 1);
  }

  get isOpen(): boolean {
    return this.#open !== undefined;
  }

  /** Whether the open block has no text. */
  get isEmpty(): boolean {
    return this.#spans.length === 0;
  }

  /** Begins a block of text. Replaces a style or a list that the field does not allow. */
  open({ style, listItem, level = 1 }: Place): void {
    this.close();
    const { styles, lists, maxLevel } = this.target;
    const block: TextBlock = { _type: "block", style, children: [], markDefs: [] };
    if (!styles.includes(style)) {
      block.style = styles.includes("normal") ? "normal" : (styles[0] ?? style);
      this.warn(
        `contains text of the style ${style}, which it does not allow. It has the style ${block.style} now`,
      );
    }
    if (listItem !== undefined && !lists.includes(listItem))
      this.warn(
        `contains a list of the kind ${listItem}, which it does not allow. Its items are paragraphs now`,
      );
    else if (listItem !== undefined) {
      block.listItem = listItem;
      block.level = Math.min(level, maxLevel);
      if (level > maxLevel) this.warn(`contains lists nested deeper than ${maxLevel} levels`);
    }
    this.#open = block;
  }

  /** Adds text to the open block. */
  text(text: string, marks: readonly string[], address?: Address): void {
    const block = this.#open;
    if (block === undefined || text === "") return;
    const known = this.target.marks;
    const sorted = [...new Set(marks)].sort((a, b) => known.indexOf(a) - known.indexOf(b));
    const kept = sorted.filter((mark) => {
      if (known.includes(mark)) return true;
      this.warn(
        `contains text with the mark ${mark}, which it does not allow. The text has no such mark now`,
      );
      return false;
    });
    const key = address === undefined ? undefined : this.#linkKey(block, address);
    if (key !== undefined) kept.push(key);
    const last = this.#spans.at(-1);
    if (last !== undefined && last.marks.join(" ") === kept.join(" ")) last.parts.push(text);
    else {
      this.#spans.push({ parts: [text], marks: kept });
      if (++this.#count > this.target.maxSpans) throw tooMany(this.target.maxSpans, "pieces of text");
    }
  }

  /** Whether the open block has no text, or ends with white space. */
  get endsWithSpace(): boolean {
    const last = this.#spans.at(-1)?.parts.at(-1)?.at(-1);
    return last === undefined || last === " " || last === "\n";
  }

  /** Removes certain characters at the end of the open block. */
  trimEnd(characters: string): void {
    for (let span = this.#spans.at(-1); span !== undefined; span = this.#spans.at(-1)) {
      for (let part = span.parts.pop(); part !== undefined; part = span.parts.pop()) {
        let end = part.length;
        while (end > 0 && characters.includes(part[end - 1] ?? "")) end--;
        if (end === 0) continue;
        span.parts.push(part.slice(0, end));
        return;
      }
      this.#spans.pop();
    }
  }

  /** Ends the open block. */
  close(): void {
    const block = this.#open;
    if (block === undefined) return;
    this.#open = undefined;
    const isParagraph =
      block.listItem === undefined && (block.style === "normal" || block.style === "blockquote");
    if (this.#spans.length === 0 && isParagraph) return;
    block.children = this.#spans.map(({ parts, marks }) => ({ _type: "span", text: parts.join(""), marks }));
    this.#spans = [];
    if (block.children.length === 0) block.children.push({ _type: "span", text: "", marks: [] });
    const used = new Set(block.children.flatMap(({ marks }) => marks));
    block.markDefs = block.markDefs.filter(({ _key }) => used.has(_key));
    this.#push(block);
  }

  #push(...blocks: Block[]): void {
    for (const block of blocks) this.#blocks.push(block);
    if (this.#blocks.length > this.target.maxBlocks) throw tooMany(this.target.maxBlocks, "paragraphs");
  }

  /** Adds the place of a stored block of a component. */
  component(type: string, key: string): void {
    this.close();
    if (this.target.components.includes(type)) this.#push({ _type: type, _key: key });
    else this.warn(`contains a block of the component ${type}, which it does not allow. It was left out`);
  }

  /** Adds blocks that another builder has made. */
  add({ blocks, warnings }: Converted): void {
    this.close();
    this.#push(...blocks);
    for (const warning of warnings) this.warn(warning);
  }

  finish(): Converted {
    this.close();
    const warnings = [...this.#warnings].map(([what, times]) =>
      times > 1 ? `${what} (${times} times)` : what,
    );
    return { blocks: this.#blocks, warnings };
  }

  #linkKey(block: TextBlock, { href, title }: Address): string | undefined {
    const reference = this.#referenceOf(href);
    const flaw = reference === undefined ? this.target.addressFlaw(href) : undefined;
    if (flaw !== undefined) {
      this.warn("contains a link with an address that is not allowed. Only its text was kept");
      return undefined;
    }
    const link: Omit<Link, "_key"> = {
      _type: "link",
      ...(reference === undefined ? { href } : { reference }),
      ...(title === undefined || title === "" ? {} : { title }),
    };
    const same = (other: Link) =>
      JSON.stringify({ ...other, _key: undefined }) === JSON.stringify({ ...link, _key: undefined });
    const last = block.markDefs.at(-1);
    if (last !== undefined && same(last)) return last._key;
    let number = block.markDefs.length + 1;
    while (this.target.marks.includes(`link${number}`)) number++;
    const _key = `link${number}`;
    block.markDefs.push({ ...link, _key });
    return _key;
  }

  /** Returns the entry that an address leads to, if the field may refer to entries of its schema. */
  #referenceOf(href: string): { schema: string; id: string } | undefined {
    const [, schema, id] = /^\/api\/([^/?#]+\/[^/?#]+\/[^/?#]+)\/([0-9a-z]+)$/.exec(href) ?? [];
    return schema !== undefined && id !== undefined && this.target.links.includes(schema)
      ? { schema, id }
      : undefined;
  }
}
