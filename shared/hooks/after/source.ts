/**
 * The content of a delivery queue: revisions of entries for a hook, or due times (ticks) of a schedule for its
 * handler.
 */
import type { HookDefinition } from "../../definition/document/hooks.ts";
import type { ScheduleDefinition } from "../../definition/document/schedules.ts";
import type { LiveOrb } from "../../definition/live-orb.ts";
import { addressIn } from "../../entry/model/resolve.ts";
import { streams, subjects } from "../../store/subjects.ts";
import type { StoredMessage } from "../../store/types.ts";
import { type HookedRevision, revisionFor } from "./events.ts";
import type { DeliveryRecord, Origin } from "./stored.ts";

/** One message to deliver. */
export interface Occurrence {
  about: Pick<DeliveryRecord, "event" | "module" | "schema" | "entry" | "revision">;
  /** Returns false if the delivery must be dropped, for example because the definition no longer has the schedule. */
  deliver(attempt: number): Promise<boolean>;
}

export interface Source {
  live: LiveOrb;
  /** Id of the hook, or of the schedule, to which the deliveries belong. */
  id: string;
  origin: Origin;
  stream: string;
  filter: string;
  /** Only messages with a higher sequence number than this are delivered. */
  since: number;
  /** Returns null if a message is not for the hook. */
  read(message: StoredMessage): Occurrence | null;
  /** Messages with the same key keep their order. */
  keyOf(message: StoredMessage): string;
  /** Returns whether a message is so old that it may be skipped in favour of a later one. */
  isLate(message: StoredMessage, now: number): boolean;
}

/** The delivery of a revision to a hook. */
export interface Delivery extends HookedRevision {
  live: LiveOrb;
  hook: HookDefinition;
  /** Number of this attempt, from 1. */
  attempt: number;
}

export interface TickDelivery {
  live: LiveOrb;
  schedule: ScheduleDefinition;
  seq: number;
  /** The due time of the schedule, in milliseconds since the epoch. */
  at: number;
  attempt: number;
}

/**
 * The platform skips a call of a schedule if it is late by more than this many milliseconds and the next call is due
 * too.
 */
export const LATE_MS = 60_000;

/** Returns a source that reads the entry revisions for which a hook must be called. */
export function revisionsFor(
  live: LiveOrb,
  hook: HookDefinition,
  since: number,
  deliver: (delivery: Delivery) => Promise<void>,
): Source {
  return {
    live,
    id: hook.id,
    origin: "revisions",
    stream: streams.orb(live.orb),
    filter: subjects.allLogs(live.orb),
    since,
    read(message) {
      const revision = revisionFor(live.compiled, hook, message);
      if (revision === null) return null;
      const { id: entry, module, schema, revision: number } = revision.entry;
      return {
        about: { event: revision.event, module, schema, entry, revision: number },
        deliver: async (attempt) => {
          await deliver({ ...revision, live, hook, attempt });
          return true;
        },
      };
    },
    keyOf: ({ subject }) => addressIn(subject).id,
    isLate: () => false,
  };
}

/** Returns the source of a schedule's due times. Calls for different due times do not wait for each other. */
export function ticksOf(
  live: LiveOrb,
  schedule: ScheduleDefinition,
  since: number,
  deliver: (delivery: TickDelivery) => Promise<boolean>,
): Source {
  const subject = subjects.hookTicks(live.orb, schedule.id);
  const about = { event: "schedule.tick", module: null, schema: null, entry: null, revision: null } as const;
  return {
    live,
    id: schedule.id,
    origin: "ticks",
    stream: streams.hooks,
    filter: subject,
    since,
    read: (message) =>
      message.subject !== subject || message.size === 0
        ? null
        : {
            about,
            deliver: (attempt) => deliver({ live, schedule, seq: message.seq, at: message.time, attempt }),
          },
    keyOf: ({ seq }) => String(seq),
    isLate: ({ time }, now) => now - time > LATE_MS,
  };
}
