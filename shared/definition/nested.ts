/** Finds the fields that a document gives to the objects of a field: in the field itself, or in components. */
import type { FieldDefinition, OrbDocument } from "./document/index.ts";
import { BLOCK, blockParts, type PartDefinition } from "./rich-text.ts";

export { KEY } from "./document/index.ts";
/** Name of the member that tells the component of a block. */
export const TYPE = "_type";

/** Fields of the document's components, by the components' ids. */
export type Components = ReadonlyMap<string, readonly FieldDefinition[]>;

export function componentsOf({ components }: Pick<OrbDocument, "components">): Components {
  return new Map(components?.map(({ id, fields }) => [id, fields]));
}

/**
 * Returns the fields of each component of a field of blocks or rich text, by the component's id. For objects, returns
 * the fields under an empty text. Undefined for all other fields.
 */
export function shapesOf(
  definition: PartDefinition,
  components: Components,
): ReadonlyMap<string, readonly PartDefinition[]> | undefined {
  const { type, fields, component, components: allowed, parts } = definition;
  if (parts !== undefined) return parts;
  if (type === "blocks" || type === "richText") {
    const own = type === "richText" ? [[BLOCK, blockParts(definition)] as const] : [];
    return new Map([...own, ...(allowed ?? []).map((id) => [id, components.get(id) ?? []] as const)]);
  }
  if (type !== "object") return undefined;
  return new Map([["", fields ?? (component === undefined ? [] : (components.get(component) ?? []))]]);
}

/** Returns whether the values inside the objects of a field have languages or markets. */
export function isLocalizedInside(field: FieldDefinition, components: Components): boolean {
  return [...(shapesOf(field, components)?.values() ?? [])]
    .flat()
    .some(
      (each) =>
        each.translatable === true || each.marketSpecific === true || isLocalizedInside(each, components),
    );
}

/** A field that may have objects with fields of their own. */
interface Holder<T> {
  readonly shapes: ReadonlyMap<string, ReadonlyMap<string, T>> | undefined;
}

/** Returns a field, and the fields that its objects have, at all depths. */
export function withNested<T extends Holder<T>>(field: T): T[] {
  if (field.shapes === undefined) return [field];
  return [field, ...[...field.shapes.values()].flatMap((fields) => [...fields.values()].flatMap(withNested))];
}
