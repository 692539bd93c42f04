/**
 * The command `orb entries import`. It reads the whole file, lets the platform check every row, and only then writes
 * the rows in their order. So a file with a fault stores nothing.
 */
import { createHash } from "node:crypto";
import { resolve } from "node:path";
import { ORIGIN } from "../../../shared/rows/columns.ts";
import { RowFault } from "../../../shared/rows/fault.ts";
import { type Row, rowKeys, textOf } from "../../../shared/rows/row.ts";
import { CommandError, type Context } from "../command/context.ts";
import { bar } from "../command/progress.ts";
import { collectionOf, type Format } from "./collection.ts";
import { RowFiles } from "./files/row-files.ts";
import { requireReadable, type Source, sourceRows } from "./source.ts";
import { AT_ONCE, type Refused, type Upload, type Uploaded, uploadRows } from "./upload.ts";

/** Maximum number of failed lines that the command prints one by one. */
const PRINTED = 20;

const hash = (text: string) => `row-${createHash("sha256").update(text).digest("hex").slice(0, 40)}`;

interface Read {
  rows: number;
  /** Characters of all rows together. */
  characters: number;
  faults: Refused[];
  masked: ReadonlySet<string>;
  omitted: ReadonlySet<string>;
  /** Whether rows say when their entries were created, and do not come in this order. */
  unordered: boolean;
}

/** Returns when the entry of a row was created; undefined if the row does not say it in a form that can be read. */
function createdIn({ members }: Row): number | undefined {
  const text: unknown = JSON.parse(members.get("createdAt") ?? "null");
  const time = typeof text === "string" ? Date.parse(text) : Number.NaN;
  return Number.isNaN(time) ? undefined : time;
}

/** Reads the file once, to find everything that cannot be read before anything is sent. */
async function readAll(source: Source, files: RowFiles): Promise<Read> {
  const faults: Refused[] = [];
  const masked = new Set<string>();
  const omitted = new Set<string>();
  let rows = 0;
  let characters = 0;
  let unordered = false;
  let last = Number.NEGATIVE_INFINITY;
  const tell = ({ line, code, message }: RowFault) => faults.push({ line, code, reason: message });
  try {
    for await (const one of sourceRows(source)) {
      if (one instanceof RowFault) tell(one);
      else {
        rows++;
        characters += textOf(one.row).length;
        files.note(one.row);
        const created = createdIn(one.row) ?? last;
        if (created < last) unordered = true;
        last = created;
        for (const name of one.masked) masked.add(name);
        for (const name of one.omitted) omitted.add(name);
      }
    }
  } catch (error) {
    if (!(error instanceof RowFault)) throw error;
    tell(error);
  }
  return { rows, characters, faults, masked, omitted, unordered };
}

function print(context: Context, refused: readonly Refused[]): void {
  for (const { line, code, reason } of refused.slice(0, PRINTED))
    context.note(`Entry ${line}: ${reason} (${code})`);
  if (refused.length > PRINTED) context.note(`… and ${refused.length - PRINTED} more`);
}

interface ImportOptions {
  orb: string;
  collection: string;
  file: string;
  format: Format | undefined;
  publish: boolean;
  /** Id of the change set into which the rows are written, instead of the entries. */
  change: string | undefined;
  run: string | undefined;
  /** Unique fields, separated by commas, that tell which entry a row belongs to. */
  match: string | undefined;
  on: string | undefined;
  /** Whether to store when entries were created, by whom, and their state, as the rows say. */
  keep: boolean;
  /** Folder of the files that rows name by their path. */
  files: string | undefined;
  /** Whether addresses of files may lead to the local machine. */
  "local-files": boolean;
}

function matchOf({ match, on, run }: ImportOptions): Upload["match"] {
  if (on !== undefined && match === undefined)
    throw new CommandError("--on needs --match. Name the unique field that rows are matched by.");
  if (run !== undefined && match !== undefined)
    throw new CommandError(
      "--run has no meaning with --match. Leave it out: a repeated row changes nothing.",
    );
  return match === undefined ? undefined : { fields: match, on: on ?? "upsert" };
}

/** Throws if the options do not fit a change set, in which nothing is live. */
function requireWithin({ change, publish, keep }: ImportOptions): void {
  if (change === undefined) return;
  if (publish)
    throw new CommandError("--publish has no meaning with --change. Publish the change set instead.");
  if (keep)
    throw new CommandError(
      "--keep has no meaning with --change: the account that writes creates its entries.",
    );
}

/** Says what of the file is not stored, or not as the user may expect. */
function tellRead(context: Context, { masked, omitted, unordered }: Read): void {
  if (masked.size > 0)
    context.note(`Left out sensitive fields that contain a mask: ${[...masked].join(", ")}.`);
  const origin = [...omitted].filter((name) => ORIGIN.includes(name));
  const others = [...omitted].filter((name) => !ORIGIN.includes(name));
  if (others.length > 0) context.note(`Left out columns that only the platform sets: ${others.join(", ")}.`);
  if (origin.length > 0)
    context.note(`Left out ${origin.join(", ")}. To store them as the file says, add --keep.`);
  if (unordered)
    context.note(
      "The rows are not in the order of createdAt. Lists show entries in the order of the rows: to change it, sort the file by createdAt.",
    );
}

