import { actorId } from "../../access/actor.ts";
import { mayForAll, type Principal } from "../../access/authorize.ts";
import { requireCovered } from "../../access/credentials/index.ts";
import { refusal } from "../../access/refusals.ts";
import type { CompiledSchema } from "../../definition/compile.ts";
import { normaliseInstant } from "../../definition/fields/parts/index.ts";
import type { LiveOrb } from "../../definition/live-orb.ts";
import type { Deps } from "../../deps.ts";
import {
  type IndexEntry,
  type IndexScan,
  inBatches,
  type ScanStart,
  scanInOrder,
} from "../../entry/index/index.ts";
import {
  addressOf,
  type EntrySnapshot,
  positionAt,
  readableIn,
  readCursor,
  snapshotOf,
  withNames,
  writeCursor,
} from "../../entry/model/index.ts";
import { PAGE_SIZE } from "../../entry/query/index.ts";
import { type LocalHandler, schemaOf, TARGET_INPUT } from "../../handlers/contract/index.ts";
import { invalid } from "../../kernel/errors.ts";
import { READ_BYTES, ReadBudget } from "../../store/budget.ts";
import { nullIfMissing } from "../../store/pages.ts";
import { isToken, streams, subjects } from "../../store/subjects.ts";
import type { Store } from "../../store/types.ts";
import { RECORD, type RecordView, recordView } from "./schema.ts";

export interface RecordQuery {
  order: "asc" | "desc";
  limit: number;
  cursor?: string | undefined;
  /** Start of the time range, inclusive, as ISO 8601 in UTC. The end (`to`) is exclusive. */
  from?: string | undefined;
  to?: string | undefined;
  /** Id of the account whose records to list. Only admins may set it. */
  by?: string | undefined;
}

export interface RecordPage {
  items: RecordView[];
  nextCursor: string | null;
}

interface Head {
  snapshot: EntrySnapshot | null;
  bytes: number;
}

async function heads(
  store: Store,
  schema: CompiledSchema,
  places: readonly IndexEntry[],
  maxBytes: number,
): Promise<Head[]> {
  const logs = places.map(({ id }) => subjects.entryLog(addressOf(schema, id)));
  const found = await nullIfMissing(
    store.getMany(streams.orb(schema.orb), logs, { consistency: "stale", maxBytes }),
  );
  return logs.map((log) => {
    const message = found?.get(log);
    const stored = snapshotOf(message);
    return { snapshot: stored === null ? null : withNames(schema, stored), bytes: message?.size ?? 0 };
  });
}

/**
 * Returns records in the order in which the broker stored them. A page may contain fewer than `limit` records if the
 * records are large or many are outside the time range.
 */
export async function listTransactions(
  deps: Deps,
  caller: Principal,
  live: LiveOrb,
  schema: CompiledSchema,
  query: RecordQuery,
): Promise<RecordPage> {
  const { actor, role, scope } = caller;
  if (role === "public") throw refusal(actor);
  requireCovered(scope, "read");
  const everybody = mayForAll(caller, "read", schema.access);
  const own = actorId(actor);
  if (!everybody && query.by !== undefined && query.by !== own) throw refusal(actor, "admin");
  const owner = everybody ? query.by : own;
  const place = { orb: live.orb, ...schema.home };
  if (owner !== undefined && !isToken(owner)) return { items: [], nextCursor: null };
  const filter = owner === undefined ? subjects.schemaOrder(place) : subjects.ownOrder(place, owner);
  const { home } = schema;
  const along: IndexScan = { orb: live.orb, filter, home, literal: true, first: query.limit + 1 };
  const newest = async (): Promise<ScanStart | undefined> => {
    const last = await nullIfMissing(deps.store.get(streams.orb(live.orb), filter));
    return last === null ? undefined : { seq: last.seq + 1, density: 0 };
  };
  const signed = JSON.stringify([filter, query.order, query.from ?? null, query.to ?? null]);
  const position = query.cursor === undefined ? undefined : readCursor(query.cursor, signed);

  const items: RecordView[] = [];
  let bytes = 0;
  let last: ScanStart | undefined;
  const budget = new ReadBudget();
  const store = budget.charging(deps.store);
  const read = (some: readonly IndexEntry[], maxBytes: number) => heads(store, schema, some, maxBytes);
  const early = () => ({
    items,
    nextCursor: last === undefined ? null : writeCursor(positionAt("index", last), signed),
  });
  const windows = scanInOrder(deps.store, along, query.order === "desc", position, newest);
  for await (const { places: all, density } of windows) {
    // The times in the index are approximate, but sufficient to skip records far outside the time range.
    const places = all.filter(({ time }) => time === undefined || near(time, query));
    // Read one record more than the page needs, to find out whether there is a next page.
    for (let at = 0; at < places.length; at += query.limit + 1) {
      const part = places.slice(at, at + query.limit + 1);
      for await (const { wanted, result } of inBatches(budget, part, read)) {
        for (const [index, found] of wanted.entries()) {
          const { snapshot, bytes: size } = result[index] ?? { snapshot: null, bytes: 0 };
          if (snapshot === null) continue;
          const { createdAt } = snapshot;
          if (over(createdAt, query)) return { items, nextCursor: null };
          if (under(createdAt, query)) continue;
          if (items.length === query.limit) return early();
          bytes += size;
          if (items.length > 0 && bytes > READ_BYTES) return early();
          items.push(recordView(readableIn(schema, caller, snapshot.createdBy), snapshot));
          last = { seq: found.seq, density };
        }
        const reached = wanted.at(-1);
        if (!budget.over || reached === undefined) continue;
        last = { seq: reached.seq, density };
        return early();
      }
    }
  }
  return { items, nextCursor: null };
}

