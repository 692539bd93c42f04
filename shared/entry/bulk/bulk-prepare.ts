/** Validates the lines of a bulk upload, and plans the writes of their entries. */
import type { Actor } from "../../access/actor.ts";
import { type Principal, principalIn, requireOperator } from "../../access/authorize.ts";
import type { CompiledSchema } from "../../definition/compile.ts";
import type { Deps } from "../../deps.ts";
import { type AppError, invalid } from "../../kernel/errors.ts";
import { mapInParallel } from "../../kernel/parallel.ts";
import type { Home } from "../../store/subjects.ts";
import { readReservations, refusedValues } from "../index/index.ts";
import {
  type EntrySnapshot,
  type Idempotency,
  type IdempotencyClaim,
  isUniqueKey,
  messagesOf,
  type OrbContext,
  parseKey,
  type Replay,
  replays,
} from "../model/index.ts";
import type { PinnedItems, PinnedRequest } from "../pinned/index.ts";
import {
  creationClaim,
  inLiveSchema,
  type NewEntry,
  planNew,
  requireCreation,
  schemaFor,
  type Written,
} from "../write/index.ts";
import type { LineClaim, UploadClaims } from "./bulk-claims.ts";
import { asError, type Item } from "./bulk-group.ts";
import { type LineDefaults, readLine } from "./bulk-line.ts";
import type { Unfinished } from "./bulk-unfinished.ts";
import {
  checkMatched,
  type MatchAct,
  type Matchable,
  type Matched,
  type Matching,
  matchable,
  ownersOfLines,
  unmatched,
} from "./match.ts";

export type BulkResult =
  /**
   * `replayed`: an earlier request with the same idempotency key had written the entry. `dry`: a dry run found no error
   * in the line, and wrote nothing. `act`: what became of the entry, if lines are matched with entries. `warnings`: what
   * was changed in texts to fit their fields, and what else does not block the write. Missing if `replayed` or
   * `dry`.
   */
  | {
      line: number;
      snapshot: EntrySnapshot;
      replayed?: true;
      dry?: true;
      act?: MatchAct;
      warnings?: Warnings;
    }
  /** The line belongs to the entry with this id, which stays as it is. */
  | { line: number; skipped: string }
  /** A dry run found that the line refers to entries that other lines create. */
  | { line: number; refers: true }
  /** The error that the client would get for a request that creates only this entry. */
  | { line: number; error: AppError };

export type Prepared = Item | Matched | BulkResult;

type Warnings = Written["warnings"];

/** Where entries are found in a change set. */
interface Pending {
  /** Returns the id of the entry that has a key in the set. */
  owner: (
    actor: Actor,
    orb: OrbContext,
    of: Pick<Matchable, "schema" | "key">,
  ) => Promise<string | undefined>;
}

export interface Preparing extends LineDefaults {
  orbId: string;
  orb: OrbContext;
  parse: (line: string) => unknown;
  /** With an idempotency key, a repeated upload writes each line at most once. */
  idempotency?: { key: string; route: string } | undefined;
  /** Method and path of the request, for the keys that lines have of their own. */
  route?: string | undefined;
  /** Where the keys of lines are stored together: in uploads whose request has an idempotency key too. */
  claims?: UploadClaims | undefined;
  /** Maximum keys of lines in memory. */
  mostKeys?: number | undefined;
  /** How lines are matched with existing entries. Without it, each line creates an entry. */
  match?: Matching | undefined;
  /** Whether to check the lines only, without writing any or calling hooks. */
  dryRun?: boolean | undefined;
  /** Reads the definition that the lines follow. Default: the live one. */
  renew?: (() => Promise<OrbContext>) | undefined;
  /** Set if the lines go into a change set, which reserves no unique values. */
  pending?: Pending | undefined;
  /** Set if the lines have the shape of an earlier revision of the definition. */
  pinned?: PinnedItems | undefined;
}

export interface Line {
  line: number;
  text: string;
}

export type Keyed = ReadLine | { line: number; error: AppError };

