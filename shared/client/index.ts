/** The platform's client for browsers, workers, Node and Deno. It has no dependencies. */
import { type BatchItem, type BatchOptions, type BatchWritten, sendBatch } from "./batch.ts";
import { type Changes, type ChangeTarget, changesOf, transportIn } from "./changes.ts";
import { collection } from "./collection.ts";
import { type Files, filesOf } from "./files.ts";
import { type FoundEntries, type SearchOptions, searchOrb } from "./found.ts";
import type { Collection } from "./methods.ts";
import type { Wish } from "./options.ts";
import { ceremony, type RegisterOptions, type SignInOptions } from "./passkey.ts";
import { readStream, type StreamBatch, type StreamOptions } from "./stream.ts";
import {
  type CallOptions,
  type ClientOptions,
  createTransport,
  newKey,
  pinnedTo,
  type Transport,
} from "./transport.ts";
import type { AnyOrbs, Fields, Mode, OrbTypes } from "./types.ts";
import { type Views, viewsOf } from "./views.ts";

export type { BatchItem, BatchOptions, BatchRef, BatchWritten } from "./batch.ts";
export type {
  ChangeComment,
  ChangeContent,
  ChangedEntry,
  ChangedPart,
  ChangeSet,
  ChangeState,
  Changes,
  ChangeTarget,
  ListedChange,
  PublishedChange,
} from "./changes.ts";
export type {
  DownloadOptions,
  FileChange,
  FilePage,
  FileRef,
  Files,
  FileUser,
  LibraryFile,
  LibraryFileDetail,
  ListFilesOptions,
  ReplacedFile,
  UploadedFile,
  UploadOptions,
} from "./files.ts";
export type { FoundEntries, FoundEntry, SearchOptions } from "./found.ts";
export type { LiveHandlers, LiveOptions, LiveStatus } from "./live.ts";
export type { Collection, RevisionPage } from "./methods.ts";
export type { AggregateOptions, GetOptions, ListOptions, RevisionListOptions } from "./options.ts";
export type { AggregateGroup, Explanation, Page } from "./page.ts";
export { Conflict, type Fault, isProblem, Problem } from "./problem.ts";
export type { StreamBatch, StreamOptions } from "./stream.ts";
export type { CallOptions, ClientOptions } from "./transport.ts";
export type {
  DescribedFile,
  Entry,
  FieldType,
  OrbTypes,
  Revision,
  RevisionItem,
  Status,
  Values,
} from "./types.ts";

export type { View, ViewInput, ViewList, ViewPage, Views } from "./views.ts";

interface HandlerOptions extends CallOptions {
  /** The client sends this key with every attempt of a call, so that the service can recognise a repeated attempt. */
  idempotencyKey?: string;
}

/** Works with the entries of several schemas. */
interface Together<O extends OrbTypes> {
  /**
   * Searches the entries of all schemas, best matches first. The last word of the text may be the beginning of a word.
   * Always has the shape of the current definition.
   */
  search(text: string, options?: SearchOptions): Promise<FoundEntries>;
  /**
   * Creates, changes and deletes up to 200 entries in one atomic write: all of them, or none. The response has one
   * member for each item. The platform repeats a batch that meets other writes, so the caller need not.
   * @throws Problem with the code of the first refused item, and with paths such as `/do/1/values/title`
   */
  batch(items: readonly BatchItem<O>[], options?: BatchOptions): Promise<BatchWritten[]>;
}

/** The methods of collections that do not work within a change set. */
type NotInChange = "aggregate" | "revisions" | "revision" | "revert";

/** The collections of an orb as a change set will leave them. Their writes go into the set. */
export type OrbInChange<All, O extends OrbTypes, D extends Mode> = {
  [M in keyof O["modules"] & string]: {
    [S in keyof O["modules"][M] & string]: O["modules"][M][S] extends Fields
      ? Omit<Collection<All, O, O["modules"][M][S], D>, NotInChange>
      : never;
  };
} & Together<O>;

/** The client of one orb (an application). Contains its collections, keyed by module and schema, and calls its handlers. */
export type OrbClient<All, O extends OrbTypes, D extends Mode> = {
  [M in keyof O["modules"] & string]: {
    [S in keyof O["modules"][M] & string]: O["modules"][M][S] extends Fields
      ? Collection<All, O, O["modules"][M][S], D>
      : never;
  };
} & Together<O> & {
    /**
     * Calls a handler by its full name, `service.handler`. The client does not repeat a call that may have reached the
     * service.
     * @throws Problem with the error code that the handler returned
     */
    call<N extends keyof O["handlers"] & string>(
      name: N,
      input: O["handlers"][N]["input"],
      options?: HandlerOptions,
    ): Promise<O["handlers"][N]["output"]>;
    /** Change sets: changes that are reviewed and published together. */
    changes: Changes & {
      /**
       * Returns the collections as the set will leave them. Writes go into the set. The platform refuses the options
       * `publish`, `at` and `explain` there.
       */
      in(target: ChangeTarget): OrbInChange<All, O, D>;
    };
    /** Returns the saved views of a schema's lists. */
    views<M extends keyof O["modules"] & string>(module: M, schema: keyof O["modules"][M] & string): Views;
  };

