/** `transactions.list`: pages of records, a user's own or, for admins, everybody's. */
import { type Actor, actorId, type Role } from "../../access/actor.ts";
import { atLeast, refusal } from "../../access/authorize.ts";
import type { CompiledSchema } from "../../definition/compile.ts";
import { normaliseInstant } from "../../definition/fields/calendar.ts";
import type { LiveOrb } from "../../definition/live-orb.ts";
import type { Deps } from "../../deps.ts";
import { inParts } from "../../entry/index/parts.ts";
import { backwards, forwards, type Place, type Walk } from "../../entry/index/scan.ts";
import { readCursor, writeCursor } from "../../entry/model/cursor.ts";
import { addressOf, orNull } from "../../entry/model/resolve.ts";
import { type EntrySnapshot, snapshotOf } from "../../entry/model/snapshot.ts";
import { PAGE_SIZE } from "../../entry/query/query.ts";
import { schemaOf, TARGET_INPUT } from "../../handlers/contract/target.ts";
import type { LocalHandler } from "../../handlers/contract/types.ts";
import { invalid } from "../../kernel/errors.ts";
import { READ_BYTES, ReadBudget } from "../../store/budget.ts";
import { isToken, streams, subjects } from "../../store/subjects.ts";
import type { Store } from "../../store/types.ts";
import { RECORD, type RecordView, recordView } from "./schema.ts";

/** Which records. */
export interface RecordQuery {
  order: "asc" | "desc";
  limit: number;
  cursor?: string | undefined;
  /** From this moment on (inclusive), and before that one; ISO 8601 in UTC. */
  from?: string | undefined;
  to?: string | undefined;
  /** Of one account only; for admins. */
  by?: string | undefined;
}

/** A page. */
export interface RecordPage {
  items: RecordView[];
  nextCursor: string | null;
}

/** Where the walk stands: behind (or, newest first, before) a sequence of the index. */
interface Start {
  seq: number;
  density: number | undefined;
}

async function* walk(
  deps: Deps,
  at: Pick<Walk, "orb" | "filter" | "home">,
  query: RecordQuery,
  start: Start | undefined,
): AsyncGenerator<{ places: Place[]; density: number }> {
  const along: Walk = { ...at, literal: true, first: query.limit + 1 };
  if (query.order === "asc") {
    for await (const places of forwards(deps.store, along, start?.seq ?? 0)) {
      yield { places, density: 0 };
    }
    return;
  }
  let before = start?.seq;
  if (before === undefined) {
    const last = await orNull(deps.store.get(streams.orb(at.orb), at.filter));
    if (last === null) return;
    before = last.seq + 1;
  }
  yield* backwards(deps.store, along, before, start?.density);
}

/** A record, and its bytes as they are stored. */
interface Head {
  snapshot: EntrySnapshot | null;
  bytes: number;
}

/** Heads of places, in their order. @throws TooMuch when they are larger than `maxBytes` together */
async function heads(
  store: Store,
  schema: CompiledSchema,
  places: readonly Place[],
  maxBytes: number,
): Promise<Head[]> {
  const logs = places.map(({ id }) => subjects.entryLog(addressOf(schema, id)));
  const found = await orNull(store.getMany(streams.orb(schema.orb), logs, { consistency: "any", maxBytes }));
  return logs.map((log) => ({ snapshot: snapshotOf(found?.get(log)), bytes: found?.get(log)?.size ?? 0 }));
}

/**
 * A page of records. Two requests where no time range leaves anything out; records that were written in one moment
 * stand in the order of the broker. A page of large records, or one that passed over many, ends early.
 * @throws AppError malformed `invalid_cursor`; forbidden, unauthenticated
 */
