/** Renders Portable Text as Markdown (CommonMark), from which the same Portable Text can be made again. */
import { type Block, isTextBlock, type Link, type TextBlock } from "./model.ts";
import { type Node, treeOf } from "./tree.ts";

/** A piece of a line: text as written, or the beginning or end of marks. */
interface Piece {
  text: string;
  kind: "text" | "open" | "close" | "fixed";
}

const DELIMITERS: Readonly<Record<string, readonly [string, string]>> = {
  strong: ["**", "**"],
  em: ["_", "_"],
  "strike-through": ["~~", "~~"],
  underline: ["<u>", "</u>"],
  sub: ["<sub>", "</sub>"],
  sup: ["<sup>", "</sup>"],
  highlight: ["<mark>", "</mark>"],
};

/** Marks whose delimiters must not stand next to white space inside of them. */
const FLANKING = ["strong", "em", "strike-through"];

const isSpace = (character: string | undefined) => character === undefined || /\s/u.test(character);
const isPunctuation = (character: string | undefined) =>
  character !== undefined && /[\p{P}\p{S}]/u.test(character);

const entity = (character: string) => `&#${character.codePointAt(0)};`;
const entities = (text: string) => [...text].map(entity).join("");

/** Returns how many of certain characters a text ends with. */
function trailing(text: string, characters: string): number {
  let end = text.length;
  while (end > 0 && characters.includes(text[end - 1] ?? "")) end--;
  return text.length - end;
}

/** Returns text that Markdown reads as it is, in the middle of a line. */
function escaped(text: string): string {
  return text
    .replaceAll(/[\\`*_[\]<>~]/g, "\\$&")
    .replaceAll(/&(?=#?[a-z0-9]+;)/gi, "\\&")
    .replaceAll(/!(?=\\\[)/g, "\\!")
    .replaceAll(/!$/g, "\\!")
    .replaceAll(/\r/g, "&#13;")
    .replaceAll("\n", "\\\n");
}

/** Writes text in code. A line break ends the code, because code has none. */
function codePieces(text: string): Piece[] {
  return text.split("\n").flatMap((line, at): Piece[] => {
    const run = Math.max(0, ...(line.match(/`+/g) ?? []).map(({ length }) => length));
    const fence = "`".repeat(run + 1);
    const pad = /^`|`$/.test(line) || (/^ .* $/s.test(line) && line.trim() !== "") ? " " : "";
    const code: Piece[] = line === "" ? [] : [{ kind: "fixed", text: `${fence}${pad}${line}${pad}${fence}` }];
    return at === 0 ? code : [{ kind: "fixed", text: "\\\n" }, ...code];
  });
}

