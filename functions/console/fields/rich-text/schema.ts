/** The editor's model of rich text. It is flat like Portable Text: each paragraph or item of a list is one block. */
import { type DOMOutputSpec, type MarkSpec, Schema } from "prosemirror-model";
import { BLOCK, DEFAULT_FORMATS } from "../../../../shared/definition/types/index.ts";
import type { FieldModel } from "../../model/orb.ts";

/** What a field allows. */
export interface Formats {
  styles: readonly string[];
  marks: readonly string[];
  lists: readonly string[];
  links: readonly string[];
  components: readonly string[];
}

export function formatsOf({ styles, marks, lists, links, components, blocks }: FieldModel): Formats {
  return {
    styles: styles ?? DEFAULT_FORMATS.styles,
    marks: marks ?? DEFAULT_FORMATS.marks,
    lists: lists ?? DEFAULT_FORMATS.lists,
    links: links ?? [],
    components:
      components ??
      (blocks ?? []).map(({ component }) => component).filter((component) => component !== BLOCK),
  };
}

/** Returns the style of text that is nothing special. */
export const plainStyle = ({ styles }: Pick<Formats, "styles">): string =>
  styles.includes("normal") ? "normal" : (styles[0] ?? "normal");

const STYLE_TAGS: Readonly<Record<string, string>> = {
  ...Object.fromEntries(["h1", "h2", "h3", "h4", "h5", "h6", "blockquote"].map((tag) => [tag, tag])),
  code: "pre",
};

const MARK_TAGS: Readonly<Record<string, readonly string[]>> = {
  strong: ["strong", "b"],
  em: ["em", "i"],
  underline: ["u"],
  "strike-through": ["s", "del"],
  code: ["code"],
  sub: ["sub"],
  sup: ["sup"],
  highlight: ["mark"],
};

/** Attributes of a block of text. */
export interface BlockAttrs {
  /** The `_key`; null until the editor gives the block one. */
  key: string | null;
  style: string;
  list: string | null;
  level: number;
}

/** Name of the mark type of an allowed mark. The prefix keeps it apart from `link` and `other`. */
export const markName = (mark: string): string => `mark ${mark}`;

/** Returns the name of an allowed mark; undefined for `link` and `other`. */
export const markOf = (name: string): string | undefined => /^mark (.*)$/s.exec(name)?.[1];

function blockTag({ style, list, level }: BlockAttrs): DOMOutputSpec {
  const tag = Object.hasOwn(STYLE_TAGS, style) ? (STYLE_TAGS[style] ?? "p") : "p";
  const item = list === null ? {} : { "data-list": list, "data-level": String(level) };
  return [
    tag,
    { dir: "auto", ...(tag === "p" && style !== "normal" ? { "data-style": style } : {}), ...item },
    0,
  ];
}

function markSpec(mark: string): MarkSpec {
  const tags = Object.hasOwn(MARK_TAGS, mark) ? MARK_TAGS[mark] : undefined;
  return {
    parseDOM: (tags ?? []).map((tag) => ({ tag })),
    toDOM: () => [tags?.[0] ?? "span", tags === undefined ? { "data-mark": mark } : {}, 0],
  };
}

/**
 * Returns the schema of documents that a field allows. What a field no longer allows stays in its documents: marks as
 * `other`, blocks of other types as `object`, and parts of text that are no spans as `part`.
 */
export function schemaFor(formats: Formats): Schema {
  const plain = plainStyle(formats);
  return new Schema({
    nodes: {
      doc: { content: "(block | object)+" },
      block: {
        content: "inline*",
        defining: true,
        attrs: {
          key: { default: null },
          style: { default: plain },
          list: { default: null },
          level: { default: 1 },
        },
        parseDOM: [
          { tag: "p" },
          ...Object.entries(STYLE_TAGS)
            .filter(([style]) => formats.styles.includes(style))
            .map(([style, tag]) => ({ tag, attrs: { style } })),
        ],
        toDOM: ({ attrs }) => blockTag(attrs as BlockAttrs),
      },
      object: {
        atom: true,
        draggable: true,
        attrs: { value: {} },
        toDOM: () => ["div", { class: "rich-card" }],
      },
      break: {
        group: "inline",
        inline: true,
        selectable: false,
        linebreakReplacement: true,
        parseDOM: [{ tag: "br" }],
        toDOM: () => ["br"],
      },
      part: {
        group: "inline",
        inline: true,
        atom: true,
        attrs: { value: {} },
        toDOM: ({ attrs }) => ["span", { class: "rich-part" }, String(attrs.value._type)],
      },
      text: { group: "inline" },
    },
    marks: {
      link: {
        attrs: { def: {} },
        inclusive: false,
        toDOM: ({ attrs }) => ["a", { title: attrs.def.href ?? attrs.def.reference?.path ?? null }, 0],
      },
      other: {
        attrs: { name: {}, def: { default: null } },
        excludes: "",
        toDOM: () => ["span", { class: "rich-other" }, 0],
      },
      ...Object.fromEntries(formats.marks.map((mark) => [markName(mark), markSpec(mark)])),
    },
  });
}
