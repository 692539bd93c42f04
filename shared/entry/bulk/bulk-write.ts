/** Writes the planned lines of a bulk upload. */
import type { Actor } from "../../access/actor.ts";
import { principalIn } from "../../access/authorize.ts";
import { isAnotherOrb } from "../../definition/stored/index.ts";
import type { Deps } from "../../deps.ts";
import { notFound, unavailable } from "../../kernel/errors.ts";
import { isUnsure, RejectedWrite } from "../../store/errors.ts";
import { Conflict, StreamMissing } from "../../store/types.ts";
import { withReservations } from "../index/index.ts";
import { messagesOf, type OrbContext, replay } from "../model/index.ts";
import { isTaken, planNew, renewDefinition, retryOnConflict } from "../write/index.ts";
import { asError, type Item, isStored, runsOf, untilKnown, writeTogether } from "./bulk-group.ts";
import { warningsFor } from "./bulk-line.ts";
import { authorised, type BulkResult, type Prepared, type Preparing } from "./bulk-prepare.ts";
import { type Matchable, type Matched, writeMatched } from "./match.ts";

export interface Writing extends Preparing {
  /** Whether the upload ends at the first line that is refused. No line after it is written. */
  stopOnError?: boolean | undefined;
}

const ORB_DELETED =
  "The orb was deleted during the upload. Lines that were answered with 201 are deleted with it. Send all lines again if the new orb must have them.";

/**
 * Reads the current definition, and finds what the revision of the lines is under it. Fails if the application was deleted, even if there is a new application with its id.
 */
export async function renewed(deps: Deps, input: Preparing): Promise<OrbContext> {
  const now = await renewDefinition(deps, input);
  if (isAnotherOrb(input.orb.fence, now.fence)) throw notFound("orb", ORB_DELETED);
  await input.pinned?.use(now);
  return now;
}

/** Returns the results of a group. With `stopOnError`, there is none for lines after the first refused one. */
export async function writeGroup(
  deps: Deps,
  actor: Actor,
  input: Writing,
  group: readonly Prepared[],
): Promise<BulkResult[]> {
  const results = new Map<number, BulkResult>();
  const stops = (result: BulkResult) => "error" in result && input.stopOnError === true;
  for (const part of partsOf(group)) {
    const written = Array.isArray(part)
      ? await writeNew(deps, actor, input, part)
      : [await writeOwned(deps, actor, input, part)];
    for (const result of written) results.set(result.line, result);
    if (written.some(stops)) break;
  }
  const inOrder = group.flatMap(({ line }) => results.get(line) ?? []);
  const refused = inOrder.findIndex(stops);
  return refused < 0 ? inOrder : inOrder.slice(0, refused + 1);
}

/** Splits a group, without changing its order: lines of existing entries are written alone, all others together. */
function partsOf(group: readonly Prepared[]): (Matched | (Item | BulkResult)[])[] {
  const parts: (Matched | (Item | BulkResult)[])[] = [];
  for (const one of group) {
    const last = parts.at(-1);
    if ("owner" in one) parts.push(one);
    else if (Array.isArray(last)) last.push(one);
    else parts.push([one]);
  }
  return parts;
}

/** Writes lines that create entries. Also returns the results that are known already. */
async function writeNew(
  deps: Deps,
  actor: Actor,
  input: Writing,
  group: readonly (Item | BulkResult)[],
): Promise<BulkResult[]> {
  const results: BulkResult[] = [];
  const items: Item[] = [];
  for (const one of group) {
    const result = "write" in one ? await writtenSince(deps, input, one) : one;
    if (result !== null) results.push(result);
    else if ("write" in one) items.push(one);
  }
  for (const run of runsOf(items)) {
    if (await tryTogether(deps, input, run)) {
      results.push(...run.map((item) => createdBy(input, item)));
      continue;
    }
    for (const item of run) {
      const result = await writeAlone(deps, actor, input, item);
      results.push(result);
      if ("error" in result && input.stopOnError === true) return results;
    }
  }
  return results;
}

