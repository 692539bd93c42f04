/** Exports entries to a file: all data as JSON Lines, or CSV with a column for each language and market. */
import { fieldCells, type RowCell, type RowField } from "../../../../../shared/rows/columns.ts";
import { entryCells, entryValues, headLine, tableLine } from "../../../../../shared/rows/write.ts";
import { type EntryItem, type EntryPlace, listEntries } from "../../../api/entries.ts";
import { type FieldModel, type OrbModel, type SchemaModel, shapesOf } from "../../../model/orb.ts";
import type { Row } from "../data/rows.ts";

export type Format = "ndjson" | "csv";

/** Maximum entries per request, and maximum ids per request. The platform allows at most 200 and 100. */
const PAGE = 200;
const IDS = 100;

const PROPERTIES = [
  "id",
  "status",
  "revision",
  "publishedRevision",
  "validFrom",
  "validTo",
  "createdAt",
  "updatedAt",
] as const;

/** Returns fields with the fields of their objects, which files of entries contain. */
export const rowFields = (fields: readonly FieldModel[], orb: OrbModel): RowField[] =>
  fields.map((field) => {
    const blocks = shapesOf(field, orb).map((shape) => ({ ...shape, fields: rowFields(shape.fields, orb) }));
    return { ...field, fields: blocks[0]?.fields ?? [], blocks };
  });

/** Returns the first line of an exported file, and a function that formats an entry as a line. */
export function formatOf(
  format: Format,
  schema: SchemaModel,
  orb: OrbModel,
): { head: string; line: (item: EntryItem) => string } {
  if (format === "ndjson")
    return {
      head: "",
      line: (item) => `${JSON.stringify({ ...item, values: entryValues(schema.fields, item.values) })}\n`,
    };
  // A field may have the name of a property.
  const properties = PROPERTIES.filter((name) => schema.fields.every((field) => field.name !== name));
  const cells: RowCell[] = [
    ...properties.map((name) => ({ field: { name, type: "string" }, way: [name] })),
    ...fieldCells(rowFields(schema.fields, orb), orb),
  ];
  return {
    // The byte order mark tells spreadsheets that the text is UTF-8.
    head: `\uFEFF${headLine(cells)}`,
    line: (item) => tableLine(entryCells(cells, item)),
  };
}

/**
 * Yields the entries of a list, one page at a time.
 * @param ids yields only these entries
 */
export async function* readAll(
  place: EntryPlace,
  query: URLSearchParams,
  signal: AbortSignal,
  ids?: readonly string[],
): AsyncGenerator<Row[]> {
  if (ids !== undefined) {
    for (let at = 0; at < ids.length; at += IDS) {
      const some = new URLSearchParams(query.has("revision") ? { revision: "published" } : {});
      some.set("filter[id][in]", ids.slice(at, at + IDS).join(","));
      some.set("limit", String(IDS));
      yield (await listEntries(place, { query: some, signal })).items;
    }
    return;
  }
  let cursor: string | null = null;
  do {
    const some = new URLSearchParams(query);
    some.set("limit", String(PAGE));
    if (cursor !== null) some.set("cursor", cursor);
    const page = await listEntries(place, { query: some, signal });
    yield page.items;
    cursor = page.nextCursor;
  } while (cursor !== null);
}

/** Collects a file as Blobs, which the browser can keep outside the page's memory. */
export async function collectFile(
  pages: AsyncIterable<readonly EntryItem[]>,
  { head, line }: { head: string; line: (item: EntryItem) => string },
  tell: (count: number) => void,
): Promise<Blob> {
  const parts: Blob[] = [new Blob([head])];
  let count = 0;
  for await (const items of pages) {
    parts.push(new Blob([items.map(line).join("")]));
    count += items.length;
    tell(count);
  }
  return new Blob(parts);
}

/** Saves a file as a browser download. */
export function download(file: Blob, name: string): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(file);
  link.download = name;
  link.click();
  // The download has started. Revoke the object URL later, because the browser may still read it.
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}
