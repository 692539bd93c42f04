/** Change sets: pending versions of entries that are reviewed and published together. */
import type { BatchWritten } from "./batch.ts";
import type { CallOptions, Request, Transport } from "./transport.ts";

export const CHANGE_STATES = [
  "OPEN",
  "IN_REVIEW",
  "APPROVED",
  "SCHEDULED",
  "PUBLISHED",
  "REVERTED",
  "CLOSED",
] as const;
export type ChangeState = (typeof CHANGE_STATES)[number];

/** What an account did, and when. Accounts are ids. Times are in ISO 8601. */
interface Act {
  by: string;
  at: string;
}

/** A change set in a list. */
export interface ListedChange {
  id: string;
  title: string;
  description: string | null;
  state: ChangeState;
  /** Counts the changes of the set itself, not those of its entries. */
  revision: number;
  createdAt: string;
  createdBy: string;
  /** The handler that opened the set for the account. */
  through?: string;
  /** Id of the API token that opened the set. */
  token?: string;
  changedAt: string;
  changedBy: string;
  approvals: (Act & { hash: string; comment: string | null })[];
  /** The last rejection, until a review is requested again. */
  rejection: (Act & { comment: string }) | null;
  published: (Act & { hash: string }) | null;
  /** When the set is to be published, and the account with whose rights. */
  publishAt: string | null;
  plannedBy: string | null;
  /** Why the set was not published at the planned time. */
  refused: (Act & { publishAt: string; code: string; detail: string }) | null;
  /** Id of the set that this one takes back, and of the one that took it back. */
  reverts?: string;
  revertedBy?: string;
  /** Ids of the sets of an API token that this one takes back, and the id of the token. */
  undoes?: readonly string[];
  undoesToken?: string;
  /** Ids of the sets that have taken back a part of this one. */
  revertedInPart?: readonly string[];
}

export interface ChangeSet extends ListedChange {
  /** Changes with every write into the set. */
  hash: string;
  /** Number of entries in the set. */
  entries: number;
  /** Ids of the accounts that have written into the set. */
  authors: readonly string[];
  /** The definition of the orb in the set: its number within the set, and the live revision that it follows. */
  definition: { revision: number; base: number; force: boolean } | null;
  /** The review rules that concern the entries in the set. */
  review: {
    /** Approvals that the rule demands, and those of the present content that count for it. */
    approvals: number;
    given: number;
    /** Roles whose accounts may approve. */
    by: string[];
    module?: string;
    schema?: string;
    /** Whether the authors of the set may not approve. */
    notAuthor: boolean;
  }[];
}

/** A part of a field that differs between the start of the set and its proposal. */
export interface ChangedPart {
  kind: "added" | "removed" | "moved" | "changed";
  /** JSON Pointer in the entry as it will be. */
  path: string;
  /** The words of a text that has changed. */
  words?: { op: "keep" | "add" | "remove"; text: string }[];
}

/** What a set changes in the definition of the orb. Only platform admins see it. */
export interface ChangedDefinition {
  revision: number;
  base: number;
  force: boolean;
  changedAt: string;
  changedBy: string;
  /** Whether the orb has published another definition since. Rebase the definition then. */
  conflict: boolean;
  /** Revision of the live definition of now. */
  now: number;
  summary: readonly string[];
  /** The places that the set changes: JSON Pointers with the names of modules, schemas and fields. */
  differences: readonly { path: string; base: unknown; now: unknown; proposed: unknown }[];
  /** Paths of `differences` that both the set and the orb have changed. */
  conflicts: readonly string[];
}

/** An entry of a set, compared with the live one. */
export interface ChangedEntry {
  module: string;
  schema: string;
  id: string;
  /** What the publication of the set does with the entry. */
  act: "publish" | "unpublish" | "archive" | "restore" | "delete";
  /** Number of the version within the set. */
  revision: number;
  /** Number of the revision from which the version started. Null for a new entry. */
  base: number | null;
  /** The entry as it is. Null if there is none. */
  now: { revision: number; status: BatchWritten["status"] } | null;
  changedAt: string;
  changedBy: string;
  through?: string;
  fields: { name: string; base?: unknown; now?: unknown; proposed?: unknown; changes: ChangedPart[] }[];
  /** JSON Pointers of what was changed both in the set and in the orb. */
  conflicts: string[];
}