/** Milliseconds by which the clocks of hosts and brokers may differ. */
const SKEW_MS = 60_000;

function over(createdAt: string, { order, from, to }: RecordQuery): boolean {
  const at = Date.parse(createdAt);
  if (order === "asc") return to !== undefined && at >= Date.parse(to) + SKEW_MS;
  return from !== undefined && at < Date.parse(from) - SKEW_MS;
}

function near(time: number, { from, to }: RecordQuery): boolean {
  return (
    (from === undefined || time >= Date.parse(from) - SKEW_MS) &&
    (to === undefined || time < Date.parse(to) + SKEW_MS)
  );
}

function under(createdAt: string, { from, to }: RecordQuery): boolean {
  return (from !== undefined && createdAt < from) || (to !== undefined && createdAt >= to);
}

function instant(input: Record<string, unknown>, name: "from" | "to"): string | undefined {
  const value = input[name];
  if (typeof value !== "string") return undefined;
  const normal = normaliseInstant(value);
  if (normal !== undefined) return normal;
  const message = "must be a date and time with an offset, such as 2026-03-01T10:00:00Z";
  throw invalid([{ path: `/${name}`, code: "format", message }]);
}

export const transactionsList: LocalHandler = {
  kind: "local",
  name: "transactions.list",
  act: "transactions:read",
  description: "Lists records of a TRANSACTIONS module: the caller's own, or all of them for admins.",
  auth: "AuthRequired",
  input: {
    type: "object",
    additionalProperties: false,
    properties: {
      ...TARGET_INPUT,
      order: { enum: ["asc", "desc"], description: "asc (default): oldest first." },
      limit: {
        type: "integer",
        minimum: 1,
        maximum: PAGE_SIZE.max,
        description: `Maximum records per page (${PAGE_SIZE.default}). A page of large records is shorter: follow nextCursor.`,
      },
      cursor: { type: "string", maxLength: 8000, description: "nextCursor of the previous page." },
      from: { type: "string", format: "date-time", description: "Only records from this time on, ISO 8601." },
      to: { type: "string", format: "date-time", description: "Only records before this time, ISO 8601." },
      by: { type: "string", maxLength: 128, description: "Only records of this account, for admins." },
    },
  },
  output: {
    type: "object",
    required: ["items", "nextCursor"],
    properties: { items: { type: "array", items: RECORD }, nextCursor: { type: ["string", "null"] } },
  },
  run({ deps, live, principal, input }) {
    const schema = schemaOf(live, "TRANSACTIONS", input);
    const { limit, cursor, by } = input;
    return listTransactions(deps, principal, live, schema, {
      order: input.order === "desc" ? "desc" : "asc",
      limit: typeof limit === "number" ? limit : PAGE_SIZE.default,
      cursor: typeof cursor === "string" ? cursor : undefined,
      from: instant(input, "from"),
      to: instant(input, "to"),
      by: typeof by === "string" ? by : undefined,
    });
  },
};
