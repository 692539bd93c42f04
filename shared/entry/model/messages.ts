/** Turns one write of an entry into messages. */
import { type EntryAddress, subjects } from "../../store/subjects.ts";
import { type Append, Conflict } from "../../store/types.ts";
import { type ClaimChange, claimMessages, isEqualityKey, lateMarks } from "./claims.ts";
import { claimMessage, type IdempotencyClaim } from "./idempotency.ts";
import type { EntrySnapshot } from "./snapshot.ts";

/** Something else that must still be so at the commit: the last sequence of a subject. */
export interface Guard {
  subject: string;
  seq: number;
}

/** One write of one entry. */
export interface EntryWrite {
  address: EntryAddress;
  /** Sequence of the head that the write was decided on; 0 for a new entry. */
  headSeq: number;
  /** That head, for a write of an existing entry. */
  before?: EntrySnapshot;
  /** Revisions to append; the last is the result. */
  snapshots: EntrySnapshot[];
  claims: ClaimChange;
  /** Further index messages, which readers verify as they do with those of `claims`. */
  hints?: readonly Append[];
  /** Sequences of claims that were looked up. */
  known?: ReadonlyMap<string, number>;
  guards?: readonly Guard[];
  /** What happens to live copies and schedules. */
  live?: readonly Append[];
  /** What happens to the entry's place in lists. */
  index?: "add" | "remove";
  idempotency?: IdempotencyClaim | undefined;
}

export const GONE_SECONDS = 1;

/** The messages of a write; the last is the resulting snapshot. @throws Conflict */
export function messagesOf(write: EntryWrite): Append[] {
  const { address, snapshots } = write;
  const log = subjects.entryLog(address);
  const place = subjects.entryIndex(address);
  const hints: Append[] = [
    ...claimMessages(address, write.claims, write.known),
    ...(write.headSeq === 0 ? [] : lateMarks(address, write.claims)),
    ...(write.hints ?? []),
  ];
  if (write.index === "add") {
    hints.unshift(
      { subject: place, data: "{}" },
      { subject: subjects.schemaOrder(address), data: address.id },
    );
  }
  if (write.index === "remove") hints.push({ subject: place, data: "", rollup: true, ttl: GONE_SECONDS });
  const guarded = guard(address, hints, write.guards ?? []);
  const messages = [...guarded, ...(write.live ?? [])];
  if (write.idempotency !== undefined) {
    messages.push(claimMessage(write.idempotency, snapshots.length));
  }
  snapshots.forEach((snapshot, index) => {
    messages.push({
      subject: log,
      data: JSON.stringify(snapshot),
      ...(index === 0 ? { expect: { seq: write.headSeq } } : {}),
    });
  });
  return messages;
}

/**
 * Lays each guard on a message that expects nothing yet, or on one of its own, which is named after the entry.
 * @throws Conflict when two guards disagree: their subject moved between two reads
 */
export function guard(address: EntryAddress, hints: readonly Append[], guards: readonly Guard[]): Append[] {
  const out = [...hints];
  const open = new Map<string, number>();
  for (const { subject, seq } of guards) {
    if ((open.get(subject) ?? seq) !== seq) throw new Conflict();
    open.set(subject, seq);
  }
  for (const [index, message] of out.entries()) {
    const next = open.entries().next();
    if (next.done) break;
    const [subject, seq] = next.value;
    if (message.expect !== undefined || message.subject === subject) continue;
    out[index] = { ...message, expect: { subject, seq } };
    open.delete(subject);
  }
  let number = 0;
  for (const [subject, seq] of open) {
    out.unshift({
      subject: subjects.guard(address.orb, address.id, number++),
      data: "",
      ttl: GONE_SECONDS,
      expect: { subject, seq },
    });
  }
  return out;
}

/** Whether earlier messages of a new entry are mere hints, which readers verify: then no atomic act is needed. */
export function onlyHints(write: EntryWrite): boolean {
  return (
    write.headSeq === 0 &&
    write.snapshots.length === 1 &&
    write.idempotency === undefined &&
    (write.guards ?? []).length === 0 &&
    (write.live ?? []).length === 0 &&
    write.claims.adds.every(isEqualityKey)
  );
}
