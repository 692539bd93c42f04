import type { Actor } from "../../access/actor.ts";
import { requireOperator } from "../../access/authorize.ts";
import { isOrbId, runsAfter } from "../../definition/document/index.ts";
import type { LiveOrb } from "../../definition/live-orb.ts";
import { exists, liveOrb, orbHead } from "../../definition/stored/index.ts";
import type { Deps } from "../../deps.ts";
import { addressIn } from "../../entry/model/index.ts";
import { notFound } from "../../kernel/errors.ts";
import { READ_BYTES } from "../../store/budget.ts";
import { nullIfMissing } from "../../store/pages.ts";
import { isToken, streams, subjects } from "../../store/subjects.ts";
import type { Place, StoredMessage } from "../../store/types.ts";
import { isOfSet, setOfKey } from "./source.ts";
import type { DeliveryRecord, HookState } from "./stored.ts";

export const DELIVERY_STATUS = ["delivered", "waiting", "failed"] as const;
export type DeliveryStatus = (typeof DELIVERY_STATUS)[number];

export interface DeliveryItem {
  /** The id of the hook or schedule, a dot, and the sequence number of the delivered message. */
  id: string;
  hook: string;
  status: DeliveryStatus;
  event: string | null;
  module: string | null;
  schema: string | null;
  /** Null for the delivery of a schedule. The module, the schema and the revision are then also null. */
  entry: string | null;
  revision: number | null;
  /** Id of the change set, for an event of a set; otherwise null. */
  change: string | null;
  attempts: number;
  /** ISO 8601 time: the end of a finished delivery, or the next attempt of a waiting one. */
  at: string;
  error: string | null;
}

export interface DeliveryPage {
  items: DeliveryItem[];
  /**
   * Where the next page starts: the sequence number of a message, and the number of its first delivery that is still
   * missing, counted from 1. Null on the last page.
   */
  next: Place | null;
  /**
   * Whether a process that delivers hooks is running. `unneeded`: the application has nothing to deliver. While no
   * application has, the process does not say that it runs.
   */
  worker: WorkerState | "unneeded";
}

export type WorkerState = "running" | "absent";

/**
 * The leader renews its message every second. If the message is older than this many milliseconds, no process is
 * delivering.
 */
const ABSENT_MS = 10_000;

const FILTERS = {
  delivered: subjects.hooksDone,
  waiting: subjects.hookStates,
  failed: subjects.hooksFailed,
} as const satisfies Record<DeliveryStatus, (orb: string) => string>;

/** Types of stored messages that describe a delivery. */
const LISTED: ReadonlySet<string | undefined> = new Set(["state", "done", "failed"]);

async function requireOrb(deps: Deps, orb: string): Promise<void> {
  if (!isOrbId(orb) || !exists(await orbHead(deps, orb))) throw notFound("orb");
}

/** Returns whether any process is running the after-write hooks. */
export async function workerState(deps: Pick<Deps, "store" | "clock">): Promise<WorkerState> {
  const leader = await nullIfMissing(deps.store.get(streams.hooks, subjects.hooksLeader));
  const named = leader !== null && leader.json<{ name?: string }>().name !== undefined;
  return named && deps.clock.now() - leader.time < ABSENT_MS ? "running" : "absent";
}

interface DeliveryQuery {
  orb: string;
  status?: DeliveryStatus | undefined;
  limit: number;
  from?: Place | undefined;
}

/** Lists deliveries, the least recently changed first. */
export async function listDeliveries(deps: Deps, actor: Actor, query: DeliveryQuery): Promise<DeliveryPage> {
  const { orb } = query;
  requireOperator(actor, "orbs.read", orb);
  const [, worker, live, page] = await Promise.all([
    requireOrb(deps, orb),
    workerState(deps),
    isOrbId(orb) ? liveOrb(deps, orb) : null,
    isOrbId(orb) ? nullIfMissing(pageOf(deps, query)) : null,
  ]);
  const items = page?.items ?? [];
  const isNeeded = delivers(live) || items.some(({ status }) => status === "waiting");
  return { items, next: page?.next ?? null, worker: isNeeded ? worker : "unneeded" };
}

