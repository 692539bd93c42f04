/** The typed methods of a collection. */
import type { LiveHandlers, LiveOptions } from "./live.ts";
import type { ManyOptions, ManyResult, Selection } from "./many.ts";
import type {
  AggregateOptions,
  GetOptions,
  ListOptions,
  PageOptions,
  RevisionListOptions,
  Wish,
  WriteOptions,
} from "./options.ts";
import type { AggregateGroup, Page } from "./page.ts";
import type { CallOptions } from "./transport.ts";
import type {
  ChangedValues,
  Entry,
  Expanded,
  Fields,
  MergePatch,
  Mode,
  NewValues,
  OrbTypes,
  References,
  Revision,
  RevisionItem,
  Values,
} from "./types.ts";

/**
 * Whether a call returns the values of one language, or maps of all languages. The option `locale` of the call decides,
 * or else that of the client.
 */
type ModeOf<P, D extends Mode> = P extends { locale: infer L extends string }
  ? L extends "*"
    ? "all"
    : "one"
  : D;

type Found<All, S extends Fields, O extends OrbTypes, M extends Mode, E extends string> = Entry<
  Values<S, O, M>
> &
  ([E] extends [never] ? unknown : { expand: Expanded<All, S, E> });

/** An entry, or its id. If you pass an entry, the write fails unless its revision is the newest one. */
export type Target = string | { id: string; revision: number };

/** A page of the history of an entry. */
export interface RevisionPage {
  items: RevisionItem[];
  nextCursor: string | null;
}

export interface Collection<All, O extends OrbTypes, S extends Fields, D extends Mode> {
  /** Returns a page of entries. Follow `nextCursor`, because a page may be shorter than `limit`. */
  list<const P extends ListOptions<S, E> & PageOptions, E extends References<S> = never>(
    options?: P & { expand?: readonly E[] },
  ): Promise<Page<Found<All, S, O, ModeOf<P, D>, E>>>;
  /** Yields all entries that match the filter. Requests one page at a time. */
  all<const P extends ListOptions<S, E>, E extends References<S> = never>(
    options?: P & { expand?: readonly E[] },
  ): AsyncGenerator<Found<All, S, O, ModeOf<P, D>, E>, void, undefined>;
  /**
   * Follows the list: calls `render` with all its entries, and again after each change. Reconnects by itself.
   * @returns a function that stops following
   */
  live<const P extends LiveOptions<S>>(
    options: P,
    render: (items: Found<All, S, O, ModeOf<P, D>, never>[]) => void,
    handlers?: LiveHandlers,
  ): () => void;
  /** Counts, adds up and compares entries. Follows the pages until the result is complete. */
  aggregate<const A extends string>(options: AggregateOptions<S, A>): Promise<AggregateGroup<A>[]>;
  get<const P extends GetOptions<S, E>, E extends References<S> = never>(
    id: string,
    options?: P & { expand?: readonly E[] },
  ): Promise<Found<All, S, O, ModeOf<P, D>, E>>;
  /** Creates an entry. The client may repeat the request, but only one entry is created. */
  create<const P extends WriteOptions>(
    values: NewValues<S, O>,
    options?: P,
  ): Promise<Entry<Values<S, O, ModeOf<P, D>>>>;
  /**
   * Changes the given values and keeps the others.
   * @throws Conflict if `entry` is not the newest revision
   */
  update<const P extends WriteOptions>(
    entry: { id: string; revision: number },
    changes: ChangedValues<S, O>,
    options?: P,
  ): Promise<Entry<Values<S, O, ModeOf<P, D>>>>;
  /**
   * Applies a JSON Merge Patch (RFC 7396): objects are merged, an array replaces the whole array, and null clears a
   * value. If you pass an entry, the write fails unless its revision is the newest one.
   */
  patch<const P extends WriteOptions>(
    target: Target,
    values: MergePatch<ChangedValues<S, O>>,
    options?: P,
  ): Promise<Entry<Values<S, O, ModeOf<P, D>>>>;
  /** Applies a JSON Merge Patch to all entries that match the filter, with one write per entry. */
  patchAll(
    selection: Selection<S>,
    values: MergePatch<ChangedValues<S, O>>,
    options?: ManyOptions & WriteOptions,
  ): Promise<ManyResult>;
  /** Deletes all entries that match the filter. */
  deleteAll(selection: Selection<S>, options?: ManyOptions & { force?: boolean }): Promise<ManyResult>;
  publish(target: Target, options?: Wish & CallOptions): Promise<Entry<Values<S, O, D>>>;
  unpublish(target: Target, options?: Wish & CallOptions): Promise<Entry<Values<S, O, D>>>;
  archive(
    target: Target,
    options?: Wish & CallOptions & { force?: boolean },
  ): Promise<Entry<Values<S, O, D>>>;
  restore(target: Target, options?: Wish & CallOptions): Promise<Entry<Values<S, O, D>>>;
  /** Returns a page of the entry's history, newest first. Only callers who may write can read it. */
  revisions(id: string, options?: RevisionListOptions): Promise<RevisionPage>;
  /** Returns one revision, with its values as maps of all languages and markets. */
  revision(id: string, revision: number, options?: CallOptions): Promise<Revision<Values<S, O, "all">>>;
  /** Creates a new draft with the values, `validFrom` and `validTo` of an older revision. */
  revert(target: Target, revision: number, options?: Wish & CallOptions): Promise<Entry<Values<S, O, D>>>;
  /** @param options.force whether to delete the entry although other entries refer to it */
  delete(target: Target, options?: CallOptions & { force?: boolean }): Promise<void>;
}
