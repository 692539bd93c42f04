/** Writes the entries of a bulk upload in atomic batches, in the order of their lines. */
import { fenceGuard } from "../../definition/stored/index.ts";
import type { Deps } from "../../deps.ts";
import { AppError, unavailable } from "../../kernel/errors.ts";
import { type RetryPolicy, retry } from "../../kernel/retry.ts";
import { isUnsure } from "../../store/errors.ts";
import { streams, subjects } from "../../store/subjects.ts";
import { type Append, Conflict, StreamMissing } from "../../store/types.ts";
import { tendWritten } from "../listed/index.ts";
import { type EntryWrite, GONE_SECONDS, type IdempotencyClaim, type OrbContext } from "../model/index.ts";
import { tendIndexes } from "../ordered/index.ts";
import type { PinnedRequest } from "../pinned/index.ts";
import type { NewEntry, NewEntryWrite } from "../write/index.ts";
import type { LineClaim, UploadClaims } from "./bulk-claims.ts";
import type { Matchable } from "./match.ts";

export interface Item {
  line: number;
  by: OrbContext;
  entry: NewEntry;
  /** Set if the line has the shape of an earlier revision of the definition. */
  pinned?: PinnedRequest | undefined;
  write: EntryWrite & Pick<NewEntryWrite, "made" | "warnings">;
  messages: Append[];
  bytes: number;
  /** The line's own key, if the request has one too. Unless the write has a key, it is stored with those of the batch. */
  claim?: LineClaim | undefined;
  /** What the line is matched by. If another client creates the entry first, the line updates it. */
  match?: Matchable | undefined;
  /** Where an upload without room for further keys in memory would have stored the line's key. */
  lookup?: IdempotencyClaim | undefined;
  /** Whether the line's key was looked for among those that have a message each. */
  lookedUp?: boolean | undefined;
}

/** @param pinned the line's request, if the line has the shape of an earlier revision of the definition */
export function asError(error: unknown, pinned?: PinnedRequest): AppError {
  if (error instanceof AppError) return pinned?.told(error) ?? error;
  if (error instanceof StreamMissing) return unavailable(error);
  throw error;
}

/**
 * Splits entries into runs that one atomic batch can write, without changing their order. In one batch, all entries
 * that refer to the same other entry must expect the same revision of it. Also, a batch can replace the message of a
 * subject (such as the record of a file) only once.
 */
export function runsOf(items: readonly Item[]): Item[][] {
  const runs: Item[][] = [];
  let met = new Map<string, number>();
  let rewritten = new Set<string>();
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
    if (differs || runs.length === 0) {
      runs.push([]);
      met = new Map();
      rewritten = new Set();
    }
    runs.at(-1)?.push(item);
    for (const { subject, seq } of targets) met.set(subject, seq);
    for (const subject of own) rewritten.add(subject);
  }
  return runs;
}

/** Repeats a write whose outcome is unknown. The attempts take about 20 seconds. */
const UNTIL_KNOWN: RetryPolicy = {
  attempts: 12,
  after: (error) => isUnsure(error) && !(error instanceof OutcomeUnknown),
  pauseMs: (attempt) => Math.min(2_500, 100 * 2 ** attempt) * (0.5 + Math.random() / 2),
  failed: (cause) => new OutcomeUnknown(cause),
};

/**
 * Repeats a write until its outcome is known. The write must have no effect if an earlier attempt has succeeded.
 * @throws AppError timeout `broker_timeout` if the broker does not say for about 20 seconds whether it has stored
 *   the write
 */
export function untilKnown<T>(write: () => Promise<T>): Promise<T> {
  return retry(UNTIL_KNOWN, write);
}

/** Thrown if the broker may have stored a write, and does not respond. Ends the upload: no line counts as refused. */
class OutcomeUnknown extends AppError {
  constructor(cause: unknown) {
    const detail =
      "The platform's storage does not respond. Some of the lines without a result may have been written. Send the upload again with the same Idempotency-Key, if it had one, and the same keys of the lines: each line is written only once.";
    super("timeout", "broker_timeout", detail, { retryAfter: 1, cause });
  }
}

/** Returns which entries exist. Asks the leader, because a replica may not have the newest writes yet. */
async function existing(deps: Deps, orb: string, items: readonly Item[]): Promise<boolean[]> {
  const read = items.map(({ write }) => deps.store.get(streams.orb(orb), subjects.entryLog(write.address)));
  return (await Promise.all(read)).map((message) => message !== null);
}

/**
 * Writes entries as one atomic batch. Returns false if another process changed some of the data first. Then nothing was
 * written.
 * @param claims where the keys of the lines are stored
 * @throws OutcomeUnknown
 * @throws RejectedWrite, StreamMissing if the broker stored nothing for another reason
 */
export async function writeTogether(
  deps: Deps,
  orb: string,
  items: readonly Item[],
  claims: UploadClaims | undefined,
): Promise<boolean> {
  let unsure = false;
  const { messages, ends } = merged(orb, items);
  const keyed = items.flatMap(({ claim, write }, index) =>
    claim === undefined || write.idempotency !== undefined
      ? []
      : [{ claim, distance: messages.length - (ends[index] ?? 0) }],
  );
  // A batch with keys that have a message each stores one together with them too, so that no upload misses them.
  const own = items.some((item) => item.claim !== undefined && item.write.idempotency !== undefined);
  const claim = keyed.length === 0 && !own ? undefined : claims?.message(keyed, own);
  if (claim !== undefined) messages.push(claim);
  const written = await untilKnown(async () => {
    try {
      // Each new entry expects an empty log, so a repeated batch cannot write anything twice.
      const seq = await deps.store.batch(streams.orb(orb), messages);
      if (claim !== undefined) claims?.stored(claim, seq);
      return true;
    } catch (error) {
      // If an earlier attempt has stored the batch, its own entries cause the conflict.
      if (error instanceof Conflict) return unsure && (await existing(deps, orb, items)).includes(true);
      unsure = true;
      throw error;
    }
  });
  if (claim !== undefined && (unsure || !written)) await untilKnown(async () => claims?.refresh());
  if (!written) return false;
  for (const { by, write } of items) {
    tendIndexes(deps, by, write.address, write.claims.adds);
    tendWritten(deps, by, write);
  }
  return true;
}

/** Returns whether an entry exists already, because an attempt with an unknown outcome has stored it. */
export async function isStored(deps: Deps, orb: string, item: Item): Promise<boolean> {
  return (await existing(deps, orb, [item])).includes(true);
}

/** Returns the messages of a batch, and the index of the last message of each entry, which is its revision. */
function merged(orb: string, items: readonly Item[]): { messages: Append[]; ends: number[] } {
  const ends: number[] = [];
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
    ends.push(out.length - 1);
  }
  return { messages: out, ends };
}
