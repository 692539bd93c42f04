/** What the toolbar and the keyboard change in a document. */
import { baseKeymap, chainCommands, exitCode, splitBlockAs, toggleMark } from "prosemirror-commands";
import { redo, undo } from "prosemirror-history";
import { undoInputRule } from "prosemirror-inputrules";
import type { MarkType, Node } from "prosemirror-model";
import { type Command, type EditorState, NodeSelection, TextSelection } from "prosemirror-state";
import { MAX_LEVEL } from "../../../../shared/definition/types/index.ts";
import { type Item, nodeOf } from "./convert.ts";
import { type BlockAttrs, type Formats, markName, plainStyle } from "./schema.ts";

const attrsOf = (node: Node) => node.attrs as BlockAttrs;

/** Returns the blocks of text in the selection, with their positions. */
export function selectedBlocks({ doc, selection }: EditorState): { node: Node; pos: number }[] {
  const found: { node: Node; pos: number }[] = [];
  doc.nodesBetween(selection.from, selection.to, (node, pos) => {
    if (node.type.name === "block") found.push({ node, pos });
    return false;
  });
  return found;
}

/** Changes attributes of all selected blocks of text. */
function changing(change: (node: Node, state: EditorState, pos: number) => Partial<BlockAttrs>): Command {
  return (state, dispatch) => {
    const { tr } = state;
    for (const { node, pos } of selectedBlocks(state))
      for (const [name, value] of Object.entries(change(node, state, pos)))
        if (node.attrs[name] !== value) tr.setNodeAttribute(pos, name, value);
    if (!tr.docChanged) return false;
    dispatch?.(tr.setStoredMarks(state.storedMarks).scrollIntoView());
    return true;
  };
}

export const setStyle = (style: string): Command => changing(() => ({ style }));

/** Makes items of a list from the selected paragraphs, or paragraphs from items of this list. */
export const toggleList =
  (list: string): Command =>
  (state, dispatch) => {
    const isOn = selectedBlocks(state).every(({ node }) => attrsOf(node).list === list);
    return changing(() => (isOn ? { list: null, level: 1 } : { list }))(state, dispatch);
  };

/** Returns the deepest level that an item may have: one more than the item before. */
function deepest({ doc }: EditorState, pos: number): number {
  const before = doc.resolve(pos).nodeBefore;
  return before?.type.name === "block" && attrsOf(before).list !== null
    ? Math.min(MAX_LEVEL, attrsOf(before).level + 1)
    : 1;
}

export const indent: Command = changing((node, state, pos) => {
  const { list, level } = attrsOf(node);
  return list === null ? {} : { level: Math.max(level, Math.min(level + 1, deepest(state, pos))) };
});

export const outdent: Command = changing((node) => {
  const { list, level } = attrsOf(node);
  return list === null ? {} : { level: Math.max(1, level - 1) };
});

/** Returns the attributes that turn a special block into a simpler one: a list item of a lower level, or plain text. */
function simpler({ list, level, style }: BlockAttrs, plain: string): Partial<BlockAttrs> | undefined {
  if (list !== null) return level > 1 ? { level: level - 1 } : { list: null };
  return style === plain ? undefined : { style: plain };
}

/** Simplifies the block of the cursor, if the cursor is at its start, or if the block is empty. */
const simplify =
  (plain: string, when: "start" | "empty"): Command =>
  (state, dispatch) => {
    const { selection } = state;
    if (!(selection instanceof TextSelection) || selection.$cursor === null) return false;
    const { parent, parentOffset } = selection.$cursor;
    if (when === "empty" ? parent.content.size > 0 : parentOffset > 0) return false;
    const change = simpler(attrsOf(parent), plain);
    return change !== undefined && changing(() => change)(state, dispatch);
  };

/** Splits the block at the cursor. What follows a heading is plain text. */
const split =
  (plain: string): Command =>
  (state, dispatch, view) => {
    const { storedMarks, selection } = state;
    const marks = storedMarks ?? selection.$from.marks();
    const command = splitBlockAs((node, isAtEnd) => {
      const { style } = attrsOf(node);
      const next = isAtEnd && /^h[1-6]$/.test(style) ? plain : style;
      return { type: node.type, attrs: { ...node.attrs, style: next } };
    });
    return command(state, dispatch && ((tr) => dispatch(tr.ensureMarks(marks))), view);
  };

