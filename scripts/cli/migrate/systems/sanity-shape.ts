/** Infers fields from the documents of Sanity: its exports contain no description of them. */
import { isObject } from "../../../../shared/kernel/json.ts";
import { textIn } from "../model/read-json.ts";

/** What the values of a field are. */
export type Kind =
  | "string"
  | "number"
  | "boolean"
  | "slug"
  | "reference"
  | "asset"
  | "point"
  | "object"
  | "list";

/** What is known of all values of a field. */
export interface Shape {
  kinds: Set<Kind>;
  isInteger: boolean;
  isDay: boolean;
  isMoment: boolean;
  hasLines: boolean;
  /** Types of the documents that references lead to. */
  targets: Set<string>;
  /** The members of objects. */
  members: Map<string, Shape>;
  /** The items of lists. */
  items: Shape | undefined;
  /** The `_type` of objects in lists; an empty text for those without. */
  types: Set<string>;
}

export function newShape(): Shape {
  return {
    ...{ kinds: new Set(), isInteger: true, isDay: true, isMoment: true, hasLines: false },
    ...{ targets: new Set(), members: new Map(), items: undefined, types: new Set() },
  };
}

const DAY = /^\d{4}-\d{2}-\d{2}$/;
const MOMENT = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?(?:Z|[+-]\d{2}:?\d{2})$/;

export function isAsset(value: Readonly<Record<string, unknown>>): boolean {
  return (
    typeof value._sanityAsset === "string" || /^(?:image|file)-/.test(textIn(value, "asset", "_ref") ?? "")
  );
}

export function kindOf(value: unknown): Kind | undefined {
  if (typeof value === "string") return "string";
  if (typeof value === "number") return "number";
  if (typeof value === "boolean") return "boolean";
  if (Array.isArray(value)) return "list";
  if (!isObject(value)) return undefined;
  if (value._type === "slug") return "slug";
  if (typeof value._ref === "string") return "reference";
  if (isAsset(value) || value._type === "image" || value._type === "file") return "asset";
  return value._type === "geopoint" ? "point" : "object";
}

/**
 * Adds what a value shows.
 * @param typeOf returns the type of the document with an id
 */
export function learn(shape: Shape, value: unknown, typeOf: (id: string) => string | undefined): void {
  const kind = kindOf(value);
  if (kind === undefined) return;
  shape.kinds.add(kind);
  if (typeof value === "number" && !Number.isSafeInteger(value)) shape.isInteger = false;
  if (typeof value === "string") {
    shape.isDay &&= DAY.test(value);
    shape.isMoment &&= MOMENT.test(value);
    shape.hasLines ||= value.includes("\n");
  }
  if (Array.isArray(value)) learnItems(shape, value, typeOf);
  if (!isObject(value)) return;
  if (typeof value._ref === "string") {
    const target = typeOf(value._ref);
    if (target !== undefined) shape.targets.add(target);
  } else if (kind === "object" || kind === "asset") learnMembers(shape, value, typeOf);
}

function learnItems(
  shape: Shape,
  items: readonly unknown[],
  typeOf: (id: string) => string | undefined,
): void {
  shape.items ??= newShape();
  for (const item of items) {
    learn(shape.items, item, typeOf);
    if (isTyped(item)) shape.types.add(typeIn(item));
  }
}

const isTyped = (item: unknown): item is Record<string, unknown> =>
  kindOf(item) === "object" || kindOf(item) === "asset";

/** Returns the `_type` of an object in a list. */
export const typeIn = (item: unknown): string => textIn(item, "_type") ?? "";

/** Returns the shapes of all objects in lists, by their `_type`. */
export function typesIn(
  documents: Iterable<unknown>,
  typeOf: (id: string) => string | undefined,
): Map<string, Shape> {
  const types = new Map<string, Shape>();
  const visit = (value: unknown, inList: boolean): void => {
    if (Array.isArray(value)) {
      for (const one of value) visit(one, true);
      return;
    }
    if (!isObject(value)) return;
    if (inList && isTyped(value)) {
      const shape = types.get(typeIn(value)) ?? newShape();
      types.set(typeIn(value), shape);
      learn(shape, value, typeOf);
    }
    for (const member of Object.values(value)) visit(member, false);
  };
  for (const document of documents) visit(document, false);
  return types;
}

export function learnMembers(
  shape: Shape,
  value: Readonly<Record<string, unknown>>,
  typeOf: (id: string) => string | undefined,
): void {
  for (const [name, member] of Object.entries(value)) {
    if (name.startsWith("_") || name === "asset") continue;
    const known = shape.members.get(name) ?? newShape();
    shape.members.set(name, known);
    learn(known, member, typeOf);
  }
}
