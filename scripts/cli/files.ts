/**
 * The local files of applications: one JSON document for each application. The properties have a fixed order, so that
 * diffs are easy to review.
 */
import { mkdir, readdir, readFile, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { CommandError } from "./command/context.ts";

/** The document of an application, without state such as its revision and status. */
export interface OrbDocument {
  id: string;
  [property: string]: unknown;
}

/** Properties of an API response that describe an application's state. The application's file omits them. */
const STATE: readonly string[] = [
  "status",
  "revision",
  "publishedRevision",
  "createdAt",
  "createdBy",
  "updatedAt",
  "updatedBy",
];
/** Order of properties in a file. All other properties follow in alphabetical order. */
const ORDER = [
  "id",
  "name",
  "description",
  "type",
  "languages",
  "markets",
  "uses",
  "access",
  "modules",
  "schemas",
  "fields",
];

function rank(name: string): number {
  const at = ORDER.indexOf(name);
  return at === -1 ? ORDER.length : at;
}

/** Sorts the properties of all nested objects. Arrays keep their order. */
function ordered(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(ordered);
  if (typeof value !== "object" || value === null) return value;
  const members = Object.entries(value).sort(([a], [b]) => rank(a) - rank(b) || (a < b ? -1 : 1));
  return Object.fromEntries(members.map(([name, of]) => [name, ordered(of)]));
}

/** Returns the application's document: the API response without the properties in {@link STATE}, such as `status`. */
export function documentOf(orb: Readonly<Record<string, unknown>>): OrbDocument {
  const document = Object.fromEntries(Object.entries(orb).filter(([name]) => !STATE.includes(name)));
  return ordered(document) as OrbDocument;
}

export function textOf(document: OrbDocument): string {
  return `${JSON.stringify(ordered(document), null, 2)}\n`;
}

const fileOf = (dir: string, id: string) => join(dir, `${id}.json`);

/** Writes a file atomically, so that a concurrent reader never sees an incomplete file. */
async function replaceFile(path: string, text: string): Promise<void> {
  const temporary = `${path}.${process.pid}.tmp`;
  await writeFile(temporary, text);
  await rename(temporary, path);
}

/** @returns the path of the written file */
export async function writeOrb(dir: string, document: OrbDocument): Promise<string> {
  await mkdir(dir, { recursive: true });
  const path = fileOf(dir, document.id);
  await replaceFile(path, textOf(document));
  return path;
}

/**
 * Reads the document of an application.
 * @throws CommandError if the file is missing, or does not contain the document of this application
 */
export async function readOrb(dir: string, id: string): Promise<OrbDocument> {
  const path = fileOf(dir, id);
  let text: string;
  try {
    text = await readFile(path, "utf8");
  } catch {
    throw new CommandError(`${path} does not exist. Run: orb pull ${id}, or: orb init ${id}`);
  }
  let document: unknown;
  try {
    document = JSON.parse(text);
  } catch (error) {
    throw new CommandError(`${path} is not JSON: ${error instanceof Error ? error.message : String(error)}`);
  }
  if (typeof document !== "object" || document === null || Reflect.get(document, "id") !== id)
    throw new CommandError(
      `${path} must contain the document of the orb ${id}: set its property "id" to "${id}".`,
    );
  return document as OrbDocument;
}

/** Returns the ids of all applications that have a file in the folder. */
export async function localOrbs(dir: string): Promise<string[]> {
  const names = await readdir(dir).catch(() => [] as string[]);
  return names
    .filter((name) => /^[a-z][\w-]*\.json$/.test(name))
    .map((name) => name.slice(0, -".json".length));
}
