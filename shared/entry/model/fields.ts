/**
 * Determines which fields of an entry a caller may see. Fields that the caller may not read are treated as if the
 * definition did not contain them. So every response, filter and error leaves them out.
 */
import { isOwn, may, mayField, type Principal } from "../../access/authorize.ts";
import {
  type CompiledField,
  type CompiledOrb,
  type CompiledSchema,
  withFields,
} from "../../definition/compile.ts";
import { AppError, type Fault } from "../../kernel/errors.ts";

/**
 * Views of each schema (the schema reduced to some of its fields), by the names of these fields. A schema has few
 * views, because they depend only on the caller's role and on whether the caller created the entry.
 */
const views = new WeakMap<CompiledSchema, Map<string, CompiledSchema>>();

function viewOf(schema: CompiledSchema, names: readonly string[]): CompiledSchema {
  if (names.length === schema.fields.size) return schema;
  const known = views.get(schema) ?? new Map<string, CompiledSchema>();
  views.set(schema, known);
  const key = names.join();
  const view = known.get(key) ?? withFields(schema, new Set(names));
  known.set(key, view);
  return view;
}

/**
 * Returns the field names that an ETag must include. Callers who see different fields need different ETags. Empty if
 * all callers see the same fields.
 */
export function viewKey({ definition, fields }: CompiledSchema): readonly string[] {
  return definition.fields.some(({ access }) => access?.read !== undefined)
    ? [[...fields.keys()].join()]
    : [];
}

/**
 * Returns the schema reduced to the fields that a caller may read. The caller must be allowed to read the entry.
 * @param own whether the caller created the entry
 */
export function readableBy(schema: CompiledSchema, caller: Principal, own: boolean): CompiledSchema {
  if (!schema.narrowed.read) return schema;
  const readable = [...schema.fields.values()].filter((field) =>
    mayField(caller, "read", { access: field.access, own }),
  );
  return viewOf(
    schema,
    readable.map(({ name }) => name),
  );
}

/**
 * Returns the schema reduced to the fields that a caller may read in every listed entry. Filters and sort orders may
 * use only these fields, because filtering by a field reveals its values, even in entries of other users.
 */
export function comparableBy(schema: CompiledSchema, caller: Principal): CompiledSchema {
  if (!schema.narrowed.read) return schema;
  const onlyOwn = !may(caller, "read", { access: schema.access, own: false });
  return readableBy(schema, caller, onlyOwn);
}

/**
 * Returns the schema that a reference field points to. Undefined if that schema is in another application or was
 * removed.
 */
export function targetSchema(orb: CompiledOrb, { target }: CompiledField): CompiledSchema | undefined {
  return target?.orb === orb.id ? orb.schemaNamed(target.module, target.schema) : undefined;
}

/**
 * Returns a function that takes a reference field and returns the schema that it points to, reduced by {@link
 * comparableBy}.
 */
export function comparableTargets(orb: CompiledOrb, caller: Principal) {
  return (field: CompiledField): CompiledSchema | undefined => {
    const schema = targetSchema(orb, field);
    return schema === undefined ? undefined : comparableBy(schema, caller);
  };
}

/**
 * Returns the schema reduced to the fields that a caller may read in an entry.
 * @param createdBy account that created the entry
 */
export function readableIn(schema: CompiledSchema, caller: Principal, createdBy: string): CompiledSchema {
  return readableBy(schema, caller, isOwn(caller.actor, createdBy));
}

/** Returns only the values whose fields are in the schema. */
export function ofFields<T>(
  { fields }: CompiledSchema,
  values: Readonly<Record<string, T>>,
): Record<string, T> {
  return Object.fromEntries(Object.entries(values).filter(([name]) => fields.has(name)));
}

function fieldOf({ path }: Fault): string | undefined {
  const [, root, name] = path.split("/");
  return root === "values" ? name : undefined;
}

const HIDDEN: Fault = {
  path: "/values",
  code: "hidden_field",
  message:
    "has a value that your role may not see and that is no longer valid. Ask an account that may see it to correct the entry.",
};

/**
 * Returns an error without faults (messages about wrong values) of fields that the caller may not see. One general
 * fault replaces them.
 * @param seen names of the fields that the caller may read or has sent
 */
export function concealed(error: unknown, schema: CompiledSchema, seen: ReadonlySet<string>): unknown {
  if (!(error instanceof AppError) || error.errors === undefined) return error;
  const isHidden = (fault: Fault) => {
    const name = fieldOf(fault);
    return name !== undefined && schema.fields.has(name) && !seen.has(name);
  };
  if (!error.errors.some(isHidden)) return error;
  const errors = [...error.errors.filter((fault) => !isHidden(fault)), HIDDEN];
  const { kind, code, detail, data, retryAfter, cause } = error;
  return new AppError(kind, code, detail, { errors, data, retryAfter, cause });
}