/** Maximum number of entries of a change set that are looked for at the same time. */
const OWNERS_AT_ONCE = 8;
/** Maximum number of lines whose hooks run at the same time. The limit keeps one upload from delaying other writes. */
const HOOKED_LINES = 16;

export function authorised(caller: Principal, context: OrbContext, entry: NewEntry): CompiledSchema {
  requireCreation(caller, context, entry);
  return schemaFor(context, entry.module, entry.schema);
}

/**
 * Validates lines concurrently, so that hashing, encryption and reads overlap. Returns the results in the order of the
 * lines.
 */
export async function prepareLines(
  deps: Deps,
  actor: Actor,
  input: Preparing,
  read: readonly Keyed[],
): Promise<Prepared[]> {
  if (input.match !== undefined) return prepareMatched(deps, actor, input, input.match, read);
  return prepareNew(deps, actor, input, read);
}

/** Plans the creation of an entry for each line. */
async function prepareNew(
  deps: Deps,
  actor: Actor,
  input: Preparing,
  read: readonly Keyed[],
): Promise<Prepared[]> {
  const claims = read.flatMap((one) => ("entry" in one ? (lookUp(input, one) ?? []) : []));
  const replayOf = await replays(deps, input.orb, claims);
  const caller = principalIn(actor, input.orb.orb, input.orb.compiled);
  const atOnce = input.orb.compiled.document.hooks === undefined ? read.length : HOOKED_LINES;
  const prepared: Prepared[] = [];
  for (let i = 0; i < read.length; i += atOnce) {
    const some = read.slice(i, i + atOnce);
    const made = some.map((one) => ("error" in one ? one : planLine(deps, caller, input, one, replayOf)));
    prepared.push(...(await Promise.all(made)));
  }
  return prepared;
}

/** Finds the entries that lines belong to, and plans the creation of entries for the other lines. */
async function prepareMatched(
  deps: Deps,
  actor: Actor,
  input: Preparing,
  match: Matching,
  read: readonly Keyed[],
): Promise<Prepared[]> {
  const lines = read.map((one) => ("error" in one ? one : withMatch(input, match, one)));
  const matchables = lines.flatMap((one) => ("error" in one ? [] : [one.match]));
  const owners = await (input.pending === undefined
    ? ownersOfLines(deps, matchables)
    : ownersInSet(input.pending, actor, input.orb, matchables));
  const others = lines.filter(({ line }) => !owners.has(line));
  const planned =
    match.on === "update"
      ? others.map((one) => ("error" in one ? one : { line: one.line, error: unmatched() }))
      : await prepareNew(deps, actor, input, others);
  const matched = matchables.flatMap((one): Matched[] => {
    const owner = owners.get(one.line);
    return owner === undefined ? [] : [{ ...one, owner }];
  });
  const check = (one: Matched) =>
    checkMatched(deps, actor, input.orb, match.on, one).catch((error: unknown) => ({
      line: one.line,
      error: asError(error, one.pinned),
    }));
  const checked = input.dryRun === true ? await Promise.all(matched.map(check)) : matched;
  return [...planned, ...checked].sort((a, b) => a.line - b.line);
}

/** Returns the ids of the entries that lines belong to in a change set, by line. */
async function ownersInSet(
  { owner }: Pending,
  actor: Actor,
  orb: OrbContext,
  lines: readonly Matchable[],
): Promise<Map<number, string>> {
  const found = await mapInParallel(lines, (one) => owner(actor, orb, one), OWNERS_AT_ONCE);
  return new Map(
    lines.flatMap(({ line }, at): [number, string][] => {
      const id = found[at];
      return id === undefined ? [] : [[line, id]];
    }),
  );
}

function withMatch(
  { orb }: Preparing,
  match: Matching,
  one: ReadLine,
): (ReadLine & { match: Matchable }) | { line: number; error: AppError } {
  if (one.claim !== undefined) {
    const message = "must not be sent with match, because a repeated upload changes nothing then. Remove it.";
    const errors = [{ path: "/idempotencyKey", code: "needs_no_match", message }];
    return { line: one.line, error: invalid(errors) };
  }
  try {
    return { ...one, match: matchable(orb, match, one) };
  } catch (error) {
    return { line: one.line, error: asError(error) };
  }
}

