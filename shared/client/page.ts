/** The answers of lists. */

export interface Page<T> {
  items: T[];
  /** Pass this value as `cursor` to get the next page. Null on the last page. */
  nextCursor: string | null;
  total?: number;
  /** False if the list has at least `total` entries, and more than one request can count. */
  totalExact?: false;
  /** Only if the page ended early, because it read as much as it may: the number of entries that it compared. */
  read?: { entries: number };
  explain?: Explanation;
  /** Only of an aggregation. */
  groups?: AggregateGroup<string>[];
}

/** The aggregates of the entries that share the values of `key`. */
export interface AggregateGroup<A extends string> {
  key: Record<string, string | number | boolean | null>;
  values: Record<A, string | number | boolean | null>;
}

/** How a list was read. */
export interface Explanation {
  index: "none" | "id" | "unique" | "reference" | "equality" | "ordered";
  /** Fields whose index was used. */
  fields: string[];
  order: "creation" | "memory" | "index";
  /** Entries that the index named, if it was read as a whole. */
  candidates: number | null;
  read: number;
  /** Entries that were read and are not part of the list. */
  dropped: number;
}
