/** Exports entries to a file: all data as JSON Lines, or CSV with a column for each language and market. */
import { type EntryItem, type EntryPlace, listEntries } from "../../../api/entries.ts";
import type { FieldModel, OrbModel, SchemaModel } from "../../../model/orb.ts";
import type { Row } from "../data/rows.ts";

export type Format = "ndjson" | "csv";

/** Maximum entries per request, and maximum ids per request. The platform allows at most 200 and 100. */
const PAGE = 200;
const IDS = 100;

interface Column {
  name: string;
  value: (item: EntryItem) => unknown;
}

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

const member = (value: unknown, name: string): unknown =>
  typeof value === "object" && value !== null ? (value as Record<string, unknown>)[name] : undefined;

function columnsOf(field: FieldModel, { languages, markets }: OrbModel): Column[] {
  const markers = field.marketSpecific === true ? markets : [undefined];
  const tongues = field.translatable === true ? languages : [undefined];
  return markers.flatMap((market) =>
    tongues.map((language) => {
      const way = [market, language].filter((part) => part !== undefined);
      return {
        name: [field.name, ...way].join("."),
        value: ({ values }: EntryItem) => way.reduce<unknown>(member, values[field.name]),
      };
    }),
  );
}

/** Spreadsheets run text that begins with these characters as a formula. A leading apostrophe prevents it. */
const FORMULA = /^[=+\-@\t\r]/;

function csvCell(value: unknown): string {
  if (value === null || value === undefined) return "";
  const text =
    typeof value === "string"
      ? FORMULA.test(value)
        ? `'${value}`
        : value
      : typeof value === "object"
        ? JSON.stringify(value)
        : String(value);
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/** Returns the first line of an exported file, and a function that formats an entry as a line. */
export function formatOf(
  format: Format,
  schema: SchemaModel,
  orb: OrbModel,
): { head: string; line: (item: EntryItem) => string } {
  if (format === "ndjson") return { head: "", line: (item) => `${JSON.stringify(item)}\n` };
  const columns: Column[] = [
    ...PROPERTIES.map((name): Column => ({ name, value: (item) => item[name] })),
    ...schema.fields.flatMap((field) => columnsOf(field, orb)),
  ];
  const line = (cells: readonly unknown[]) => `${cells.map(csvCell).join(",")}\r\n`;
  return {
    // The byte order mark tells spreadsheets that the text is UTF-8.
    head: `\uFEFF${line(columns.map(({ name }) => name))}`,
    line: (item) => line(columns.map(({ value }) => value(item))),
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
