/** Converts the rich text of Payload, which comes from the editor Lexical, to Portable Text. */
import { isObject } from "../../../../../shared/kernel/json.ts";
import { member, numberIn, objectsIn, textIn } from "../../model/read-json.ts";
import type { Linked } from "../../model/source.ts";
import { HTML, IMAGE } from "../html.ts";
import { type Place, PortableText, type Span, type Tell } from "../portable.ts";

type Node = Record<string, unknown>;

/** Bits of `format`. */
const MARKS = [
  [1, "strong"],
  [2, "em"],
  [4, "strike-through"],
  [8, "underline"],
  [16, "code"],
  [32, "sub"],
  [64, "sup"],
  [128, "highlight"],
] as const;
const MAX_DEPTH = 60;

export interface TextContext {
  tell: Tell;
  /** Returns a reference to a document. @param form `link`: in a link; `one`: in an image */
  linkTo(slug: string, id: unknown, form: "one" | "link"): Linked | undefined;
  /** Returns the component and the values of a block; undefined if there is no such component. */
  blockOf(fields: Node): { type: string; values: Record<string, unknown> } | undefined;
}

/** Returns Portable Text; undefined if the value is no rich text. */
export function fromLexical(value: unknown, context: TextContext): unknown[] | undefined {
  const root = member(value, "root");
  if (!isObject(root)) return undefined;
  const text = new PortableText(context.tell);
  for (const node of objectsIn(root, "children")) block(text, node, context);
  return text.blocks;
}

/** Adds a node to a text. Nodes without counterpart become a block of HTML. */
function block(text: PortableText, node: Node, context: TextContext): void {
  const style = styleOf(node);
  const type = textIn(node, "type");
  if (style !== undefined) text.text({ style }, spansOf(node, context));
  else if (type === "list") list(text, node, context, 1);
  else if (type === "horizontalrule") {
    context.tell({ why: "text has no hr", became: `a block ${HTML} with the element` });
    text.block(HTML, { html: "<hr>" });
  } else {
    const found = componentOf(node, context);
    if (found === undefined)
      context.tell({
        why: `rich text has no block for ${type ?? "a node without type"}`,
        became: `a block ${HTML} with the node as JSON`,
      });
    text.block(found?.type ?? HTML, found?.values ?? { html: JSON.stringify(node) });
  }
}

/** Returns the style of a paragraph; undefined if the node is none. */
function styleOf(node: Node): string | undefined {
  switch (textIn(node, "type")) {
    case "paragraph":
      return "normal";
    case "heading":
      return textIn(node, "tag") ?? "h2";
    case "quote":
      return "blockquote";
    default:
      return undefined;
  }
}

/** Returns the component and the values of an image or a block. */
function componentOf(node: Node, context: TextContext): ReturnType<TextContext["blockOf"]> {
  if (node.type === "block") return context.blockOf(isObject(node.fields) ? node.fields : {});
  if (node.type !== "upload") return undefined;
  const attachment = context.linkTo(textIn(node, "relationTo") ?? "", node.value, "one");
  return attachment && { type: IMAGE, values: { attachment } };
}

function list(text: PortableText, node: Node, context: TextContext, level: number): void {
  if (level > MAX_DEPTH) return;
  const isCheck = node.listType === "check";
  if (isCheck) context.tell({ why: "lists have no boxes to check", became: "a list without them" });
  const place: Place = { style: "normal", listItem: node.listType === "number" ? "number" : "bullet", level };
  for (const item of objectsIn(node, "children")) {
    const children = objectsIn(item, "children");
    const own = children.filter(({ type }) => type !== "list");
    if (own.length > 0) text.text(place, spansOf({ ...item, children: own }, context));
    for (const child of children) if (child.type === "list") list(text, child, context, level + 1);
  }
}

function spansOf(node: Node, context: TextContext, link?: string | Linked, depth = 0): Span[] {
  if (depth > MAX_DEPTH) return [];
  return objectsIn(node, "children").flatMap((child): Span[] => {
    switch (textIn(child, "type")) {
      case "text": {
        const format = numberIn(child, "format") ?? 0;
        const marks = MARKS.flatMap(([bit, mark]) => ((format & bit) === 0 ? [] : [mark]));
        return [{ text: textIn(child, "text") ?? "", marks, link }];
      }
      case "linebreak":
        return [{ text: "\n", marks: [], link }];
      case "tab":
        return [{ text: "\t", marks: [], link }];
      case "link":
      case "autolink":
        return spansOf(child, context, targetOf(child, context), depth + 1);
      case "paragraph":
        return spansOf(child, context, link, depth + 1);
      default:
        context.tell({
          why: `text has no ${textIn(child, "type") ?? "node without type"} inside a paragraph`,
          became: "the text inside it",
        });
        return spansOf(child, context, link, depth + 1);
    }
  });
}

function targetOf(node: Node, { linkTo, tell }: TextContext): string | Linked | undefined {
  if (textIn(node, "fields", "linkType") !== "internal") return textIn(node, "fields", "url");
  const slug = textIn(node, "fields", "doc", "relationTo") ?? "";
  const target = linkTo(slug, member(node, "fields", "doc", "value"), "link");
  if (target === undefined) tell({ why: `${slug} is not carried`, became: "the text of the link" });
  return target;
}
