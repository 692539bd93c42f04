/** Reads and writes the entries of one schema. */
import { followList, type LiveHandlers, type LiveOptions } from "./live.ts";
import { changeAll, type ManyOptions, type Selection } from "./many.ts";
import type { Collection, Target } from "./methods.ts";
import type {
  AggregateOptions,
  Expanding,
  GetOptions,
  ListOptions,
  MoveOptions,
  PageOptions,
  PublishOptions,
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
type Adding = WriteOptions & { add?: Readonly<Record<string, number | string>> };
type AnyEntry = Entry<Record<string, unknown>>;

const LARGEST_PAGE = 200;

/** An entry, its id, or the value of a unique field: an object whose only member is the field. */
type Named = Target | Readonly<Record<string, string | number>>;

/** No field is named `id`, so this member tells an entry from a key. */
const isEntry = (target: Named): target is Exclude<Target, string> =>
  typeof target === "object" && "id" in target;

function ifMatch(target: Named): Record<string, string> {
  return isEntry(target) ? { "if-match": `"${target.revision}"` } : {};
}

/**
 * Returns the headers of an update that is based on an entry as it was read. Without the key, a retry would meet the
 * revision of an earlier attempt whose response was lost. The client cannot tell that revision from another user's,
 * because many values are not stored or shown as they were sent.
 */
const onceFrom = (target: Named): Record<string, string> =>
  isEntry(target) ? { ...ifMatch(target), "idempotency-key": newKey() } : {};

/** Returns the path of an entry below that of its collection. */
function pathOf(target: Named): string {
  if (typeof target === "string") return encodeURIComponent(target);
  if (isEntry(target)) return encodeURIComponent(target.id);
  const [key, ...more] = Object.entries(target);
  if (key === undefined || more.length > 0) throw new TypeError("A key names one field.");
  return `by/${key.map(encodeURIComponent).join("/")}`;
}

const formOf = ({ richText }: MoveOptions) => (richText === undefined ? {} : { richText });

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
  const localeOf = ({ locale = defaults.locale ?? "*", market = defaults.market }: Wish) => ({
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

  async function list(
    options: ListOptions<unknown, OrbTypes, Fields> & Expanding<string> & PageOptions = {},
  ): Promise<Page<AnyEntry>> {
    const { signal: _, ...input } = options;
    return read(path, { ...input, ...localeOf(options) } as ListInput, options);
  }

  async function get(id: Named, options: GetOptions<Fields> & Expanding<string> = {}): Promise<AnyEntry> {
    const { signal: _, ...input } = options;
    return read(`${path}/${pathOf(id)}`, { ...input, ...localeOf(options) }, options);
  }

  async function write(
    method: "PATCH" | "POST" | "PUT",
    at: string,
    values: unknown,
    options: Adding = {},
    more: Partial<Parameters<Transport["send"]>[0]> = {},
  ): Promise<AnyEntry> {
    const { publish, add, validFrom, validTo, richText, signal } = options;
    const query = queryOf({ ...localeOf(options), richText });
    if (publish === true) query.set("publish", "true");
    const body = { values, add, validFrom, validTo };
    const response = await transport.send({ method, path: at, query, body, signal, repeat: "safe", ...more });
    return (await response.json()) as AnyEntry;
  }

  async function update(
    entry: { id: string; revision: number },
    changes: Readonly<Record<string, unknown>>,
    options: WriteOptions = {},
  ): Promise<AnyEntry> {
    const { publish, signal } = options;
    const wish = localeOf(options);
    const call = signal === undefined ? {} : { signal };
    const latest = () => get(entry.id, { revision: "latest", locale: wish.locale, ...call });
    // A write without a language and market replaces all values, so it must also contain the unchanged values of the
    // newest draft. Any other write keeps the values that it omits.
    const whole = wish.locale === "*" && wish.market === undefined;
    const newest = whole ? await latest() : undefined;
    const live = newest?.publishedRevision ?? null;
    // To publish all values would also publish the draft. So send a patch, which applies to the live revision too.
    const besideDraft = publish === true && newest !== undefined && live !== null && live !== newest.revision;
    const stored = besideDraft
      ? [newest, await get(entry.id, { locale: "*", ...call }).catch(() => newest)]
      : [];
    const values = besideDraft
      ? Object.fromEntries(
          Object.entries(changes).map(([name, value]) => [
            name,
            replacing(
              value,
              stored.map((one) => one.values[name]),
            ),
          ]),
        )
      : { ...newest?.values, ...changes };
    try {
      return await write(besideDraft ? "PATCH" : "PUT", `${path}/${pathOf(entry)}`, values, options, {
        headers: onceFrom(entry),
      });
    } catch (error) {
      if (!isProblem(error, "revision_mismatch")) throw error;
      throw new Conflict(error, await latest(), changes);
    }
  }

  /** Changes an entry as a whole. The response is in all languages, so read the language of the client afterwards. */
  async function move(
    target: Target,
    operation: string,
    options: PublishOptions & { force?: boolean } = {},
  ): Promise<AnyEntry> {
    const query = queryOf({ locale: "*", richText: options.richText });
    if (options.force === true) query.set("force", "true");
    if (options.locales !== undefined) query.set("locales", options.locales.join(","));
    const response = await transport.send({
      method: "POST",
      path: `${path}/${pathOf(target)}/${operation}`,
      query,
      headers: { ...ifMatch(target), "idempotency-key": newKey() },
      signal: options.signal,
      repeat: "safe",
    });
    const moved = (await response.json()) as AnyEntry;
    const { locale, market } = localeOf({});
    if (locale === "*" && market === undefined) return moved;
    // A caller who may only delete gets the entry without its values.
    const shown = await get(moved.id, { revision: "latest", ...formOf(options) }).catch(() => moved);
    return { ...moved, values: shown.values };
  }

  const methods = {
    list,
    async *all(options: ListOptions<unknown, OrbTypes, Fields> & Expanding<string> = {}) {
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
      followList(transport, path, { ...options, ...localeOf(options) }, render, handlers),
    async aggregate<A extends string>(options: AggregateOptions<unknown, OrbTypes, Fields, A>) {
      for (let more = {}; ; ) {
        const page = await list({ ...options, ...more });
        if (page.nextCursor === null) return page.groups;
        more = { cursor: page.nextCursor };
      }
    },
    get,
    create: (values: unknown, options?: WriteOptions) =>
      write("POST", path, values, options, { headers: { "idempotency-key": newKey() } }),
    update,
    put: (key: Named, values: unknown, options?: WriteOptions) =>
      write("PUT", `${path}/${pathOf(key)}`, values, options),
    patch: (target: Named, values: unknown, options?: Adding) =>
      write("PATCH", `${path}/${pathOf(target)}`, values, options, {
        headers: onceFrom(target),
        // A patch that is based on no revision could overwrite what another user has written since the first attempt.
        repeat: isEntry(target) ? "safe" : "refused",
      }),
    patchAll(
      selection: Selection<unknown, Fields>,
      values: unknown,
      options: ManyOptions & WriteOptions = {},
    ) {
      const { publish, validFrom, validTo } = options;
      const body = { values, validFrom, validTo };
      const query = {
        ...Object.fromEntries(queryOf(localeOf(options))),
        ...(publish === true ? { publish: "true" } : {}),
      };
      return changeAll(transport, { method: "PATCH", path, body, query }, selection, options);
    },
    deleteAll(selection: Selection<unknown, Fields>, options: ManyOptions & { force?: boolean } = {}) {
      const query = options.force === true ? { force: "true" } : {};
      return changeAll(transport, { method: "DELETE", path, query }, selection, options);
    },
    publish: (target: Target, options?: PublishOptions) => move(target, "publish", options),
    unpublish: (target: Target, options?: MoveOptions) => move(target, "unpublish", options),
    archive: (target: Target, options?: MoveOptions & { force?: boolean }) =>
      move(target, "archive", options),
    restore: (target: Target, options?: MoveOptions) => move(target, "restore", options),
    revisions(id: string, { signal, ...query }: RevisionListOptions = {}) {
      const call = signal === undefined ? {} : { signal };
      return read(`${path}/${pathOf(id)}/revisions`, { sort: "-revision", ...query }, call);
    },
    revision: (id: string, revision: number, options: CallOptions = {}) =>
      read(`${path}/${pathOf(id)}/revisions/${revision}`, {}, options),
    revert: (target: Target, revision: number, options?: MoveOptions) =>
      move(target, `revisions/${revision}/restore`, options),
    async delete(target: Named, options: CallOptions & { force?: boolean } = {}) {
      let repeated = false;
      try {
        await transport.send({
          method: "DELETE",
          path: `${path}/${pathOf(target)}`,
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

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/**
 * Returns a JSON Merge Patch that replaces an object as a whole: it has null for each member that one of the stored
 * objects has and the new object lacks.
 */
function replacing(value: unknown, stored: readonly unknown[]): unknown {
  if (!isObject(value)) return value;
  const before = stored.filter(isObject);
  const names = [...before, value].flatMap((one) => Object.keys(one));
  return Object.fromEntries(
    names.map((name) => [
      name,
      name in value
        ? replacing(
            value[name],
            before.map((one) => one[name]),
          )
        : null,
    ]),
  );
}
