/** Reads entries from a file, and creates them in the order of the file. */
import { isProblem, Problem } from "../../../../../shared/client/problem.ts";
import { newKey } from "../../../../../shared/client/transport.ts";
import type { RowField } from "../../../../../shared/rows/columns.ts";
import { RowFault } from "../../../../../shared/rows/fault.ts";
import { readJsonRows } from "../../../../../shared/rows/json-lines.ts";
import { type Row, rowKeys, textOf } from "../../../../../shared/rows/row.ts";
import { decodeUtf8 } from "../../../../../shared/rows/utf8.ts";
import {
  createLines,
  createText,
  type EntryPlace,
  type Made,
  removeEntry,
  writeMatched,
} from "../../../api/entries.ts";
import { t } from "../../../texts/t.ts";

export interface Failure {
  number: number;
  error: unknown;
}

/** Maximum entries per request of a platform admin. */
const AT_ONCE = 100;
/** Maximum characters per request of a platform admin. */
const PART = 512 * 1024;

async function* bytesOf(file: Blob): AsyncGenerator<Uint8Array> {
  const reader = file.stream().getReader();
  for (let part = await reader.read(); !part.done; part = await reader.read()) yield part.value;
}

/** Yields the text of a file. Throws a RowFault if the file is not UTF-8. */
export const textIn = (file: Blob): AsyncGenerator<string> => decodeUtf8(bytesOf(file));

/** Returns whether a file contains JSON, according to its first character. */
export async function isJson(file: Blob): Promise<boolean> {
  for await (const text of textIn(file)) if (text.trim() !== "") return /^\s*[[{]/.test(text);
  return false;
}

/** Returns the error message for a file from which nothing can be imported. */
export function wordsOfFault({ code, line, message }: RowFault): string {
  if (code === "quote") return t("table.importNoQuote", { number: line });
  const isSyntax = code === "json" && message.startsWith("is not");
  if (isSyntax) return `${t("table.importNoJson", { number: line })} ${t("table.importPlace", { message })}`;
  return t("table.importFault", { number: line, message });
}

/**
 * Returns the entries of a file that contains JSON Lines or a JSON list.
 * @param options.fields the fields of the collection
 * @param options.matched whether rows change existing entries
 * @returns `masked`: names of sensitive fields that contain masks, which are left out
 * @throws RowFault for the first line that contains no entry, or one that cannot be stored exactly
 */
export async function readLines(
  text: AsyncIterable<string>,
  { fields, matched }: { fields: readonly RowField[]; matched: boolean },
): Promise<{ lines: Row[]; masked: string[] }> {
  const lines: Row[] = [];
  const masked = new Set<string>();
  for await (const one of readJsonRows(text, fields, { matched })) {
    if (one instanceof RowFault) throw one;
    lines.push(one.row);
    for (const name of one.masked) masked.add(name);
  }
  return { lines, masked: [...masked] };
}

async function hash(text: string): Promise<string> {
  // Without HTTPS, browsers have no digests. Then a repeated import creates its entries again.
  if (crypto.subtle === undefined) return newKey();
  const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text));
  const bytes = Array.from(new Uint8Array(digest), (byte) => byte.toString(16).padStart(2, "0"));
  return `row-${bytes.join("").slice(0, 40)}`;
}

export interface Imported {
  created: number;
  /** The created entries, in their order. */
  made: Made[];
  /** Number of existing entries that rows have changed. */
  updated: number;
  /** Number of entries that were as they are in the file already. */
  stored: number;
  failed: Failure[];
}

interface ImportOptions {
  publish: boolean;
  /** Unique field: a row with the value of an existing entry changes that entry. */
  match: string | undefined;
}

const scopeOf = (place: EntryPlace, file: string) =>
  JSON.stringify([place.orb, place.module, place.schema, file]);

/** New scopes of files whose import was undone: the platform still knows the keys of their rows. */
const UNDONE = new Map<string, string>();

/**
 * Creates entries in the order of the file. Each entry has an idempotency key, so a repeated import creates only those
 * that are not stored yet. With `match`, also changes existing entries.
 * @param options.scope identifies the file
 */
