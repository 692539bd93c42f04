/** The command `orb entries export`, which writes JSON Lines or a table. */
import { createWriteStream } from "node:fs";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { entryCells, entryValues, headLine, tableLine } from "../../../shared/rows/write.ts";
import { type Context, manage } from "../command/context.ts";
import { pagesOf } from "../command/pages.ts";
import { progress } from "../command/progress.ts";
import { standardOutput } from "../command/terminal.ts";
import { type Collection, cellsOf, collectionOf, type Format } from "./collection.ts";

interface StoredEntry {
  module: string;
  schema: string;
  values: Record<string, unknown>;
  validFrom: string | null;
  validTo: string | null;
  status: string;
  revision: number;
  publishedRevision: number | null;
  createdAt: string;
  createdBy: string;
}

/** Returns whether an entry has a draft that is newer than its published revision. */
const isBehind = ({ revision, publishedRevision }: StoredEntry) =>
  publishedRevision !== null && publishedRevision !== revision;

const PAGE = "200";
/** Only the user may read the file: it may contain what the caller alone may see. A file that exists keeps its mode. */
const PRIVATE = 0o600;

async function* stored(context: Context, { orb, module, schema }: Collection): AsyncGenerator<StoredEntry> {
  const read = (at: { cursor?: string }) => {
    const query: Record<string, string> = {
      module,
      schema: schema.id,
      limit: PAGE,
      ...at,
    };
    const path = `/api/admin/orbs/${encodeURIComponent(orb.id)}/entries`;
    return manage<{ items: StoredEntry[]; nextCursor: string | null }>(context, "GET", path, { query });
  };
  for await (const { items } of pagesOf(read)) yield* items;
}

/**
 * Exports the newest revision of every entry in a collection. Omits sensitive fields, because the API returns masks for
 * them.
 */
export async function exportEntries(
  context: Context,
  input: { orb: string; collection: string; out: string | undefined; format: Format },
): Promise<number> {
  const collection = await collectionOf(context, input.orb, input.collection);
  const { fields } = collection.schema;
  const cells = cellsOf(collection, { sensitive: false, origin: true });
  const separator = input.format === "tsv" ? "\t" : ",";
  const shown = progress(context, "entries");
  let count = 0;
  let drafts = 0;
  async function* lines(): AsyncGenerator<string> {
    if (input.format !== "ndjson") yield headLine(cells, separator);
    for await (const entry of stored(context, collection)) {
      shown.at(++count);
      const { module, schema, validFrom, validTo, createdAt, createdBy } = entry;
      // The file has the draft, so an import must not publish it.
      const status = isBehind(entry) ? "SAVED" : entry.status;
      if (isBehind(entry)) drafts++;
      const kept = fields.filter(({ sensitive }) => !sensitive);
      const line = {
        ...{ module, schema, values: entryValues(kept, entry.values) },
        ...(validFrom === null ? {} : { validFrom }),
        ...(validTo === null ? {} : { validTo }),
        ...{ status, createdAt, createdBy },
      };
      yield input.format === "ndjson"
        ? `${JSON.stringify(line)}\n`
        : tableLine(entryCells(cells, { ...entry, status }), separator);
    }
  }
  const target = input.out === undefined ? standardOutput() : createWriteStream(input.out, { mode: PRIVATE });
  // Do not close standard output, because the process still uses it.
  await pipeline(Readable.from(lines()), target, { end: input.out !== undefined });
  shown.end();
  const left = fields.filter(({ sensitive }) => sensitive).map(({ name }) => name);
  context.note(
    `Exported ${count} entries.${left.length > 0 ? ` Left out sensitive fields: ${left.join(", ")}.` : ""}`,
  );
  if (drafts > 0)
    context.note(
      `${drafts} of them have a draft that is newer than what is published. The file has the draft, with the status SAVED.`,
    );
  return 0;
}
