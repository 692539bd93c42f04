/** Adapts Portable Text from another field to what a field allows. */
import { BLOCK, LINK, SPAN } from "../../../../shared/definition/types/index.ts";
import { isObject } from "../../../../shared/kernel/json.ts";
import { type Item, itemKey } from "./convert.ts";
import { type Formats, plainStyle } from "./schema.ts";

export interface Fitted {
  items: readonly Item[];
  /** What was left out: names of styles, marks, lists and components, and `link`. */
  missing: readonly string[];
}

/** Returns a copy of a block in which all items have other keys. */
function copied(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(copied);
  if (!isObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, one]) => [name, name === "_key" ? itemKey() : copied(one)]),
  );
}

const itemsIn = (value: unknown): readonly Item[] => (Array.isArray(value) ? value.filter(isObject) : []);

/** Returns whether a field may have a link. */
function isAllowed({ _type, reference }: Item, { links }: Formats): boolean {
  if (_type !== LINK) return false;
  return !isObject(reference) || links.includes(String(reference.schema));
}

export function fitTo(items: readonly unknown[], formats: Formats): Fitted {
  const missing = new Set<string>();
  const refused = (name: unknown) => {
    missing.add(String(name));
  };
  const textOf = (block: Item): Item => {
    const { style, listItem, level, children, markDefs, ...rest } = block;
    const isStyle = formats.styles.includes(String(style));
    if (!isStyle) refused(style);
    const isList = formats.lists.includes(String(listItem));
    if (!isList && typeof listItem === "string") refused(listItem);
    const defs = itemsIn(markDefs).filter((def) => isAllowed(def, formats) || refused("link"));
    const names = new Set([...formats.marks, ...defs.map(({ _key }) => String(_key))]);
    const gone = new Set(itemsIn(markDefs).map(({ _key }) => String(_key)));
    const spans = itemsIn(children)
      .filter(({ _type }) => _type === SPAN || refused(_type))
      .map((span) => {
        const marks = (Array.isArray(span.marks) ? span.marks : []).filter(
          (mark) => names.has(String(mark)) || (gone.has(String(mark)) ? false : refused(mark)),
        );
        return { ...span, marks };
      });
    return {
      ...rest,
      style: isStyle ? style : plainStyle(formats),
      ...(isList ? { listItem, level } : {}),
      children: spans,
      markDefs: defs,
    };
  };
  const fitted = items.filter(isObject).flatMap((item: Item) => {
    if (item._type === BLOCK) return [{ ...textOf(item), _key: itemKey() }];
    if (formats.components.includes(String(item._type))) return [copied(item)].filter(isObject);
    refused(item._type);
    return [];
  });
  return { items: fitted, missing: [...missing] };
}
