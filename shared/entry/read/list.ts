import { may, requireMay } from "../../access/authorize.ts";
import type { Deps } from "../../deps.ts";
import type { ReadBudget } from "../../store/budget.ts";
import { nullIfMissing } from "../../store/pages.ts";
import { readsAhead } from "../../store/policy.ts";
import { type EntryAddress, streams, subjects } from "../../store/subjects.ts";
import {
  type ListedEntry,
  presentEntry,
  type RuntimeEntry,
  readEntries,
  readLive,
  readPage,
} from "../index/index.ts";
import { countLive, liveIndexOf, openLiveTended, tendPassed } from "../listed/index.ts";
import type { Choice } from "../model/index.ts";
import type { PinnedRequest } from "../pinned/index.ts";
import {
  type Collection,
  type ListPage,
  type ListQuery,
  READ_LIMIT,
  readListPage,
  Tally,
} from "../query/index.ts";
import { expandAll, fewerEntries } from "./expand.ts";
import type { Reading } from "./reading.ts";
import { targetsFor } from "./targets.ts";
import { readTogether } from "./together.ts";

export interface ListInput {
  reading: Reading;
  choice: Choice;
  query: ListQuery;
  last?: Promise<number | undefined> | undefined;
  /** Creates the read budget of a request (its limit of bytes and entries). Default: the limits of the platform. */
  budget?: () => ReadBudget;
  /** Reads the pages. Default: the entries as they are. */
  pages?: typeof readListPage | undefined;
  /** The earlier revision of the definition whose shape the response has. Without `fields`, the query is of the live one. */
  pinned?: PinnedRequest | undefined;
}

export interface ListResult extends Omit<ListPage<unknown>, "items"> {
  items: RuntimeEntry[];
  /** Languages of the returned values, for the `Content-Language` header. */
  languages: string[];
}

/**
 * A wildcard that matches all subjects of the stream. The broker finds the last message for this wildcard without a
 * search. For other wildcards, it searches all subjects.
 */
const EVERYTHING = ">";
const ANY = { consistency: "stale" } as const;

/**
 * Returns the last sequence number of the application's stream. A list with the newest entries first starts there and
 * reads backwards. Returns undefined if reading it ahead saves no time.
 */
export function lastOf({ store }: Pick<Deps, "store">, orb: string): Promise<number | undefined> | undefined {
  if (!readsAhead(store)) return undefined;
  return nullIfMissing(store.get(streams.orb(orb), EVERYTHING, ANY)).then((message) => message?.seq);
}

/**
 * Reads the newest revision of each entry, including drafts, if the caller may read drafts. Otherwise reads the
 * published revision.
 */
async function readLatest(
  deps: Deps,
  reading: Reading,
  ids: readonly string[],
  maxBytes: number,
): Promise<(ListedEntry | undefined)[]> {
  const { orb, schema } = reading;
  const wanted = ids.map((id) => ({ schema, id }));
  const entries = await readEntries(deps, orb.orb, wanted, "stale", maxBytes);
  const now = deps.clock.now();
  return entries.map((found) => {
    if (found === undefined || found.head.status === "DELETED") return undefined;
    const newest = reading.newest(found.head, now);
    return newest === undefined ? found.live : { ...newest, bytes: found.bytes };
  });
}

/**
 * Returns the number of settings or records of transactions, which are all visible. Undefined if they are so few that
 * they can be counted one by one.
 */
async function totalOfMany({ store }: Deps, address: Omit<EntryAddress, "id">): Promise<number | undefined> {
  const filter = subjects.schemaIndex(address);
  const page = await readPage(store, address.orb, filter, { fromSeq: 1, limit: 1 });
  const indexed = page.messages.length + page.pending;
  return indexed > READ_LIMIT ? indexed : undefined;
}

