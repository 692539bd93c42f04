/** Reads and writes the entries of one schema. */
import { followList, type LiveHandlers, type LiveOptions } from "./live.ts";
import { changeAll, type ManyOptions, type Selection } from "./many.ts";
import type { Collection, Target } from "./methods.ts";
import type {
  AggregateOptions,
  GetOptions,
  ListOptions,
  PageOptions,
  RevisionListOptions,
  Wish,
  WriteOptions,
} from "./options.ts";
import type { Page } from "./page.ts";
import { Conflict, isProblem, Problem } from "./problem.ts";
import { type ListInput, queryOf } from "./query.ts";
import { type CallOptions, newKey, type Transport } from "./transport.ts";
import type { Entry, Fields, Mode, OrbTypes } from "./types.ts";

/** The methods of a collection before a schema's types are known. {@link Collection} adds these types. */
type Runtime = Collection<unknown, OrbTypes, Fields, Mode>;
type AnyEntry = Entry<Record<string, unknown>>;

const LARGEST_PAGE = 200;

function ifMatch(target: Target): Record<string, string> {
  return typeof target === "string" ? {} : { "if-match": `"${target.revision}"` };
}

const idOf = (target: Target) => encodeURIComponent(typeof target === "string" ? target : target.id);

function moment(at: Date | string | null | undefined): string | null | undefined {
  return at instanceof Date ? at.toISOString() : at;
}

/**
 * Returns the methods of a collection.
 * @param path URL path of the collection, such as `/api/shop/catalog/product`
 * @param defaults language and market for calls that do not set them
 */
