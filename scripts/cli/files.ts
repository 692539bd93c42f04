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

/**
 * Returns the application's document: the API response without the properties in {@link STATE}, such as `status`.
 * @param id the application that was asked for
 * @throws CommandError if the response is that of another application
 */
export function documentOf(orb: Readonly<Record<string, unknown>>, id: string): OrbDocument {
  if (orb.id !== id)
    throw new CommandError(
      `The platform answered with the orb ${JSON.stringify(orb.id)} instead of ${id}. Nothing was written. Check the address.`,
    );
  const document = Object.fromEntries(Object.entries(orb).filter(([name]) => !STATE.includes(name)));
  return ordered(document) as OrbDocument;
}

export function textOf(document: OrbDocument): string {
  return `${JSON.stringify(ordered(document), null, 2)}\n`;
}

/** The form that the platform requires of the ids of applications. */
const ORB_ID = /^[a-z][a-z0-9_-]{1,62}$/;

/** Returns the id of an application if it has the required form. Ids become names of files, wherever they come from. */
export function requireOrbId(id: unknown, source: string): string {
  if (typeof id === "string" && ORB_ID.test(id)) return id;
  throw new CommandError(
    `${source}: an id must be 2 to 63 lower-case letters, digits, hyphens and underscores, and begin with a letter (is ${JSON.stringify(id)}).`,
  );
}

const fileOf = (dir: string, id: string) =>
  join(dir, `${requireOrbId(id, "This is not the id of an orb")}.json`);

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
    .filter((name) => name.endsWith(".json"))
    .map((name) => name.slice(0, -".json".length))
    .filter((id) => ORB_ID.test(id));
}
