/** Portable Text as converters and renderers see it. Blocks of components are passed on as they are. */

export interface Span {
  _type: "span";
  _key?: string;
  text: string;
  marks: string[];
}

export interface Link {
  _type: "link";
  _key: string;
  href?: string;
  title?: string;
  reference?: { schema: string; id: string; path?: string };
}

export interface TextBlock {
  _type: "block";
  _key?: string;
  style: string;
  listItem?: string;
  level?: number;
  children: Span[];
  markDefs: Link[];
}

/** A block of a component. */
export interface OtherBlock {
  _type: string;
  _key?: string;
}

export type Block = TextBlock | OtherBlock;

export const isTextBlock = (block: Block): block is TextBlock => block._type === "block";

/** What a field allows, and how to judge the addresses of links. */
export interface Target {
  styles: readonly string[];
  marks: readonly string[];
  lists: readonly string[];
  /** Schemas whose entries links may refer to. */
  links: readonly string[];
  components: readonly string[];
  maxLevel: number;
  /** Maximum blocks of a text, and spans of all its blocks. */
  maxBlocks: number;
  maxSpans: number;
  /** Returns why an address must not be the target of a link, or undefined if it may. */
  addressFlaw(href: string): string | undefined;
}

/** A text as Portable Text, and what was changed because the field does not allow it. */
export interface Converted {
  blocks: Block[];
  /** Each continues a sentence that begins with the name of the field. */
  warnings: string[];
}

/** The input cannot be converted. */
export class Unconvertible extends Error {
  readonly code: string;

  constructor(code: string, message: string) {
    super(message);
    this.code = code;
  }
}
