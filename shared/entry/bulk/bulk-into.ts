/**
 * Writes the lines of an upload somewhere else than into the entries: into a change set. The lines are written one after
 * the other, because each one changes what the next one is checked with.
 */
import type { Actor } from "../../access/actor.ts";
import type { CompiledSchema } from "../../definition/compile.ts";
import type { Deps } from "../../deps.ts";
import { invalid } from "../../kernel/errors.ts";
import type { EntryKey } from "../index/index.ts";
import type { OrbContext } from "../model/index.ts";
import { createEntry, type Destination, putEntry } from "../write/index.ts";
import { type BulkInput, bulkWrite, isBlankLine } from "./bulk.ts";
import { asError } from "./bulk-group.ts";
import { stoppedAt, warningsFor } from "./bulk-line.ts";
import { type BulkResult, type Preparing, type ReadLine, readKeyedLines } from "./bulk-prepare.ts";
import { renewed } from "./bulk-write.ts";
import { type Matching, matchable, unmatched } from "./match.ts";

/** What the write of one line needs. */
export interface LineDestination {
  deps: Deps;
  actor: Actor;
  into?: Destination | undefined;
  /** For a line with a key: returns the id of the entry that has the key there. */
  owner?: (() => Promise<string | undefined>) | undefined;
  turn?: string | undefined;
}

export interface BulkIntoInput extends BulkInput {
  /** Returns where a line is written. @param of the key that the line is matched by, if lines are matched */
  destination: (
    actor: Actor,
    orb: OrbContext,
    of: { schema: CompiledSchema; key: EntryKey } | undefined,
  ) => Promise<LineDestination>;
}

/** Lines after which the caller and the definition are read again, because an upload can take minutes. */
const RENEWED_AFTER = 50;

/**
 * Returns what writing lines into a change set would do. Writes nothing, and calls no hooks.
 * @param deps the dependencies of a write into the set
 */
export function checkInto(deps: Deps, actor: Actor, input: BulkIntoInput): AsyncGenerator<BulkResult> {
  const pending: Preparing["pending"] = {
    owner: async (by, orb, of) => (await input.destination(by, orb, of)).owner?.(),
  };
  return bulkWrite(deps, actor, { ...input, idempotency: undefined, dryRun: true, pending });
}

/** Writes lines into a change set, in their order. Yields the result of each. */
export async function* bulkInto(deps: Deps, actor: Actor, input: BulkIntoInput): AsyncGenerator<BulkResult> {
  let by = actor;
  let { orb } = input;
  let count = 0;
  let number = 0;
  for await (const text of input.lines) {
    number += 1;
    if (isBlankLine(text)) continue;
    if (count++ % RENEWED_AFTER === 0) {
      [by, orb] = await Promise.all([input.authority?.() ?? by, renewed(deps, input)]);
    }
    const result = await written(deps, by, { ...input, orb }, { line: number, text });
    yield result;
    if ("error" in result && input.stopOnError === true) throw stoppedAt(number);
  }
}

/** Each line finds its entry itself. */
const NONE: Preparing["pending"] = { owner: async () => undefined };

async function written(
  deps: Deps,
  actor: Actor,
  input: BulkIntoInput,
  line: { line: number; text: string },
): Promise<BulkResult> {
  const [read] = await readKeyedLines(deps, actor, { ...input, pending: NONE }, [line]);
  if (read === undefined || "error" in read) return read ?? { line: line.line, error: unmatched() };
  try {
    return input.match === undefined
      ? await createdFrom(actor, input, read)
      : await matchedWith(actor, input, input.match, read);
  } catch (error) {
    return { line: line.line, error: asError(error, read.pinned) };
  }
}

async function createdFrom(
  actor: Actor,
  { orb, orbId, destination }: BulkIntoInput,
  { line, entry, pinned, sent }: ReadLine,
): Promise<BulkResult> {
  const { deps, actor: author, into } = await destination(actor, orb, undefined);
  const { snapshot, replayed, warnings } = await createEntry(deps, author, {
    ...entry,
    ...{ orbId, orb, into, idempotency: sent },
  });
  return { line, snapshot, warnings: warningsFor(pinned, warnings), ...(replayed ? { replayed } : {}) };
}

async function matchedWith(
  actor: Actor,
  { orb, orbId, destination }: BulkIntoInput,
  match: Matching,
  { line, entry, pinned, sent }: ReadLine,
): Promise<BulkResult> {
  if (sent !== undefined) {
    const message = "must not be sent with match, because a repeated upload changes nothing then. Remove it.";
    throw invalid([{ path: "/idempotencyKey", code: "needs_no_match", message }]);
  }
  const { schema, key, keyName } = matchable(orb, match, { line, entry, pinned });
  const { deps, actor: author, into, owner, turn } = await destination(actor, orb, { schema, key });
  if (match.on === "skip") {
    const id = await owner?.();
    if (id !== undefined) return { line, skipped: id };
  }
  const only = match.on === "update" ? "update" : match.on === "skip" ? "create" : undefined;
  const { module: _, schema: __, ...change } = entry;
  const { snapshot, warnings, created, unchanged } = await putEntry(deps, author, {
    ...change,
    ...{ orbId, orb, schema, key, keyName, only, into, owner, turn, merge: true },
  });
  return {
    line,
    snapshot,
    warnings: warningsFor(pinned, warnings),
    act: created ? "created" : unchanged === true ? "unchanged" : "updated",
  };
}
