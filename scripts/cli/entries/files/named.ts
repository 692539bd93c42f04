/** Finds the files that rows name by a path or an address instead of an id. */
import { isObject } from "../../../../shared/kernel/json.ts";
import type { Row } from "../../../../shared/rows/row.ts";

/** The properties of a field that decide where its values contain files. */
export interface FileField {
  name: string;
  type: string;
  list?: boolean | undefined;
  translatable?: boolean | undefined;
  marketSpecific?: boolean | undefined;
  fields?: readonly FileField[] | undefined;
  blocks?: readonly { component: string; fields: readonly FileField[] }[] | undefined;
}

/** Called with a path or an address, and the name of its column. Returns the value to send instead. */
type Replace = (named: string, column: string) => unknown;

/** Returns whether values of fields can contain files. */
export function hasFiles(fields: readonly FileField[]): boolean {
  return fields.some(
    ({ type, fields: inner = [], blocks = [] }) =>
      type === "file" || hasFiles(inner) || blocks.some((block) => hasFiles(block.fields)),
  );
}

/** Returns whether a name is an address, and not a path. */
export const isAddress = (named: string): boolean => /^https?:\/\//i.test(named);

/** Returns the row with the ids of its files. Returns the same row if it names none. */
export function withFiles(row: Row, fields: readonly FileField[], replace: Replace): Row {
  const values: unknown = JSON.parse(row.members.get("values") ?? "{}");
  let isChanged = false;
  const replaced = inValues(fields, values, "", (named, column) => {
    isChanged = true;
    return replace(named, column);
  });
  if (!isChanged) return row;
  return { ...row, members: new Map(row.members).set("values", JSON.stringify(replaced)) };
}

function inValues(fields: readonly FileField[], values: unknown, column: string, replace: Replace): unknown {
  if (!isObject(values)) return values;
  const known = new Map(fields.filter((field) => hasFiles([field])).map((field) => [field.name, field]));
  return Object.fromEntries(
    Object.entries(values).map(([name, value]) => {
      const field = known.get(name);
      const places = Number(field?.translatable === true) + Number(field?.marketSpecific === true);
      return [name, field === undefined ? value : inField(field, places, value, column + name, replace)];
    }),
  );
}

/** @param places number of maps by market or language that can be around the value */
function inField(
  field: FileField,
  places: number,
  value: unknown,
  column: string,
  replace: Replace,
): unknown {
  if (places > 0 && isObject(value) && !Object.hasOwn(value, "file"))
    return Object.fromEntries(
      Object.entries(value).map(([place, one]) => [
        place,
        inField(field, places - 1, one, `${column}.${place}`, replace),
      ]),
    );
  if (Array.isArray(value)) return value.map((one: unknown) => inItem(field, one, column, replace));
  return inItem(field, value, column, replace);
}

function inItem(field: FileField, value: unknown, column: string, replace: Replace): unknown {
  if (field.type === "file") return typeof value === "string" ? replace(value, column) : value;
  const type: unknown = isObject(value) ? value._type : undefined;
  const block = field.blocks?.find(({ component }) => component === type);
  return inValues(block?.fields ?? field.fields ?? [], value, `${column}.`, replace);
}