export interface ReadLine {
  line: number;
  /** With the names that the live definition has for its schema. */
  entry: NewEntry;
  /** Set if the values have the shape of an earlier revision of the definition. */
  pinned?: PinnedRequest | undefined;
  /** The key of the line, as the client has sent it. */
  sent?: Idempotency | undefined;
  claim: IdempotencyClaim | undefined;
  /** The line's own key, if the request has a key too. */
  packed?: LineClaim | undefined;
  /** What the line is matched by, if lines are matched with entries. */
  match?: Matchable | undefined;
}

/** Returns the key of a line to look for among those that have a message each. */
function lookUp(
  { claims }: Preparing,
  one: Pick<ReadLine, "claim" | "packed">,
): IdempotencyClaim | undefined {
  const isElsewhere = one.packed !== undefined && claims?.hasOwn === false;
  return isElsewhere ? undefined : one.claim;
}

/** Reads lines, and computes their keys. */
export function readKeyedLines(
  deps: Deps,
  actor: Actor,
  input: Preparing,
  lines: readonly Line[],
): Promise<Keyed[]> {
  return Promise.all(lines.map((line) => readKeyed(deps, actor, input, line)));
}

async function readKeyed(deps: Deps, actor: Actor, input: Preparing, { line, text }: Line): Promise<Keyed> {
  try {
    const { entry: read, key } = readLine(input.parse(text), input, deps.clock.now());
    const { entry, pinned } = input.pinned ? inLiveSchema(input.pinned, input.orb, read) : { entry: read };
    if (input.pending !== undefined) requirePending(entry);
    // The author of an entry may have rights in it, and a state can publish. So this needs the rights of an import.
    if (entry.origin !== undefined) requireOperator(actor, "entries.import", input.orbId);
    const { idempotency, route = "bulk" } = input;
    const sent =
      key !== undefined
        ? { key, route: `${route}#key` }
        : idempotency === undefined
          ? undefined
          : { key: idempotency.key, route: `${idempotency.route}#${line}` };
    const claim = await creationClaim(deps, actor, input.orbId, sent, entry);
    if (key === undefined || claim === undefined || input.claims === undefined)
      return { line, entry, pinned, claim, sent };
    return { line, entry, pinned, claim, packed: { key, bodies: claim.bodies } };
  } catch (error) {
    return { line, error: asError(error) };
  }
}

/** Throws if a line says more of an entry than a change set can do. */
function requirePending({ publish, origin = {} }: NewEntry): void {
  const given = Object.entries(origin).flatMap(([name, value]) => (value === undefined ? [] : [name]));
  // A state can say that an entry is live.
  if (publish === true && origin.status === undefined) given.unshift("publish");
  const message =
    "must not be sent together with change, because nothing is live before the set is published";
  const faults = given.map((name) => ({ path: `/${name}`, code: "not_applicable", message }));
  if (faults.length > 0) throw invalid(faults);
}

async function planLine(
  deps: Deps,
  caller: Principal,
  input: Preparing,
  { line, entry, pinned, claim, packed, match }: ReadLine,
  replayOf: (claim: IdempotencyClaim) => Promise<Replay | null>,
): Promise<Prepared> {
  try {
    const schema = authorised(caller, input.orb, entry);
    const lookedUp = lookUp(input, { claim, packed }) !== undefined;
    const before = await earlier(input, { claim, packed }, replayOf);
    if (before !== null) return { line, snapshot: before.snapshot, replayed: true };
    // A hook may have effects, so a dry run calls none.
    const hooks = input.dryRun !== true;
    const plan = await planNew(deps, caller, input.orb, schema, entry, deps.newId(), { hooks });
    const isPacked = packed !== undefined && input.claims?.hasRoom === true;
    const write = { ...plan, idempotency: isPacked ? undefined : claim };
    const messages = messagesOf(write);
    const bytes = messages.reduce((sum, { data }) => sum + data.length, 0);
    return {
      line,
      by: input.orb,
      entry,
      pinned,
      write,
      messages,
      bytes,
      claim: packed,
      lookup: isPacked ? claim : undefined,
      lookedUp,
      match,
    };
  } catch (error) {
    return { line, error: asError(error, pinned) };
  }
}

