/** Searches the entries of all schemas of an orb. */
import type { Wish } from "./options.ts";
import type { CallOptions, Transport } from "./transport.ts";

export interface SearchOptions extends Wish, CallOptions {
  /** `latest` also finds the drafts that the caller may read. */
  revision?: "published" | "latest";
  /** Entries per page, at most 50. The default is 20. */
  limit?: number;
  /** `nextCursor` of the page before. */
  cursor?: string;
}

/** An entry that a search found. */
export interface FoundEntry {
  module: string;
  schema: string;
  id: string;
  /** Value of the field that names the entry. */
  title: string | null;
  /** The field that contains the words. Null if the search is the id of the entry. */
  field: string | null;
  /** Language of the field's value. */
  language?: string;
  /** A piece of the field's value. `match`: words that were searched for. */
  snippet: { text: string; match?: true }[];
}

export interface FoundEntries {
  items: FoundEntry[];
  /** Pass this value as `cursor` to get the next page. Null on the last page. */
  nextCursor: string | null;
  /** False if only the newest entries of some schema were compared, and it has more. */
  complete: boolean;
}

/** @param path URL path of the orb, or of the orb in the management API */
export async function searchOrb(
  transport: Transport,
  path: string,
  text: string,
  { signal, limit, ...options }: SearchOptions = {},
): Promise<FoundEntries> {
  const query = new URLSearchParams({ q: text });
  if (limit !== undefined) query.set("limit", String(limit));
  for (const name of ["cursor", "locale", "market", "revision"] as const) {
    const value = options[name];
    if (value !== undefined) query.set(name, value);
  }
  const response = await transport.send({
    method: "GET",
    path: `${path}/search`,
    query,
    signal,
    repeat: "safe",
  });
  return (await response.json()) as FoundEntries;
}