/** Writes a line that belongs to an entry. Repeats it until its outcome is known: it changes nothing the second time. */
async function writeOwned(deps: Deps, actor: Actor, input: Writing, matched: Matchable): Promise<BulkResult> {
  return untilKnown(async () => {
    try {
      const orb = await renewed(deps, input);
      return await writeMatched(deps, actor, orb, input.match?.on ?? "upsert", matched);
    } catch (error) {
      if (isUnsure(error)) throw error;
      return { line: matched.line, error: asError(error, matched.pinned) };
    }
  });
}

/** Returns the result of a line if another line with its key was written after it was prepared. Otherwise null. */
async function writtenSince(
  deps: Deps,
  { claims, orbId, orb }: Writing,
  item: Item,
): Promise<BulkResult | null> {
  const { line, claim, lookup } = item;
  if (claim === undefined || claims === undefined) return null;
  try {
    const together = await claims.replay(claim, orb);
    // When the line was prepared, no line had a message for its key. Another upload may have written such lines since.
    const isNew = together === null && item.lookedUp !== true && claims.hasOwn;
    const before = isNew ? await replay(deps, orbId, lookup, orb) : together;
    return before === null ? null : { line, snapshot: before.snapshot, replayed: true };
  } catch (error) {
    return { line, error: asError(error) };
  }
}

function resultOf({ line, write, pinned }: Item): BulkResult {
  const snapshot = write.snapshots.at(-1);
  const warnings = warningsFor(pinned, write.warnings);
  return snapshot === undefined ? { line, error: unavailable() } : { line, snapshot, warnings };
}

/** Returns the result of a line whose entry was created. */
function createdBy({ match }: Writing, item: Item): BulkResult {
  const result = resultOf(item);
  return match === undefined || !("snapshot" in result) ? result : { ...result, act: "created" };
}

/** Writes entries as one batch. Returns false if they must be written one by one. */
async function tryTogether(deps: Deps, input: Writing, run: readonly Item[]): Promise<boolean> {
  try {
    return await writeTogether(deps, input.orbId, run, input.claims);
  } catch (error) {
    if (error instanceof StreamMissing || error instanceof RejectedWrite) return false;
    throw error;
  }
}

/** Writes one entry, with the id that its failed batch used. */
async function writeAlone(deps: Deps, actor: Actor, input: Writing, item: Item): Promise<BulkResult> {
  const { idempotency, address } = item.write;
  let sent = false;
  const run = async (attempt: number): Promise<BulkResult> => {
    const together = item.claim === undefined ? null : await input.claims?.replay(item.claim, input.orb);
    const elsewhere = idempotency ?? (input.claims?.hasOwn === true ? item.lookup : undefined);
    const before = together ?? (await replay(deps, input.orbId, elsewhere, input.orb));
    if (before !== null && before.snapshot.id !== address.id)
      return { line: item.line, snapshot: before.snapshot, replayed: true };
    // An earlier attempt, whose outcome was unknown, has stored the entry.
    if (await isStored(deps, input.orbId, item)) return createdBy(input, item);
    const context = await renewed(deps, input);
    const caller = principalIn(actor, context.orb, context.compiled);
    const schema = authorised(caller, context, item.entry);
    const plan = await planNew(deps, caller, context, schema, item.entry, address.id, { attempt });
    const write = { ...(await withReservations(deps, context, schema, plan)), idempotency };
    sent = true;
    // The batch expects that the entry does not exist yet, so a repeated attempt cannot write it twice.
    const alone = { ...item, by: context, write, messages: messagesOf(write) };
    if (!(await writeTogether(deps, input.orbId, [alone], input.claims))) throw new Conflict();
    return createdBy(input, { ...item, write });
  };
  return untilKnown(async () => {
    try {
      return await retryOnConflict(deps, input.orbId, run);
    } catch (error) {
      if (item.match !== undefined && isTaken(error, item.match.key))
        return writeOwned(deps, actor, input, item.match);
      if (sent && isUnsure(error)) throw error;
      return { line: item.line, error: asError(error, item.pinned) };
    }
  });
}
