import { fenceGuard } from "../../definition/stored/fence.ts";
import type { Deps } from "../../deps.ts";
import { AppError, unavailable } from "../../kernel/errors.ts";
import { streams, subjects } from "../../store/subjects.ts";
import { type Append, Conflict, StreamMissing } from "../../store/types.ts";
import { type EntryWrite, GONE_SECONDS } from "../model/messages.ts";
import type { OrbContext } from "../model/resolve.ts";
import { tendIndexes } from "../ordered/upkeep.ts";
import type { NewEntry } from "../write/create.ts";

export interface Item {
  line: number;
  by: OrbContext;
  entry: NewEntry;
  write: EntryWrite;
  messages: Append[];
  bytes: number;
}

export function asError(error: unknown): AppError {
  if (error instanceof AppError) return error;
  if (error instanceof StreamMissing) return unavailable(error);
  throw error;
}

/**
 * Splits entries into those that one atomic batch can write together, and the rest. In one batch, all entries that
 * refer to the same other entry must expect the same revision of it. Also, a batch can replace the message of a subject
 * (such as the record of a file) only once.
 */
export function byTargets(items: readonly Item[]): { agreed: Item[]; apart: Item[] } {
  const met = new Map<string, number>();
  const rewritten = new Set<string>();
  const agreed: Item[] = [];
  const apart: Item[] = [];
  for (const item of items) {
    const targets = item.messages.flatMap(({ expect }) =>
      expect?.subject === undefined ? [] : [{ subject: expect.subject, seq: expect.seq }],
    );
    const own = item.messages.flatMap(({ subject, rollup, expect }) =>
      rollup === true && expect !== undefined && expect.subject === undefined ? [subject] : [],
    );
    const differs =
      targets.some(({ subject, seq }) => (met.get(subject) ?? seq) !== seq) ||
      own.some((subject) => rewritten.has(subject));
    (differs ? apart : agreed).push(item);
    if (differs) continue;
    for (const { subject, seq } of targets) met.set(subject, seq);
    for (const subject of own) rewritten.add(subject);
  }
  return { agreed, apart };
}

/**
 * Writes a group of entries as one atomic batch. Returns false if another process changed some of the data first. Then
 * nothing was written.
 */
export async function writeTogether(
  deps: Deps,
  orb: string,
  items: readonly Item[],
  failed: Map<number, AppError>,
): Promise<boolean> {
  const stream = streams.orb(orb);
  try {
    await deps.store.batch(stream, merged(orb, items));
    for (const { by, write } of items) tendIndexes(deps, by, write.address, write.claims.adds);
    return true;
  } catch (error) {
    if (error instanceof Conflict || error instanceof StreamMissing) return false;
    // The broker did not respond. Report the error for each line of this group, and continue with the next group.
    const failure = asError(error);
    for (const { line } of items) failed.set(line, failure);
    return true;
  }
}

function merged(orb: string, items: readonly Item[]): Append[] {
  const seen = new Set<string>();
  const expected = new Set<string>();
  // If the application's definition has changed since the entries were validated, the batch must fail.
  const fences = new Map(
    items.map(({ by, write }) => [by, { id: write.address.id, ...fenceGuard(orb, by.fence) }]),
  );
  const out = [...fences.values()].map(({ id, ...expect }, index): Append => {
    return { subject: subjects.guard(orb, id, index), data: "", ttl: GONE_SECONDS, expect };
  });
  let number = out.length;
  for (const { messages, write } of items) {
    for (const message of messages) {
      const { expect, ...rest } = message;
      const elsewhere = expect?.subject;
      const rewritten = elsewhere !== undefined && expected.has(elsewhere);
      if (elsewhere !== undefined) expected.add(elsewhere);
      const next: Append = expect === undefined || rewritten ? rest : { ...rest, expect };
      if (message.rollup === true && seen.has(message.subject)) {
        if (next.expect === undefined) continue;
        // Two entries would replace the message of the same subject, so omit this second one. Add a message on another
        // subject instead, so that the broker still checks the condition of the omitted message.
        const subject = subjects.guard(orb, write.address.id, number++);
        out.push({ subject, data: "", ttl: GONE_SECONDS, expect: next.expect });
        continue;
      }
      if (message.rollup === true) seen.add(message.subject);
      out.push(next);
    }
  }
  return out;
}
