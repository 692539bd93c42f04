/** Reads files of JSON that other systems have written, within limits. */
import { createReadStream } from "node:fs";
import { readFile, stat } from "node:fs/promises";
import { isObject, tooDeep } from "../../../../shared/kernel/json.ts";
import { linesOf } from "../../../../shared/rows/lines.ts";
import { decodeUtf8 } from "../../../../shared/rows/utf8.ts";
import { CommandError } from "../../command/context.ts";

/** A file that is read as a whole must have at most this many bytes. */
const WHOLE_FILE = 256 * 1024 * 1024;
/** Maximum nesting, so that recursion cannot exhaust the stack. Rich text of other systems is deeper than an entry. */
const DEPTH = 200;
/** Maximum characters of a line. */
const LINE = 16 * 1024 * 1024;

/** @throws CommandError if the file is missing or too large */
export async function readText(path: string): Promise<string> {
  const found = await stat(path).catch(() => undefined);
  if (found?.isFile() !== true) throw new CommandError(`${path} is not a file. Name the file of the export.`);
  if (found.size > WHOLE_FILE)
    throw new CommandError(
      `${path} has more than ${WHOLE_FILE / 1024 / 1024} MiB. Export less content at a time.`,
    );
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(await readFile(path));
  } catch {
    throw new CommandError(`${path} is not UTF-8. Convert it with: iconv -t UTF-8`);
  }
}

/** @param place what the text is, for messages */
export function parseJson(text: string, place: string): unknown {
  if (tooDeep(text, DEPTH))
    throw new CommandError(`${place} is nested deeper than ${DEPTH} levels. Nothing was read.`);
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new CommandError(`${place} is not JSON: ${error instanceof Error ? error.message : String(error)}`);
  }
}

/** Yields the values of a file with one JSON value in each line. */
export async function* readJsonLines(path: string): AsyncGenerator<unknown> {
  const found = await stat(path).catch(() => undefined);
  if (found?.isFile() !== true) throw new CommandError(`${path} is not a file. Name the file of the export.`);
  let line = 0;
  for await (const text of linesOf(withShortLines(decodeUtf8(createReadStream(path)), path))) {
    line++;
    if (text.trim() !== "") yield parseJson(text, `${path}: line ${line}`);
  }
}

/** Passes text on until a line of it is too long to keep in memory. */
async function* withShortLines(parts: AsyncIterable<string>, path: string): AsyncGenerator<string> {
  let length = 0;
  for await (const part of parts) {
    const end = Math.max(part.lastIndexOf("\n"), part.lastIndexOf("\r"));
    length = end < 0 ? length + part.length : part.length - end;
    if (length > LINE) throw new CommandError(`${path} has a line of more than ${LINE / 1024 / 1024} MiB.`);
    yield part;
  }
}

/** Returns the member of an object, or of an object inside it. Undefined if there is none. */
export function member(value: unknown, ...names: readonly string[]): unknown {
  let at = value;
  for (const name of names) {
    if (!isObject(at) || !Object.hasOwn(at, name)) return undefined;
    at = at[name];
  }
  return at;
}

export function textIn(value: unknown, ...names: readonly string[]): string | undefined {
  const found = member(value, ...names);
  return typeof found === "string" ? found : undefined;
}

export function numberIn(value: unknown, ...names: readonly string[]): number | undefined {
  const found = member(value, ...names);
  return typeof found === "number" ? found : undefined;
}

/** Returns a list of objects; empty if there is none. */
export function objectsIn(value: unknown, ...names: readonly string[]): Record<string, unknown>[] {
  const found = member(value, ...names);
  return Array.isArray(found) ? found.filter(isObject) : [];
}

export function textsIn(value: unknown, ...names: readonly string[]): string[] {
  const found = member(value, ...names);
  return Array.isArray(found) ? found.filter((one): one is string => typeof one === "string") : [];
}
