/** Takes over Portable Text of Sanity, and finds what fields must allow for it. */
import { isObject } from "../../../../shared/kernel/json.ts";
import { objectsIn, textIn, textsIn } from "../model/read-json.ts";
import type { Linked, Loss } from "../model/source.ts";
import { isSafe } from "./links.ts";

/** What all rich text of an export uses. */
export interface Formats {
  styles: string[];
  marks: string[];
  lists: string[];
  /** Ids of the documents that links refer to. */
  targets: ReadonlySet<string>;
}

/** A field allows this many of each. */
const MOST = 30;
const DEFAULT_STYLES = ["normal"];

/** Finds the formats in all text of documents. */
export function formatsOf(documents: Iterable<unknown>): Formats {
  const [styles, marks, lists] = [new Set(DEFAULT_STYLES), new Set<string>(), new Set<string>()];
  const targets = new Set<string>();
  const visit = (value: unknown): void => {
    if (Array.isArray(value)) for (const one of value) visit(one);
    else if (isObject(value)) {
      if (value._type === "block" && Array.isArray(value.children)) {
        const own = new Set(objectsIn(value, "markDefs").map((definition) => textIn(definition, "_key")));
        styles.add(textIn(value, "style") ?? "normal");
        const list = textIn(value, "listItem");
        if (list !== undefined) lists.add(list);
        for (const span of objectsIn(value, "children"))
          for (const mark of textsIn(span, "marks")) if (!own.has(mark)) marks.add(mark);
        for (const definition of objectsIn(value, "markDefs")) {
          const target = targetOf(definition);
          if (target !== undefined) targets.add(target);
        }
      }
      for (const member of Object.values(value)) visit(member);
    }
  };
  for (const document of documents) visit(document);
  const cut = (names: ReadonlySet<string>) => [...names].slice(0, MOST);
  return { styles: cut(styles), marks: cut(marks), lists: cut(lists), targets };
}

/** Returns the id of the document that a definition of a mark refers to. */
function targetOf(definition: Readonly<Record<string, unknown>>): string | undefined {
  const own = textIn(definition, "_ref");
  if (own !== undefined) return own;
  return Object.values(definition)
    .map((value) => textIn(value, "_ref"))
    .find((id) => id !== undefined);
}

export interface TextContext {
  tell(loss: Pick<Loss, "why" | "became">): void;
  /** Component for what the platform does not know. */
  part: string;
  linkTo(id: string): Linked | undefined;
  /** Returns the block for an object between paragraphs; undefined if there is no component for it. */
  block(item: Readonly<Record<string, unknown>>, key: string): Record<string, unknown> | undefined;
}

export function textOf(items: readonly unknown[], context: TextContext): unknown[] {
  return items.filter(isObject).flatMap((item, at) => {
    const key = `b${at}`;
    if (item._type === "block") return paragraphOf(item, key, context);
    const block = context.block(item, key);
    if (block !== undefined) return block;
    context.tell({
      why: `there is no component for ${textIn(item, "_type")}`,
      became: `a block ${context.part}`,
    });
    return { _type: context.part, _key: key, part: item };
  });
}

function paragraphOf(block: Readonly<Record<string, unknown>>, key: string, context: TextContext): unknown[] {
  const definitions = new Map(
    objectsIn(block, "markDefs").map((definition) => [textIn(definition, "_key") ?? "", definition]),
  );
  const links = new Map<string, Record<string, unknown>>();
  for (const [name, definition] of definitions) {
    const link = linkOf(definition, context);
    if (link !== undefined) links.set(name, { _type: "link", _key: `${key}l${links.size}`, ...link });
  }
  const parts: unknown[] = [];
  const children = objectsIn(block, "children").flatMap((child, at) => {
    if (child._type !== undefined && child._type !== "span") {
      parts.push({ _type: context.part, _key: `${key}p${parts.length}`, part: child });
      context.tell({
        why: `rich text has no ${textIn(child, "_type")} inside a paragraph`,
        became: `a block ${context.part} behind the paragraph`,
      });
      return [];
    }
    const marks = textsIn(child, "marks").flatMap((mark) => {
      if (!definitions.has(mark)) return mark;
      return textIn(links.get(mark), "_key") ?? [];
    });
    return { _type: "span", _key: `${key}s${at}`, text: textIn(child, "text") ?? "", marks };
  });
  const listItem = textIn(block, "listItem");
  const level = typeof block.level === "number" ? Math.min(10, Math.max(1, block.level)) : 1;
  return [
    {
      ...{ _type: "block", _key: key, style: textIn(block, "style") ?? "normal" },
      ...(listItem === undefined ? {} : { listItem, level }),
      children: children.length > 0 ? children : [{ _type: "span", _key: `${key}s0`, text: "", marks: [] }],
      markDefs: [...links.values()],
    },
    ...parts,
  ];
}

function linkOf(
  definition: Readonly<Record<string, unknown>>,
  { tell, linkTo }: TextContext,
): Record<string, unknown> | undefined {
  const href = textIn(definition, "href");
  if (href !== undefined && isSafe(href)) return { href };
  const target = targetOf(definition);
  const reference = target === undefined ? undefined : linkTo(target);
  if (reference !== undefined) return { reference };
  const { _type, _key, ...rest } = definition;
  tell({
    why: `a mark ${String(_type)} cannot be kept: ${JSON.stringify(rest).slice(0, 200)}`,
    became: "the text without it",
  });
  return undefined;
}
