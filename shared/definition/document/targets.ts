/** The schemas to which references point, and the references in values. */
import { isObject } from "../../kernel/json.ts";
import type { FieldDefinition } from "./document.ts";
import { type SchemaToken, schemaToken } from "./home.ts";

/**
 * A schema that a reference may point to, by the name in message subjects, which never changes. The schema's current id
 * is unknown here, because another application may own and rename the schema.
 */
export interface ReferenceTarget {
  readonly orb: string;
  readonly module: string;
  readonly schema: SchemaToken;
  /** The schema as the document names it: `orbId/moduleId/schemaId`. */
  readonly ref: string;
}

/** A reference in a value. The target is undefined if the field may no longer refer to that schema. */
export interface Pointer {
  readonly id: string;
  readonly target: ReferenceTarget | undefined;
}

type Ref = Pick<FieldDefinition, "ref">;

/** Returns the schemas that a field refers to, as the document names them. */
export function refsOf({ ref }: Ref): readonly string[] {
  return ref === undefined ? [] : typeof ref === "string" ? [ref] : ref;
}

/** Returns whether each value names its schema: `{ "schema": "shop/people/person", "id": "…" }`. */
export function isPolymorphic({ ref }: Ref): boolean {
  return ref !== undefined && typeof ref !== "string";
}

export function targetsOf(field: Ref): ReferenceTarget[] {
  return refsOf(field).flatMap((ref) => targetOf(ref) ?? []);
}

function targetOf(ref: string): ReferenceTarget | undefined {
  const [orb, module, schema] = ref.split("/");
  if (orb === undefined || module === undefined || schema === undefined) return undefined;
  return { orb, module, schema: schemaToken(schema), ref };
}

/** Identifies a schema, also after it has got another id and kept its entries. */
export const targetKey = ({ orb, module, schema }: Omit<ReferenceTarget, "ref">): string =>
  `${orb}/${module}/${schema}`;

/** Returns the key of the schema that a value names. Undefined if the name is none of a schema. */
export function keyOfRef(name: unknown): string | undefined {
  const target = typeof name === "string" ? targetOf(name) : undefined;
  return target && targetKey(target);
}

/** Finds the schema that a value names, maybe by an earlier id. */
export function targetNamed(targets: readonly ReferenceTarget[], name: unknown): ReferenceTarget | undefined {
  if (typeof name !== "string") return undefined;
  const named = targets.find(({ ref }) => ref === name);
  if (named !== undefined) return named;
  const wanted = targetOf(name);
  return wanted && targets.find((target) => targetKey(target) === targetKey(wanted));
}

/** Returns the id in a reference: a text, or an object that also names the schema. */
export function idIn(value: unknown): string | undefined {
  const id = isObject(value) ? value.id : value;
  return typeof id === "string" ? id : undefined;
}

/**
 * Returns the reference in a value. An id alone refers to the field's first schema: such values were stored when the
 * field could refer to that schema only.
 */
export function pointerIn(targets: readonly ReferenceTarget[], value: unknown): Pointer | undefined {
  const id = idIn(value);
  if (id === undefined) return undefined;
  return { id, target: isObject(value) ? targetNamed(targets, value.schema) : targets[0] };
}

/** Returns a stored reference as the definition describes it: with the current id of its schema. */
export function currentPointer(targets: readonly ReferenceTarget[], value: unknown): unknown {
  const pointer = pointerIn(targets, value);
  return pointer?.target === undefined ? value : { schema: pointer.target.ref, id: pointer.id };
}
