/** Walks and converts the values of entries. */
import { isObject } from "../../../../shared/kernel/json.ts";
import { type ComponentDefinition, type FieldDefinition, Linked } from "./source.ts";

/** Returns whether a value counts as no value. */
export function isEmpty(value: unknown): boolean {
  if (value === undefined || value === null || value === "") return true;
  return Array.isArray(value) && value.length === 0;
}

/** Returns the references in a value, at any depth. */
export function linksIn(value: unknown): Linked[] {
  if (value instanceof Linked) return [value];
  if (Array.isArray(value)) return value.flatMap(linksIn);
  return isObject(value) ? Object.values(value).flatMap(linksIn) : [];
}

/** Yields the values of a field: one for each language, and each item of a list. */
export function* valuesOf(field: FieldDefinition, value: unknown): Generator<unknown> {
  const places = field.translatable === true && isObject(value) ? Object.values(value) : [value];
  for (const one of places) {
    if (field.list === true && Array.isArray(one)) yield* one;
    else if (!isEmpty(one)) yield one;
  }
}

/** A field with the fields inside it, without components. */
export interface ResolvedField extends FieldDefinition {
  fields?: readonly ResolvedField[];
  blocks?: readonly { component: string; fields: readonly ResolvedField[] }[];
}

/** Returns fields with the fields of their components. */
export function resolvedFields(
  fields: readonly FieldDefinition[],
  components: readonly ComponentDefinition[],
): ResolvedField[] {
  const within = (id: string) =>
    resolvedFields(components.find((one) => one.id === id)?.fields ?? [], components);
  return fields.map((field) => {
    const inner =
      field.component === undefined
        ? field.fields === undefined
          ? undefined
          : resolvedFields(field.fields, components)
        : within(field.component);
    const blocks = field.components?.map((component) => ({ component, fields: within(component) }));
    return {
      ...field,
      ...(inner === undefined ? {} : { fields: inner }),
      ...(blocks === undefined ? {} : { blocks }),
    };
  });
}

const DAY = /^\d{4}-\d{2}-\d{2}$/;
const MOMENT = /^\d{4}-\d{2}-\d{2}[Tt ]\d{2}:\d{2}/;
const OFFSET = /(?:[Zz]|[+-]\d{2}(?::?\d{2})?)$/;

export const isDay = (value: unknown): boolean => typeof value === "string" && DAY.test(value);

/** Returns a time with an offset. A time without one counts as UTC. Other values stay as they are. */
export function withOffset(value: unknown): unknown {
  if (typeof value !== "string") return value;
  if (DAY.test(value)) return `${value}T00:00:00Z`;
  return MOMENT.test(value) && !OFFSET.test(value.slice(16)) ? `${value}Z` : value;
}

/** Returns the converted value of a field: in each language, and of each item. */
export function mapValues(
  field: FieldDefinition,
  value: unknown,
  convert: (one: unknown) => unknown,
): unknown {
  const inPlace = (one: unknown) =>
    field.list === true && Array.isArray(one) ? one.map(convert) : isEmpty(one) ? one : convert(one);
  if (field.translatable !== true || !isObject(value)) return inPlace(value);
  return Object.fromEntries(Object.entries(value).map(([language, one]) => [language, inPlace(one)]));
}

/**
 * Returns the values of a draft, with null for those that are published and that the draft does not have: otherwise they
 * would stay.
 * @param translatable names of the fields whose values are in languages
 */
export function draftOf(
  live: Readonly<Record<string, unknown>>,
  draft: Readonly<Record<string, unknown>>,
  translatable: readonly string[] = [],
): Record<string, unknown> {
  const nulls = (before: unknown) =>
    (isObject(before) ? Object.keys(before) : []).map((name) => [name, null]);
  return Object.fromEntries(
    Object.keys({ ...live, ...draft }).map((name) => {
      const value = draft[name] ?? null;
      const isIn = translatable.includes(name) && isObject(value);
      return [name, isIn ? { ...Object.fromEntries(nulls(live[name])), ...value } : value];
    }),
  );
}
