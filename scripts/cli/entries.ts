/** The commands `orb entries export` and `orb entries import`, for files of JSON Lines or CSV. */
import { createHash } from "node:crypto";
import { constants, createReadStream, createWriteStream } from "node:fs";
import { access } from "node:fs/promises";
import { createInterface } from "node:readline";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { parse } from "csv-parse";
import { stringify } from "csv-stringify";
import type { OrbView } from "../../functions/discovery/overview-schemas.ts";
import { CommandError, type Context, manage } from "./command/context.ts";
import { progress } from "./progress.ts";
import { columnsOf, rowOf, valuesIn } from "./rows.ts";

export const FORMATS = ["ndjson", "csv"] as const;
export type Format = (typeof FORMATS)[number];

interface StoredEntry {
  module: string;
  schema: string;
  values: Record<string, unknown>;
  validFrom: string | null;
  validTo: string | null;
}

/** A line in the response to an upload: the result for one entry or, in the last line, the totals. */
interface UploadLine {
  line?: number;
  status?: number;
  code?: string;
  detail?: string;
  errors?: { path: string; message: string }[];
  done?: boolean;
  total?: number;
  created?: number;
  failed?: number;
}

interface Place {
  orb: OrbView;
  module: string;
  schema: OrbView["modules"][number]["schemas"][number];
}

/** Maximum number of failed lines that the command prints one by one. */
const PRINTED = 20;
const PAGE = "200";

/** Finds the schema that `module/schema` names. If the module has only one schema, `module` is enough. */
async function placeOf(context: Context, id: string, collection: string): Promise<Place> {
  const { orbs } = await manage<{ orbs: OrbView[] }>(context, "GET", "/api/discovery", {
    query: { orb: id },
  });
  const [orb] = orbs;
  const [name = "", wanted] = collection.split("/", 2);
  const module = orb?.modules.find((each) => each.id === name);
  const schema = module?.schemas.find((each) =>
    wanted === undefined ? module.schemas.length === 1 : each.id === wanted,
  );
  if (orb === undefined || module === undefined || schema === undefined) {
    const known = orb?.modules.flatMap((each) => each.schemas.map((of) => `${each.id}/${of.id}`)) ?? [];
    throw new CommandError(`The orb ${id} has no collection ${collection}. It has ${known.join(", ")}.`);
  }
  return { orb, module: module.id, schema };
}

async function* stored(context: Context, { orb, module, schema }: Place): AsyncGenerator<StoredEntry> {
  let cursor: string | null = null;
  do {
    const query: Record<string, string> = {
      module,
      schema: schema.id,
      limit: PAGE,
      ...(cursor === null ? {} : { cursor }),
    };
    const page: { items: StoredEntry[]; nextCursor: string | null } = await manage(
      context,
      "GET",
      `/api/admin/orbs/${encodeURIComponent(orb.id)}/entries`,
      { query },
    );
    yield* page.items;
    cursor = page.nextCursor;
  } while (cursor !== null);
}

/**
 * Exports the newest revision of every entry in a collection. Omits sensitive fields, because the API returns masks for
 * them.
 */
export async function exportEntries(
  context: Context,
  input: { orb: string; collection: string; out: string | undefined; format: Format },
): Promise<number> {
  const place = await placeOf(context, input.orb, input.collection);
  const fields = place.schema.fields.filter(({ sensitive }) => !sensitive);
  const shown = progress(context, "entries");
  let count = 0;
  async function* lines(): AsyncGenerator<object | string> {
    for await (const { module, schema, values, validFrom, validTo } of stored(context, place)) {
      shown.at(++count);
      const kept = Object.fromEntries(
        fields.flatMap(({ name }) => (name in values ? [[name, values[name]]] : [])),
      );
      const window = {
        ...(validFrom === null ? {} : { validFrom }),
        ...(validTo === null ? {} : { validTo }),
      };
      yield input.format === "csv"
        ? rowOf(fields, kept)
        : `${JSON.stringify({ module, schema, values: kept, ...window })}\n`;
    }
  }
  const target = input.out === undefined ? process.stdout : createWriteStream(input.out);
  const source = Readable.from(lines());
  // Do not close standard output, because the process still uses it.
  const options = { end: input.out !== undefined };
  if (input.format === "csv")
    await pipeline(
      source,
      stringify({ header: true, columns: columnsOf(fields, place.orb) }),
      target,
      options,
    );
  else await pipeline(source, target, options);
  shown.end();
  const left = place.schema.fields.filter(({ sensitive }) => sensitive).map(({ name }) => name);
  context.note(
    `Exported ${count} entries.${left.length > 0 ? ` Left out sensitive fields: ${left.join(", ")}.` : ""}`,
  );
  return 0;
}

