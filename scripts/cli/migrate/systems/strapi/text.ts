/** Converts the rich text of Strapi, which it calls blocks, to Portable Text. */
import { numberIn, objectsIn, textIn } from "../../model/read-json.ts";
import type { Linked } from "../../model/source.ts";
import { HTML, IMAGE } from "../html.ts";
import { PortableText, type Span, type Tell } from "../portable.ts";

type Node = Record<string, unknown>;

const MARKS: Readonly<Record<string, string>> = {
  bold: "strong",
  italic: "em",
  underline: "underline",
  strikethrough: "strike-through",
  code: "code",
};
const MAX_DEPTH = 60;

export interface TextContext {
  tell: Tell;
  /** Returns the entry of a file by its address. */
  fileAt(address: string): Linked | undefined;
}

/** Returns Portable Text; undefined if the value is no rich text. */
export function fromBlocksOf(value: unknown, context: TextContext): unknown[] | undefined {
  if (!Array.isArray(value)) return undefined;
  const text = new PortableText(context.tell);
  for (const node of objectsIn({ value }, "value")) block(text, node, context);
  return text.blocks;
}

function block(text: PortableText, node: Node, context: TextContext): void {
  switch (textIn(node, "type")) {
    case "paragraph":
      text.text({ style: "normal" }, spansOf(node));
      break;
    case "heading": {
      const level = Math.min(6, Math.max(1, Math.round(numberIn(node, "level") ?? 1)));
      text.text({ style: `h${level}` }, spansOf(node));
      break;
    }
    case "quote":
      text.text({ style: "blockquote" }, spansOf(node));
      break;
    case "code": {
      const language = textIn(node, "language") ?? "";
      if (language !== "" && language !== "plaintext")
        context.tell({ why: `code has no language, such as ${language.slice(0, 50)}`, became: "code" });
      text.text({ style: "code" }, spansOf(node));
      break;
    }
    case "list":
      list(text, node, 1);
      break;
    case "image": {
      const [address, alt] = [textIn(node, "image", "url"), textIn(node, "image", "alternativeText")];
      const attachment = context.fileAt(address ?? "");
      text.block(IMAGE, {
        ...(attachment === undefined ? {} : { attachment }),
        ...(address === undefined ? {} : { address }),
        ...(alt === undefined || alt === "" ? {} : { alt }),
      });
      break;
    }
    default:
      context.tell({
        why: `rich text has no block for ${textIn(node, "type") ?? "a node without type"}`,
        became: `a block ${HTML} with the node as JSON`,
      });
      text.block(HTML, { html: JSON.stringify(node) });
  }
}

function list(text: PortableText, node: Node, level: number): void {
  if (level > MAX_DEPTH) return;
  const listItem = textIn(node, "format") === "ordered" ? "number" : "bullet";
  for (const child of objectsIn(node, "children"))
    if (child.type === "list") list(text, child, level + 1);
    else text.text({ style: "normal", listItem, level }, spansOf(child));
}

function spansOf(node: Node, link?: string, depth = 0): Span[] {
  if (depth > MAX_DEPTH) return [];
  return objectsIn(node, "children").flatMap((child): Span[] => {
    const text = textIn(child, "text");
    if (text === undefined)
      return spansOf(child, child.type === "link" ? (textIn(child, "url") ?? "") : link, depth + 1);
    const marks = Object.entries(MARKS).flatMap(([name, mark]) => (child[name] === true ? [mark] : []));
    return [{ text, marks, link }];
  });
}
