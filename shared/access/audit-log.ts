import type { Deps } from "../deps.ts";
import { SMALL_BYTES } from "../store/budget.ts";
import { scanPages } from "../store/pages.ts";
import { isToken, streams, subjects } from "../store/subjects.ts";
import type { StoredMessage } from "../store/types.ts";
import type { Actor } from "./actor.ts";
import type { AuditRecord } from "./audit.ts";
import { requireOperator } from "./authorize.ts";

/**
 * Maximum number of messages to read for one page. If few of these messages match the query, the page has fewer records
 * than requested.
 */
const LOOK_LIMIT = 10_000;
const FIRST_WINDOW = 256;
const LARGEST_PAGE = 512;
/** Maximum number of matching messages per read. If a range of sequence numbers contains more, read a smaller range. */
const LARGEST_WINDOW = 4 * FIRST_WINDOW;

export interface AuditQuery {
  realm?: string | undefined;
  action?: string | undefined;
  actor?: string | undefined;
  target?: string | undefined;
  outcome?: "ok" | "refused" | undefined;
  /** Milliseconds since the epoch, inclusive. */
  since?: number | undefined;
  until?: number | undefined;
  newestFirst: boolean;
  limit: number;
  /** Sequence number where the page starts. The default is the first or the last record. */
  from?: number | undefined;
}

export type AuditItem = AuditRecord & { id: string };

export interface AuditPage {
  items: AuditItem[];
  /** Start of the next page; null after the last page. */
  next: number | null;
}

export async function listAudit(deps: Deps, actor: Actor, query: AuditQuery): Promise<AuditPage> {
  requireOperator(actor, "audit.read");
  const { realm, action } = query;
  // A realm or an action with invalid characters does not exist, so the result is empty.
  if ((realm !== undefined && !isToken(realm)) || (action !== undefined && !isToken(action))) {
    return { items: [], next: null };
  }
  const subject = subjects.auditOf(realm, action);
  const newest = await deps.store.get(streams.platform, subject);
  if (newest === null) return { items: [], next: null };
  return query.newestFirst
    ? backwards(deps, subject, query, Math.min(query.from ?? newest.seq, newest.seq))
    : forwards(deps, subject, query, query.from ?? 1);
}

function matching(message: StoredMessage, query: AuditQuery): AuditItem | null {
  const record = message.json<AuditRecord>();
  const at = Date.parse(record.at);
  const fits =
    (query.actor === undefined || record.actor === query.actor) &&
    (query.target === undefined || record.target === query.target) &&
    (query.outcome === undefined || record.outcome === query.outcome) &&
    (query.since === undefined || at >= query.since) &&
    (query.until === undefined || at <= query.until);
  return fits ? { id: String(message.seq), ...record } : null;
}

async function forwards(deps: Deps, subject: string, query: AuditQuery, from: number): Promise<AuditPage> {
  const items: AuditItem[] = [];
  let looked = 0;
  const page = { limit: FIRST_WINDOW, maxBytes: SMALL_BYTES };
  const read = (fromSeq: number) => deps.store.scan(streams.platform, subject, { fromSeq, ...page });
  for await (const messages of scanPages(read, { fromSeq: from })) {
    for (const message of messages) {
      if (items.length === query.limit || looked >= LOOK_LIMIT) return { items, next: message.seq };
      const item = matching(message, query);
      if (item !== null) items.push(item);
    }
    looked += messages.length;
  }
  return { items, next: null };
}

/**
 * Reads the log from new to old, in ranges of sequence numbers. If a range has few matches, the next range is larger.
 */
async function backwards(deps: Deps, subject: string, query: AuditQuery, from: number): Promise<AuditPage> {
  const items: AuditItem[] = [];
  let high = from;
  let looked = 0;
  for (let width = FIRST_WINDOW; high >= 1; ) {
    const low = Math.max(1, high - width + 1);
    const messages = await between(deps, subject, low, high);
    if (messages === null) {
      width = Math.max(FIRST_WINDOW, Math.ceil(width / 8));
      looked += LARGEST_WINDOW;
      continue;
    }
    for (const message of messages.reverse()) {
      if (items.length === query.limit) return { items, next: message.seq };
      const item = matching(message, query);
      if (item !== null) items.push(item);
    }
    looked += messages.length;
    high = low - 1;
    if (looked >= LOOK_LIMIT && high >= 1) return { items, next: high };
    if (messages.length < FIRST_WINDOW / 4) width *= 2;
    else if (messages.length > FIRST_WINDOW) width = Math.ceil(width / 2);
  }
  return { items, next: null };
}

/** Returns matching messages between two sequence numbers; null if there are more than {@link LARGEST_WINDOW}. */
async function between(
  deps: Deps,
  subject: string,
  low: number,
  high: number,
): Promise<StoredMessage[] | null> {
  const found: StoredMessage[] = [];
  for (let fromSeq = low; fromSeq <= high; ) {
    const page = await deps.store.scan(streams.platform, subject, {
      fromSeq,
      limit: LARGEST_PAGE,
      maxBytes: SMALL_BYTES,
    });
    for (const message of page.messages) {
      if (message.seq > high) return found;
      found.push(message);
    }
    const last = page.messages.at(-1);
    if (last === undefined || page.pending === 0) break;
    if (found.length > LARGEST_WINDOW) return null;
    fromSeq = last.seq + 1;
  }
  return found;
}