/** Returns the entry that an earlier upload wrote for a line, or null. */
async function earlier(
  input: Preparing,
  line: Pick<ReadLine, "claim" | "packed">,
  replayOf: (claim: IdempotencyClaim) => Promise<Replay | null>,
): Promise<Replay | null> {
  const together =
    line.packed === undefined ? null : ((await input.claims?.replay(line.packed, input.orb)) ?? null);
  const claim = lookUp(input, line);
  return together ?? (claim === undefined ? null : replayOf(claim));
}

/** Maximum number of unique values that a dry run remembers, to find two lines with the same value. */
const REMEMBERED = 100_000;

/** Returns the keys of unique values that the client chose. Of slugs that are made, the platform chooses others. */
const keysOf = ({ write }: Pick<Item, "write">) => {
  const made = new Set(write.made);
  return write.claims.adds.filter((key) => isUniqueKey(key) && !made.has(key));
};

/** Returns the unique values of an entry, as text that is equal for equal values of the same field. */
export function uniqueMarks({ write }: Pick<Item, "write">): string[] {
  return keysOf({ write }).map((key) => markOf(write.address, key));
}

/** Returns an index key as text that is equal only for the same key of the same schema. */
export function markOf({ type, schema }: Pick<Home, "type" | "schema">, key: string): string {
  return `${type}/${schema}/${key}`;
}

/**
 * Finds the lines whose unique values other entries or earlier lines have. Only a dry run needs this: the broker checks
 * a write.
 * @param seen values of earlier lines; this function adds those of `prepared`
 * @param unfinished what would be taken back before the lines are written
 */
export async function checkUnique(
  deps: Deps,
  input: Preparing,
  prepared: readonly Prepared[],
  seen: Set<string>,
  unfinished: Unfinished | undefined,
): Promise<BulkResult[]> {
  const items = prepared.filter((one): one is Item => "write" in one);
  const refused = new Map<number, string[]>();
  const refuse = (line: number, key: string) => refused.set(line, [...(refused.get(line) ?? []), key]);
  const wanted = new Map<CompiledSchema, Map<string, Item>>();
  for (const item of items) {
    const schema = schemaFor(input.orb, item.entry.module, item.entry.schema);
    const keys = wanted.get(schema) ?? new Map<string, Item>();
    wanted.set(schema, keys);
    const marks = uniqueMarks(item);
    for (const [index, key] of keysOf(item).entries()) {
      const mark = marks[index] ?? key;
      // A line with the key of an earlier one updates the entry that the earlier one creates.
      const isKey = item.match?.key.field.token === parseKey(key).field;
      if (isKey) seen.add(mark);
      if (isKey) continue;
      // A set checks unique values when it is published.
      if (input.pending !== undefined) seen.add(mark);
      else if (seen.has(mark)) refuse(item.line, key);
      else keys.set(key, item);
      if (seen.size < REMEMBERED) seen.add(mark);
    }
  }
  for (const [schema, keys] of wanted) {
    const ids = new Map([...keys].map(([key, { write }]) => [key, write.address.id]));
    const { taken } = await readReservations(deps, input.orb, schema, ids);
    await Promise.all(
      [...taken].map(async ([key, owner]) => {
        const item = keys.get(key);
        const isFree = (await unfinished?.wouldRemove(input.orbId, schema, owner)) === true;
        if (item !== undefined && !isFree) refuse(item.line, key);
      }),
    );
  }
  return prepared.flatMap((one): BulkResult | [] => {
    // A dry run has checked these lines already.
    if ("owner" in one) return [];
    if (!("write" in one)) return one;
    const keys = refused.get(one.line);
    const [snapshot] = one.write.snapshots;
    if (keys === undefined && snapshot !== undefined) return { line: one.line, snapshot, dry: true };
    return { line: one.line, error: asError(refusedValues(one.write.schema, keys ?? []), one.pinned) };
  });
}