export function collection(transport: Transport, path: string, defaults: Wish): Runtime {
  /**
   * Returns the language and market of a call. Without a language, requests and responses contain maps of all
   * languages.
   */
  const placeOf = ({ locale = defaults.locale ?? "*", market = defaults.market }: Wish) => ({
    locale,
    market,
  });

  async function read<T>(at: string, input: ListInput, options: CallOptions): Promise<T> {
    const response = await transport.send({
      method: "GET",
      path: at,
      query: queryOf(input),
      signal: options.signal,
      repeat: "safe",
    });
    return (await response.json()) as T;
  }

  async function list(options: ListOptions<Fields, string> & PageOptions = {}): Promise<Page<AnyEntry>> {
    const { signal: _, ...input } = options;
    return read(path, { ...input, ...placeOf(options) } as ListInput, options);
  }

  async function get(id: string, options: GetOptions<Fields, string> = {}): Promise<AnyEntry> {
    const { signal: _, ...input } = options;
    return read(`${path}/${encodeURIComponent(id)}`, { ...input, ...placeOf(options) }, options);
  }

  async function update(
    entry: { id: string; revision: number },
    changes: Readonly<Record<string, unknown>>,
    options: WriteOptions = {},
  ): Promise<AnyEntry> {
    const { publish, validFrom, validTo, signal } = options;
    const wish = placeOf(options);
    const call = signal === undefined ? {} : { signal };
    const latest = () => get(entry.id, { revision: "latest", locale: wish.locale, ...call });
    // A write without a language and market replaces all values, so it must also contain the unchanged values of the
    // newest draft. Any other write keeps the values that it omits.
    const whole = wish.locale === "*" && wish.market === undefined;
    const values = whole ? { ...(await latest()).values, ...changes } : changes;
    const query = queryOf(wish);
    if (publish === true) query.set("publish", "true");
    let repeated = false;
    try {
      const response = await transport.send({
        method: "PUT",
        path: `${path}/${idOf(entry)}`,
        query,
        body: { values, validFrom: moment(validFrom), validTo: moment(validTo) },
        headers: ifMatch(entry),
        signal,
        repeat: "safe",
        repeats: () => {
          repeated = true;
        },
      });
      return (await response.json()) as AnyEntry;
    } catch (error) {
      if (!isProblem(error, "revision_mismatch")) throw error;
      const theirs = await latest();
      // An earlier attempt may have written this revision, although its response did not reach the client.
      if (repeated && theirs.revision === entry.revision + 1 && contains(theirs.values, changes))
        return theirs;
      throw new Conflict(error, theirs, changes);
    }
  }

  async function move(
    target: Target,
    operation: string,
    options: Wish & CallOptions & { force?: boolean } = {},
  ) {
    const query = queryOf(placeOf(options));
    if (options.force === true) query.set("force", "true");
    const response = await transport.send({
      method: "POST",
      path: `${path}/${idOf(target)}/${operation}`,
      query,
      headers: { ...ifMatch(target), "idempotency-key": newKey() },
      signal: options.signal,
      repeat: "safe",
    });
    return (await response.json()) as AnyEntry;
  }

  const methods = {
    list,
    async *all(options: ListOptions<Fields, string> = {}) {
      let cursor: string | undefined;
      do {
        const page = await list({
          limit: LARGEST_PAGE,
          ...options,
          ...(cursor === undefined ? {} : { cursor }),
        });
        yield* page.items;
        cursor = page.nextCursor ?? undefined;
      } while (cursor !== undefined);
    },
    live: (options: LiveOptions<Fields>, render: (items: unknown[]) => void, handlers?: LiveHandlers) =>
      followList(transport, path, { ...options, ...placeOf(options) }, render, handlers),
    async aggregate<A extends string>(options: AggregateOptions<Fields, A>) {
      for (let more = {}; ; ) {
        const page = await list({ ...options, ...more });
        if (page.nextCursor === null) return page.groups;
        more = { cursor: page.nextCursor };
      }
    },
    get,
    async create(values: unknown, options: WriteOptions = {}) {
      const { publish, validFrom, validTo, signal } = options;
      const query = queryOf(placeOf(options));
      if (publish === true) query.set("publish", "true");
      const response = await transport.send({
        method: "POST",
        path,
        query,
        body: { values, validFrom: moment(validFrom), validTo: moment(validTo) },
        headers: { "idempotency-key": newKey() },
        signal,
        repeat: "safe",
      });
      return (await response.json()) as AnyEntry;
    },
    update,
    async patch(target: Target, values: unknown, options: WriteOptions = {}) {
      const { publish, validFrom, validTo, signal } = options;
      const query = queryOf(placeOf(options));
      if (publish === true) query.set("publish", "true");
      const response = await transport.send({
        method: "PATCH",
        path: `${path}/${idOf(target)}`,
        query,
        body: { values, validFrom: moment(validFrom), validTo: moment(validTo) },
        headers: ifMatch(target),
        signal,
        repeat: "refused",
      });
      return (await response.json()) as AnyEntry;
    },
    patchAll(selection: Selection<Fields>, values: unknown, options: ManyOptions & WriteOptions = {}) {
      const { publish, validFrom, validTo } = options;
      const body = { values, validFrom: moment(validFrom), validTo: moment(validTo) };
      const query = {
        ...Object.fromEntries(queryOf(placeOf(options))),
        ...(publish === true ? { publish: "true" } : {}),
      };
      return changeAll(transport, { method: "PATCH", path, body, query }, selection, options);
    },
    deleteAll(selection: Selection<Fields>, options: ManyOptions & { force?: boolean } = {}) {
      const query = options.force === true ? { force: "true" } : {};
      return changeAll(transport, { method: "DELETE", path, query }, selection, options);
    },
    publish: (target: Target, options?: Wish & CallOptions) => move(target, "publish", options),
    unpublish: (target: Target, options?: Wish & CallOptions) => move(target, "unpublish", options),
    archive: (target: Target, options?: Wish & CallOptions & { force?: boolean }) =>
      move(target, "archive", options),
    restore: (target: Target, options?: Wish & CallOptions) => move(target, "restore", options),
    revisions(id: string, { signal, ...query }: RevisionListOptions = {}) {
      const call = signal === undefined ? {} : { signal };
      return read(`${path}/${encodeURIComponent(id)}/revisions`, { sort: "-revision", ...query }, call);
    },
    revision: (id: string, revision: number, options: CallOptions = {}) =>
      read(`${path}/${encodeURIComponent(id)}/revisions/${revision}`, {}, options),
    revert: (target: Target, revision: number, options?: Wish & CallOptions) =>
      move(target, `revisions/${revision}/restore`, options),
    async delete(target: Target, options: CallOptions & { force?: boolean } = {}) {
      let repeated = false;
      try {
        await transport.send({
          method: "DELETE",
          path: `${path}/${idOf(target)}`,
          query: new URLSearchParams(options.force === true ? { force: "true" } : {}),
          headers: ifMatch(target),
          signal: options.signal,
          repeat: "safe",
          repeats: () => {
            repeated = true;
          },
        });
      } catch (error) {
        // 404 after a retry means success: an earlier attempt deleted the entry, but its response did not reach the
        // client.
        if (!(repeated && error instanceof Problem && error.status === 404)) throw error;
      }
    },
  };
  return methods as unknown as Runtime;
}

/** Returns whether `values` already contains all changes. */
function contains(
  values: Readonly<Record<string, unknown>>,
  changes: Readonly<Record<string, unknown>>,
): boolean {
  return Object.entries(changes).every(
    ([name, value]) => value === undefined || JSON.stringify(values[name]) === JSON.stringify(value),
  );
}
