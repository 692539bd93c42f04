import { normaliseInstant } from "../../definition/fields/calendar.ts";
import type { Deps } from "../../deps.ts";
import { AppError, invalidParameters } from "../../kernel/errors.ts";
import { MOMENT_FORM } from "../../kernel/faults.ts";
import { READ_BYTES, ReadBudget, SMALL_BYTES } from "../../store/budget.ts";
import { ReadSemaphore } from "../../store/read-semaphore.ts";
import { type EntryAddress, type Home, streams, subjects } from "../../store/subjects.ts";
import { addressIn, nullIfMissing } from "../model/resolve.ts";
import { type EntrySnapshot, effective, snapshotOf } from "../model/snapshot.ts";
import { READ_LIMIT } from "../query/candidates.ts";

const REVISIONS_PER_READ = 500;
/** Maximum MiB of revisions in memory for a list at a time in the past. A Workers isolate has only 128 MB. */
const HELD_MIB = 12;
/** Lists at a time in the past wait for each other, because a Workers isolate has the memory for only one. */
const large = new ReadSemaphore(HELD_MIB * 1024 * 1024);
/** Maximum MiB of revisions that such a list reads, including revisions that later ones replace. */
const READ_MIB = 64;
/**
 * The search reads this many milliseconds beyond the requested time. The broker stores a revision slightly after its
 * `updatedAt`, and clocks differ.
 */
const SLACK_MS = 5000;

/** Parses the query parameter `at` to milliseconds since the epoch. */
export function readMoment(text: string): number {
  const instant = normaliseInstant(text);
  if (instant !== undefined) return Date.parse(instant);
  throw invalidParameters([{ path: "/at", code: "invalid_value", message: MOMENT_FORM }]);
}

export interface PastEntry {
  address: EntryAddress;
  seq: number;
  /** Size of the stored revision in bytes. */
  size: number;
  /** The newest revision at the requested time. It counts as unpublished if its `validTo` had passed. */
  snapshot: EntrySnapshot;
}

function tooManyRevisions(what: string): AppError {
  const detail = `This query would read more than ${what}. Query one module and schema, or list the revisions of one entry.`;
  return new AppError("invalid", "too_broad", detail, { data: { limit: READ_LIMIT, indexed: [] } });
}

async function fold(
  deps: Pick<Deps, "store">,
  orb: string,
  filter: string,
  at: number,
): Promise<PastEntry[]> {
  const found = new Map<string, { seq: number; snapshot: EntrySnapshot; size: number }>();
  let read = 0;
  let held = 0;
  let fromSeq = 1;
  const budget = new ReadBudget(READ_MIB * 1024 * 1024);
  const store = budget.charging(deps.store);
  /** Reads the next revisions. Returns whether there may be more. */
  const next = async (maxBytes: number): Promise<boolean> => {
    const page = await nullIfMissing(
      store.scan(streams.orb(orb), filter, { fromSeq, limit: REVISIONS_PER_READ, maxBytes }),
    );
    let passed = false;
    for (const message of page?.messages ?? []) {
      if (message.time > at + SLACK_MS) {
        passed = true;
        break;
      }
      const snapshot = snapshotOf(message);
      if (snapshot === null || Date.parse(snapshot.updatedAt) > at) continue;
      const { subject, size } = message;
      const before = found.get(subject);
      held += size - (before?.size ?? 0);
      found.set(subject, { seq: before?.seq ?? message.seq, snapshot, size });
    }
    if (budget.over) throw tooManyRevisions(`${READ_MIB} MiB of revisions`);
    if (held > HELD_MIB * 1024 * 1024) throw tooManyRevisions(`${HELD_MIB} MiB of entries`);
    const last = page?.messages.at(-1);
    read += page?.messages.length ?? 0;
    if (page === null || passed || page.pending === 0 || last === undefined) return false;
    if (read >= READ_LIMIT) throw tooManyRevisions(`${READ_LIMIT} revisions`);
    fromSeq = last.seq + 1;
    return true;
  };
  if (await next(SMALL_BYTES)) {
    await large.enter(HELD_MIB * 1024 * 1024, async () => {
      while (await next(READ_BYTES));
    });
  }
  return [...found]
    .map(([subject, { seq, snapshot, size }]) => {
      return { address: addressIn(subject), seq, size, snapshot: effective(snapshot, at) };
    })
    .filter(({ snapshot }) => snapshot.status !== "DELETED");
}

/** Returns an entry as it was at a time, or null if it did not exist then or was purged. */
export async function entryAt(
  deps: Pick<Deps, "store">,
  address: EntryAddress,
  at: number,
): Promise<PastEntry | null> {
  const [past] = await fold(deps, address.orb, subjects.entryLog(address), at);
  return past ?? null;
}

/**
 * Returns all entries of an application or schema as they were at a time, in order of creation.
 * @throws AppError invalid `too_broad` if it would read more than 10,000 revisions or 64 MiB
 */
export function entriesAt(
  deps: Pick<Deps, "store">,
  orb: string,
  home: Home | undefined,
  at: number,
): Promise<PastEntry[]> {
  const filter = home === undefined ? subjects.allLogs(orb) : subjects.schemaLogs({ orb, ...home });
  return fold(deps, orb, filter, at);
}
