/** Responses of lists. */

export interface Page<T> {
  items: T[];
  /** Pass this value as `cursor` to get the next page. Null on the last page. */
  nextCursor: string | null;
  total?: number;
  /** False if the list has more entries than one request can count. `total` is then a lower bound. */
  totalExact?: false;
  /**
   * Number of entries that the platform compared. Present only if the page ended early, because the request reached its
   * read limit.
   */
  read?: { entries: number };
  explain?: Explanation;
  /** Present only for aggregations. */
  groups?: AggregateGroup<string>[];
}

/** The aggregates of the entries that share the values of `key`. */
export interface AggregateGroup<A extends string> {
  key: Record<string, string | number | boolean | null>;
  values: Record<A, string | number | boolean | null>;
}

/** How a list was read. */
export interface Explanation {
  index: "none" | "id" | "unique" | "reference" | "equality" | "ordered" | "search";
  /** Fields whose index was used. */
  fields: string[];
  order: "creation" | "memory" | "index" | "rank";
  /** Number of entries that the index found. Null if the index was not read as a whole. */
  candidates: number | null;
  read: number;
  /** Number of entries that were read but did not belong to the list. */
  dropped: number;
}
