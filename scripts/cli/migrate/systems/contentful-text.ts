/** Converts the rich text of Contentful to Portable Text. */
import { isObject } from "../../../../shared/kernel/json.ts";
import { member, objectsIn, textIn } from "../model/read-json.ts";
import { Linked, type Loss } from "../model/source.ts";
import { isSafe } from "./links.ts";

const MARKS: Readonly<Record<string, string>> = {
  bold: "strong",
  italic: "em",
  underline: "underline",
  code: "code",
  strikethrough: "strike-through",
  superscript: "sup",
  subscript: "sub",
};
const STYLES: Readonly<Record<string, string>> = {
  paragraph: "normal",
  ...Object.fromEntries([1, 2, 3, 4, 5, 6].map((level) => [`heading-${level}`, `h${level}`])),
};
/** The platform allows lists of at most this many levels. */
const MAX_LEVEL = 10;

/** Component for entries between paragraphs. */
export const EMBEDDED = "embedded";
/** Component for what Portable Text has no block for. */
export const NODE = "contentful-node";
/** What a field of rich text must allow. */
export const FORMATS = {
  styles: ["normal", "h1", "h2", "h3", "h4", "h5", "h6", "blockquote"],
  marks: [...new Set(Object.values(MARKS))],
  lists: ["bullet", "number"],
} as const;

export interface TextContext {
  /** Returns the schema of an entry or an asset; undefined if the export does not contain it. */
  schemaOf(linkType: string, id: string): string | undefined;
  /** Returns what readers see of an entry. */
  titleOf(linkType: string, id: string): string;
  /** Whether blocks may refer to more than one schema. */
  several: boolean;
  tell(loss: Pick<Loss, "why" | "became">): void;
}

interface Span {
  _type: "span";
  _key: string;
  text: string;
  marks: string[];
}
interface Place {
  style: string;
  listItem?: string;
  level?: number;
}

class Converter {
  readonly #context: TextContext;
  readonly #blocks: Record<string, unknown>[] = [];

  constructor(context: TextContext) {
    this.#context = context;
  }

  get blocks(): readonly Record<string, unknown>[] {
    return this.#blocks;
  }

  /** @param place style and list of the paragraphs inside the node */
  node(node: Record<string, unknown>, place: Place): void {
    const type = textIn(node, "nodeType") ?? "";
    const style = STYLES[type];
    const content = objectsIn(node, "content");
    if (style !== undefined)
      this.#paragraph(content, style === "normal" ? place : { ...place, style: this.#styleIn(place, style) });
    else if (type === "blockquote")
      for (const one of content) this.node(one, { ...place, style: "blockquote" });
    else if (type === "unordered-list" || type === "ordered-list") this.#list(type, content, place);
    else if (type === "embedded-entry-block" || type === "embedded-asset-block") this.#embedded(node);
    else this.#raw(type, node);
  }