const insertBreak: Command = (state, dispatch) => {
  const marks = state.storedMarks ?? state.selection.$from.marks();
  if (!state.selection.$from.parent.inlineContent) return false;
  dispatch?.(
    state.tr.replaceSelectionWith(state.schema.node("break", null, undefined, marks), false).scrollIntoView(),
  );
  return true;
};

/** In a block of code, a line break. An empty last line ends the block. */
const breakCode =
  (plain: string): Command =>
  (state, dispatch) => {
    const { $from, empty } = state.selection;
    if ($from.parent.type.name !== "block" || attrsOf($from.parent).style !== "code") return false;
    const isEnd = empty && $from.parentOffset === $from.parent.content.size;
    if (!isEnd || $from.nodeBefore?.type.name !== "break") return insertBreak(state, dispatch);
    const tr = state.tr.delete($from.pos - 1, $from.pos);
    const after = tr.selection.$from.after();
    tr.insert(after, state.schema.node("block", { style: plain }));
    dispatch?.(tr.setSelection(TextSelection.create(tr.doc, after + 1)).scrollIntoView());
    return true;
  };

/** Moves the selected block over the block before (-1) or after it (1). */
export const moveBlock =
  (step: 1 | -1): Command =>
  (state, dispatch) => {
    const { doc, selection } = state;
    const at = selection.$from.index(0);
    if (selection.$to.index(0) !== at && !(selection instanceof NodeSelection)) return false;
    const [first, second] = step < 0 ? [at - 1, at] : [at, at + 1];
    const [one, two] = [doc.maybeChild(first), doc.maybeChild(second)];
    if (one === null || two === null || first < 0) return false;
    let start = 0;
    for (const node of doc.children.slice(0, first)) start += node.nodeSize;
    const shift = step < 0 ? -one.nodeSize : two.nodeSize;
    const tr = state.tr.replaceWith(start, start + one.nodeSize + two.nodeSize, [two, one]);
    const isNode = selection instanceof NodeSelection;
    const moved = isNode
      ? NodeSelection.create(tr.doc, selection.from + shift)
      : TextSelection.create(tr.doc, selection.anchor + shift, selection.head + shift);
    dispatch?.(tr.setSelection(moved).scrollIntoView());
    return true;
  };

export const toggle =
  (mark: string): Command =>
  (state, dispatch, view) => {
    const type = state.schema.marks[markName(mark)];
    return type !== undefined && toggleMark(type, null, { includeWhitespace: true })(state, dispatch, view);
  };

/** Returns whether the selected text, or text typed next, has a mark. */
export function hasMark({ schema, selection, storedMarks, doc }: EditorState, mark: string): boolean {
  const type: MarkType | undefined = schema.marks[markName(mark)];
  if (type === undefined) return false;
  const { from, to, empty, $from } = selection;
  return empty ? type.isInSet(storedMarks ?? $from.marks()) !== undefined : doc.rangeHasMark(from, to, type);
}

export interface LinkPlace {
  def: Item;
  from: number;
  to: number;
}

/** Returns the link at the cursor, or at the start of the selection. */
export function linkAt({ selection, schema }: EditorState): LinkPlace | undefined {
  const { $from } = selection;
  const type = schema.marks.link;
  if (type === undefined || !$from.parent.inlineContent) return undefined;
  const mark = [$from.nodeAfter, $from.nodeBefore]
    .map((node) => (node === null ? undefined : type.isInSet(node.marks)))
    .find((found) => found !== undefined);
  if (mark === undefined) return undefined;
  const start = $from.start();
  let range: { from: number; to: number } | undefined;
  $from.parent.forEach((node, offset) => {
    const [from, to] = [start + offset, start + offset + node.nodeSize];
    if (!mark.isInSet(node.marks)) return;
    if (range !== undefined && range.to === from) range.to = to;
    else if (range === undefined || range.to < $from.pos) range = { from, to };
  });
  return range === undefined ? undefined : { def: mark.attrs.def as Item, from: range.from, to: range.to };
}

