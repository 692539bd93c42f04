import type { CompiledSchema } from "../../definition/compile.ts";
import { type EntryAddress, type Home, parsedHome, subjects } from "../../store/subjects.ts";
import { type Append, Conflict } from "../../store/types.ts";
import { claimMessage, type IdempotencyClaim, type RequestMark } from "./idempotency.ts";
import { isHintKey, isOrderedKey } from "./index-keys.ts";
import { type KeyChange, keyMessages, lateMarks } from "./key-messages.ts";
import { hasLiveIndex, isSameListing, LIVE, listingBody, listingOf } from "./listing.ts";
import { withStoredNames } from "./names.ts";
import type { EntrySnapshot } from "./snapshot.ts";

/** A condition of a write: the last message of `subject` must still have the sequence number `seq`. */
export interface Guard {
  subject: string;
  seq: number;
  /**
   * Set if the write itself appends a message to `subject`. That message comes first in this array, and the broker
   * checks the condition when it stores the message. The other messages belong to the same change, and may have other
   * subjects.
   */
  carriers?: readonly Append[];
}

export interface EntryWrite {
  address: EntryAddress;
  /** Sequence number of the newest revision when the write began; 0 for a new entry. */
  headSeq: number;
  before?: EntrySnapshot;
  /** The schema of the entry. Undefined if the definition no longer has it. */
  schema: CompiledSchema | undefined;
  /** Revisions to append. The last one is the newest. */
  snapshots: EntrySnapshot[];
  claims: KeyChange;
  /** Further messages for indexes. */
  hints?: readonly Append[];
  known?: ReadonlyMap<string, number>;
  guards?: readonly Guard[];
  live?: readonly Append[];
  index?: "add" | "remove";
  /** Index keys of values that the platform chose. */
  made?: readonly string[];
  idempotency?: IdempotencyClaim | undefined;
  /** The request, if a retry of it recognises its revision. */
  request?: RequestMark | undefined;
  /** Number of the revision whose content `before` brought back, if it undid a write. */
  undid?: number | undefined;
}

/** Header of a revision: the request that wrote it. */
export const REQUEST = "Request";
/** Header of a revision that undoes a write: the number of the revision whose content it brings back. */
export const UNDOES = "Undoes";

export const GONE_SECONDS = 1;

/** Returns the message that changes the live index; none if the write does not change whether the entry is published. */
function listingMessages(write: EntryWrite): Append[] {
  if (!changesListing(write)) return [];
  const { address, before, snapshots, index } = write;
  const [from, to] = [listingOf(before), listingOf(snapshots.at(-1))];
  const change = { id: address.id, after: to, before: from, isNew: index === "add" };
  return [{ subject: subjects.orderedLog(address, LIVE), data: listingBody(change) }];
}

/** Types of modules whose entries change sets contain. Others are records, or are written by handlers only. */
const TAKEN_BACK: ReadonlySet<EntryAddress["type"]> = new Set(["content", "config", "rules"]);

/**
 * Returns the message that says that an API token has written an entry; none if the revision before says so already. A
 * revision that a change set has published does not, because the set itself does.
 */
function tokenMarks({ address, before, snapshots }: EntryWrite): Append[] {
  const { token, change } = snapshots.at(-1) ?? {};
  if (token === undefined || change !== undefined || !TAKEN_BACK.has(address.type)) return [];
  if (before?.token === token && before.change === undefined) return [];
  return [{ subject: subjects.tokenWrites(address.orb, token), data: placeText(address) }];
}

/** Returns the place of an entry as the text of {@link tokenMarks}: `<type>.<schema>.<id>`. */
const placeText = ({ type, schema, id }: EntryAddress) => `${type}.${schema}.${id}`;

/** Returns the places in a text of {@link tokenMarks}, which has a line for each of them. */
export function placesIn(text: string): (Home & { id: string })[] {
  return text.split("\n").flatMap((line) => {
    const [type, schema, id] = line.split(".");
    return type === undefined || schema === undefined || id === undefined
      ? []
      : [{ ...parsedHome(type, schema), id }];
  });
}

/** Returns whether a write changes the live index. */
export function changesListing({ address, before, snapshots }: EntryWrite): boolean {
  return hasLiveIndex(address.type) && !isSameListing(listingOf(before), listingOf(snapshots.at(-1)));
}

