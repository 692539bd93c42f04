/** Lines of a bulk upload that belong to existing entries: those with the same value of a unique field. */
import type { Actor } from "../../access/actor.ts";
import type { CompiledSchema } from "../../definition/compile.ts";
import type { Deps } from "../../deps.ts";
import { type AppError, notFound } from "../../kernel/errors.ts";
import { joinNames } from "../../kernel/faults.ts";
import { isObject } from "../../kernel/json.ts";
import { type EntryKey, keyIn, ownerOf, ownersOf } from "../index/index.ts";
import type { EntrySnapshot, OrbContext } from "../model/index.ts";
import { type PinnedRequest, ShapeRefusal } from "../pinned/index.ts";
import {
  archiveEntry,
  type NewEntry,
  putEntry,
  schemaFor,
  unpublishEntry,
  updateEntry,
  type Written,
} from "../write/index.ts";
import { warningsFor } from "./bulk-line.ts";

/** What to do with lines that belong to an existing entry, and with all others. */
export const MATCH_ACTS = ["upsert", "update", "skip"] as const;

export interface Matching {
  /** Unique fields. The first one that a line has a value of identifies its entry. */
  fields: readonly string[];
  /**
   * `upsert`: update the entry, or create it. `update`: update the entry; a line without one is refused. `skip`: leave
   * the entry as it is; a line without one creates it.
   */
  on: (typeof MATCH_ACTS)[number];
}

/** A line and the key that it is matched by. */
export interface Matchable {
  line: number;
  entry: NewEntry;
  /** Set if the line has the shape of an earlier revision of the definition. */
  pinned?: PinnedRequest | undefined;
  /** The name that the line has for the field of the key. */
  keyName: string;
  schema: CompiledSchema;
  key: EntryKey;
}

/** A line that belongs to an entry. */
export interface Matched extends Matchable {
  /** Id of the entry that had the key when the line was read. */
  owner: string;
}

/** What became of an entry. `unchanged`: it already had the values of the line. */
export type MatchAct = "created" | "updated" | "unchanged";

/** A part of `BulkResult`. `skipped` is the id of the entry that the line belongs to, and which stays as it is. */
export type MatchedResult =
  | { line: number; snapshot: EntrySnapshot; act: MatchAct; dry?: true; warnings?: Written["warnings"] }
  | { line: number; skipped: string };

/** @throws AppError invalid if the line has no value of the unique fields */
export function matchable(
  orb: OrbContext,
  { fields }: Matching,
  { line, entry, pinned }: Pick<Matchable, "line" | "entry" | "pinned">,
): Matchable {
  const schema = schemaFor(orb, entry.module, entry.schema);
  const named = pinned?.compared(schema) ?? schema;
  const key = isObject(entry.values) ? keyIn(named, fields, entry.values) : undefined;
  const keyName = fields.find((name) => key !== undefined && named.fields.get(name) === key.field);
  if (key !== undefined && keyName !== undefined) return { line, entry, pinned, schema, key, keyName };
  const [first = "", ...others] = fields;
  const message =
    others.length === 0
      ? "must have a value, because lines are matched by it"
      : `must have a value, or one of the other fields that lines are matched by: ${joinNames(others)}`;
  throw ShapeRefusal.invalid([{ path: `/values/${first}`, code: "required", message }]);
}

/** Returns the ids of the entries that lines belong to, by line. */
export async function ownersOfLines(deps: Deps, lines: readonly Matchable[]): Promise<Map<number, string>> {
  const owners = new Map<number, string>();
  for (const [schema, some] of Map.groupBy(lines, (one) => one.schema)) {
    const keys = some.map(({ key }) => key);
    const found = await ownersOf(deps, schema, keys, "leader");
    for (const [at, { line }] of some.entries()) {
      const owner = found[at];
      if (owner !== undefined) owners.set(line, owner);
    }
  }
  return owners;
}

/** Writes a line that belongs to an entry. Values that the line does not name stay, as with a JSON Merge Patch. */
export async function writeMatched(
  deps: Deps,
  actor: Actor,
  orb: OrbContext,
  on: Matching["on"],
  { line, entry, pinned, schema, key, keyName }: Matchable,
): Promise<MatchedResult> {
  if (on === "skip") {
    const owner = await ownerOf(deps, schema, key, "leader");
    if (owner !== undefined) return { line, skipped: owner };
  }
  const { module: _, schema: __, ...change } = entry;
  const target = { orbId: orb.orb, orb };
  const only = on === "update" ? "update" : on === "skip" ? "create" : undefined;
  const request = { ...change, ...target, schema, key, keyName, merge: true };
  const put = await putEntry(deps, actor, { ...request, only });
  const { created, unchanged, snapshot } = put;
  const warnings = warningsFor(pinned, put.warnings);
  if (created) return { line, snapshot, warnings, act: "created" };
  const leave = leaving(snapshot, entry);
  if (leave === undefined)
    return { line, snapshot, warnings, act: unchanged === true ? "unchanged" : "updated" };
  const left = await leave(deps, actor, { ...target, schema, id: snapshot.id });
  return { line, snapshot: left.snapshot, warnings, act: "updated" };
}

/** Returns the operation that withdraws an entry, if a line says that the entry is not published any more. */
function leaving({ status }: EntrySnapshot, { origin }: NewEntry): typeof archiveEntry | undefined {
  const wanted = origin?.status;
  if (wanted === "UNPUBLISHED" && status === "PUBLISHED") return unpublishEntry;
  return wanted === "ARCHIVED" && status !== "ARCHIVED" ? archiveEntry : undefined;
}

/** Returns what {@link writeMatched} would do. Writes nothing, and calls no hooks. */
export async function checkMatched(
  deps: Deps,
  actor: Actor,
  orb: OrbContext,
  on: Matching["on"],
  { line, entry, schema, key, owner }: Matched,
): Promise<MatchedResult> {
  if (on === "skip") return { line, skipped: owner };
  const { module: _, schema: __, ...change } = entry;
  const request = { ...change, orbId: orb.orb, orb, schema, key, id: owner, merge: true };
  const { unchanged, snapshot } = await updateEntry(deps, actor, {
    ...request,
    dryRun: true,
    skipsUnchanged: true,
  });
  const stays = unchanged === true && leaving(snapshot, entry) === undefined;
  return { line, snapshot, act: stays ? "unchanged" : "updated", dry: true };
}

/** The error of a line that must belong to an entry, and does not. */
export function unmatched(): AppError {
  return notFound("entry", "No entry has this value. Create it first, or match with on=upsert.");
}