export async function createAll(
  place: EntryPlace,
  rows: readonly Row[],
  options: ImportOptions & { scope: string; signal: AbortSignal; onDone: (count: number) => void },
): Promise<Imported> {
  const result: Imported = { created: 0, made: [], updated: 0, stored: 0, failed: [] };
  const isKeyed = place.managed && options.match === undefined;
  const scope = scopeOf(place, options.scope);
  const keyOf = rowKeys(UNDONE.get(scope) ?? scope, hash);
  for (let at = 0; at < rows.length && !options.signal.aborted; ) {
    const some: { row: Row; key: string; text: string }[] = [];
    for (let size = 0; some.length < (place.managed ? AT_ONCE : 1) && size < PART; ) {
      const row = rows[at + some.length];
      if (row === undefined) break;
      const key = await keyOf(row);
      const text = textOf(row, isKeyed ? { idempotencyKey: key } : {});
      size += text.length;
      some.push({ row, key, text });
    }
    at += some.length;
    await (place.managed
      ? createSome(place, some, options, result)
      : createOne(place, some, options, result));
    options.onDone(at);
  }
  return result;
}

type Prepared = readonly { row: Row; key: string; text: string }[];

/** Returns the value of a row's unique field as text. Undefined if the row has none. */
function keyOfRow({ members }: Row, field: string): string | undefined {
  const values: unknown = JSON.parse(members.get("values") ?? "{}");
  const value: unknown =
    typeof values === "object" && values !== null ? Reflect.get(values, field) : undefined;
  return typeof value === "string" || typeof value === "number" ? String(value) : undefined;
}

function takeMade(into: Imported, { id, revision }: Partial<Made>): void {
  into.created++;
  if (id !== undefined && revision !== undefined) into.made.push({ id, revision });
}

/**
 * Deletes the entries that an import has created, the last one first, because rows can refer to earlier ones. Entries that
 * were changed since stay.
 * @returns why entries stay
 */
export async function undoImport(
  place: EntryPlace,
  made: readonly Made[],
  { scope, signal, onDone }: { scope: string; signal: AbortSignal; onDone: (count: number) => void },
): Promise<unknown[]> {
  UNDONE.set(scopeOf(place, scope), newKey());
  const failed: unknown[] = [];
  for (const [at, entry] of [...made].reverse().entries()) {
    if (signal.aborted) break;
    await removeEntry(place, entry).catch((error: unknown) => failed.push(error));
    onDone(at + 1);
  }
  return failed;
}

async function changeOne(
  place: EntryPlace,
  { row, key, text }: Prepared[number],
  { publish, match }: ImportOptions & { match: string },
  into: Imported,
): Promise<void> {
  const value = keyOfRow(row, match);
  if (value === undefined) throw new Error(t("table.importNoKey", { field: match }));
  const act = await writeMatched(place, [match, value], text, { key, publish });
  if (act === "unchanged") into.stored++;
  else if (act === "updated") into.updated++;
  else takeMade(into, act);
}

async function createOne(
  place: EntryPlace,
  some: Prepared,
  options: ImportOptions,
  into: Imported,
): Promise<void> {
  const { publish, match } = options;
  for (const one of some) {
    const { row, key, text } = one;
    try {
      if (match !== undefined) {
        await changeOne(place, one, { ...options, match }, into);
        continue;
      }
      const { replayed, made } = await createText(place, text, { key, publish });
      if (replayed) into.stored++;
      else takeMade(into, made);
    } catch (error) {
      into.failed.push({ number: row.line, error });
    }
  }
}

async function createSome(
  place: EntryPlace,
  some: Prepared,
  { publish, match }: ImportOptions,
  into: Imported,
): Promise<void> {
  const numberOf = (line: number) => some[line - 1]?.row.line ?? 0;
  try {
    const results = await createLines(
      place,
      some.map(({ text }) => text),
      publish,
      match,
    );
    for (const { line, ...result } of results) {
      if (result.code !== undefined) {
        const error = new Problem(result.status, result, null);
        into.failed.push({ number: numberOf(line), error });
      } else if (result.act === "updated") into.updated++;
      else if (result.replayed === true || (result.act ?? "created") !== "created") into.stored++;
      else takeMade(into, result);
    }
    // The platform ended the request early. The lines without a result are not written.
    for (const { row } of some.slice(results.length))
      into.failed.push({ number: row.line, error: new Error(t("table.importEnded")) });
  } catch (error) {
    for (const { row } of some) into.failed.push({ number: row.line, error });
    if (isProblem(error) && error.status === 401) throw error;
  }
}