export interface ChangeComment extends Act {
  id: string;
  text: string;
  /** The entry that the comment is about: `module/schema/id`. */
  entry: string | null;
  field: string | null;
  mentions: string[];
  through?: string;
  token?: string;
  resolved: Act | null;
}

/** What the publication of a set has written. */
export interface PublishedChange {
  change: ChangeSet;
  items: BatchWritten[];
}

/** A change set, or its id. If you pass a set, the call fails unless its revision is the newest one. */
export type ChangeTarget = string | { id: string; revision: number } | ChangeContent;

/** Content of a set that you have read, such as a set that `get` returned. The sets of a list have no `hash`. */
export interface ChangeContent {
  id: string;
  hash: string;
}

interface PageCall extends CallOptions {
  /** At most 200, 50 by default. */
  limit?: number;
  cursor?: string;
}

interface PageOf<T> {
  items: T[];
  nextCursor: string | null;
}

/** The methods of change sets. The client does not repeat a write that may have reached the platform. */
export interface Changes {
  open(
    input: { title: string; description?: string; publishAt?: Date | string },
    options?: CallOptions,
  ): Promise<ChangeSet>;
  /**
   * Returns a page of sets, newest first.
   * @param options.entry only sets that contain this entry: `module/schema/id`
   * @param options.mentions only sets with open comments that mention the account with this id
   */
  list(
    options?: PageCall & { state?: ChangeState; author?: string; entry?: string; mentions?: string },
  ): Promise<PageOf<ListedChange>>;
  get(id: string, options?: CallOptions): Promise<ChangeSet>;
  /**
   * @param changes.publishAt schedules the set as soon as it has its approvals; null gives the plan up
   * @param changes.hash with `publishAt`, schedules only the content that has this hash
   */
  patch(
    target: ChangeTarget,
    changes: {
      title?: string;
      description?: string | null;
      publishAt?: Date | string | null;
      hash?: string;
    },
    options?: CallOptions,
  ): Promise<ChangeSet>;
  /** Gives the set up. It stays readable. */
  close(target: ChangeTarget, options?: CallOptions): Promise<void>;
  /** Returns a page of the set's entries, compared with the live ones. */
  diff(
    id: string,
    options?: PageCall,
  ): Promise<PageOf<ChangedEntry> & { hidden: number; definition: ChangedDefinition | null }>;
  /** Asks for a review. */
  review(target: ChangeTarget, options?: CallOptions): Promise<ChangeSet>;
  /**
   * Approves the content of a set that you have read, or, given an id, the content that it has now. Given a set, the
   * client repeats the request after a temporary failure.
   * @throws Problem `hash_mismatch` if the content is not the one that you have read
   */
  approve(target: string | ChangeContent, options?: CallOptions & { comment?: string }): Promise<ChangeSet>;
  /** Sends the set back to its authors. */
  reject(target: ChangeTarget, comment: string, options?: CallOptions): Promise<ChangeSet>;
  /**
   * Publishes all entries of the set together, or none: the content that you have read, or, given an id, the content that
   * it has now. Given a set, the client repeats the request after a temporary failure.
   * @throws Problem `hash_mismatch`; `change_conflict` with the reasons in `errors`
   */
  publish(target: string | ChangeContent, options?: CallOptions): Promise<PublishedChange>;
  /** Opens a set that takes back what this one has published. */
  revert(id: string, options?: CallOptions): Promise<ChangeSet>;
  /**
   * Opens a set that takes back what an API token has published, with change sets and without. `more`: once it is
   * published, call this again with its `nextCursor`.
   */
  undoToken(
    token: string,
    options?: CallOptions & { cursor?: string | null },
  ): Promise<ChangeSet & { more: boolean; nextCursor: string | null }>;
  /** Takes an entry out of the set. */
  remove(id: string, entry: string, options?: CallOptions): Promise<void>;
  /**
   * Lets the version of an entry start from the live revision of now.
   * @param keep which value stays, for each conflict
   */
  rebase(
    id: string,
    entry: string,
    keep?: Readonly<Record<string, "change" | "live">>,
    options?: CallOptions,
  ): Promise<{ module: string; schema: string; id: string; revision: number }>;
  comment(
    id: string,
    comment: { text: string; entry?: string; field?: string; mentions?: readonly string[] },
    options?: CallOptions,
  ): Promise<ChangeComment>;
  /** Returns a page of comments, oldest first. */
  comments(id: string, options?: PageCall): Promise<PageOf<ChangeComment>>;
  /** Marks a comment as resolved. */
  resolve(id: string, comment: string, options?: CallOptions): Promise<ChangeComment>;
}

