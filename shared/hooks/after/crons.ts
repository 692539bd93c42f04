/**
 * Keeps the broker's schedules the same as those in the published definitions. Whenever a schedule is due, the broker
 * stores a message (a tick), even while no host runs. Only the leader (the process that calls hooks and schedules)
 * writes schedules. A write succeeds only if the stored message has not changed since the leader read it. So a former
 * leader cannot overwrite a newer message.
 */
import type { ScheduleDefinition } from "../../definition/document/schedules.ts";
import type { LiveOrb } from "../../definition/live-orb.ts";
import type { Deps } from "../../deps.ts";
import { SMALL_BYTES } from "../../store/budget.ts";
import { scanPages } from "../../store/pages.ts";
import { streams, subjects } from "../../store/subjects.ts";
import { type Append, Conflict } from "../../store/types.ts";
import type { HookedOrb } from "./definitions.ts";
import { DONE_SECONDS } from "./stored.ts";

/** Milliseconds between two reads of the broker's schedules. Repeated reads find changes that other programs made. */
const LOOK_MS = 60_000;
const REMOVED_SECONDS = 1;

/** Returns a text of all that determines when a schedule is due. If two texts are equal, so are the times. */
function rhythmOf({ fence }: LiveOrb, { cron, timeZone }: ScheduleDefinition): string {
  return JSON.stringify({ v: 1, incarnation: fence?.incarnation ?? 0, cron, timeZone });
}

/** Returns whether two definitions of a schedule are due at the same times. */
export function sameRhythm(
  one: { live: LiveOrb; schedule: ScheduleDefinition },
  other: { live: LiveOrb; schedule: ScheduleDefinition },
): boolean {
  return rhythmOf(one.live, one.schedule) === rhythmOf(other.live, other.schedule);
}

/** The last message of each subject. A removed schedule keeps an empty message until that message expires. */
type Stored = Map<string, { seq: number; body: string }>;

export class Crons {
  readonly #deps: Pick<Deps, "store" | "clock" | "log">;
  #stored: Stored = new Map();
  #looked = Number.NEGATIVE_INFINITY;

  constructor(deps: Pick<Deps, "store" | "clock" | "log">) {
    this.#deps = deps;
  }

  /** Whether the broker had no schedules when they were last read. */
  get none(): boolean {
    return [...this.#stored.values()].every(({ body }) => body === "");
  }

  /**
   * Makes the next call of `look` read the broker's schedules again. Needed, for example, when this process has become
   * the leader.
   */
  forget(): void {
    this.#looked = Number.NEGATIVE_INFINITY;
  }

  /** Reads the schedules from the broker, unless the last read was less than a minute ago. */
  async look(): Promise<void> {
    const { store, clock } = this.#deps;
    const now = clock.now();
    if (now - this.#looked < LOOK_MS) return;
    const found: Stored = new Map();
    const read = (fromSeq: number) =>
      store.scan(streams.hooks, subjects.allHookCrons, { fromSeq, limit: 200, maxBytes: SMALL_BYTES });
    for await (const messages of scanPages(read)) {
      for (const message of messages) found.set(message.subject, { seq: message.seq, body: message.text() });
    }
    this.#stored = found;
    this.#looked = now;
  }

  /** Writes and removes the broker's schedules, so that they match the definitions. */
  async reconcile(orbs: ReadonlyMap<string, HookedOrb>): Promise<void> {
    const wanted = new Map<string, Append>();
    for (const [orb, { live, schedules }] of orbs) {
      for (const schedule of schedules) {
        const message = messageFor(live, schedule, subjects.hookCron(orb, schedule.id));
        wanted.set(message.subject, message);
      }
    }
    for (const [subject, { body }] of this.#stored) {
      if (body === "" || wanted.has(subject)) continue;
      await this.#write({ subject, data: "", rollup: true, ttl: REMOVED_SECONDS });
    }
    for (const [subject, message] of wanted) {
      if (this.#stored.get(subject)?.body !== message.data) await this.#write(message);
    }
  }

  /**
   * Returns the sequence number of the stored schedule, or undefined if the broker does not have it yet. The messages
   * that the broker writes for this schedule have higher numbers.
   */
  since(live: LiveOrb, schedule: ScheduleDefinition): number | undefined {
    const stored = this.#stored.get(subjects.hookCron(live.orb, schedule.id));
    return stored?.body === rhythmOf(live, schedule) ? stored.seq : undefined;
  }

  async #write(message: Append): Promise<void> {
    const { subject } = message;
    const expect = { seq: this.#stored.get(subject)?.seq ?? 0 };
    try {
      const seq = await this.#deps.store.append(streams.hooks, { ...message, expect });
      this.#stored.set(subject, { seq, body: String(message.data) });
    } catch (error) {
      // Another process changed the schedule, the schedule expired, or the broker rejects its expression.
      this.forget();
      if (error instanceof Conflict) return;
      this.#deps.log.error("a schedule could not be stored", { subject, error: String(error) });
    }
  }
}

function messageFor(live: LiveOrb, schedule: ScheduleDefinition, subject: string): Append {
  const { cron, timeZone } = schedule;
  return {
    subject,
    data: rhythmOf(live, schedule),
    rollup: true,
    headers: {
      "Nats-Schedule": cron,
      "Nats-Schedule-Target": subjects.hookTicks(live.orb, schedule.id),
      "Nats-Schedule-TTL": `${DONE_SECONDS}s`,
      ...(timeZone === undefined ? {} : { "Nats-Schedule-Time-Zone": timeZone }),
    },
  };
}
