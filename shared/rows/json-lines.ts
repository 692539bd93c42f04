/** Reads rows from JSON Lines, or from a JSON list. Each is an entry as exports write it, or only its values. */
import { GIVEN_BY_PLATFORM, ORIGIN, type RowField } from "./columns.ts";
import { RowFault } from "./fault.ts";
import { type Part, readJsonText } from "./json-text.ts";
import { linesOf } from "./lines.ts";
import { withoutMasks } from "./masks.ts";
import type { Row } from "./row.ts";

export interface JsonRow {
  row: Row;
  /** Names of the sensitive fields that contain a mask instead of a value. */
  masked: readonly string[];
  /** Members that say where the entry comes from, and that are left out. */
  omitted: readonly string[];
}

/** Members of an entry that a line may have. */
const MEMBERS = new Set([
  ...["module", "schema", "values", "validFrom", "validTo", "publish", "locale", "market", "idempotencyKey"],
]);
/** Members of an exported entry that name its collection. A line keeps them. */
const PLACES = new Set(["module", "schema"]);
const BLANK = /^[ \t]*$/;

/**
 * Yields the entries of JSON Lines, or of a JSON list. Omits empty lines.
 * @param fields the fields of the collection
 * @param options.origin whether rows keep the members that say where their entries come from
 * @param options.matched whether rows change existing entries
 */
export async function* readJsonRows(
  parts: AsyncIterable<string>,
  fields: readonly RowField[],
  { origin = false, matched = false }: { origin?: boolean; matched?: boolean } = {},
): AsyncGenerator<JsonRow | RowFault> {
  const keeps = new Set([...PLACES, ...(origin ? ORIGIN : [])]);
  const rows = { fields: new Map(fields.map((field) => [field.name, field])), keeps, matched };
  let line = 0;
  let list: string[] | undefined;
  let isFirst = true;
  for await (const text of linesOf(parts)) {
    line++;
    if (list === undefined && isFirst && text.trimStart().startsWith("[")) list = [];
    if (!BLANK.test(text)) isFirst = false;
    if (list !== undefined) list.push(text);
    else if (!BLANK.test(text)) yield rowOf(text, line, rows);
  }
  if (list === undefined) return;
  const read = readJsonText(list.join("\n"));
  if (typeof read === "string") {
    yield new RowFault(1, "json", `begins a JSON list, which ${read}`);
    return;
  }
  for (const [at, { text }] of (read.parts ?? []).entries())
    yield rowOf(text.replace(/[\r\n]+/g, " "), at + 1, rows);
}

/** What is known of the rows of a file. */
interface Rows {
  fields: ReadonlyMap<string, RowField>;
  /** Names of the members that an entry keeps although the platform sets them. */
  keeps: ReadonlySet<string>;
  /** Whether rows change existing entries. */
  matched: boolean;
}

function rowOf(text: string, line: number, rows: Rows): JsonRow | RowFault {
  const { fields, keeps } = rows;
  const read = readJsonText(text);
  if (typeof read === "string") return new RowFault(line, "json", read);
  if (read.kind !== "object" || read.parts === undefined)
    return new RowFault(line, "json", 'is not a JSON object. Write an entry, such as {"values":{…}}.');
  const isEntry = read.parts.some(({ name }) => name === "values") || !areValues(read.parts, fields);
  const members = new Map<string, string>();
  const masked: string[] = [];
  const omitted: string[] = [];
  const valuesOf = (parts: readonly Part[]): string => {
    const kept = parts.flatMap(({ name, text: value }) => {
      const field = fields.get(name);
      if (field === undefined) return [{ name, text: value }];
      const cleaned = withoutMasks(field, value, !rows.matched);
      masked.push(...cleaned.masked);
      return cleaned.text === undefined ? [] : [{ name, text: cleaned.text }];
    });
    return `{${kept.map(({ name, text: value }) => `${JSON.stringify(name)}:${value}`).join(",")}}`;
  };
  if (!isEntry) members.set("values", valuesOf(read.parts));
  else
    for (const { name, text: value } of read.parts) {
      if (GIVEN_BY_PLATFORM.has(name) && !keeps.has(name)) {
        if (ORIGIN.includes(name)) omitted.push(name);
        continue;
      }
      const inner = name === "values" ? readJsonText(value) : undefined;
      const isValues = typeof inner === "object" && inner.kind === "object";
      members.set(name, isValues ? valuesOf(inner.parts ?? []) : value);
    }
  return { row: { line, members }, masked, omitted };
}

/** Returns whether a line is the values of an entry, and not an entry. */
function areValues(parts: readonly Part[], fields: ReadonlyMap<string, RowField>): boolean {
  return (
    parts.length > 0 &&
    parts.every(({ name }) => fields.has(name)) &&
    !parts.every(({ name }) => MEMBERS.has(name))
  );
}