/**
 * Links the selected text, or the whole link at the cursor. Without a text, inserts one.
 * @param def the link; undefined removes it
 */
export const setLink =
  (def: Item | undefined, text: string): Command =>
  (state, dispatch) => {
    const { schema, selection, tr } = state;
    const type = schema.marks.link;
    if (type === undefined) return false;
    const place = selection.empty ? linkAt(state) : selection;
    const { from, to } = place ?? selection;
    const mark = def === undefined ? undefined : type.create({ def });
    if (from < to) {
      tr.removeMark(from, to, type);
      if (mark !== undefined) tr.addMark(from, to, mark);
    } else if (mark !== undefined && text !== "")
      tr.replaceSelectionWith(
        schema.text(text, mark.addToSet(state.storedMarks ?? selection.$from.marks())),
        false,
      );
    if (!tr.docChanged) return false;
    dispatch?.(tr.scrollIntoView());
    return true;
  };

/** Inserts a block of a component at the selection, and selects it. */
export const insertObject =
  (value: Item, at?: number): Command =>
  (state, dispatch) => {
    const node = nodeOf(state.schema, value);
    const { tr } = state;
    if (at === undefined) tr.replaceSelectionWith(node);
    else tr.replaceRangeWith(at, at, node);
    let found: number | undefined;
    tr.doc.forEach((child, pos) => {
      if (child.attrs.value?._key === value._key) found = pos;
    });
    if (found !== undefined) tr.setSelection(NodeSelection.create(tr.doc, found));
    dispatch?.(tr.scrollIntoView());
    return true;
  };

/** Shortcuts of marks and styles, in the form of ProseMirror. */
const MARK_KEYS: Readonly<Record<string, string>> = {
  strong: "Mod-b",
  em: "Mod-i",
  underline: "Mod-u",
  code: "Mod-e",
  "strike-through": "Mod-Shift-x",
};

/** Returns what the keys do in a field. */
export function keysOf(formats: Formats, onLink: () => void): Record<string, Command> {
  const plain = plainStyle(formats);
  const keys: Record<string, Command> = { ...baseKeymap };
  const enter = baseKeymap.Enter;
  const backspace = baseKeymap.Backspace;
  if (enter === undefined || backspace === undefined) return keys;
  for (const mark of formats.marks) {
    const key = Object.hasOwn(MARK_KEYS, mark) ? MARK_KEYS[mark] : undefined;
    if (key !== undefined) keys[key] = toggle(mark);
  }
  for (const style of formats.styles) {
    const level = /^h([1-6])$/.exec(style)?.[1];
    if (level !== undefined) keys[`Mod-Alt-${level}`] = setStyle(style);
  }
  keys["Mod-Alt-0"] = setStyle(plain);
  if (formats.styles.includes("blockquote")) keys["Mod-Shift-9"] = setStyle("blockquote");
  if (formats.lists.includes("number")) keys["Mod-Shift-7"] = toggleList("number");
  if (formats.lists.includes("bullet")) keys["Mod-Shift-8"] = toggleList("bullet");
  // The platform's form saves with this key.
  delete keys["Mod-Enter"];
  delete keys["Ctrl-Enter"];
  return {
    ...keys,
    Enter: chainCommands(breakCode(plain), simplify(plain, "empty"), splitOr(split(plain), enter)),
    "Shift-Enter": chainCommands(exitCode, insertBreak),
    Backspace: chainCommands(undoInputRule, simplify(plain, "start"), backspace),
    Tab: indent,
    "Shift-Tab": outdent,
    "Mod-]": indent,
    "Mod-[": outdent,
    "Alt-ArrowUp": moveBlock(-1),
    "Alt-ArrowDown": moveBlock(1),
    "Mod-z": undo,
    "Shift-Mod-z": redo,
    "Mod-y": redo,
    "Mod-k": () => {
      onLink();
      return true;
    },
  };
}

/** Splits text, and does what the second command does for all other selections. */
const splitOr =
  (first: Command, second: Command): Command =>
  (state, dispatch, view) =>
    (state.selection instanceof TextSelection ? first : second)(state, dispatch, view);
