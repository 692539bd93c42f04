/** Figures about the deliveries of hooks after writes and of schedules, for the metrics. */

import { type LiveSummary, liveOrb, type QueueSummary, summaryOf } from "../../definition/stored/index.ts";
import type { Deps } from "../../deps.ts";
import { inParallel } from "../../kernel/parallel.ts";
import { READ_BYTES, SMALL_BYTES } from "../../store/budget.ts";
import { nullIfMissing } from "../../store/pages.ts";
import { buckets, streams, subjects } from "../../store/subjects.ts";
import { isHooked } from "./events.ts";
import { workerState } from "./list.ts";
import { filterOf } from "./source.ts";
import type { HookState } from "./stored.ts";

type Reader = Pick<Deps, "store" | "clock">;

export interface QueueFigures {
  orb: string;
  /** Id of the hook or of the schedule. */
  hook: string;
  /** Deliveries that failed and wait for another attempt, and those that wait for them. */
  waiting: number;
  /** Revisions that no process has read for the hook. 0 for a schedule. */
  unread: number;
  /** When the oldest revision was written that waits or is unread, in milliseconds since the epoch. */
  oldest: number | undefined;
  delivered: number;
  failed: number;
}

export interface HookFigures {
  queues: QueueFigures[];
  deadLetters: { orb: string; count: number }[];
  worker: "running" | "absent";
}

/**
 * Maximum hooks and schedules to read for one application. An application can have at most 70, so one read returns
 * all of them.
 */
const STATES = 200;

/**
 * Returns the figures for the metrics. Sends two requests for each application that has hooks after writes or
 * schedules, and two to four for each hook.
 * @returns null, without sending a request, if no application has them
 */
export async function readHookFigures(
  deps: Reader,
  orbs: readonly LiveSummary[],
): Promise<HookFigures | null> {
  const hooked = orbs.filter(({ queues }) => queues.length > 0);
  if (hooked.length === 0) return null;
  const found: HookFigures = { queues: [], deadLetters: [], worker: await workerState(deps) };
  await inParallel(hooked, (live) => addFigures(deps, live, found));
  return found;
}

/** Deliveries of an application that are not made yet. */
export interface Backlog {
  count: number;
  /** When the oldest of them became due, in milliseconds since the epoch. Null if none waits. */
  oldest: number | null;
}

/** Returns how many deliveries of an application wait, also those that no process has looked at yet. */
export async function readBacklog(deps: Reader, orb: string): Promise<Backlog> {
  const entry = await deps.store.kvGet(buckets.orbs, orb);
  const summary = entry === null ? null : summaryOf(entry);
  const known = summary === null || "reason" in summary ? [] : [summary];
  const { queues = [] } = (await readHookFigures(deps, known)) ?? {};
  const behind = queues.filter(({ oldest }) => oldest !== undefined);
  return {
    count: behind.reduce((sum, { waiting, unread }) => sum + waiting + unread, 0),
    oldest: behind.length === 0 ? null : Math.min(...behind.map(({ oldest }) => oldest ?? 0)),
  };
}

/**
 * A queue stores its progress only after this many revisions that its hook does not select, so as many can be behind the
 * stored progress although nothing waits. See `queue.ts`.
 */
const MAY_BE_READ = 532;

/** Returns how much a queue is behind. Sends two requests if it is not, and up to four otherwise. */
async function backlogOf(
  deps: Reader,
  orb: string,
  { id, since }: QueueSummary,
  state: HookState | undefined,
): Promise<Pick<QueueFigures, "waiting" | "unread" | "oldest">> {
  const { store } = deps;
  const isTicks = since === undefined;
  const own = (state?.origin ?? "revisions") === (isTicks ? "ticks" : "revisions") ? state : undefined;
  const waiting = own?.waiting ?? [];
  const stream = isTicks ? streams.hooks : streams.orb(orb);
  const [first] = waiting;
  const [retried, unread] = await Promise.all([
    first === undefined ? null : nullIfMissing(store.getSeq(stream, first.seq)),
    isTicks ? NOTHING : unreadOf(deps, orb, id, Math.max(own?.cursor ?? 0, since)),
  ]);
  const times = [retried?.time, unread.oldest].filter((time) => time !== undefined);
  const oldest = times.length === 0 ? undefined : Math.min(...times);
  return { waiting: waiting.length, unread: unread.count, oldest };
}

const NOTHING = { count: 0, oldest: undefined };

async function unreadOf(
  deps: Reader,
  orb: string,
  id: string,
  after: number,
): Promise<{ count: number; oldest: number | undefined }> {
  const live = await liveOrb(deps, orb, "stale");
  const hook = live?.document.hooks?.find((one) => one.id === id);
  if (live === null || hook === undefined) return NOTHING;
  const read = (limit: number, maxBytes: number) => {
    const page = { fromSeq: after + 1, limit, maxBytes };
    return nullIfMissing(deps.store.scan(streams.orb(orb), filterOf(orb, hook), page));
  };
  const next = await read(1, SMALL_BYTES);
  const [first] = next?.messages ?? [];
  if (next === null || first === undefined) return NOTHING;
  const count = 1 + next.pending;
  if (count > MAY_BE_READ) return { count, oldest: first.time };
  const page = await read(MAY_BE_READ, SMALL_BYTES);
  if (page === null) return NOTHING;
  const selected = page.messages.filter((message) => isHooked(live.compiled, orb, hook, message));
  const more = page.pending;
  return { count: selected.length === 0 ? 0 : selected.length + more, oldest: selected[0]?.time };
}

async function addFigures(deps: Reader, live: LiveSummary, to: HookFigures): Promise<void> {
  const { store } = deps;
  const { orb } = live;
  const read = (filter: string, limit: number, maxBytes: number) =>
    nullIfMissing(store.scan(streams.hooks, filter, { fromSeq: 1, limit, maxBytes }));
  const [states, failed] = await Promise.all([
    read(subjects.hookStates(orb), STATES, READ_BYTES),
    read(subjects.hooksFailed(orb), 1, SMALL_BYTES),
  ]);
  const known = new Map(
    (states?.messages ?? []).flatMap((message) =>
      message.size === 0 ? [] : [[message.subject.split(".").at(-1), message.json<HookState>()] as const],
    ),
  );
  for (const queue of live.queues) {
    const state = known.get(queue.id);
    const { delivered = 0, failed: lost = 0 } = state ?? {};
    const behind = await backlogOf(deps, orb, queue, state);
    to.queues.push({ orb, hook: queue.id, ...behind, delivered, failed: lost });
  }
  to.deadLetters.push({ orb, count: failed === null ? 0 : failed.messages.length + failed.pending });
}
