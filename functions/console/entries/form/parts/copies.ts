import { signal } from "@preact/signals";
import { type FieldModel, type Shape, shapesOf } from "../../../model/orb.ts";
import type { FormContext } from "./context.ts";

type Item = Readonly<Record<string, unknown>>;

/** Text of the items that the user copied last in this tab. Other tabs find it on the clipboard. */
export const copiedText = signal<string>();

/**
 * Returns a value of a field of objects for another object or entry. Omits the members that the caller may not set, and
 * those that two objects must not share: unique and sensitive ones.
 */
export function copyOf(
  value: unknown,
  field: FieldModel,
  context: Pick<FormContext, "orb" | "mayField">,
): unknown {
  if (Array.isArray(value)) return value.map((one) => copyOf(one, field, context));
  if (typeof value !== "object" || value === null) return value;
  const shapes = shapesOf(field, context.orb);
  const type: unknown = Reflect.get(value, "_type");
  const shape = field.type === "object" ? shapes[0] : shapes.find(({ component }) => component === type);
  const members = Object.entries(value).flatMap(([name, one]) => {
    const inner = shape?.fields.find((own) => own.name === name);
    if (inner !== undefined && (inner.unique || inner.sensitive || !context.mayField(inner, "write")))
      return [];
    return [[name, copyOf(one, inner ?? field, context)]];
  });
  return Object.fromEntries(members);
}

/** Returns items of a list as text, for the clipboard. */
export const textOfItems = (items: readonly unknown[]): string => JSON.stringify({ items });

export const isItem = (value: unknown): value is Item =>
  typeof value === "object" && value !== null && !Array.isArray(value);

function itemsIn(text: string | undefined): readonly Item[] {
  if (text === undefined || !text.startsWith('{"items":[')) return [];
  try {
    const { items } = JSON.parse(text) as { items: readonly unknown[] };
    return items.filter(isItem);
  } catch {
    return [];
  }
}

/** Returns an item with the members that a shape has. Undefined if it is no item of this shape. */
function fitted(item: Item, { component, fields }: Shape): Item | undefined {
  const { _type: type = "" } = item;
  const own = Object.entries(item).filter(([name]) => fields.some((field) => field.name === name));
  if (type !== component || (component === "" && own.length === 0)) return undefined;
  return { ...(component === "" ? {} : { _type: component }), ...Object.fromEntries(own) };
}

/** Returns the items in a text that a list can have, without their keys. */
export function pastedItems(
  text: string | undefined,
  field: FieldModel,
  context: Pick<FormContext, "orb" | "mayField">,
): Item[] {
  const shapes = shapesOf(field, context.orb);
  return itemsIn(text).flatMap((item) => {
    const found = shapes.flatMap((shape) => fitted(item, shape) ?? [])[0];
    const copy = found === undefined ? undefined : copyOf(found, field, context);
    return isItem(copy) ? [copy] : [];
  });
}
