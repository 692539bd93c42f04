/** The options of reads and writes. */
import type { CallOptions } from "./transport.ts";
import type { Aggregate, Fields, Filter, Grouping, OrbTypes, Sort } from "./types.ts";

/**
 * Language and market of a call. `locale: "*"` reads and writes maps of all languages and markets.
 * @template L type of the language: decides whether responses contain maps
 */
export interface Wish<L extends string = string> {
  locale?: L;
  market?: string;
}

/** How responses can show rich text. */
export type RichTextForm = "html" | "markdown" | "text";

export interface ReadOptions<S extends Fields, L extends string = string> extends Wish<L>, CallOptions {
  /** Fields to include in the response. All fields by default. */
  fields?: readonly (keyof S & string)[];
  /** `none`: a value that is missing in the language or market is null, instead of the value of another one. */
  fallback?: "none";
  /** How to show rich text: then its values are texts instead of Portable Text. */
  richText?: RichTextForm;
  /** `latest` reads the newest draft. Only callers who may write can read drafts. */
  revision?: "published" | "latest";
}

/** Options of a call whose response can contain referenced entries. */
export interface Expanding<E extends string> {
  /** Fields to resolve. The response contains the entries of references and the descriptions of files as `expand`. */
  expand?: readonly E[];
}

export interface ListOptions<All, O extends OrbTypes, S extends Fields, L extends string = string>
  extends ReadOptions<S, L> {
  filter?: Filter<All, S>;
  /**
   * Words that an entry must contain in fields with `search: true`. The best matches come first, unless `sort` is set.
   */
  search?: string;
  /** A language: only entries with a translatable field that has a value in another language and none in this one. */
  missing?: O["languages"];
  sort?: Sort<S> | readonly Sort<S>[];
  /** Number of entries per page, at most 200. The default is 50 for `list()`, and 200 for `all()`. */
  limit?: number;
}

export interface AggregateOptions<All, O extends OrbTypes, S extends Fields, A extends string>
  extends Pick<
    ListOptions<All, O, S>,
    "filter" | "search" | "missing" | "revision" | "locale" | "market" | "signal"
  > {
  /** The aggregates to compute, each with a name, such as `{ orders: "count", turnover: "sum(total)" }`. */
  aggregate: Readonly<Record<A, Aggregate<S>>>;
  /**
   * Computes the aggregates separately for each value of these fields. The fields must be booleans, references or have
   * an enum.
   */
  group?: readonly Grouping<S>[];
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

/** Options of a call that changes the status of an entry. */
export interface MoveOptions extends CallOptions {
  /** How the response shows rich text: then its values are texts instead of Portable Text. */
  richText?: RichTextForm;
}

export interface PublishOptions<L extends string = string> extends MoveOptions {
  /** Publishes only the texts of the draft in these languages. Everything else stays as it is live. */
  locales?: readonly L[];
}

export interface WriteOptions<L extends string = string> extends Wish<L>, MoveOptions {
  /** Whether to publish the new revision as well. */
  publish?: boolean;
  validFrom?: Date | string | null;
  validTo?: Date | string | null;
}

export interface GetOptions<S extends Fields, L extends string = string> extends ReadOptions<S, L> {
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