export interface Client<All, D extends Mode> {
  orb<N extends keyof All & string>(id: N): All[N] extends OrbTypes ? OrbClient<All, All[N], D> : never;
  /** Uploads, downloads and shares the files of an orb (an application). */
  files<N extends keyof All & string>(orb: N): Files;
  /** Yields the messages of a stream in batches. Never ends by itself: leave the loop or abort the signal. */
  stream<T = unknown>(name: string, options?: StreamOptions): AsyncGenerator<StreamBatch<T>, void, undefined>;
  /**
   * Signs in with a passkey and returns the session token. The client uses the new session for all further requests.
   */
  signIn(options?: SignInOptions): Promise<string>;
  /**
   * Registers an account with a passkey and returns the session token. The client uses the new session for all further
   * requests.
   */
  register(options?: RegisterOptions): Promise<string>;
  /** Ends the caller's session in the given realm (set of accounts). */
  signOut(options?: SignInOptions): Promise<void>;
}

/** Adds a function. An older orb can have a module of its name: then the function has its collections too. */
function withOlder(orbs: Record<string, unknown>, name: "batch" | "search" | "views", act: object): void {
  const older = orbs[name];
  orbs[name] = new Proxy(act, { get: (_, member) => Reflect.get(Object(older), member) });
}

/**
 * Returns the collections of an orb, and what works with several of them.
 * @param unpinned the transport without a revision of the definition
 * @param base URL path of the orb
 */
function collectionsOf(
  transport: Transport,
  unpinned: Transport,
  base: string,
  defaults: Wish,
): Record<string, unknown> {
  // With a proxy, the client need not request the application's definition to know the names of its modules.
  const byName = (make: (name: string) => unknown) =>
    new Proxy(Object.create(null) as Record<string, unknown>, {
      get(known, name) {
        // `await` and `JSON.stringify` look up these names on every object, so they must not become modules.
        if (typeof name !== "string" || name === "then" || name === "toJSON") return undefined;
        known[name] ??= make(name);
        return known[name];
      },
    });
  const orbs = byName((module) =>
    byName((schema) =>
      collection(transport, `${base}/${encodeURIComponent(module)}/${encodeURIComponent(schema)}`, defaults),
    ),
  );
  withOlder(orbs, "batch", (items: readonly BatchItem<OrbTypes>[], options?: BatchOptions) =>
    sendBatch(transport, base, defaults, items, options),
  );
  withOlder(orbs, "search", (text: string, options?: SearchOptions) =>
    searchOrb(unpinned, base, text, { ...defaults, ...options }),
  );
  return orbs;
}

function orbClient(transport: Transport, orb: string, defaults: Wish, revision: number | undefined): unknown {
  const pinned = pinnedTo(transport, revision);
  const base = `/api/${encodeURIComponent(orb)}`;
  const call = async (name: string, input: unknown, options: HandlerOptions = {}) => {
    // Include the service in the path, because another service may have a handler with the same name.
    const named = name.split(".").map(encodeURIComponent).join("/");
    const response = await transport.send({
      method: "POST",
      path: `${base}/call/${named}`,
      body: input,
      headers: { "idempotency-key": options.idempotencyKey ?? newKey() },
      signal: options.signal,
      repeat: "refused",
    });
    return (await response.json()) as unknown;
  };
  const orbs = collectionsOf(pinned, transport, base, defaults);
  // No module can have the id `call`, because it is reserved. So this property hides no module.
  orbs.call = call;
  // An older orb can have a module `changes`. Then this object has its collections too.
  const older = orbs.changes;
  const changes = {
    ...changesOf(transport, base),
    in: (target: ChangeTarget) =>
      collectionsOf(transportIn(pinned, target), transportIn(transport, target), base, defaults),
  };
  orbs.changes = new Proxy(changes, {
    get: (own, name) => Reflect.get(own, name) ?? Reflect.get(Object(older), name),
  });
  withOlder(orbs, "views", (module: string, schema: string) => viewsOf(transport, base, module, schema));
  return orbs;
}

/** The revisions of the orbs' definitions. With generated types, each must be the one that the types were made from. */
type Definitions<All> = { readonly [N in keyof All]?: All[N] extends { revision: infer R } ? R : number };

/**
 * Creates a client.
 * @throws TypeError if the option `url` is missing outside a browser
 */
export function createClient<All = AnyOrbs>(
  options: ClientOptions & { locale: string; definition?: Definitions<NoInfer<All>> },
): Client<All, "one">;
export function createClient<All = AnyOrbs>(
  options?: ClientOptions & { locale?: never; definition?: Definitions<NoInfer<All>> },
): Client<All, "all">;
export function createClient(options: ClientOptions = {}): unknown {
  const transport = createTransport(options);
  const defaults: Wish = {
    ...(options.locale === undefined ? {} : { locale: options.locale }),
    ...(options.market === undefined ? {} : { market: options.market }),
  };
  const enter = async (purpose: "signIn" | "register", input: RegisterOptions) => {
    const token = await ceremony(transport, purpose, input);
    transport.useToken(token);
    return token;
  };
  return {
    orb: (id: string) => orbClient(transport, id, defaults, options.definition?.[id]),
    files: (id: string) => filesOf(transport, id),
    stream: <T>(name: string, input: StreamOptions = {}) => readStream<T>(transport, name, input),
    signIn: (input: SignInOptions = {}) => enter("signIn", input),
    register: (input: RegisterOptions = {}) => enter("register", input),
    async signOut({ realm = "auth", signal }: SignInOptions = {}) {
      const path = realm === "platform" ? "/api/_auth/signout" : `/api/${encodeURIComponent(realm)}/signout`;
      await transport.send({ method: "POST", path, signal, repeat: "safe" });
      transport.useToken(undefined);
    },
  };
}