/** Opens the list of the entries of one schema that the caller may see. */
export function visibleCollection(
  plain: Deps,
  budget: ReadBudget,
  input: Pick<ListInput, "reading" | "choice" | "last">,
): Collection<ListedEntry> {
  const deps = { ...plain, store: budget.charging(plain.store) };
  const { reading } = input;
  const { orb, schema, caller, latest } = reading;
  const address = { orb: orb.orb, ...schema.home };
  const everybody = may(caller, "read", { access: schema.access, own: false });
  const live = latest ? undefined : liveIndexOf(schema);
  return {
    orb: orb.orb,
    budget,
    tally: new Tally(),
    scope: `live/${schema.module}/${schema.home.schema}/${latest ? "latest" : ""}`,
    index: subjects.schemaIndex(address),
    live,
    schema: reading.comparable,
    context: orb,
    async read(places, maxBytes) {
      const ids = places.map(({ id }) => id);
      const found = latest
        ? await readLatest(deps, reading, ids, maxBytes)
        : await readLive(
            deps,
            orb.orb,
            ids.map((id) => ({ schema, id })),
            "stale",
            maxBytes,
          );
      return found.map((seen) => (seen === undefined ? undefined : reading.shown(seen)));
    },
    judged: ({ shown }) => shown,
    bytes: ({ bytes }) => bytes,
    choice: input.choice,
    localized: true,
    narrowed: false,
    async total() {
      // A caller who may read only their own entries must be compared with each entry.
      if (!everybody || latest) return undefined;
      if (live === undefined) return totalOfMany(deps, address);
      const opened = await openLiveTended(plain, orb, live);
      if (opened === undefined) return undefined;
      const { count, read, edge } = await countLive(plain.store, live, opened, deps.clock.now());
      if (edge !== null) deps.expires?.(edge);
      tendPassed(plain, orb, live, read);
      return count;
    },
    last: input.last,
    targets: targetsFor(deps, caller, orb.orb),
  };
}

/** Returns a page of entries that the caller may see, with the values of all languages and fields. */
export function listVisible(deps: Deps, input: ListInput): Promise<ListPage<ListedEntry>> {
  const open = (budget: ReadBudget) => visibleCollection(deps, budget, input);
  const { pages = readListPage, query, budget } = input;
  return pages(deps, open, query, budget);
}

/** Returns a page of a list. It shows all of a publication, or nothing of it. */
export function listEntries(deps: Deps, input: ListInput): Promise<ListResult> {
  const { orb } = input.reading;
  return readTogether(deps, orb, (whole, floor) => {
    const last = input.last?.then((seq) => ((seq ?? 0) < floor ? lastOf(whole, orb.orb) : seq));
    // Not every list awaits it.
    last?.catch(() => undefined);
    return listOnce(whole, { ...input, last });
  });
}

async function listOnce(deps: Deps, input: ListInput): Promise<ListResult> {
  const { reading, query, choice, pinned } = input;
  const { caller, orb, schema } = reading;
  // The explanation also counts entries that the caller cannot see, so only callers who may read all drafts get it.
  if (query.explain) requireMay(caller, "readDraft", { access: schema.access, own: false });
  const page = await listVisible(deps, input);
  const languages = new Set<string>();
  const items = page.items.map((seen) =>
    presentEntry(pinned?.seen(seen) ?? seen, { choice, fields: query.fields }, languages),
  );
  if (query.expand.length > 0) {
    const expansion = { fields: query.expand, caller, compiled: orb.compiled, choice, pinned, ...ANY };
    let expanded: Awaited<ReturnType<typeof expandAll>>;
    try {
      expanded = await expandAll(deps, page.items, expansion, languages);
    } catch (error) {
      const limit = fewerEntries(error, page.items.length);
      return listOnce(deps, { ...input, query: { ...query, limit } });
    }
    items.forEach((item, i) => {
      item.expand = expanded[i]?.expand ?? {};
    });
  }
  return { ...page, items, languages: [...languages] };
}
