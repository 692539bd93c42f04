/** The items of a batch as clients send them, and the entries that they name. */
import type { CompiledField, CompiledSchema } from "../../definition/compile.ts";
import { membersOf } from "../../definition/walk.ts";
import { AppError, type Fault, invalid } from "../../kernel/errors.ts";
import { joinNames, pointer } from "../../kernel/faults.ts";
import { isObject } from "../../kernel/json.ts";
import type { OrbContext } from "../model/index.ts";
import { schemaFor } from "../write/index.ts";

/** Maximum items of a batch. */
export const MOST_ITEMS = 200;

interface Content {
  values?: unknown;
  validFrom?: unknown;
  validTo?: unknown;
  publish?: boolean | undefined;
  locale?: string | undefined;
  market?: string | undefined;
}

export interface CreateItem extends Content {
  /** `module/schema`, or only the module if it has one schema. */
  create: string;
  /** Name by which values of other items refer to the new entry: `{ "$ref": name }`. */
  as?: string | undefined;
}

export interface UpdateItem extends Content {
  /** `module/schema/id`. */
  update: string;
  add?: unknown;
  /** A rule (JsonLogic) that the newest revision must meet. */
  if?: unknown;
  ifMatch?: number | undefined;
}

export interface DeleteItem {
  /** `module/schema/id`. */
  delete: string;
  if?: unknown;
  ifMatch?: number | undefined;
  force?: boolean | undefined;
}

export type BatchItem = CreateItem | UpdateItem | DeleteItem;
export type Act = "create" | "update" | "delete";

/** What an item writes. */
export interface Located {
  act: Act;
  schema: CompiledSchema;
  /** Id of an existing entry. Undefined for a new one. */
  id: string | undefined;
}

export function actOf(item: BatchItem): Act {
  return "create" in item ? "create" : "update" in item ? "update" : "delete";
}

/**
 * Finds the schema that an item names.
 * @param routed whether entries without automatic routes are refused
 * @throws AppError invalid with paths in the item
 */
export function locate(context: OrbContext, item: BatchItem, routed: boolean): Located {
  const act = actOf(item);
  const at = "create" in item ? item.create : "update" in item ? item.update : item.delete;
  const path = `/${act}`;
  const [module = "", name, id, ...more] = at.split("/");
  const isWhole = act === "create" ? id === undefined : id !== undefined && more.length === 0;
  if (module === "" || name === "" || !isWhole) {
    const form = act === "create" ? "module/schema" : "module/schema/id";
    throw invalid([{ path, code: "format", message: `must have the form ${form}` }]);
  }
  try {
    const found = act === "create" ? undefined : context.compiled.schema(module, name);
    const schema = found ?? schemaFor(context, module, name);
    if (routed && context.compiled.modules.get(module)?.routed !== true) {
      const message = "must be a module with automatic routes, of the type CONTENT or CONFIG";
      throw invalid([{ path, code: "not_applicable", message }]);
    }
    return { act, schema, id: act === "create" ? undefined : id };
  } catch (error) {
    if (!(error instanceof AppError) || error.errors === undefined) throw error;
    throw invalid(error.errors.map((fault) => ({ ...fault, path })));
  }
}

/**
 * Replaces `{ "$ref": name }` in values by the ids of entries that other items create. Leaves values of fields of
 * the type json as they are, at any depth, because they may contain such objects.
 * @param ids ids of the new entries, by name
 * @param faults takes the faults of unknown names
 */
export function withIds(
  schema: CompiledSchema,
  values: unknown,
  ids: ReadonlyMap<string, string>,
  faults: Fault[],
): unknown {
  if (!isObject(values)) return values;
  const replace = (field: CompiledField | undefined, value: unknown, trail: readonly string[]): unknown => {
    if (field?.definition.type === "json") return value;
    if (Array.isArray(value))
      return value.map((each, index) => replace(field, each, [...trail, String(index)]));
    if (!isObject(value)) return value;
    const { $ref: name } = value;
    if (typeof name !== "string" || Object.keys(value).length !== 1) {
      const members = field === undefined ? undefined : membersOf(field, value);
      // A key that is no member is a language, a market or the key of an item, and its value belongs to the same field.
      return Object.fromEntries(
        Object.entries(value).map(([key, one]) => [
          key,
          replace(members?.get(key) ?? field, one, [...trail, key]),
        ]),
      );
    }
    const id = ids.get(name);
    if (id !== undefined) return id;
    const known = ids.size === 0 ? "No item has one." : `Known: ${joinNames([...ids.keys()])}.`;
    const message = `must be the name that another item has in as. ${known}`;
    faults.push({ path: `/values${pointer([...trail, "$ref"])}`, code: "unknown_reference", message });
    return null;
  };
  return Object.fromEntries(
    Object.entries(values).map(([name, value]) => [name, replace(schema.fields.get(name), value, [name])]),
  );
}