export async function listTransactions(
  deps: Deps,
  caller: { actor: Actor; role: Role },
  live: LiveOrb,
  schema: CompiledSchema,
  query: RecordQuery,
): Promise<RecordPage> {
  const { actor, role } = caller;
  if (role === "public") throw refusal(actor);
  const everybody = atLeast(role, "admin");
  const own = actorId(actor);
  if (!everybody && query.by !== undefined && query.by !== own) throw refusal(actor, "admin");
  const owner = everybody ? query.by : own;
  const place = { orb: live.orb, type: schema.subjectType, schema: schema.id };
  if (owner !== undefined && !isToken(owner)) return { items: [], nextCursor: null };
  const filter = owner === undefined ? subjects.schemaOrder(place) : subjects.ownOrder(place, owner);
  const at = { orb: live.orb, filter, home: { type: schema.subjectType, schema: schema.id } };
  const signed = JSON.stringify([filter, query.order, query.from ?? null, query.to ?? null]);
  const position = query.cursor === undefined ? undefined : readCursor(query.cursor, signed);
  const start = position?.kind === "index" ? position : undefined;

  const items: RecordView[] = [];
  let bytes = 0;
  let last: { seq: number; density: number } | undefined;
  const budget = new ReadBudget();
  const store = budget.charging(deps.store);
  const read = (some: readonly Place[], maxBytes: number) => heads(store, schema, some, maxBytes);
  const early = () => ({
    items,
    nextCursor: last === undefined ? null : writeCursor({ kind: "index", ...last }, signed),
  });
  for await (const { places: all, density } of walk(deps, at, query, start)) {
    // The index's own times are near enough to pass over what is far outside without reading it.
    const places = all.filter(({ time }) => time === undefined || near(time, query));
    // A page and one more are read; a time range that leaves much out reads on.
    for (let at = 0; at < places.length; at += query.limit + 1) {
      const part = places.slice(at, at + query.limit + 1);
      for await (const { wanted, result } of inParts(budget, part, read)) {
        for (const [index, found] of wanted.entries()) {
          const { snapshot, bytes: size } = result[index] ?? { snapshot: null, bytes: 0 };
          if (snapshot === null) continue;
          const { createdAt } = snapshot;
          if (over(createdAt, query)) return { items, nextCursor: null };
          if (under(createdAt, query)) continue;
          if (items.length === query.limit) return early();
          bytes += size;
          if (items.length > 0 && bytes > READ_BYTES) return early();
          items.push(recordView(schema, snapshot));
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

/**
 * Clocks of hosts and brokers differ a little: only what lies this far outside of a range ends the walk, in
 * milliseconds.
 */
const SKEW_MS = 60_000;

/** Whether nothing behind this one can be in the range. */
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

/** The built-in handler. */
export const transactionsList: LocalHandler = {
  kind: "local",
  name: "transactions.list",
  description: "Pages of a TRANSACTIONS module's records: one's own, for admins everybody's.",
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
        description: `Items of a page (${PAGE_SIZE.default}). A page of large records is shorter: follow nextCursor.`,
      },
      cursor: { type: "string", maxLength: 8000, description: "nextCursor of the page before." },
      from: { type: "string", description: "Recorded at or after this moment, ISO 8601." },
      to: { type: "string", description: "Recorded before this moment, ISO 8601." },
      by: { type: "string", maxLength: 128, description: "Records of this account only, for admins." },
    },
  },
  output: {
    type: "object",
    required: ["items", "nextCursor"],
    properties: { items: { type: "array", items: RECORD }, nextCursor: { type: ["string", "null"] } },
  },
  run({ deps, live, actor, role, input }) {
    const schema = schemaOf(live, "TRANSACTIONS", input);
    const { limit, cursor, by } = input;
    return listTransactions(deps, { actor, role }, live, schema, {
      order: input.order === "desc" ? "desc" : "asc",
      limit: typeof limit === "number" ? limit : PAGE_SIZE.default,
      cursor: typeof cursor === "string" ? cursor : undefined,
      from: instant(input, "from"),
      to: instant(input, "to"),
      by: typeof by === "string" ? by : undefined,
    });
  },
};
