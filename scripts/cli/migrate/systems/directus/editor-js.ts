/** Makes HTML of the blocks that Directus's block editor (Editor.js) stores. */
import { member, numberIn, objectsIn, textIn } from "../../model/read-json.ts";
import type { Loss } from "../../model/source.ts";

const MAX_DEPTH = 60;

const escaped = (text: string): string =>
  text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll('"', "&quot;");

/** Returns HTML. Blocks that HTML does not have become code with their JSON. */
export function htmlOfBlocks(value: unknown, tell: (loss: Pick<Loss, "why" | "became">) => void): string {
  return objectsIn(value, "blocks")
    .map((block) => {
      const type = textIn(block, "type") ?? "";
      const html = htmlOf(type, block.data);
      if (html !== undefined) return html;
      tell({ why: `rich text has no block for ${type}`, became: "code with the block as JSON" });
      return `<pre><code>${escaped(JSON.stringify(block))}</code></pre>`;
    })
    .join("\n");
}

function htmlOf(type: string, data: unknown): string | undefined {
  const text = textIn(data, "text") ?? "";
  switch (type) {
    case "paragraph":
      return `<p>${text}</p>`;
    case "header":
      return heading(numberIn(data, "level") ?? 2, text);
    case "list":
    case "nestedlist":
      return list(data, textIn(data, "style") === "ordered" ? "ol" : "ul", 0);
    case "quote": {
      const caption = textIn(data, "caption") ?? "";
      return `<blockquote>${text}</blockquote>${caption === "" ? "" : `<p>${caption}</p>`}`;
    }
    case "code":
      return `<pre><code>${escaped(textIn(data, "code") ?? "")}</code></pre>`;
    case "delimiter":
      return "<hr>";
    case "raw":
      return textIn(data, "html") ?? "";
    case "table":
      return table(data);
    case "image": {
      const src = textIn(data, "file", "url") ?? textIn(data, "url") ?? "";
      return `<img src="${escaped(src)}" alt="${escaped(textIn(data, "caption") ?? "")}">`;
    }
    default:
      return undefined;
  }
}

function heading(level: number, text: string): string {
  const name = `h${Math.min(6, Math.max(1, Math.round(level)))}`;
  return `<${name}>${text}</${name}>`;
}

/** Items are texts, or have further items. */
function list(value: unknown, name: string, depth: number): string {
  const items = member(value, "items");
  if (depth > MAX_DEPTH || !Array.isArray(items) || items.length === 0) return "";
  const lines = items.map((item: unknown) => {
    const text = typeof item === "string" ? item : (textIn(item, "content") ?? "");
    return `<li>${text}${list(item, name, depth + 1)}</li>`;
  });
  return `<${name}>${lines.join("")}</${name}>`;
}

function table(data: unknown): string {
  const rows = member(data, "content");
  const lines = (Array.isArray(rows) ? rows : []).map((row: unknown, at) => {
    const cell = at === 0 && member(data, "withHeadings") === true ? "th" : "td";
    const cells = (Array.isArray(row) ? row : []).map((text) => `<${cell}>${String(text)}</${cell}>`);
    return `<tr>${cells.join("")}</tr>`;
  });
  return `<table><tbody>${lines.join("")}</tbody></table>`;
}