function delivers(live: LiveOrb | null): boolean {
  const { hooks = [], schedules = [] } = live?.document ?? {};
  return schedules.length > 0 || hooks.some(runsAfter);
}

/** Maximum reads for a page. Many messages of the stream may be no deliveries, so a page can end before it is full. */
const MOST_READS = 20;

/**
 * Reads a page. One message has all waiting deliveries of a hook, so a page may end within a message. If the hook has
 * stored its progress since, that message is gone: a newer one has the deliveries that still wait.
 */
async function pageOf(
  deps: Deps,
  { orb, status, limit, from = { seq: 1, number: 1 } }: DeliveryQuery,
): Promise<Pick<DeliveryPage, "items" | "next">> {
  const filter = (status === undefined ? subjects.hooksOf : FILTERS[status])(orb);
  const items: DeliveryItem[] = [];
  let at = from;
  for (let reads = 0; reads < MOST_READS; reads++) {
    const { messages, pending } = await deps.store.scan(streams.hooks, filter, {
      fromSeq: at.seq,
      limit: Math.max(limit, SCANNED),
      maxBytes: READ_BYTES,
    });
    for (const message of messages) {
      const first = message.seq === at.seq ? at.number - 1 : 0;
      for (const [index, item] of itemsOf(message).entries()) {
        if (index < first) continue;
        if (items.length === limit) return { items, next: { seq: message.seq, number: index + 1 } };
        items.push(item);
      }
    }
    const last = messages.at(-1);
    if (last === undefined || pending === 0) return { items, next: null };
    at = { seq: last.seq + 1, number: 1 };
  }
  return { items, next: at };
}

/** Messages in a read. */
const SCANNED = 100;

function itemsOf(message: StoredMessage): DeliveryItem[] {
  const [, kind, , hook = ""] = message.subject.split(".");
  if (message.size === 0 || !LISTED.has(kind)) return [];
  const idOf = (seq: number) => `${hook}.${seq}`;
  if (kind === "state") {
    const { origin, waiting } = message.json<HookState>();
    return waiting.map(({ seq, entry, attempts, at, error }) => ({
      id: idOf(seq),
      hook,
      status: "waiting",
      event: null,
      module: null,
      schema: null,
      entry: origin === "ticks" || setOfKey(entry) !== undefined ? null : entry,
      revision: null,
      change: setOfKey(entry) ?? null,
      attempts,
      at: new Date(at === 0 ? message.time : at).toISOString(),
      error: error ?? null,
    }));
  }
  const { v: _, seq, error, change = null, ...record } = message.json<DeliveryRecord>();
  const status = error === undefined ? "delivered" : "failed";
  return [{ id: idOf(seq), hook, status, ...record, change, error: error ?? null }];
}

/** Requests one extra attempt of a delivery, whether the delivery succeeded or failed. */
export async function redeliver(deps: Deps, actor: Actor, orb: string, id: string): Promise<void> {
  requireOperator(actor, "orbs.write", orb);
  await requireOrb(deps, orb);
  const [hook = "", number = "", ...rest] = id.split(".");
  const seq = Number(number);
  if (rest.length > 0 || !isToken(hook) || !/^[1-9]\d{0,14}$/.test(number)) throw notFound("delivery");
  const [state, message, tick] = await Promise.all([
    deps.store.get(streams.hooks, subjects.hookState(orb, hook)),
    nullIfMissing(deps.store.getSeq(streams.orb(orb), seq)),
    deps.store.getSeq(streams.hooks, seq),
  ]);
  const isRevision =
    message !== null && message.subject.split(".")[2] === "owner" && addressIn(message.subject).id !== "";
  const isSet = message !== null && isOfSet(message);
  const isTick = tick?.subject === subjects.hookTicks(orb, hook);
  if (state === null || !(isRevision || isSet || isTick)) throw notFound("delivery");
  await deps.store.append(streams.hooks, {
    subject: subjects.hookAgain(orb, hook, seq),
    data: JSON.stringify({ v: 1, at: new Date(deps.clock.now()).toISOString() }),
    rollup: true,
  });
}
