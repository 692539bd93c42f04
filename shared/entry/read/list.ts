import type { Actor } from "../../access/actor.ts";
import { may, principalIn, requireMay } from "../../access/authorize.ts";
import type { CompiledSchema } from "../../definition/compile.ts";
import type { Deps } from "../../deps.ts";
import type { ReadBudget } from "../../store/budget.ts";
import { streams, subjects } from "../../store/subjects.ts";
import { readPage } from "../index/scan.ts";
import { type ListedEntry, presentEntry, type RuntimeEntry, readLive } from "../index/visible.ts";
import { comparableBy } from "../model/fields.ts";
import type { Choice } from "../model/localize.ts";
import { addressOf, nullIfMissing, type OrbContext } from "../model/resolve.ts";
import { snapshotOf } from "../model/snapshot.ts";
import { READ_LIMIT, Tally } from "../query/candidates.ts";
import type { ListPage } from "../query/cut.ts";
import type { Collection } from "../query/matching.ts";
import { readListPage } from "../query/page.ts";
import type { ListQuery } from "../query/query.ts";
import { expandAll, fewerEntries } from "./expand.ts";
import { requireReader } from "./get.ts";
import { newestFor, shownTo } from "./shown.ts";
import { targetsFor } from "./targets.ts";

export interface ListInput {
  orb: OrbContext;
  schema: CompiledSchema;
  choice: Choice;
  query: ListQuery;
  /** Whether to list newest revisions, including drafts, if the caller may read them. */
  latest?: boolean;
  last?: Promise<number | undefined> | undefined;
  /** Creates the read budget of a request (its limit of bytes and entries). Default: the limits of the platform. */
  budget?: () => ReadBudget;
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
 * reads backwards.
 */
export async function lastOf(deps: Pick<Deps, "store">, orb: string): Promise<number | undefined> {
  if (deps.store.isCached === true) return undefined;
  return (await nullIfMissing(deps.store.get(streams.orb(orb), EVERYTHING, ANY)))?.seq;
}

/**
 * Reads the newest revision of each entry, including drafts, if the caller may read drafts. Otherwise reads the
 * published revision.
 */
async function readLatest(
  deps: Deps,
  actor: Actor,
  { orb, schema }: ListInput,
  ids: readonly string[],
  maxBytes: number,
): Promise<(ListedEntry | undefined)[]> {
  const logs = ids.map((id) => subjects.entryLog(addressOf(schema, id)));
  const [heads, live] = await Promise.all([
    deps.store.getMany(streams.orb(orb.orb), logs, { ...ANY, maxBytes }),
    readLive(
      deps,
      orb.orb,
      ids.map((id) => ({ schema, id })),
      "stale",
      maxBytes,
    ),
  ]);
  const now = deps.clock.now();
  return ids.map((_, i) => {
    const message = heads.get(logs[i] ?? "");
    const head = snapshotOf(message);
    if (head === null || head.status === "DELETED") return undefined;
    const newest = newestFor(actor, orb, schema, head, now);
    return newest === undefined ? live[i] : { ...newest, bytes: message?.size ?? 0 };
  });
}

function collectionOf(
  plain: Deps,
  budget: ReadBudget,
  actor: Actor,
  input: ListInput,
): Collection<ListedEntry> {
  const deps = { ...plain, store: budget.charging(plain.store) };
  const { orb, schema } = input;
  const address = { orb: orb.orb, ...schema.home };
  const caller = principalIn(actor, orb.orb, orb.compiled);
  const everybody = may(caller, "read", { access: schema.access, own: false });
  return {
    orb: orb.orb,
    budget,
    tally: new Tally(),
    scope: `live/${schema.module}/${schema.home.schema}/${input.latest === true ? "latest" : ""}`,
    index: subjects.schemaIndex(address),
    schema: comparableBy(schema, caller),
    context: orb,
    async read(places, maxBytes) {
      const ids = places.map(({ id }) => id);
      const found =
        input.latest === true
          ? await readLatest(deps, actor, input, ids, maxBytes)
          : await readLive(
              deps,
              orb.orb,
              ids.map((id) => ({ schema, id })),
              "stale",
              maxBytes,
            );
      return found.map((seen) => (seen === undefined ? undefined : shownTo(actor, orb, schema, seen)));
    },
    judged: ({ shown }) => shown,
    bytes: ({ bytes }) => bytes,
    choice: input.choice,
    localized: true,
    narrowed: false,
    // Count the entries of a short list one by one. For a long list, use the broker's number of published copies.
    async total(indexed) {
      if (indexed <= READ_LIMIT || !everybody || input.latest === true) return undefined;
      const filter = subjects.schemaLive(address, schema.liveRole);
      const page = await readPage(deps.store, orb.orb, filter, { fromSeq: 1, limit: 1 });
      return page.messages.length + page.pending;
    },
    last: input.last,
    targets: targetsFor(deps, actor, orb),
  };
}

/** Returns a page of entries that the caller may see, with the values of all languages and fields. */
export async function listVisible(
  deps: Deps,
  actor: Actor,
  input: ListInput,
): Promise<ListPage<ListedEntry>> {
  requireReader(actor, input.orb, input.schema, input.latest === true);
  const open = (budget: ReadBudget) => collectionOf(deps, budget, actor, input);
  return readListPage(deps, open, input.query, input.budget);
}

export async function listEntries(deps: Deps, actor: Actor, input: ListInput): Promise<ListResult> {
  const { orb, schema, query, choice } = input;
  // The explanation also counts entries that the caller cannot see, so only callers who may read all drafts get it.
  if (query.explain)
    requireMay(principalIn(actor, orb.orb, orb.compiled), "readDraft", { access: schema.access, own: false });
  const page = await listVisible(deps, actor, input);
  const languages = new Set<string>();
  const items = page.items.map((seen) => presentEntry(seen, { choice, fields: query.fields }, languages));
  if (query.expand.length > 0) {
    const expansion = { fields: query.expand, actor, compiled: orb.compiled, choice, ...ANY };
    let expanded: Awaited<ReturnType<typeof expandAll>>;
    try {
      expanded = await expandAll(deps, page.items, expansion, languages);
    } catch (error) {
      const limit = fewerEntries(error, page.items.length);
      return listEntries(deps, actor, { ...input, query: { ...query, limit } });
    }
    items.forEach((item, i) => {
      item.expand = expanded[i]?.expand ?? {};
    });
  }
  return { ...page, items, languages: [...languages] };
}
