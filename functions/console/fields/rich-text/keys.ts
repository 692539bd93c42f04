/** Keeps the keys of blocks unique, and takes over values from outside of the editor. */
import type { Node } from "prosemirror-model";
import { type EditorState, Plugin, type Transaction } from "prosemirror-state";
import { isObject } from "../../../../shared/kernel/json.ts";
import { same } from "../../model/cells.ts";
import { adopt, docOf, isBlank, itemKey, itemOf, loadedNode } from "./convert.ts";

const keyOf = ({ type, attrs }: Node): unknown => (type.name === "block" ? attrs.key : attrs.value._key);

/** Gives a block another key. */
function rekey(tr: Transaction, node: Node, pos: number): void {
  if (node.type.name === "block") tr.setNodeAttribute(pos, "key", itemKey());
  else tr.setNodeAttribute(pos, "value", { ...node.attrs.value, _key: itemKey() });
}

/** Gives keys to new blocks. Of two halves of a block, the one with text keeps the key. */
export const uniqueKeys = new Plugin({
  appendTransaction(transactions, _, state) {
    if (!transactions.some(({ docChanged }) => docChanged)) return null;
    const { tr } = state;
    const seen = new Map<unknown, { node: Node; pos: number }>();
    state.doc.forEach((node, pos) => {
      const key = keyOf(node);
      const other = typeof key === "string" ? seen.get(key) : undefined;
      if (typeof key === "string" && other === undefined) seen.set(key, { node, pos });
      else if (other !== undefined && other.node.content.size === 0 && node.content.size > 0) {
        rekey(tr, other.node, other.pos);
        seen.set(key, { node, pos });
      } else rekey(tr, node, pos);
    });
    // Steps forget the marks that the next typed character gets.
    return tr.docChanged ? tr.setStoredMarks(state.storedMarks) : null;
  },
});

/**
 * Returns the transaction that shows a value from outside: what the platform has stored, or a block that was edited in
 * its form. Undefined if the document already has this value. Blocks that did not change stay as they are, so that the
 * cursor stays in its place.
 */
export function adoption({ doc, schema, tr }: EditorState, value: unknown): Transaction | undefined {
  const items: readonly unknown[] = Array.isArray(value) ? value : [];
  if (items.length === 0)
    return isBlank(doc)
      ? undefined
      : tr.replaceWith(0, doc.content.size, docOf(schema, null).content).setMeta("addToHistory", false);
  const nodes = doc.children;
  const most = Math.min(nodes.length, items.length);
  const isSame = (node: Node | undefined, item: unknown) => {
    if (node === undefined || !isObject(item) || !same(itemOf(node), item)) return false;
    adopt(node, item);
    return true;
  };
  let [before, after] = [0, 0];
  while (before < most && isSame(nodes[before], items[before])) before++;
  while (after < most - before && isSame(nodes.at(-1 - after), items.at(-1 - after))) after++;
  if (before === nodes.length && before === items.length) return undefined;
  const sizeOf = (some: readonly Node[]) => some.reduce((sum, { nodeSize }) => sum + nodeSize, 0);
  const from = sizeOf(nodes.slice(0, before));
  const to = doc.content.size - sizeOf(nodes.slice(nodes.length - after));
  const fresh = items.slice(before, items.length - after).map((item) => loadedNode(schema, item));
  return tr.replaceWith(from, to, fresh).setMeta("addToHistory", false);
}