const idOf = (target: ChangeTarget) => (typeof target === "string" ? target : target.id);

/** Returns a transport whose requests read and write within a change set. */
export function transportIn(transport: Transport, target: ChangeTarget): Transport {
  return {
    ...transport,
    send(request) {
      const query = new URLSearchParams(request.query);
      query.set("change", idOf(target));
      return transport.send({ ...request, query });
    },
  };
}

/** @param base URL path of the orb */
export function changesOf(transport: Transport, base: string): Changes {
  async function send<T>(
    method: Request["method"],
    target: ChangeTarget | undefined,
    path: string,
    { signal }: CallOptions = {},
    more: Partial<Pick<Request, "body" | "query" | "repeat">> = {},
  ): Promise<T> {
    const set = target === undefined ? "" : `/${encodeURIComponent(idOf(target))}`;
    const expected: Record<string, string> =
      typeof target === "object" && "revision" in target ? { "if-match": `"${target.revision}"` } : {};
    const response = await transport.send({
      method,
      path: `${base}/changes${set}${path}`,
      headers: expected,
      signal,
      repeat: method === "GET" ? "safe" : "refused",
      ...more,
    });
    return (response.status === 204 ? undefined : await response.json()) as T;
  }
  async function page<T>(
    target: string | undefined,
    path: string,
    { signal, ...query }: PageCall & Record<string, unknown> = {},
  ): Promise<T> {
    const given = Object.entries(query).filter(([, value]) => value !== undefined);
    const call = signal === undefined ? {} : { signal };
    return send("GET", target, path, call, {
      query: new URLSearchParams(given.map(([name, value]) => [name, String(value)])),
    });
  }
  /** Sends a decision about the content. With its hash, a repeated request has the same effect as one. */
  async function decide<T>(
    target: string | ChangeContent,
    act: string,
    options?: CallOptions,
    comment?: string,
  ) {
    const hash = typeof target === "string" ? undefined : target.hash;
    // Without the hash, the decision would be about content that the caller has not seen.
    if (typeof target !== "string" && typeof hash !== "string")
      throw new TypeError(`${act} needs the hash of the change set. Read the set with changes.get.`);
    const repeat = hash === undefined ? "refused" : "safe";
    return send<T>("POST", idOf(target), `/${act}`, options, { body: { hash, comment }, repeat });
  }
  const entryPath = (entry: string) => `/entries/${encodeURIComponent(entry)}`;
  return {
    open: (input, options) => send("POST", undefined, "", options, { body: input }),
    list: ({ state, author, entry, mentions, ...options } = {}) =>
      page(undefined, "", {
        ...options,
        "filter[state]": state,
        "filter[author]": author,
        "filter[entry]": entry,
        "filter[mentions]": mentions,
      }),
    get: (id, options) => send("GET", id, "", options),
    patch: (target, changes, options) => send("PATCH", target, "", options, { body: changes }),
    close: (target, options) => send("DELETE", target, "", options),
    diff: (id, options) => page(id, "/diff", { ...options }),
    review: (target, options) => send("POST", target, "/review", options),
    approve: (target, { comment, ...options } = {}) => decide(target, "approve", options, comment),
    reject: (target, comment, options) => send("POST", target, "/reject", options, { body: { comment } }),
    publish: (target, options) => decide(target, "publish", options),
    revert: (id, options) => send("POST", id, "/revert", options),
    undoToken: (token, { cursor, ...options } = {}) =>
      send("POST", undefined, `/tokens/${encodeURIComponent(token)}/undo`, options, {
        query: new URLSearchParams(cursor === undefined || cursor === null ? {} : { cursor }),
      }),
    remove: (id, entry, options) => send("DELETE", id, entryPath(entry), options),
    rebase: (id, entry, keep = {}, options) =>
      send("POST", id, `${entryPath(entry)}/rebase`, options, { body: { keep } }),
    comment: (id, comment, options) => send("POST", id, "/comments", options, { body: comment }),
    comments: (id, options) => page(id, "/comments", { ...options }),
    resolve: (id, comment, options) =>
      send("POST", id, `/comments/${encodeURIComponent(comment)}/resolve`, options),
  };
}
