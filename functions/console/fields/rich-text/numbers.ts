/** Shows the numbers of numbered lists. The document is flat, so the browser cannot count them. */
import type { Node } from "prosemirror-model";
import { Plugin, PluginKey } from "prosemirror-state";
import { Decoration, DecorationSet } from "prosemirror-view";
import type { BlockAttrs } from "./schema.ts";

function numbersOf(doc: Node): DecorationSet {
  const found: Decoration[] = [];
  /** The lists around the next item, the outermost first. */
  let lists: ({ kind: string; number: number } | undefined)[] = [];
  doc.forEach((node, pos) => {
    const { list, level } = node.attrs as BlockAttrs;
    if (node.type.name !== "block" || list === null) {
      lists = [];
      return;
    }
    const same = lists[level - 1];
    const number = same?.kind === list ? same.number + 1 : 1;
    lists = lists.slice(0, level);
    lists[level - 1] = { kind: list, number };
    if (list === "number")
      found.push(Decoration.node(pos, pos + node.nodeSize, { "data-number": `${number}.` }));
  });
  return DecorationSet.create(doc, found);
}

const key = new PluginKey<DecorationSet>("numbers");

export const numbers = new Plugin<DecorationSet>({
  key,
  state: {
    init: (_, { doc }) => numbersOf(doc),
    apply: (tr, before) => (tr.docChanged ? numbersOf(tr.doc) : before),
  },
  props: { decorations: (state) => key.getState(state) },
});
