/**
 * Walks the index of entries in creation order, oldest or newest first, in windows of one request each. What it yields
 * are places; whether an entry is still there and may be seen is judged by whoever reads it.
 */
import { indexBytes } from "../../store/budget.ts";
import { type Home, type ModuleToken, streams } from "../../store/subjects.ts";
import type { Page, Store, StoredMessage } from "../../store/types.ts";
import { orNull } from "../model/resolve.ts";

/** An entry's address inside its orb, and where a list stands when it has passed it. */
export interface Place {
  type: ModuleToken;
  schema: string;
  id: string;
  /** Sequence of the index message. */
  seq: number;
  /** When the broker stored it, milliseconds. */
  time?: number;
}

/** Most places of one window. */
const MAX_WINDOW = 500;
/** Index messages per sequence where nothing is known: an entry brings five to ten messages. */
const USUAL_DENSITY = 1 / 10;

/** Reads a page of an index; a stream that does not exist holds nothing. */
export async function readPage(
  store: Store,
  orb: string,
  filter: string,
  options: { fromSeq: number; limit: number },
): Promise<Page> {
  const page = await orNull(
    store.scan(streams.orb(orb), filter, { ...options, maxBytes: indexBytes(options.limit) }),
  );
  return page ?? { messages: [], pending: 0, lastSeq: 0 };
}

/** The place in an index message, `<orb>._ix.<type>.<schema>.<id>`; undefined for what a deletion left. */
function placeOf(message: StoredMessage, { home, literal }: Walk): Place | undefined {
  if (message.size === 0) return undefined;
  const { subject, seq, time } = message;
  if (home !== undefined) {
    const id = literal === true ? message.text() : subject.slice(subject.lastIndexOf(".") + 1);
    return { ...home, id, seq, time };
  }
  const [, , type = "", schema = "", id = ""] = subject.split(".");
  return { type: type as ModuleToken, schema, id, seq, time };
}

function placesOf(messages: readonly StoredMessage[], walk: Walk): Place[] {
  return messages.map((message) => placeOf(message, walk)).filter((place) => place !== undefined);
}

/** Where to walk. */
export interface Walk {
  orb: string;
  /** Subject filter of the index. */
  filter: string;
  /** The schema of all places, where the subjects do not tell it: in the index of a value, and in the order of a schema. */
  home?: Home;
  /** Whether the id is the message's body: all on one subject. */
  literal?: boolean;
  /** How many places are wanted at first; later windows are larger. */
  first: number;
}

/** Oldest first, from behind a sequence. */
export async function* forwards(store: Store, walk: Walk, after: number): AsyncGenerator<Place[]> {
  let fromSeq = after + 1;
  for (let size = walk.first; ; size = Math.min(MAX_WINDOW, size * 4)) {
    const page = await readPage(store, walk.orb, walk.filter, { fromSeq, limit: size });
    yield placesOf(page.messages, walk);
    const last = page.messages.at(-1);
    if (page.pending === 0 || last === undefined) return;
    fromSeq = last.seq + 1;
  }
}

/** A window of a walk backwards, newest place first. */
export interface BackwardWindow {
  places: Place[];
  /** Index messages per sequence: how wide the next window must be. */
  density: number;
}

/**
 * Newest first, from before a sequence. The broker reads in one direction only, so a window is guessed wide enough
 * from how densely index messages lie, and corrected.
 */
export async function* backwards(
  store: Store,
  walk: Walk,
  before: number,
  hint = USUAL_DENSITY,
): AsyncGenerator<BackwardWindow> {
  let upper = before;
  let density = hint > 0 ? hint : USUAL_DENSITY;
  let want = walk.first;
  while (upper > 1) {
    const width = Math.max(1, Math.ceil((want * 1.2) / density));
    const from = Math.max(1, upper - width);
    const page = await readPage(store, walk.orb, walk.filter, { fromSeq: from, limit: want * 3 + 32 });
    const inside = page.messages.filter((message) => message.seq < upper);
    if (inside.length === page.messages.length && page.pending > 0) {
      // Denser than thought, and the newest of the window are missing: a narrower one.
      const reached = inside.at(-1)?.seq ?? from;
      density = Math.max(density * 2, inside.length / (reached - from + 1));
      continue;
    }
    density = Math.max(inside.length, 0.5) / (upper - from);
    upper = from;
    yield { places: placesOf(inside, walk).reverse(), density };
    want = Math.min(MAX_WINDOW, want * 4);
  }
}
