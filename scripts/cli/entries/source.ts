/** Reads the rows of a file of entries. */
import { constants, createReadStream } from "node:fs";
import { access } from "node:fs/promises";
import { RowFault } from "../../../shared/rows/fault.ts";
import { readJsonRows } from "../../../shared/rows/json-lines.ts";
import { type Row, textOf } from "../../../shared/rows/row.ts";
import { cellsOfHead, openTable, rowOf } from "../../../shared/rows/table.ts";
import { decodeUtf8 } from "../../../shared/rows/utf8.ts";
import { CommandError } from "../command/context.ts";
import { type Collection, cellsOf, type Format } from "./collection.ts";

export interface Source {
  file: string;
  /** Undefined to tell by the file's name and content. */
  format: Format | undefined;
  collection: Collection;
  /** Whether rows say when their entries were created, by whom, and their state. */
  origin: boolean;
  /** Whether rows change existing entries, so that an empty cell of a table removes a value. */
  clears?: boolean;
}

export interface SourceRow {
  row: Row;
  /** Names of the sensitive fields or columns that contain a mask instead of a value. */
  masked: readonly string[];
  /** Names of the columns or members that are left out, because the platform sets them. */
  omitted: readonly string[];
}

/** A line must be smaller than this many characters, which is the limit of the platform. */
const LINE_LIMIT = 512 * 1024;

export async function requireReadable(file: string): Promise<void> {
  await access(file, constants.R_OK).catch((error: unknown) => {
    throw new CommandError(
      `Cannot read ${file}: ${error instanceof Error ? error.message : String(error)}. Name a file of entries.`,
    );
  });
}

async function* textIn(file: string): AsyncGenerator<string> {
  yield* decodeUtf8(createReadStream(file));
}

/** Returns the format that a file's name says, otherwise that of its first character. */
async function formatOf({ file, format }: Source): Promise<Format> {
  if (format !== undefined) return format;
  const [, ending = ""] = /\.(\w+)$/.exec(file.toLowerCase()) ?? [];
  if (ending === "csv" || ending === "tsv") return ending;
  for await (const text of textIn(file)) {
    const first = text.trimStart();
    if (first !== "") return first.startsWith("{") || first.startsWith("[") ? "ndjson" : "csv";
  }
  return "ndjson";
}

/**
 * Yields the rows of a file, and the faults of lines that cannot be read.
 * @throws RowFault if the rest of the file cannot be read
 */
export async function* sourceRows(source: Source): AsyncGenerator<SourceRow | RowFault> {
  for await (const one of rowsIn(source, await formatOf(source))) {
    if (one instanceof RowFault) {
      yield one;
      continue;
    }
    const length = textOf(one.row).length;
    if (length < LINE_LIMIT) yield one;
    else {
      const kib = Math.ceil(length / 1024);
      yield new RowFault(
        one.row.line,
        "wide",
        `has ${kib} KiB. An entry must be smaller than ${LINE_LIMIT / 1024} KiB. Store large content, such as GeoJSON, as a file: orb files upload, and a field of type file.`,
      );
    }
  }
}

async function* rowsIn(
  { file, collection, clears, origin }: Source,
  format: Format,
): AsyncGenerator<SourceRow | RowFault> {
  if (format === "ndjson") {
    yield* readJsonRows(textIn(file), collection.schema.fields, { origin, matched: clears === true });
    return;
  }
  const { head, records } = await openTable(textIn(file), format === "tsv" ? "\t" : undefined);
  const cells = cellsOfHead(head, cellsOf(collection, { sensitive: true, origin }));
  const omitted = head.filter((_, at) => cells[at] === undefined);
  for await (const record of records) {
    const row = record instanceof RowFault ? record : rowOf(record, head, cells, clears);
    yield row instanceof RowFault ? row : { ...row, omitted };
  }
}
