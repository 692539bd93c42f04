import { type FieldModel, shapesOf } from "../../../model/orb.ts";
import type { FormContext } from "./context.ts";

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
