/** The options of reads and writes. */
import type { CallOptions } from "./transport.ts";
import type { FieldName, Fields, Filter, Sort } from "./types.ts";

/** Language and market of a call. `locale: "*"` reads and writes maps of all languages and markets. */
export interface Wish {
  locale?: string;
  market?: string;
}

export interface ReadOptions<S extends Fields, E extends string> extends Wish, CallOptions {
  /** Reference fields to resolve. The response contains their entries as `expand`. */
  expand?: readonly E[];
  /** Fields to include in the response. All fields by default. */
  fields?: readonly (keyof S & string)[];
  /** `latest` reads the newest draft. Only callers who may write can read drafts. */
  revision?: "published" | "latest";
}

export interface ListOptions<S extends Fields, E extends string> extends ReadOptions<S, E> {
  filter?: Filter<S>;
  /**
   * Words that an entry must contain in fields with `search: true`. The best matches come first, unless `sort` is set.
   */
  search?: string;
  sort?: Sort<S> | readonly Sort<S>[];
  /** Number of entries per page, at most 200. The default is 50 for `list()`, and 200 for `all()`. */
  limit?: number;
}

type Aggregate<S extends Fields> = "count" | `${"count" | "sum" | "avg" | "min" | "max"}(${FieldName<S>})`;

export interface AggregateOptions<S extends Fields, A extends string>
  extends Pick<ListOptions<S, never>, "filter" | "search" | "revision" | "locale" | "market" | "signal"> {
  /** The aggregates to compute, each with a name, such as `{ orders: "count", turnover: "sum(total)" }`. */
  aggregate: Readonly<Record<A, Aggregate<S>>>;
  /**
   * Computes the aggregates separately for each value of these fields. The fields must be booleans, references or have
   * an enum.
   */
  group?: readonly FieldName<S>[];
}

export interface PageOptions {
  cursor?: string;
  /** Adds `total` to the page: the number of entries that match the filter. */
  count?: boolean;
  /**
   * Adds `explain` to the page. It says how the platform read the list. Only callers who may read all drafts can set
   * this option.
   */
  explain?: boolean;
}

export interface WriteOptions extends Wish, CallOptions {
  /** Whether to publish the new revision as well. */
  publish?: boolean;
  validFrom?: Date | string | null;
  validTo?: Date | string | null;
}

export interface GetOptions<S extends Fields, E extends string> extends ReadOptions<S, E> {
  /** Reads the entry as it was at this time, drafts included. Only callers who may write can read its history. */
  at?: Date | string;
}

export interface RevisionListOptions extends CallOptions {
  /** `-revision`, the default: newest first. */
  sort?: "revision" | "-revision";
  /** Maximum number of revisions per page: at most 200, 50 by default. */
  limit?: number;
  cursor?: string;
}
