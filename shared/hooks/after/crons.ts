/**
 * Plans the ticks of schedules. For each due time, the broker gets one message, which it moves to the schedule's ticks
 * at that time, also while no process of the platform runs. At least the next due time is planned, and all of the next
 * seconds, so that a schedule that is due every second misses nothing while another process takes over.
 *
 * A message of each schedule, the plan, says up to which due time its ticks are planned. It is replaced by
 * compare-and-set, in the same batch as the new ticks. So each due time is planned once, whatever number of processes
 * run. All times are compared with the clock of the broker, so the clocks of the processes do not matter.
 */
import type { ScheduleDefinition } from "../../definition/document/index.ts";
import type { LiveOrb } from "../../definition/live-orb.ts";
import type { Deps } from "../../deps.ts";
import { SMALL_BYTES } from "../../store/budget.ts";
import { scanPages } from "../../store/pages.ts";
import { streams, subjects } from "../../store/subjects.ts";
import { type Append, Conflict, type StoredMessage } from "../../store/types.ts";
import type { HookedOrb } from "./definitions.ts";
import { dueAfter, dueBefore, type Rhythm } from "./due.ts";
import { DONE_SECONDS, type SchedulePlan, type ScheduleTick } from "./stored.ts";

/** Milliseconds between two reads of the plans. Repeated reads find changes that other programs made. */
const LOOK_MS = 60_000;
const REMOVED_SECONDS = 1;
/** Due times of this many milliseconds ahead are planned together. */
const AHEAD_MS = 10_000;
/** More due times are planned when the last planned one is less than this many milliseconds ahead. */
const REFILL_MS = 5_000;
/**
 * A tick is late after this many milliseconds. It is then skipped if the schedule is due again, in favour of the newer
 * tick.
 */
export const LATE_MS = 60_000;
/**
 * If the broker's clock was set back by more than this many milliseconds, schedules follow the new time. Otherwise they
 * wait until the clock has caught up, so that no tick comes twice.
 */
const SET_BACK_MS = 3_600_000;

/** Returns a text of all that determines when a schedule is due. If two texts are equal, so are the due times. */
export function rhythmOf({ fence, scheduled }: LiveOrb, schedule: ScheduleDefinition): string {
  const { id, cron, timeZone } = schedule;
  const { incarnation = 0 } = fence ?? {};
  const since = scheduled?.[id] ?? 0;
  return JSON.stringify({ v: 1, incarnation, cron, timeZone, ...(since === 0 ? {} : { since }) });
}

/**
 * Returns the due times that must be planned now, in milliseconds since the epoch.
 * @param last the last due time that is planned, or the time from which on the schedule is due
 * @param now the time of the broker
 */
export function planned(rhythm: Rhythm, last: number, now: number): number[] {
  if (last > now + REFILL_MS) {
    const beyond = dueAfter(rhythm, now + SET_BACK_MS);
    return beyond === undefined || last <= beyond ? [] : planned(rhythm, now, now);
  }
  const times: number[] = [];
  let next = dueAfter(rhythm, last);
  if (next !== undefined && next < now - LATE_MS) {
    // After an outage: the due times of the last minute, and of the earlier ones only the newest.
    const recent = dueAfter(rhythm, now - LATE_MS - 1);
    const newest = recent !== undefined && recent <= now ? recent : dueBefore(rhythm, now);
    const expired = newest === undefined || newest < now - DONE_SECONDS * 1000;
    next = expired ? recent : newest;
  }
  for (; next !== undefined; next = dueAfter(rhythm, next)) {
    if (next > now + AHEAD_MS && (times.at(-1) ?? 0) > now + REFILL_MS) break;
    times.push(next);
  }
  return times;
}

/** The last message of each plan's subject. A removed plan is an empty message until that message expires. */
interface Stored {
  seq: number;
  plan: SchedulePlan | undefined;
}

export class Crons {
  readonly #deps: Pick<Deps, "store" | "clock" | "log">;
  readonly #stored = new Map<string, Stored>();
  #looked = Number.NEGATIVE_INFINITY;
  /** Milliseconds by which the broker's clock is ahead of this process's clock. */
  #ahead = 0;

  constructor(deps: Pick<Deps, "store" | "clock" | "log">) {
    this.#deps = deps;
  }

