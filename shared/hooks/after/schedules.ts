/** Lists the schedules of an application: when each was due last, how that ended, and when it is due next. */

import type { Actor } from "../../access/actor.ts";
import { requireOperator } from "../../access/authorize.ts";
import { CRON_DEFAULT_ZONE, type ScheduleDefinition } from "../../definition/document/index.ts";
import { exists, liveOrb, orbHead } from "../../definition/stored/index.ts";
import type { Deps } from "../../deps.ts";
import { notFound } from "../../kernel/errors.ts";
import { READ_BYTES } from "../../store/budget.ts";
import { nullIfMissing } from "../../store/pages.ts";
import { streams, subjects } from "../../store/subjects.ts";
import { nextDue } from "./due.ts";
import type { DeliveryStatus } from "./list.ts";
import { tickIn } from "./source.ts";
import type { HookState } from "./stored.ts";

/** Number of due times that a schedule is listed with. */
const NEXT = 10;
const MOST_STATES = 200;

export interface ScheduleItem {
  id: string;
  cron: string;
  timeZone: string;
  handler: string;
  /** Whether the published definition has the schedule. If not, `next` is empty. */
  active: boolean;
  /** The newest run, or null if there was none. */
  last: ScheduleRun | null;
  /** The next due times, as ISO 8601. */
  next: string[];
}

export interface ScheduleRun {
  /** The due time as ISO 8601. Null if it is no longer stored. */
  due: string | null;
  status: DeliveryStatus;
  attempts: number;
  /** ISO 8601 time at which the run ended, or at which the next attempt follows. */
  at: string;
  error: string | null;
}

/** Lists the schedules of the published definition, or those of the newest draft if the application is not published. */
export async function listSchedules(deps: Deps, actor: Actor, orb: string): Promise<ScheduleItem[]> {
  requireOperator(actor, "orbs.read", orb);
  const [live, head] = await Promise.all([liveOrb(deps, orb), orbHead(deps, orb)]);
  if (!exists(head)) throw notFound("orb");
  const schedules = (live ?? head).document.schedules ?? [];
  if (schedules.length === 0) return [];
  const options = { fromSeq: 1, limit: MOST_STATES, maxBytes: READ_BYTES };
  const states = await nullIfMissing(deps.store.scan(streams.hooks, subjects.hookStates(orb), options));
  const known = new Map(
    (states?.messages ?? []).flatMap((message) =>
      message.size === 0 ? [] : [[message.subject.split(".").at(-1), message.json<HookState>()] as const],
    ),
  );
  const now = deps.clock.now();
  const items = schedules.map(async (schedule: ScheduleDefinition) => {
    const { id, cron, timeZone = CRON_DEFAULT_ZONE, handler } = schedule;
    const times = live === null ? [] : nextDue(schedule, now, NEXT);
    const next = times.map((time) => new Date(time).toISOString());
    const last = await lastRun(deps, known.get(id), now);
    return { id, cron, timeZone, handler, active: live !== null, last, next };
  });
  return Promise.all(items);
}

async function lastRun(
  { store }: Deps,
  state: HookState | undefined,
  now: number,
): Promise<ScheduleRun | null> {
  if (state === undefined || state.origin !== "ticks") return null;
  const waiting = state.waiting.at(-1);
  const { last } = state;
  if (waiting !== undefined && waiting.seq > (last?.seq ?? 0)) {
    const { seq, attempts, at, error = null } = waiting;
    const tick = await store.getSeq(streams.hooks, seq);
    const due = tick === null || tick.size === 0 ? null : new Date(tickIn(tick).at).toISOString();
    return { due, status: "waiting", attempts, at: new Date(at === 0 ? now : at).toISOString(), error };
  }
  if (last === undefined) return null;
  const { seq: _, error, ...run } = last;
  return { ...run, status: error === undefined ? "delivered" : "failed", error: error ?? null };
}
