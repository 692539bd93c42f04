/** What is counted of an application within one hour: its requests, the errors among them, and lists without an index. */

export const HOUR_MS = 3_600_000;

export const USAGE_LIMITS = {
  /** Errors, and lists, that an hour tells apart. Further ones are only counted. */
  kinds: 30,
  /** Conditions and sort fields that are named of a list. */
  names: 6,
  /** Maximum hours that an answer covers. The broker keeps them a little longer. */
  hours: 168,
} as const;

/** How often requests to a route ended with an error. */
export interface ErrorCount {
  status: number;
  code: string;
  method: string;
  /** Pattern of the route, without anything from the request. */
  route: string;
  count: number;
  /** The id of the newest of these requests. */
  requestId: string;
  /** When the newest of them ended. */
  at: string;
}

/** How often a list compared entries one by one, because no index fits. Names fields and operators, and no values. */
export interface ListCount {
  module: string;
  schema: string;
  conditions: { field: string; operator: string }[];
  /** Names of fields; a leading `-` for descending order. */
  sort: string[];
  count: number;
  /** Entries that these lists have read. */
  read: number;
  at: string;
}

/** The counts of an hour as they are stored. */
export interface StoredCounts {
  v: 1;
  requests: number;
  failed: number;
  errors: ErrorCount[];
  lists: ListCount[];
}

/** Requests of an hour. */
export interface HourOfRequests {
  /** When the hour began. */
  at: string;
  requests: number;
  failed: number;
}

/** What an application's streams hold. */
export interface StoredSize {
  /** All entries, including drafts and archived ones. */
  entries: number;
  /** Revisions of entries, including those of deleted ones. */
  revisions: number;
  /** Bytes of all revisions and indexes. */
  bytes: number;
  fileBytes: number;
  /** Maximum bytes; null for no limit. */
  bytesLimit: number | null;
  fileBytesLimit: number | null;
}

/** The answer to a question about the usage of an application. The console and the command line read it too. */
export interface Usage extends Omit<StoredCounts, "v"> {
  /** Begin of the first hour. */
  since: string;
  /** One item for each hour with requests, the oldest first. */
  hours: HourOfRequests[];
  storage: StoredSize;
}

type Told = { count: number; at: string };

/** Adds to a row, or begins one if there is room. */
function addTo<T extends Told>(rows: Map<string, T>, key: string, row: T, join: (to: T, from: T) => void) {
  const known = rows.get(key);
  if (known === undefined) {
    if (rows.size < USAGE_LIMITS.kinds) rows.set(key, row);
    return;
  }
  known.count += row.count;
  if (row.at >= known.at) {
    known.at = row.at;
    join(known, row);
  }
}

/** Counts of one or more hours. */
export class Counts {
  requests = 0;
  failed = 0;
  readonly #errors = new Map<string, ErrorCount>();
  readonly #lists = new Map<string, ListCount>();

  error(error: ErrorCount): void {
    const { status, code, method, route } = error;
    addTo(this.#errors, `${status} ${code} ${method} ${route}`, { ...error }, (known) => {
      known.requestId = error.requestId;
    });
  }

  list(list: ListCount): void {
    const { module, schema, conditions, sort } = list;
    const key = JSON.stringify([module, schema, conditions, sort]);
    const known = this.#lists.get(key);
    if (known !== undefined) known.read += list.read;
    addTo(this.#lists, key, { ...list }, () => undefined);
  }

  /** Adds the counts of other requests. The most frequent errors and lists are added first, in case not all have room. */
  add({ requests, failed, errors, lists }: Omit<StoredCounts, "v">): void {
    this.requests += requests;
    this.failed += failed;
    for (const error of errors.toSorted(mostFirst)) this.error(error);
    for (const list of lists.toSorted(mostFirst)) this.list(list);
  }

  stored(): StoredCounts {
    const { requests, failed } = this;
    const errors = [...this.#errors.values()].sort(mostFirst);
    const lists = [...this.#lists.values()].sort((a, b) => b.read - a.read);
    return { v: 1, requests, failed, errors, lists };
  }
}

const mostFirst = (a: Told, b: Told) => b.count - a.count;