/** Reports that no row was written. @returns the exit code */
function nothing(context: Context, refused: readonly Refused[], what: string): number {
  print(context, refused);
  context.result({ created: 0, stored: 0, failed: refused.length, done: false, refused }, () => [
    `Created 0 entries, refused ${refused.length}. ${what} Correct the file, and run the command again.`,
  ]);
  return 1;
}

/** Reports what was written. @returns the exit code */
function report(context: Context, written: Uploaded, rows: number, match: Upload["match"]): number {
  const { created, updated, stored, takenBack, refused, stopped } = written;
  if (takenBack > 0)
    context.note(
      `An earlier run was interrupted, and the file has changed since. Took back ${takenBack} of its rows, from the first one that differs.`,
    );
  print(context, refused);
  const done = stopped === undefined && refused.length === 0;
  const counts =
    match === undefined ? { created, stored, takenBack } : { created, updated, unchanged: stored };
  context.result({ ...counts, failed: refused.length, done, refused }, () => [
    match === undefined
      ? `Created ${created} entries, refused ${refused.length}.`
      : `Created ${created} entries, changed ${updated}, left ${stored} as they are, refused ${refused.length}.`,
    ...(stored > 0 && match === undefined
      ? [
          `${stored} of the ${rows} rows were stored already by an earlier run. To store them again, add --run with a new name.`,
        ]
      : []),
    ...(refused.length > 0
      ? [
          "The rows before it are stored, and those after it are not. Correct it, and run the command again to go on.",
        ]
      : []),
    ...(stopped === undefined
      ? []
      : [`The import broke off: ${stopped} Run the same command again to go on.`]),
  ]);
  return done ? 0 : 1;
}

/**
 * Creates an entry for each line or row of a file. With `match`, changes the entries that rows belong to.
 * @returns 1 if a row is refused or the import stopped early, otherwise 0
 */
export async function importEntries(context: Context, input: ImportOptions): Promise<number> {
  const match = matchOf(input);
  requireWithin(input);
  await requireReadable(input.file);
  const collection = await collectionOf(context, input.orb, input.collection);
  const { file, format, keep: origin, change } = input;
  const source: Source = { file, format, collection, origin, clears: match !== undefined };
  const { module, schema, orb } = collection;
  const into = change === undefined ? [] : [change];
  const scope = JSON.stringify([orb.id, module, schema.id, input.run ?? resolve(input.file), ...into]);
  const files = new RowFiles(context, {
    ...{ orb: orb.id, fields: schema.fields },
    ...{ folder: input.files, loopback: input["local-files"] },
    import: hash(JSON.stringify([context.url, scope])),
  });
  const read = await readAll(source, files);
  if (read.faults.length > 0) return nothing(context, read.faults, "Nothing was sent.");
  tellRead(context, read);
  const withoutFiles = await files.upload();
  if (withoutFiles.length > 0) return nothing(context, withoutFiles, "No row was written.");
  const rows = async function* () {
    const keyOf = rowKeys(scope, hash);
    const withFiles = files.reader();
    for await (const one of sourceRows(source)) {
      if (one instanceof RowFault)
        throw new CommandError(`${input.file} has changed during the import. Run the command again.`);
      yield { row: withFiles(one.row), key: keyOf(one.row) };
    }
  };
  const upload = { collection, publish: input.publish, key: hash(scope), rows, match, change };
  const isSmall = read.rows <= AT_ONCE.rows && read.characters <= AT_ONCE.characters;
  // The rows of a set are written one after the other, so the platform does not check all of them first.
  if (!isSmall || change !== undefined) {
    const checking = bar(context, "rows checked", read.rows);
    const onRow = (count: number) => checking.at(count);
    const checked = await uploadRows(context, { ...upload, mode: "check", onRow });
    checking.end();
    if (checked.refused.length > 0) return nothing(context, checked.refused, "Nothing was written.");
    if (checked.stopped !== undefined)
      throw new CommandError(`Nothing was written: the check of the rows broke off. ${checked.stopped}`);
  }
  const shown = bar(context, "entries", read.rows);
  const warnings: string[] = [];
  let warned = 0;
  const written = await uploadRows(context, {
    ...upload,
    mode: isSmall && change === undefined ? "both" : "write",
    onRow: (count) => shown.at(count),
    onWarning: (line, { path, message }) => {
      if (++warned > PRINTED) return;
      warnings.push(`Entry ${line}: ${path} ${message}`);
    },
  });
  shown.end();
  for (const warning of warnings) context.note(warning);
  if (warned > PRINTED) context.note(`… and ${warned - PRINTED} more warnings`);
  return written.nothing
    ? nothing(context, written.refused, "Nothing was written.")
    : report(context, written, read.rows, match);
}
