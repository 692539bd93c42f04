/** Lines of a bulk upload that refer to entries of later lines. */
import type { Actor } from "../../access/actor.ts";
import { principalIn } from "../../access/authorize.ts";
import type { Deps } from "../../deps.ts";
import type { AppError } from "../../kernel/errors.ts";
import { isObject } from "../../kernel/json.ts";
import { isUnmatchedKey, missingKeys } from "../index/index.ts";
import { type OrbContext, uniqueTokens } from "../model/index.ts";
import { liveValues, schemaFor } from "../write/index.ts";
import { type BulkResult, markOf, type Prepared, type ReadLine } from "./bulk-prepare.ts";

/** Maximum lines that wait for entries of later lines, and their characters. They are kept in memory. */
export const LATE = { lines: 10_000, characters: 4 * 1024 * 1024 };

export type Unmatched = Extract<BulkResult, { error: AppError }>;

/** Returns whether a line is refused only because no entry has a key that it refers to. */
export function isUnmatched(one: Prepared): one is Unmatched {
  if (!("error" in one)) return false;
  const { errors = [] } = one.error;
  return errors.length > 0 && errors.every(isUnmatchedKey);
}

/** Returns a line without the fields that refer to entries which do not exist yet. */
export function withoutUnmatched(read: ReadLine, { errors = [] }: AppError): ReadLine {
  const { values } = read.entry;
  if (!isObject(values)) return read;
  const fields = new Set(errors.map(({ path }) => path.split("/")[2]));
  const rest = Object.fromEntries(Object.entries(values).filter(([name]) => !fields.has(name)));
  return { ...read, entry: { ...read.entry, values: rest } };
}

/** Returns whether a line would be accepted if the entries existed that it refers to. */
export function isOnlyBare(bare: Prepared | undefined, { errors = [] }: AppError): boolean {
  if (bare === undefined || !("error" in bare)) return true;
  const left = new Set(errors.map(({ path }) => path.split("/").slice(0, 3).join("/")));
  const faults = bare.error.errors ?? [];
  return faults.length > 0 && faults.every(({ path, code }) => code === "required" && left.has(path));
}

/** Returns, for each key that a line refers to and no entry has, the marks of the lines that give an entry this key. */
export async function missingMarks(
  deps: Deps,
  actor: Actor,
  orb: OrbContext,
  { entry }: ReadLine,
): Promise<string[][]> {
  const schema = schemaFor(orb, entry.module, entry.schema);
  const values = await liveValues(principalIn(actor, orb.orb, orb.compiled), orb, schema, entry);
  const missing = await missingKeys(deps, actor, orb, schema, values);
  return Promise.all(
    missing.map(async ({ target, key: { field, value } }) => {
      const tokens = await uniqueTokens(deps.config, target, field, value);
      return tokens.map((token) => markOf(target.home, `u.${field.token}.${token}`));
    }),
  );
}

/** A line that waits, and why. */
export interface Late {
  read: ReadLine;
  error: AppError;
}

/** The lines that wait, in their order. */
export class LateLines {
  #lines: Late[] = [];
  #characters = 0;

  /** Returns false if there are too many lines that wait. */
  add(late: Late): boolean {
    const characters = JSON.stringify(late.read.entry.values).length;
    if (this.#lines.length === LATE.lines || this.#characters + characters > LATE.characters) return false;
    this.#lines.push(late);
    this.#characters += characters;
    return true;
  }

  /** Removes and returns all lines. */
  take(): Late[] {
    const lines = this.#lines;
    this.#lines = [];
    this.#characters = 0;
    return lines;
  }
}
