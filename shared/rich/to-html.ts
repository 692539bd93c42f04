/** Renders Portable Text as HTML that is safe to insert into a page. */
import { type Block, isTextBlock, type Link, type Target, type TextBlock } from "./model.ts";
import { type Node, treeOf } from "./tree.ts";

const TAGS: Readonly<Record<string, string>> = {
  strong: "strong",
  em: "em",
  underline: "u",
  "strike-through": "s",
  code: "code",
  sub: "sub",
  sup: "sup",
  highlight: "mark",
};

const HEADINGS = ["h1", "h2", "h3", "h4", "h5", "h6", "blockquote"];

export function escapeHtml(text: string): string {
  const names: Readonly<Record<string, string>> = {
    "&": "amp",
    "<": "lt",
    ">": "gt",
    '"': "quot",
    "'": "#39",
  };
  return text.replaceAll(/[&<>"']/g, (found) => `&${names[found]};`);
}

type Rules = Pick<Target, "addressFlaw">;

function linkTag({ href, title, reference }: Link, rules: Rules): string {
  const attributes: [string, string][] = [];
  if (href !== undefined && rules.addressFlaw(href) === undefined) attributes.push(["href", href]);
  if (reference !== undefined) {
    attributes.push(["data-schema", reference.schema], ["data-id", reference.id]);
    if (reference.path !== undefined) attributes.push(["data-path", reference.path]);
  }
  if (title !== undefined) attributes.push(["title", title]);
  return `a${attributes.map(([name, value]) => ` ${name}="${escapeHtml(value)}"`).join("")}`;
}

function inner(
  nodes: readonly Node[],
  links: ReadonlyMap<string, Link>,
  rules: Rules,
  isPre: boolean,
): string {
  return nodes
    .map((node) => {
      if ("text" in node) {
        const text = escapeHtml(node.text);
        return isPre ? text : text.replaceAll("\n", "<br>");
      }
      const content = inner(node.inner, links, rules, isPre);
      const link = links.get(node.mark);
      const name = Object.hasOwn(TAGS, node.mark) ? TAGS[node.mark] : undefined;
      const tag =
        link === undefined ? (name ?? `span data-mark="${escapeHtml(node.mark)}"`) : linkTag(link, rules);
      return `<${tag}>${content}</${tag.split(" ", 1)[0]}>`;
    })
    .join("");
}

function content(block: TextBlock, rules: Rules): string {
  const links = new Map(block.markDefs.map((link) => [link._key, link]));
  const text = inner(treeOf(block), links, rules, block.style === "code");
  const { style } = block;
  if (style === "normal") return block.listItem === undefined ? `<p>${text}</p>` : text;
  if (style === "code") return `<pre><code>${text}</code></pre>`;
  if (HEADINGS.includes(style)) return `<${style}>${text}</${style}>`;
  return `<p data-style="${escapeHtml(style)}">${text}</p>`;
}

const listTag = (kind: string) =>
  kind === "number" ? "ol" : kind === "bullet" ? "ul" : `ul data-list="${escapeHtml(kind)}"`;

/** Renders a block that the reader of the page must fill in. */
function place({ _type, _key }: Block): string {
  return `<div data-component="${escapeHtml(_type)}" data-key="${escapeHtml(_key ?? "")}"></div>`;
}

export function toHtml(blocks: readonly Block[], rules: Rules): string {
  let html = "";
  /** The open lists, outermost first. Each has an open item. */
  const open: string[] = [];
  const closeTo = (levels: number) => {
    while (open.length > levels) html += `</li></${open.pop()?.split(" ", 1)[0]}>`;
  };
  for (const block of blocks) {
    const list = isTextBlock(block) ? block.listItem : undefined;
    if (!isTextBlock(block) || list === undefined) {
      closeTo(0);
      html += isTextBlock(block) ? content(block, rules) : place(block);
      continue;
    }
    const level = Math.max(1, block.level ?? 1);
    const tag = listTag(list);
    closeTo(level);
    if (open.length === level && open.at(-1) !== tag) closeTo(level - 1);
    if (open.length === level) html += "</li><li>";
    while (open.length < level) {
      open.push(tag);
      html += `<${tag}><li>`;
    }
    html += content(block, rules);
  }
  closeTo(0);
  return html;
}
