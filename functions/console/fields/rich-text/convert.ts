/** Converts Portable Text to the documents of the editor, and back. */
import { Fragment, Mark, type Node, type Schema } from "prosemirror-model";
import { newKey } from "../../../../shared/client/transport.ts";
import { BLOCK, entryPath, LINK, SPAN } from "../../../../shared/definition/types/index.ts";
import { isObject } from "../../../../shared/kernel/json.ts";
import { same } from "../../model/cells.ts";
import { type BlockAttrs, markName, markOf } from "./schema.ts";

/** A block, a span or a link of Portable Text. */
export type Item = Readonly<Record<string, unknown>>;

/** Returns a new `_key`. */
export const itemKey = (): string => newKey().replaceAll("-", "").slice(0, 12);

/** Returns what a link to an entry contains, with the path that the platform gives it. */
export const referenceTo = ({ schema, id }: { schema: string; id: string }): Item => ({
  ...{ schema, id, path: entryPath(schema, id) },
});

/** The Portable Text of nodes. Untouched blocks remain the stored objects, with all that the editor does not know. */
const known = new WeakMap<Node, Item>();

/** What an editor remembers of its blocks by their keys, so that spans and links keep theirs. */
interface Memory {
  /** As they were loaded or stored. */
  stored: Map<string, Item>;
  newest: Map<string, Item>;
}

const memories = new WeakMap<Schema, Memory>();

/** Returns the memory of the editor that uses a schema. */
function memoryOf(schema: Schema): Memory {
  const memory = memories.get(schema) ?? { stored: new Map(), newest: new Map() };
  memories.set(schema, memory);
  return memory;
}

/** Tells what a node is in Portable Text: as it was loaded, or as the platform has stored it. */
export function adopt(node: Node, item: Item): void {
  known.set(node, item);
  if (typeof item._key !== "string") return;
  const { stored, newest } = memoryOf(node.type.schema);
  stored.set(item._key, item);
  newest.set(item._key, item);
}

const itemsIn = (value: unknown): readonly Item[] => (Array.isArray(value) ? value.filter(isObject) : []);
const textsIn = (value: unknown): readonly string[] =>
  Array.isArray(value) ? value.filter((one) => typeof one === "string") : [];

/** Returns whether the editor can show a block as text. */
function isText(block: Item): boolean {
  const { _type, style, listItem, children, markDefs } = block;
  const isWord = (value: unknown) => value === undefined || value === null || typeof value === "string";
  return (
    _type === BLOCK &&
    isWord(style) &&
    isWord(listItem) &&
    Array.isArray(children) &&
    children.every((child) => isObject(child) && (child._type !== SPAN || typeof child.text === "string")) &&
    (markDefs === undefined || markDefs === null || Array.isArray(markDefs))
  );
}

/** Returns the marks of a span. */
function marksOf(schema: Schema, span: Item, defs: ReadonlyMap<string, Item>): readonly Mark[] {
  const marks = textsIn(span.marks).map((name) => {
    const def = defs.get(name);
    if (def !== undefined)
      return def._type === LINK ? schema.mark("link", { def }) : schema.mark("other", { name, def });
    return schema.marks[markName(name)] === undefined
      ? schema.mark("other", { name })
      : schema.mark(markName(name));
  });
  return Mark.setFrom(marks);
}

function inlineOf(schema: Schema, child: Item, defs: ReadonlyMap<string, Item>): Node[] {
  if (child._type !== SPAN) return [schema.node("part", { value: child })];
  const marks = marksOf(schema, child, defs);
  const lines = String(child.text).replaceAll("\r\n", "\n").split("\n");
  return lines.flatMap((line, at) => [
    ...(at === 0 ? [] : [schema.node("break", null, undefined, marks)]),
    ...(line === "" ? [] : [schema.text(line, marks)]),
  ]);
}

function contentOf(schema: Schema, block: Item): Fragment {
  const defs = new Map(itemsIn(block.markDefs).map((def) => [String(def._key), def]));
  return Fragment.fromArray(itemsIn(block.children).flatMap((child) => inlineOf(schema, child, defs)));
}

/** Returns the style of new blocks. */
const plainIn = (schema: Schema): string => String(schema.node("block").attrs.style);

function attrsOf(schema: Schema, block: Item): BlockAttrs {
  const { _key, style, listItem, level } = block;
  return {
    key: typeof _key === "string" ? _key : null,
    style: typeof style === "string" ? style : plainIn(schema),
    list: typeof listItem === "string" ? listItem : null,
    level: typeof level === "number" ? level : 1,
  };
}

/** Returns the node of a block. Attributes that the editor does not know are kept only by {@link adopt}. */
export function nodeOf(schema: Schema, item: unknown): Node {
  const block: Item = isObject(item) ? item : { value: item };
  return isText(block)
    ? schema.node("block", attrsOf(schema, block), contentOf(schema, block))
    : schema.node("object", { value: block });
}

/** Returns the node of a stored block, which converts back to the same object. */
export function loadedNode(schema: Schema, item: unknown): Node {
  const node = nodeOf(schema, item);
  adopt(node, isObject(item) ? item : { value: item });
  return node;
}

const blank = (schema: Schema): Node => schema.node("block", { key: itemKey() });

/** Returns the document of a value. A field without a value has one empty paragraph. */
export function docOf(schema: Schema, value: unknown): Node {
  const items: readonly unknown[] = Array.isArray(value) ? value : [];
  const nodes = items.map((item) => loadedNode(schema, item));
  return schema.node("doc", null, nodes.length === 0 ? [blank(schema)] : nodes);
}

