/**
 * What a caller may see of an entry's fields. A field that the caller may not read is treated as if the definition did
 * not have it, so that every answer, filter and error leaves it out.
 */
import { isOwn, may, mayField, type Principal } from "../../access/authorize.ts";
import { type CompiledSchema, withFields } from "../../definition/compile.ts";
import { AppError, type Fault } from "../../kernel/errors.ts";

/** Views of each schema by the names of their fields. There are few, because they depend on the caller's role alone. */
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

/** Returns what an ETag must hold of a caller's view of a schema. Empty if all callers have the same view. */
export function viewKey({ definition, fields }: CompiledSchema): readonly string[] {
  return definition.fields.some(({ access }) => access?.read !== undefined)
    ? [[...fields.keys()].join()]
    : [];
}

/**
 * Returns the schema as a caller sees it in an entry that it may read: without the fields that it may not read.
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
 * Returns the schema with the fields that a caller may read in every entry of its lists. Filters and sort orders may
 * use only these: others would tell about entries of other users.
 */
export function comparableBy(schema: CompiledSchema, caller: Principal): CompiledSchema {
  if (!schema.narrowed.read) return schema;
  const onlyOwn = !may(caller, "read", { access: schema.access, own: false });
  return readableBy(schema, caller, onlyOwn);
}

/** Returns the schema as a caller sees it in an entry that a certain account created. */
export function readableIn(schema: CompiledSchema, caller: Principal, createdBy: string): CompiledSchema {
  return readableBy(schema, caller, isOwn(caller.actor, createdBy));
}

/** Returns the values of the fields that a schema has. */
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
 * Returns an error without the fields that the caller may not see. The faults of these become a single one.
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