  /** Whether no schedule was planned when the plans were last read. */
  get none(): boolean {
    return [...this.#stored.values()].every(({ plan }) => plan === undefined);
  }

  /**
   * Makes the next call of `look` read the plans again. Needed, for example, when this process has become the leader.
   */
  forget(): void {
    this.#looked = Number.NEGATIVE_INFINITY;
  }

  /** Reads the plans, unless the last read was less than a minute ago. */
  async look(): Promise<void> {
    const { store, clock } = this.#deps;
    const now = clock.now();
    if (Math.abs(now - this.#looked) < LOOK_MS) return;
    const found = new Map<string, Stored>();
    const read = (fromSeq: number) =>
      store.scan(streams.hooks, subjects.allHookCrons, { fromSeq, limit: 200, maxBytes: SMALL_BYTES });
    for await (const messages of scanPages(read)) {
      for (const message of messages) found.set(message.subject, { seq: message.seq, plan: planIn(message) });
    }
    this.#stored.clear();
    for (const [subject, stored] of found) this.#stored.set(subject, stored);
    this.#looked = now;
  }

  /**
   * Plans the next ticks of all schedules, and removes the plans of schedules that no definition contains.
   * @param unreadable applications whose definition cannot be read, so that their schedules are unknown
   */
  async reconcile(
    orbs: ReadonlyMap<string, HookedOrb>,
    unreadable: ReadonlySet<string> = new Set(),
  ): Promise<void> {
    const wanted = new Set<string>();
    const now = await this.#brokerTime([...orbs.values()].some(({ schedules }) => schedules.length > 0));
    for (const [orb, { live, schedules }] of orbs) {
      for (const schedule of schedules) {
        wanted.add(subjects.hookCron(orb, schedule.id));
        await this.#follow(live, schedule, now);
      }
    }
    for (const [subject, { plan }] of this.#stored) {
      const isUnknown = unreadable.has(subject.split(".")[2] ?? "");
      if (plan !== undefined && !wanted.has(subject) && !isUnknown) await this.#write(subject, undefined, []);
    }
  }

  /**
   * Returns a sequence number of the stream, or undefined if the schedule is not planned yet. Only ticks with higher
   * numbers are of this schedule as the definition says it now.
   */
  since(live: LiveOrb, schedule: ScheduleDefinition): number | undefined {
    const stored = this.#stored.get(subjects.hookCron(live.orb, schedule.id));
    return stored?.plan?.rhythm === rhythmOf(live, schedule) ? (stored.plan.since ?? stored.seq) : undefined;
  }

  /** Returns whether a tick must be skipped, because it is late and the schedule has been due again since. */
  isLate(schedule: ScheduleDefinition, at: number): boolean {
    const now = this.#deps.clock.now() + this.#ahead;
    return now - at > LATE_MS && (dueAfter(schedule, at) ?? now) < now;
  }

  /** Returns the time of the broker. The leader writes a message each second, so this lags by at most about that. */
  async #brokerTime(needed: boolean): Promise<number> {
    const { store, clock } = this.#deps;
    const info = needed ? await store.streamInfo(streams.hooks) : null;
    const now = clock.now();
    const time = Date.parse(info?.state.last_ts ?? "");
    if (info !== null && info.state.last_seq > 0 && Number.isFinite(time)) this.#ahead = time - now;
    return now + this.#ahead;
  }

  async #follow(live: LiveOrb, schedule: ScheduleDefinition, now: number): Promise<void> {
    const subject = subjects.hookCron(live.orb, schedule.id);
    const stored = this.#stored.get(subject);
    const rhythm = rhythmOf(live, schedule);
    const ticks = subjects.hookTicks(live.orb, schedule.id);
    if (stored?.plan?.rhythm !== rhythm) {
      await this.#write(subject, { v: 2, rhythm, last: now }, planned(schedule, now, now), { ticks });
      return;
    }
    const { since = stored.seq } = stored.plan;
    const times = planned(schedule, stored.plan.last, now);
    if (times.length > 0)
      await this.#write(subject, { v: 2, rhythm, since, last: stored.plan.last }, times, { ticks });
  }

  /**
   * Replaces a plan, together with its ticks. A new plan, or none, also removes the ticks that are planned but not due
   * yet.
   */
  async #write(
    subject: string,
    plan: SchedulePlan | undefined,
    times: readonly number[],
    { ticks = "" }: { ticks?: string } = {},
  ): Promise<void> {
    const { store, log } = this.#deps;
    const before = this.#stored.get(subject);
    try {
      const replaced = before?.plan !== undefined && before.plan.rhythm !== plan?.rhythm;
      const renewed = new Set(times.map((at) => `${subject}.${at}`));
      const cancelled = replaced ? (await this.#waiting(subject)).filter((one) => !renewed.has(one)) : [];
      const next = plan === undefined ? undefined : { ...plan, last: times.at(-1) ?? plan.last };
      const messages: Append[] = [
        {
          subject,
          data: next === undefined ? "" : JSON.stringify(next),
          expect: { seq: before?.seq ?? 0 },
          rollup: true,
          ...(next === undefined ? { ttl: REMOVED_SECONDS } : {}),
        },
        ...cancelled.map((one) => ({ subject: one, data: "", rollup: true, ttl: REMOVED_SECONDS })),
        ...times.map((at) => tickAt(subject, ticks, { v: 2, at, rhythm: next?.rhythm ?? "" })),
      ];
      const end = await store.batch(streams.hooks, messages);
      this.#stored.set(subject, { seq: end - messages.length + 1, plan: next });
    } catch (error) {
      // Another process changed the plan, or the empty message of a removed plan has expired.
      this.forget();
      if (error instanceof Conflict) return;
      log.error("a schedule could not be stored", { subject, error: String(error) });
    }
  }

  /** Returns the subjects of ticks that are planned but not due yet. */
  async #waiting(subject: string): Promise<string[]> {
    const read = (fromSeq: number) =>
      this.#deps.store.scan(streams.hooks, `${subject}.*`, { fromSeq, limit: 200, maxBytes: SMALL_BYTES });
    const found: string[] = [];
    for await (const messages of scanPages(read))
      found.push(...messages.filter(({ size }) => size > 0).map((message) => message.subject));
    return [...new Set(found)];
  }
}

/** Returns the stored plan of a schedule; undefined if the plan was removed. */
function planIn(message: StoredMessage): SchedulePlan | undefined {
  return message.size === 0 ? undefined : message.json<SchedulePlan>();
}

/** Returns the message that the broker moves to the schedule's ticks when the time has come. */
function tickAt(subject: string, ticks: string, tick: ScheduleTick): Append {
  return {
    subject: `${subject}.${tick.at}`,
    data: JSON.stringify(tick),
    rollup: true,
    headers: {
      "Nats-Schedule": `@at ${new Date(tick.at).toISOString()}`,
      "Nats-Schedule-Target": ticks,
      "Nats-Schedule-TTL": `${DONE_SECONDS}s`,
    },
  };
}