  #styleIn(place: Place, style: string): string {
    return place.style === "blockquote" ? place.style : style;
  }

  #list(type: string, items: readonly Record<string, unknown>[], place: Place): void {
    const level = (place.level ?? 0) + 1;
    if (level > MAX_LEVEL)
      this.#context.tell({
        why: `lists nest at most ${MAX_LEVEL} levels`,
        became: `items of level ${MAX_LEVEL}`,
      });
    const listItem = type === "ordered-list" ? "number" : "bullet";
    for (const item of items) {
      let isFirst = true;
      for (const one of objectsIn(item, "content")) {
        const inner = textIn(one, "nodeType") ?? "";
        const isList = inner === "unordered-list" || inner === "ordered-list";
        if (!isList && !isFirst)
          this.#context.tell({
            why: "an item of a list has one paragraph",
            became: "further paragraphs of the item are paragraphs behind it",
          });
        if (isList) this.node(one, { style: place.style, level: Math.min(level, MAX_LEVEL) });
        else if (isFirst) this.node(one, { style: place.style, listItem, level: Math.min(level, MAX_LEVEL) });
        else this.node(one, { style: place.style });
        isFirst = false;
      }
    }
  }

  #paragraph(content: readonly Record<string, unknown>[], place: Place): void {
    const key = this.#key();
    const children: Span[] = [];
    const markDefs: Record<string, unknown>[] = [];
    const add = (text: string, marks: string[]) =>
      children.push({ _type: "span", _key: `${key}s${children.length}`, text, marks });
    const inline = (node: Record<string, unknown>, around: readonly string[]) => {
      const type = textIn(node, "nodeType") ?? "";
      if (type === "text") {
        add(textIn(node, "value") ?? "", [...this.#marks(node), ...around]);
        return;
      }
      const link = this.#link(type, node);
      const marks = link === undefined ? around : [`${key}l${markDefs.length}`];
      if (link !== undefined) markDefs.push({ _type: "link", _key: `${key}l${markDefs.length}`, ...link });
      const inner = objectsIn(node, "content");
      if (inner.length === 0) add(this.#titleOf(type, node), [...marks]);
      else for (const one of inner) inline(one, marks);
    };
    for (const node of content) inline(node, []);
    if (children.length === 0) add("", []);
    const { listItem, level } = place;
    this.#blocks.push({
      ...{ _type: "block", _key: key, style: place.style },
      ...(listItem === undefined ? {} : { listItem, level }),
      ...{ children, markDefs },
    });
  }

  #marks(node: Record<string, unknown>): string[] {
    return objectsIn(node, "marks").flatMap((mark) => {
      const type = textIn(mark, "type") ?? "";
      const known = Object.hasOwn(MARKS, type) ? MARKS[type] : undefined;
      if (known === undefined)
        this.#context.tell({ why: `rich text has no mark ${type}`, became: "the text without this mark" });
      return known ?? [];
    });
  }

  #link(type: string, node: Record<string, unknown>): Record<string, unknown> | undefined {
    if (type === "hyperlink") {
      const href = textIn(node, "data", "uri") ?? "";
      if (isSafe(href)) return { href };
      this.#context.tell({
        why: `a link to ${href.slice(0, 100)} is not allowed`,
        became: "the text of the link",
      });
      return undefined;
    }
    const { target, linkType, id } = targetIn(node);
    const schema = target === undefined ? undefined : this.#context.schemaOf(linkType, id);
    if (type === "embedded-entry-inline" || type === "embedded-resource-inline")
      this.#context.tell({
        why: "rich text has no entries inside a paragraph",
        became: schema === undefined ? "its title" : "a link to the entry, with its title",
      });
    if (schema !== undefined) return { reference: new Linked(schema, id, "link") };
    this.#context.tell({
      why: `${linkType || "a resource"} ${id} is not in the export`,
      became: "the text without the link",
    });
    return undefined;
  }

  #titleOf(type: string, node: Record<string, unknown>): string {
    const { linkType, id } = targetIn(node);
    return type.startsWith("embedded-") ? this.#context.titleOf(linkType, id) : "";
  }

  #embedded(node: Record<string, unknown>): void {
    const { linkType, id } = targetIn(node);
    const schema = this.#context.schemaOf(linkType, id);
    if (schema === undefined) {
      this.#context.tell({
        why: `${linkType} ${id} is not in the export`,
        became: `a block ${NODE} with the node as JSON`,
      });
      this.#blocks.push({ _type: NODE, _key: this.#key(), node });
      return;
    }
    const entry = new Linked(schema, id, this.#context.several ? "several" : "one");
    this.#blocks.push({ _type: EMBEDDED, _key: this.#key(), entry });
  }

  #raw(type: string, node: Record<string, unknown>): void {
    this.#context.tell({
      why: `rich text has no block for ${type || "a node without type"}`,
      became: `a block ${NODE} with the node as JSON`,
    });
    this.#blocks.push({ _type: NODE, _key: this.#key(), node });
  }

  #key(): string {
    return `b${this.#blocks.length}`;
  }
}

function targetIn(node: unknown): { target: unknown; linkType: string; id: string } {
  const target = member(node, "data", "target", "sys");
  return { target, linkType: textIn(target, "linkType") ?? "", id: textIn(target, "id") ?? "" };
}

/** Returns Portable Text; undefined if the value is no rich text. */
export function richTextOf(value: unknown, context: TextContext): unknown[] | undefined {
  if (!isObject(value)) return undefined;
  const converter = new Converter(context);
  for (const node of objectsIn(value, "content")) converter.node(node, { style: "normal" });
  return [...converter.blocks];
}

/** Calls a function with each entry and asset that rich text refers to. */
export function targetsIn(
  value: unknown,
  tell: (kind: "link" | "block", linkType: string, id: string) => void,
): void {
  const { linkType, id } = targetIn(value);
  const type = textIn(value, "nodeType") ?? "";
  if (linkType !== "") tell(type.endsWith("-block") ? "block" : "link", linkType, id);
  for (const one of objectsIn(value, "content")) targetsIn(one, tell);
}
