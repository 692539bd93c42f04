/**
 * Scans an index in creation order, oldest or newest first, one request per window. It yields index entries, which
 * are hints: the caller reads each entry and decides whether it still exists and is visible.
 */
import { indexBytes } from "../../store/budget.ts";
import { type Home, type ModuleToken, streams } from "../../store/subjects.ts";
import type { Page, Store, StoredMessage } from "../../store/types.ts";
import { nullIfMissing } from "../model/resolve.ts";

/** An entry's address in its orb, and its position in the index. */
export interface IndexEntry {
  type: ModuleToken;
  schema: string;
  id: string;
  /** Sequence of the index message. */
  seq: number;
  /** When the broker stored the index message, in milliseconds since the epoch. */
  time?: number;
}

/** Maximum number of index entries per window. */
const MAX_WINDOW = 500;
/** Assumed index messages per sequence if the density is unknown: an entry brings five to ten messages. */
const USUAL_DENSITY = 1 / 10;

/** Reads a page of an index. A stream that does not exist counts as empty. */
export async function readPage(
  store: Store,
  orb: string,
  filter: string,
  options: { fromSeq: number; limit: number },
): Promise<Page> {
  const page = await nullIfMissing(
    store.scan(streams.orb(orb), filter, { ...options, maxBytes: indexBytes(options.limit) }),
  );
  return page ?? { messages: [], pending: 0, lastSeq: 0 };
}

/** Parses an index message, `<orb>._ix.<type>.<schema>.<id>`. Returns undefined for the empty message of a deletion. */
function placeOf(message: StoredMessage, { home, literal }: IndexScan): IndexEntry | undefined {
  if (message.size === 0) return undefined;
  const { subject, seq, time } = message;
  if (home !== undefined) {
    const id = literal === true ? message.text() : subject.slice(subject.lastIndexOf(".") + 1);
    return { ...home, id, seq, time };
  }
  const [, , type = "", schema = "", id = ""] = subject.split(".");
  return { type: type as ModuleToken, schema, id, seq, time };
}

function placesOf(messages: readonly StoredMessage[], indexScan: IndexScan): IndexEntry[] {
  return messages.map((message) => placeOf(message, indexScan)).filter((place) => place !== undefined);
}

/** The index to scan, and how to read its messages. */
export interface IndexScan {
  orb: string;
  /** Subject filter of the index. */
  filter: string;
  /**
   * The schema of all entries, if the subjects do not contain it: in the index of a value, and in the order of a
   * schema.
   */
  home?: Home;
  /** Whether the id is the message's body, because all messages are on one subject. */
  literal?: boolean;
  /** Number of index entries in the first window. Later windows are larger. */
  first: number;
}

/** Yields index entries oldest first, after a sequence. */
export async function* scanForwards(
  store: Store,
  indexScan: IndexScan,
  after: number,
): AsyncGenerator<IndexEntry[]> {
  let fromSeq = after + 1;
  for (let size = indexScan.first; ; size = Math.min(MAX_WINDOW, size * 4)) {
    const page = await readPage(store, indexScan.orb, indexScan.filter, { fromSeq, limit: size });
    yield placesOf(page.messages, indexScan);
    const last = page.messages.at(-1);
    if (page.pending === 0 || last === undefined) return;
    fromSeq = last.seq + 1;
  }
}

/** One window of a backward scan, newest entry first. */
export interface BackwardWindow {
  places: IndexEntry[];
  /** Index messages per sequence. It determines the width of the next window. */
  density: number;
}

/**
 * Yields index entries newest first, before a sequence. The broker reads forward only. The width of a window is
 * therefore estimated from the density of index messages, and corrected if the estimate was wrong.
 */
export async function* scanBackwards(
  store: Store,
  indexScan: IndexScan,
  before: number,
  hint = USUAL_DENSITY,
): AsyncGenerator<BackwardWindow> {
  let upper = before;
  let density = hint > 0 ? hint : USUAL_DENSITY;
  let want = indexScan.first;
  while (upper > 1) {
    const width = Math.max(1, Math.ceil((want * 1.2) / density));
    const from = Math.max(1, upper - width);
    const page = await readPage(store, indexScan.orb, indexScan.filter, {
      fromSeq: from,
      limit: want * 3 + 32,
    });
    const inside = page.messages.filter((message) => message.seq < upper);
    if (inside.length === page.messages.length && page.pending > 0) {
      // The window is denser than estimated and its newest messages are missing. Retry with a narrower window.
      const reached = inside.at(-1)?.seq ?? from;
      density = Math.max(density * 2, inside.length / (reached - from + 1));
      continue;
    }
    density = Math.max(inside.length, 0.5) / (upper - from);
    upper = from;
    yield { places: placesOf(inside, indexScan).reverse(), density };
    want = Math.min(MAX_WINDOW, want * 4);
  }
}