function address({ href, reference, title }: Link): string {
  const path = href ?? reference?.path ?? `/api/${reference?.schema}/${reference?.id}`;
  const safe = path.replaceAll(/[<>\\]/g, "\\$&").replaceAll(/&(?=#?[a-z0-9]+;)/gi, "&amp;");
  const quoted = title
    ?.replaceAll(/["\\]/g, "\\$&")
    .replaceAll(/&(?=#?[a-z0-9]+;)/gi, "&amp;")
    .replaceAll("\n", "&#10;");
  return `(<${safe}>${quoted === undefined ? "" : ` "${quoted}"`})`;
}

function textIn(nodes: readonly Node[]): string {
  return nodes.map((node) => ("text" in node ? node.text : textIn(node.inner))).join("");
}

function pieces(nodes: readonly Node[], links: ReadonlyMap<string, Link>, inLink: boolean): Piece[] {
  return nodes.flatMap((node): Piece[] => {
    if ("text" in node) return node.text === "" ? [] : [{ kind: "text", text: node.text }];
    const link = links.get(node.mark);
    if (link !== undefined && !inLink)
      return [
        { kind: "fixed", text: "[" },
        ...pieces(node.inner, links, true),
        { kind: "fixed", text: `]${address(link)}` },
      ];
    if (node.mark === "code" && textIn(node.inner) !== "") return codePieces(textIn(node.inner));
    const inner = pieces(node.inner, links, inLink);
    const [open, close] = (Object.hasOwn(DELIMITERS, node.mark) ? DELIMITERS[node.mark] : undefined) ?? [];
    if (open === undefined || close === undefined || inner.length === 0) return inner;
    if (!FLANKING.includes(node.mark))
      return [{ kind: "fixed", text: open }, ...inner, { kind: "fixed", text: close }];
    return delimited(open, close, inner);
  });
}

/** Puts delimiters around pieces, but white space at both ends outside of them. */
function delimited(open: string, close: string, inner: readonly Piece[]): Piece[] {
  const [first, last] = [inner.at(0), inner.at(-1)];
  const before = first?.kind === "text" ? (/^\s+/.exec(first.text)?.[0] ?? "") : "";
  if (inner.length === 1 && first?.text.trim() === "" && first.kind === "text") return [first];
  const trimmed = inner.map((piece) => ({ ...piece }));
  const [start, end] = [trimmed.at(0), trimmed.at(-1)];
  if (start !== undefined) start.text = start.text.slice(before.length);
  const after = last?.kind === "text" && end !== undefined ? end.text.slice(end.text.trimEnd().length) : "";
  if (end !== undefined) end.text = end.text.slice(0, end.text.length - after.length);
  const side = (text: string): Piece[] => (text === "" ? [] : [{ kind: "text", text }]);
  return [
    ...side(before),
    { kind: "open", text: open },
    ...trimmed.filter(({ text }) => text !== ""),
    { kind: "close", text: close },
    ...side(after),
  ];
}

/** Joins pieces. Writes a letter next to a delimiter as an entity where the delimiter would not count otherwise. */
function joined(all: readonly Piece[]): string {
  const parts = all.map(({ text, kind }) => (kind === "text" ? escaped(text) : text));
  for (const [at, { kind }] of all.entries()) {
    if (kind !== "open" && kind !== "close") continue;
    const outside = kind === "open" ? at - 1 : at + 1;
    const neighbour = all[outside];
    if (neighbour?.kind !== "text") continue;
    const part = parts[outside] ?? "";
    const letters = [...(kind === "open" ? part.slice(-2) : part.slice(0, 2))];
    const letter = kind === "open" ? letters.at(-1) : letters[0];
    if (letter === undefined || isSpace(letter) || isPunctuation(letter)) continue;
    parts[outside] =
      kind === "open"
        ? part.slice(0, -letter.length) + entity(letter)
        : entity(letter) + part.slice(letter.length);
  }
  return parts.join("");
}

/** Escapes what has a meaning at the beginning of a line, and white space that Markdown would leave out. */
function linewise(text: string): string {
  const lines = text.split("\n");
  return lines
    .map((line, at) => {
      const isLast = at === lines.length - 1;
      const end = isLast ? line.length - trailing(line, " \t") : line.length;
      return (
        line
          .slice(0, end)
          .replace(/^[ \t]+/, entities)
          .replace(/^(#{1,6}|[+=-])/, "\\$1")
          .replace(/^(\d{1,9})([.)])/, "$1\\$2") + entities(line.slice(end))
      );
    })
    .join("\n");
}

/** Returns the content of a block in one line, or in several lines with hard breaks. */
function inline(block: TextBlock): string {
  const links = new Map(block.markDefs.map((link) => [link._key, link]));
  const all = pieces(treeOf(block, ["code"]), links, false);
  // A break at the beginning or the end of a paragraph does not count.
  const [first, last] = [all.at(0), all.at(-1)];
  let [before, after] = [0, 0];
  if (first?.kind === "text") {
    before = /^\n*/.exec(first.text)?.[0].length ?? 0;
    first.text = first.text.slice(before);
  }
  if (last?.kind === "text") {
    after = trailing(last.text, "\n");
    last.text = last.text.slice(0, last.text.length - after);
  }
  const line = entity("\n");
  return line.repeat(before) + linewise(joined(all)) + line.repeat(after);
}

function heading(level: number, text: string): string {
  // A heading has one line, and a closing sequence of # is left out.
  const line = text.replaceAll("\\\n", "&#10;");
  const isClosed = line.endsWith("#") && !line.endsWith("\\#");
  return `${"#".repeat(level)} ${isClosed ? `${line.slice(0, -1)}${entity("#")}` : line}`.trimEnd();
}

function fenced(block: TextBlock): string {
  const text = block.children.map((span) => span.text).join("");
  const run = Math.max(2, ...(text.match(/`+/g) ?? []).map(({ length }) => length));
  const fence = "`".repeat(run + 1);
  return `${fence}\n${text}${text === "" ? "" : "\n"}${fence}`;
}

function textual(block: TextBlock): string {
  if (block.style === "code") return fenced(block);
  const text = inline(block);
  const level = /^h([1-6])$/.exec(block.style)?.[1];
  return level === undefined ? text : heading(Number(level), text);
}

const indented = (text: string, width: number) => text.replaceAll(/\n(?=.)/g, `\n${" ".repeat(width)}`);

/** Writes lists and paragraphs that are not in a quote. */
function flow(blocks: readonly Block[]): string {
  let text = "";
  /** The lists around the next item: their kinds, the widths of their markers, and their numbers. */
  let lists: { kind: string; width: number; number: number }[] = [];
  for (const block of blocks) {
    const kind = isTextBlock(block) ? block.listItem : undefined;
    if (!isTextBlock(block) || kind === undefined) {
      lists = [];
      const own = isTextBlock(block) ? textual(block) : `<!-- ${block._type} ${block._key ?? ""} -->`;
      // Markdown has no empty paragraphs.
      if (own === "") continue;
      text += `${text === "" ? "" : "\n\n"}${own}`;
      continue;
    }
    const wasList = lists.length > 0;
    const level = Math.max(1, block.level ?? 1);
    const around = lists.slice(0, level - 1);
    const same = lists[level - 1];
    const indent = around.reduce((sum, { width }) => sum + width, 0);
    // Items of the lists between that have no text begin in the same line.
    let markers = "";
    for (let depth = around.length + 1; depth <= level; depth++) {
      const number = same?.kind === kind ? same.number + 1 : 1;
      const marker = kind === "number" ? `${number}. ` : "- ";
      around.push({ kind, width: marker.length, number });
      markers += marker;
    }
    lists = around;
    const item = indented(textual(block), indent + markers.length);
    const gap = text === "" ? "" : wasList && !(level === 1 && same?.kind !== kind) ? "\n" : "\n\n";
    text += `${gap}${" ".repeat(indent)}${`${markers}${item}`.trimEnd()}`;
  }
  return text;
}

const isQuote = (block: Block) => isTextBlock(block) && block.style === "blockquote";

export function toMarkdown(blocks: readonly Block[]): string {
  const parts: string[] = [];
  let from = 0;
  for (let at = 1; at <= blocks.length; at++) {
    const first = blocks[from];
    const block = blocks[at];
    if (first === undefined || (block !== undefined && isQuote(block) === isQuote(first))) continue;
    const run = blocks.slice(from, at);
    const text = flow(run.map((one) => (isQuote(one) ? { ...one, style: "normal" } : one)));
    parts.push(isQuote(first) ? text.replaceAll(/^/gm, "> ").replaceAll(/^> $/gm, ">") : text);
    from = at;
  }
  return parts.join("\n\n");
}
