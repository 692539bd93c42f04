import type { Found } from "./candidates.ts";

/** How a list was read. Only callers who may see every entry of the schema get this. */
export interface Explanation {
  index: Found["index"];
  /** Fields whose index was used. */
  fields: string[];
  order: "creation" | "memory" | "index" | "rank";
  /** Number of entries that the index listed. Null if entries were read in order until the page was full. */
  candidates: number | null;
  read: number;
  /** Number of read entries that the list does not contain: deleted, not visible, or not matching. */
  dropped: number;
}

/** Counts what a list reads. */
export class Tally {
  by: Found = { index: "none", fields: [] };
  order: Explanation["order"] = "creation";
  candidates: number | null = null;
  /** Entries that were read and that the caller may see. */
  visible = 0;
  #read = 0;
  #matched = 0;

  add(read: number, result: readonly unknown[], matched: number): void {
    this.#read += read;
    this.#matched += matched;
    for (const item of result) if (item !== undefined) this.visible++;
  }

  explain(): Explanation {
    const { by, order, candidates } = this;
    return { ...by, order, candidates, read: this.#read, dropped: this.#read - this.#matched };
  }
}
