/** Formats text while the user types Markdown: `## `, `- `, `1. `, `> `, `**bold**`, `*italic*`, `` `code` ``. */
import { InputRule, inputRules } from "prosemirror-inputrules";
import type { Plugin } from "prosemirror-state";
import { type BlockAttrs, type Formats, markName } from "./schema.ts";

/** A rule for the beginning of a block. */
function blockRule(
  pattern: RegExp,
  change: (match: RegExpMatchArray) => Partial<BlockAttrs> | undefined,
): InputRule {
  return new InputRule(pattern, (state, match, start, end) => {
    const $start = state.doc.resolve(start);
    const changes = change(match);
    if (changes === undefined || $start.parent.type.name !== "block" || $start.parent.attrs.style === "code")
      return null;
    const tr = state.tr.delete(start, end);
    for (const [name, value] of Object.entries(changes)) tr.setNodeAttribute($start.before(), name, value);
    return tr;
  });
}

/**
 * A rule for text between two delimiters.
 * @param pattern its first group is the character before; the second is the text
 */
function markRule(pattern: RegExp, mark: string): InputRule {
  return new InputRule(pattern, (state, match, start, end) => {
    const type = state.schema.marks[markName(mark)];
    const [whole, before = "", text = ""] = match;
    if (type === undefined || state.doc.resolve(start).parent.attrs.style === "code") return null;
    // The last typed character is not in the document yet.
    const from = start + before.length;
    const open = whole.slice(before.length).indexOf(text);
    const tr = state.tr.delete(from + open + text.length, end).delete(from, from + open);
    return tr.addMark(from, from + text.length, type.create()).removeStoredMark(type);
  });
}

export function markdownRules({ styles, marks, lists }: Formats): Plugin {
  const style = (name: string) => (styles.includes(name) ? { style: name } : undefined);
  const list = (name: string) => (lists.includes(name) ? { list: name } : undefined);
  const inline: [RegExp, string][] = [
    [/(^|[^*])\*\*([^\s*](?:[^*]*[^\s*])?)\*\*$/, "strong"],
    [/(^|[^\w_])__([^\s_](?:[^_]*[^\s_])?)__$/, "strong"],
    [/(^|[^*])\*([^\s*](?:[^*]*[^\s*])?)\*$/, "em"],
    [/(^|[^\w_])_([^\s_](?:[^_]*[^\s_])?)_$/, "em"],
    [/(^|[^~])~~([^\s~](?:[^~]*[^\s~])?)~~$/, "strike-through"],
    [/(^|[^`])`([^`]+)`$/, "code"],
  ];
  return inputRules({
    rules: [
      blockRule(/^(#{1,6})\s$/, ([, marker = ""]) => style(`h${marker.length}`)),
      blockRule(/^\s*[-*+]\s$/, () => list("bullet")),
      blockRule(/^\s*1[.)]\s$/, () => list("number")),
      blockRule(/^\s*>\s$/, () => style("blockquote")),
      blockRule(/^```$/, () => style("code")),
      ...inline.filter(([, mark]) => marks.includes(mark)).map(([pattern, mark]) => markRule(pattern, mark)),
    ],
  });
}