/** Returns the messages that a write appends. The last one is the new revision. */
export function messagesOf(write: EntryWrite): Append[] {
  const { address, snapshots } = write;
  const log = subjects.entryLog(address);
  const place = subjects.entryIndex(address);
  // The change of the live index comes right before the message of the creation order, so that readers of the change
  // know the entry's place in that order.
  const hints = listingMessages(write);
  if (write.index === "add") {
    hints.push({ subject: place, data: "{}" });
    // A deleted entry that is created again keeps its place in the creation order, because that log is never shortened.
    if (write.headSeq === 0) hints.push({ subject: subjects.schemaOrder(address), data: address.id });
  }
  hints.push(...keyMessages(address, write.claims, write.known));
  if (write.headSeq !== 0) hints.push(...lateMarks(address, write.claims));
  if (write.hints !== undefined) hints.push(...write.hints);
  hints.push(...tokenMarks(write));
  if (write.index === "remove") hints.push({ subject: place, data: "", rollup: true, ttl: GONE_SECONDS });
  const messages = guard(address, hints, write.guards ?? []);
  if (write.live !== undefined) messages.push(...write.live);
  if (write.idempotency !== undefined) {
    messages.push(claimMessage(write.idempotency, snapshots.length));
  }
  snapshots.forEach((snapshot, index) => {
    messages.push({
      subject: log,
      data: JSON.stringify(withStoredNames(write.schema, snapshot)),
      ...(index === 0 ? { expect: { seq: write.headSeq } } : {}),
    });
  });
  const newest = messages.at(-1);
  if (write.request !== undefined && newest !== undefined)
    newest.headers = { [REQUEST]: `${write.request.key} ${write.request.bodies[0] ?? ""}` };
  return messages;
}

/**
 * Adds conditions about other subjects to messages. Each message gets at most one, because the broker checks only one.
 * Adds empty messages if there are more conditions than messages.
 * @throws Conflict if two conditions expect different sequence numbers of one subject
 */
export function guard(address: EntryAddress, hints: readonly Append[], guards: readonly Guard[]): Append[] {
  const out = [...hints];
  if (guards.length === 0) return out;
  const open = new Map<string, number>();
  for (const { subject, seq, carriers: [first, ...others] = [] } of guards) {
    if ((open.get(subject) ?? seq) !== seq) throw new Conflict();
    if (first === undefined) open.set(subject, seq);
    else out.push({ ...first, expect: { seq } }, ...others);
  }
  const own: Append[] = [];
  let index = 0;
  for (const [subject, seq] of open) {
    let message = out[index];
    while (message?.expect !== undefined || message?.subject === subject) message = out[++index];
    const expect = { subject, seq };
    if (message !== undefined) out[index++] = { ...message, expect };
    else {
      const named = subjects.guard(address.orb, address.id, own.length);
      own.unshift({ subject: named, data: "", ttl: GONE_SECONDS, expect });
    }
  }
  return own.length === 0 ? out : [...own, ...out];
}

/**
 * Returns whether a new entry can be written without an atomic batch. If such a write fails halfway, only index
 * messages remain. They do no harm, because readers compare index messages with the entry.
 */
export function onlyHints(write: EntryWrite): boolean {
  return (
    write.headSeq === 0 &&
    write.snapshots.length === 1 &&
    write.idempotency === undefined &&
    (write.guards ?? []).length === 0 &&
    (write.live ?? []).length === 0 &&
    !changesListing(write) &&
    write.claims.adds.every(isHintKey)
  );
}

/** Returns whether a write appends exactly one revision, and nothing else except index keys. */
function isOneRevision(write: EntryWrite): boolean {
  return (
    write.snapshots.length === 1 &&
    write.idempotency === undefined &&
    write.index === undefined &&
    (write.guards ?? []).length === 0 &&
    (write.live ?? []).length === 0 &&
    (write.hints ?? []).length === 0 &&
    !changesListing(write)
  );
}

/** Returns whether {@link messagesOf} returns a single message: the new revision. */
export function isOneMessage(write: EntryWrite): boolean {
  return isOneRevision(write) && write.claims.adds.length + write.claims.frees.length === 0;
}

/**
 * Returns whether a write of an existing entry changes only its log and ordered indexes, and not its published copy.
 */
export function onlyOrdered(write: EntryWrite): boolean {
  const { adds, frees } = write.claims;
  return write.headSeq > 0 && isOneRevision(write) && [...adds, ...frees].every(isOrderedKey);
}