/** Yields the lines of an upload. Adds the module and the schema to lines that do not name them. */
async function* uploadLines(file: string, format: Format, { module, schema }: Place): AsyncGenerator<string> {
  const source = createReadStream(file);
  if (format === "csv") {
    const rows = source.pipe(parse({ columns: true, bom: true, skip_empty_lines: true }));
    for await (const row of rows as AsyncIterable<Record<string, string>>)
      yield `${JSON.stringify({ module, schema: schema.id, values: valuesIn(schema.fields, row) })}\n`;
    return;
  }
  let number = 0;
  for await (const line of createInterface({ input: source, crlfDelay: Number.POSITIVE_INFINITY })) {
    number++;
    if (line.trim() === "") continue;
    let entry: unknown;
    try {
      entry = JSON.parse(line);
    } catch {
      throw new CommandError(`Line ${number} of ${file} is not JSON. Correct it, and run the command again.`);
    }
    yield `${JSON.stringify({ module, schema: schema.id, ...(entry as object) })}\n`;
  }
}

/**
 * Returns an idempotency key that depends only on the collection and the file's content. A repeated import therefore
 * continues where the earlier one stopped, and creates no entry twice.
 */
async function keyOf(file: string, place: Place): Promise<string> {
  const hash = createHash("sha256").update(`${place.orb.id}/${place.module}/${place.schema.id}\n`);
  for await (const part of createReadStream(file)) hash.update(part as Buffer);
  return `import-${hash.digest("hex").slice(0, 40)}`;
}

/**
 * Creates an entry for each line or row of a file.
 * @returns 1 if the platform rejected an entry or the import stopped early, otherwise 0
 */
export async function importEntries(
  context: Context,
  input: { orb: string; collection: string; file: string; format: Format; publish: boolean },
): Promise<number> {
  await access(input.file, constants.R_OK).catch((error: unknown) => {
    throw new CommandError(
      `Cannot read ${input.file}: ${error instanceof Error ? error.message : String(error)}. Name a file of entries.`,
    );
  });
  const place = await placeOf(context, input.orb, input.collection);
  let faulty: unknown;
  async function* lines(): AsyncGenerator<Uint8Array> {
    try {
      for await (const line of uploadLines(input.file, input.format, place))
        yield new TextEncoder().encode(line);
    } catch (error) {
      faulty = error;
      throw error;
    }
  }
  let response: Response;
  try {
    response = await context.transport.send({
      method: "POST",
      path: `/api/admin/orbs/${encodeURIComponent(input.orb)}/entries/bulk`,
      query: new URLSearchParams(input.publish ? { publish: "true" } : {}),
      upload: {
        body: Readable.toWeb(Readable.from(lines())) as ReadableStream<Uint8Array>,
        type: "application/x-ndjson",
      },
      headers: { "idempotency-key": await keyOf(input.file, place) },
      repeat: "refused",
    });
  } catch (error) {
    throw faulty ?? error;
  }
  const shown = progress(context, "entries");
  const failed: UploadLine[] = [];
  let totals: UploadLine | undefined;
  let count = 0;
  const source = Readable.fromWeb(response.body as Parameters<typeof Readable.fromWeb>[0]);
  for await (const line of createInterface({ input: source })) {
    const result = JSON.parse(line) as UploadLine;
    if (result.done !== undefined) totals = result;
    else if (result.status !== 201) failed.push(result);
    shown.at(++count);
  }
  shown.end();
  if (faulty !== undefined) throw faulty;
  for (const { line, code, detail, errors = [] } of failed.slice(0, PRINTED)) {
    const faults = errors.map(({ path, message }) => `${path} ${message}`).join("; ");
    context.note(`Entry ${line}: ${faults === "" ? detail : faults} (${code})`);
  }
  if (failed.length > PRINTED) context.note(`… and ${failed.length - PRINTED} more`);
  const { created = 0, done = false, detail } = totals ?? {};
  context.result({ created, failed: failed.length, done }, () =>
    done
      ? `Created ${created} entries, refused ${failed.length}.`
      : `The import broke off after ${created} entries${detail === undefined ? "" : `: ${detail}`} Run the same command again to go on.`,
  );
  return done && failed.length === 0 ? 0 : 1;
}