/** Returns whether a document has no text, and no empty paragraph that was stored. */
export function isBlank(doc: Node): boolean {
  const first = doc.firstChild;
  if (first === null || doc.childCount > 1 || first.type.name !== "block") return false;
  const { key, style, list } = first.attrs as BlockAttrs;
  if (first.childCount > 0 || list !== null || style !== plainIn(doc.type.schema)) return false;
  const stored = memoryOf(doc.type.schema).stored.get(key ?? "");
  return stored === undefined || !isUnchanged(first, stored);
}

/** Returns the value of a document; null if it is empty. */
export function portableOf(doc: Node): readonly Item[] | null {
  return isBlank(doc) ? null : doc.children.map(itemOf);
}

/** Returns the Portable Text of a block. Blocks that did not change remain the same objects. */
export function itemOf(node: Node): Item {
  const found = known.get(node);
  if (found !== undefined) return found;
  const made = node.type.name === "block" ? blockOf(node) : (node.attrs.value as Item);
  known.set(node, made);
  if (typeof made._key === "string") memoryOf(node.type.schema).newest.set(made._key, made);
  return made;
}

/** Text with its marks. Links have their keys as marks, like in Portable Text. */
interface Run {
  text: string;
  marks: readonly string[];
}

/** Collects the links of a block under keys that are unique in it. */
class Links {
  readonly #found: { key: string; given: Item }[] = [];

  keyOf(given: Item): string {
    const other = this.#found.find((one) => same(one.given, given));
    if (other !== undefined) return other.key;
    const own = typeof given._key === "string" ? given._key : "link";
    let key = own;
    for (let number = 2; this.#found.some((one) => one.key === key); number++) key = `${own}${number}`;
    this.#found.push({ key, given });
    return key;
  }

  get defs(): Item[] {
    return this.#found.map(({ key, given }) => (given._key === key ? given : { ...given, _key: key }));
  }
}

/** Returns the texts of a block, and the parts of it that are no spans. */
function runsOf(node: Node, links: Links): (Run | Item)[] {
  const runs: (Run | Item)[] = [];
  for (const child of node.children) {
    if (child.type.name === "part") {
      runs.push(child.attrs.value as Item);
      continue;
    }
    const marks = child.marks.map(({ type, attrs }) =>
      isObject(attrs.def) ? links.keyOf(attrs.def) : (markOf(type.name) ?? String(attrs.name)),
    );
    const text = child.text ?? "\n";
    const last = runs.at(-1);
    if (last !== undefined && isRun(last) && sameMarks(last.marks, marks)) last.text += text;
    else runs.push({ text, marks });
  }
  return runs.length === 0 ? [{ text: "", marks: [] }] : runs;
}

const isRun = (part: Run | Item): part is Run => !("_type" in part);

const sameMarks = (one: readonly string[], other: readonly string[]) =>
  one.length === other.length && one.every((mark) => other.includes(mark));

/**
 * Gives each run the key of a stored span: of the span with the same text and marks at the beginning or the end, or else
 * anywhere, or of the next span with the same marks. All other runs get new keys.
 */
function spansOf(runs: readonly (Run | Item)[], stored: readonly Item[]): Item[] {
  const free = stored.filter(({ _type }) => _type === SPAN);
  const hasMarks = (run: Run, span: Item) => sameMarks(run.marks, textsIn(span.marks));
  const isSame = (run: Run | undefined, span: Item | undefined) =>
    run !== undefined && span !== undefined && run.text === span.text && hasMarks(run, span);
  const matched = new Map<Run | Item, Item>();
  const left = [...runs.filter(isRun)];
  while (isSame(left[0], free[0])) matched.set(left.shift() as Run, free.shift() as Item);
  while (isSame(left.at(-1), free.at(-1))) matched.set(left.pop() as Run, free.pop() as Item);
  for (const fits of [isSame, hasMarks]) {
    for (const run of left.filter((one) => !matched.has(one))) {
      const at = free.findIndex((span) => fits(run, span));
      const [span] = at < 0 ? [] : free.splice(at, 1);
      if (span !== undefined) matched.set(run, span);
    }
  }
  return runs.map((part) => {
    if (!isRun(part)) return part;
    const span = matched.get(part);
    const { text, marks } = part;
    if (span === undefined) return { _type: SPAN, _key: itemKey(), text, marks };
    return { ...span, text, marks: sameMarks(marks, textsIn(span.marks)) ? (span.marks ?? []) : marks };
  });
}

function blockOf(node: Node): Item {
  const { key, style, list, level } = node.attrs as BlockAttrs;
  const { stored, newest } = memoryOf(node.type.schema);
  const source = stored.get(key ?? "");
  if (source !== undefined && isUnchanged(node, source)) return source;
  const links = new Links();
  const runs = runsOf(node, links);
  const { listItem: _, level: __, children, ...rest } = newest.get(key ?? "") ?? source ?? {};
  return {
    ...rest,
    _type: BLOCK,
    ...(key === null ? {} : { _key: key }),
    style,
    ...(list === null ? {} : { listItem: list, level }),
    children: spansOf(runs, itemsIn(children)),
    markDefs: links.defs,
  };
}

/** Returns whether a node shows exactly a stored block, for example after an undo. */
function isUnchanged(node: Node, source: Item): boolean {
  const { schema } = node.type;
  const attrs = attrsOf(schema, source);
  const { key, style, list, level } = node.attrs as BlockAttrs;
  return (
    attrs.key === key &&
    attrs.style === style &&
    attrs.list === list &&
    attrs.level === level &&
    contentOf(schema, source).eq(node.content)
  );
}
