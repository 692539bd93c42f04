/**
 * Reads whole indexes. The messages of one index can be far apart in a stream, and the broker loads a file of up to 8
 * MiB for each place that it reads. So in a large stream, this module counts the messages and lists their subjects,
 * which the broker keeps in memory.
 */

import type { Deps } from "../../deps.ts";
import { PerHost } from "../../kernel/bounded-map.ts";
import { AppError } from "../../kernel/errors.ts";
import { nullIfMissing } from "../../store/pages.ts";
import { type Home, lastToken, streams } from "../../store/subjects.ts";
import { type MatchingSubjects, TooMuch } from "../../store/types.ts";
import { type IndexEntry, placesOf, readPage, readPlaces } from "./scan.ts";

/** Messages that one read of a small stream returns. */
const WINDOW = 2_000;
/** Bytes of a stream from which on subjects are listed. The broker keeps them in eight files. */
const LARGE_BYTES = 64 * 1024 * 1024;
/** If the messages of an index are at least this far apart, on average, they count as scattered. */
const SCATTERED_BYTES = 1024 * 1024;
/** Milliseconds for which the size of a stream is remembered. */
const REMEMBERED_MS = 60_000;

type Reader = Pick<Deps, "store" | "config" | "clock">;

const sizes = new PerHost<{ bytes: number; until: number }>(10_000);

/** Returns the size of an application's stream, or undefined if this host has not asked for it lately. */
function knownBytes({ config, clock }: Reader, orb: string): number | undefined {
  const known = sizes.get(config, orb);
  return known !== undefined && known.until > clock.now() ? known.bytes : undefined;
}

/**
 * Returns how many messages an index may have if reading them one after the other would load many files: 0 for a small
 * stream, and for one whose size is unknown.
 */
export function mostScattered(deps: Reader, orb: string): number {
  const bytes = knownBytes(deps, orb) ?? 0;
  return bytes < LARGE_BYTES ? 0 : Math.floor(bytes / SCATTERED_BYTES);
}

/**
 * Reads an index from the subjects of its messages. Returns undefined if the leader does not respond, or if they are too
 * many.
 */
async function readSubjects(
  { store, config, clock }: Reader,
  { orb, home }: Pick<WholeIndexes, "orb" | "home">,
  filter: string,
): Promise<IndexEntry[] | undefined> {
  let found: MatchingSubjects | null;
  try {
    found = await nullIfMissing(store.subjects(streams.orb(orb), filter));
  } catch (error) {
    const isSilent = error instanceof AppError && ["unavailable", "timeout"].includes(error.kind);
    if (isSilent || error instanceof TooMuch) return undefined;
    throw error;
  }
  const { subjects, bytes } = found ?? { subjects: [], bytes: 0 };
  if (bytes !== undefined) sizes.set(config, orb, { bytes, until: clock.now() + REMEMBERED_MS });
  return subjects.map((subject) => ({ ...home, id: lastToken(subject), seq: 0 }));
}

export interface WholeIndexes {
  orb: string;
  /** The schema of all entries of the indexes. */
  home: Home;
  filters: readonly string[];
  /** Maximum number of messages in all indexes together. */
  most: number;
}

/**
 * Reads all entries of several indexes, in no particular order. Some entries may have left an index meanwhile.
 * @returns undefined if the indexes have more messages than allowed
 */
export async function readWhole(
  deps: Reader,
  { orb, home, filters, most }: WholeIndexes,
): Promise<IndexEntry[] | undefined> {
  const bytes = knownBytes(deps, orb);
  const isSmall = bytes !== undefined && bytes < LARGE_BYTES;
  const limit = isSmall ? WINDOW : 1;
  const firsts = await Promise.all(
    filters.map(async (filter) => ({
      filter,
      ...(await readPage(deps.store, orb, filter, { fromSeq: 1, limit, roughly: true })),
    })),
  );
  const count = firsts.reduce((sum, { messages, pending }) => sum + messages.length + pending, 0);
  if (count > most) return undefined;
  const parts = await Promise.all(
    firsts.map(async ({ filter, messages, pending }) => {
      const scan = { orb, filter, home, first: WINDOW, after: messages.at(-1)?.seq ?? 0 };
      const places = placesOf(messages, scan);
      if (pending === 0) return places;
      const listed = isSmall ? undefined : await readSubjects(deps, { orb, home }, filter);
      if (listed !== undefined) return listed;
      const rest = await readPlaces(deps.store, [scan], most);
      return rest.complete ? [...places, ...rest.places] : undefined;
    }),
  );
  return parts.every((part) => part !== undefined) ? parts.flat() : undefined;
}

/**
 * Reads all entries of an index that usually has few. Like {@link readWhole}, but if the size of the stream is unknown,
 * one request lists the index and tells the size.
 */
export async function readSmall(
  deps: Reader,
  index: Omit<WholeIndexes, "filters"> & { filter: string },
): Promise<IndexEntry[] | undefined> {
  const { orb, home, filter, most } = index;
  if (knownBytes(deps, orb) === undefined) {
    const listed = await readSubjects(deps, { orb, home }, filter);
    if (listed !== undefined) return listed.length > most ? undefined : listed;
  }
  return readWhole(deps, { orb, home, filters: [filter], most });
}
