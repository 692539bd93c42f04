/** The typed methods of a collection. */
import type { Amounts } from "./batch.ts";
import type { LiveHandlers, LiveOptions } from "./live.ts";
import type { ManyOptions, ManyResult, Selection } from "./many.ts";
import type {
  AggregateOptions,
  Expanding,
  GetOptions,
  ListOptions,
  MoveOptions,
  PageOptions,
  PublishOptions,
  RevisionListOptions,
  WriteOptions,
} from "./options.ts";
import type { AggregateGroup, Page } from "./page.ts";
import type { CallOptions } from "./transport.ts";
import type {
  ChangedValues,
  Entry,
  Expandable,
  Expanded,
  Fields,
  Key,
  MergePatch,
  Mode,
  NewValues,
  OrbTypes,
  Revision,
  RevisionItem,
  Values,
} from "./types.ts";

/**
 * Whether a call returns the values of one language, or maps of all languages. The language of the call decides, or
 * else that of the client.
 */
type ModeOf<L extends string, D extends Mode> = [L] extends [never] ? D : L extends "*" ? "all" : "one";

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
  list<L extends string = never, E extends Expandable<S> = never>(
    options?: ListOptions<All, O, S, L> & PageOptions & Expanding<E>,
  ): Promise<Page<Found<All, S, O, ModeOf<L, D>, E>>>;
  /** Yields all entries that match the filter. Requests one page at a time. */
  all<L extends string = never, E extends Expandable<S> = never>(
    options?: ListOptions<All, O, S, L> & Expanding<E>,
  ): AsyncGenerator<Found<All, S, O, ModeOf<L, D>, E>, void, undefined>;
  /**
   * Follows the list: calls `render` with all its entries, and again after each change. Reconnects by itself.
   * @returns a function that stops following
   */
  live<L extends string = never>(
    options: LiveOptions<S, L>,
    render: (items: Found<All, S, O, ModeOf<L, D>, never>[]) => void,
    handlers?: LiveHandlers,
  ): () => void;
  /** Counts, adds up and compares entries. Follows the pages until the result is complete. */
  aggregate<A extends string>(options: AggregateOptions<All, O, S, A>): Promise<AggregateGroup<A>[]>;
  /** Returns an entry by its id, or by a value of a unique field: `get({ sku: "AB-1000" })`. */
  get<L extends string = never, E extends Expandable<S> = never>(
    id: string | Key<S>,
    options?: GetOptions<S, L> & Expanding<E>,
  ): Promise<Found<All, S, O, ModeOf<L, D>, E>>;
  /** Creates an entry. The client may repeat the request, but only one entry is created. */
  create<L extends string = never>(
    values: NewValues<S, O>,
    options?: WriteOptions<L>,
  ): Promise<Entry<Values<S, O, ModeOf<L, D>>>>;
  /**
   * Changes the given values and keeps the others.
   * @throws Conflict if `entry` is not the newest revision
   */
  update<L extends string = never>(
    entry: { id: string; revision: number },
    changes: ChangedValues<S, O>,
    options?: WriteOptions<L>,
  ): Promise<Entry<Values<S, O, ModeOf<L, D>>>>;
  /**
   * Creates the entry with a unique value, or replaces the values of the one that has it. Writes nothing if it already
   * has these values.
   * @param key the unique value, such as `{ sku: "AB-1000" }`. `values` may omit it.
   */
  put<L extends string = never>(
    key: Key<S>,
    values: ChangedValues<S, O>,
    options?: WriteOptions<L>,
  ): Promise<Entry<Values<S, O, ModeOf<L, D>>>>;
  /**
   * Applies a JSON Merge Patch (RFC 7396): objects are merged, an array replaces the whole array, and null clears a
   * value. If you pass an entry, the write fails unless its revision is the newest one.
   * @param options.add numbers to add to the newest values, by field
   */
  patch<L extends string = never>(
    target: Target | Key<S>,
    values: MergePatch<ChangedValues<S, O>>,
    options?: WriteOptions<L> & { add?: Amounts<S> },
  ): Promise<Entry<Values<S, O, ModeOf<L, D>>>>;
  /** Applies a JSON Merge Patch to all entries that match the filter, with one write per entry. */
  patchAll(
    selection: Selection<All, S>,
    values: MergePatch<ChangedValues<S, O>>,
    options?: ManyOptions & WriteOptions,
  ): Promise<ManyResult>;
  /** Deletes all entries that match the filter. */
  deleteAll(selection: Selection<All, S>, options?: ManyOptions & { force?: boolean }): Promise<ManyResult>;
  publish(target: Target, options?: PublishOptions): Promise<Entry<Values<S, O, D>>>;
  unpublish(target: Target, options?: MoveOptions): Promise<Entry<Values<S, O, D>>>;
  archive(target: Target, options?: MoveOptions & { force?: boolean }): Promise<Entry<Values<S, O, D>>>;
  restore(target: Target, options?: MoveOptions): Promise<Entry<Values<S, O, D>>>;
  /** Returns a page of the entry's history, newest first. Only callers who may write can read it. */
  revisions(id: string, options?: RevisionListOptions): Promise<RevisionPage>;
  /** Returns one revision, with its values as maps of all languages and markets. */
  revision(id: string, revision: number, options?: CallOptions): Promise<Revision<Values<S, O, "all">>>;
  /** Creates a new draft with the values, `validFrom` and `validTo` of an older revision. */
  revert(target: Target, revision: number, options?: MoveOptions): Promise<Entry<Values<S, O, D>>>;
  /** @param options.force whether to delete the entry although other entries refer to it */
  delete(target: Target | Key<S>, options?: CallOptions & { force?: boolean }): Promise<void>;
}
