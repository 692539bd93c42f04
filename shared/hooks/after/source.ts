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
import { rhythmOf } from "./crons.ts";
import { type HookedRevision, revisionFor } from "./events.ts";
import type { DeliveryRecord, Origin, ScheduleTick } from "./stored.ts";

/** One message to deliver. */
export interface Occurrence {
  about: Pick<DeliveryRecord, "event" | "module" | "schema" | "entry" | "revision">;
  /** The due time of a tick, in milliseconds since the epoch. Missing for a revision. */
  due?: number;
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
  /** Returns whether a message must not be delivered unless an operator asks for it. */
  isSkipped(message: StoredMessage): boolean;
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
    isSkipped: () => false,
  };
}

/** Returns the source of a schedule's due times. Calls for different due times do not wait for each other. */
export function ticksOf(
  live: LiveOrb,
  schedule: ScheduleDefinition,
  since: number,
  by: {
    deliver: (delivery: TickDelivery) => Promise<boolean>;
    isLate: (schedule: ScheduleDefinition, at: number) => boolean;
  },
): Source {
  const subject = subjects.hookTicks(live.orb, schedule.id);
  const about = { event: "schedule.tick", module: null, schema: null, entry: null, revision: null } as const;
  const rhythm = rhythmOf(live, schedule);
  return {
    live,
    id: schedule.id,
    origin: "ticks",
    stream: streams.hooks,
    filter: subject,
    since,
    read(message) {
      if (message.subject !== subject || message.size === 0) return null;
      const { at } = tickIn(message);
      return {
        about,
        due: at,
        deliver: (attempt) => by.deliver({ live, schedule, seq: message.seq, at, attempt }),
      };
    },
    keyOf: ({ seq }) => String(seq),
    isSkipped(message) {
      if (message.size === 0) return true;
      const tick = tickIn(message);
      return tick.rhythm !== rhythm || by.isLate(schedule, tick.at);
    },
  };
}

/** Returns a tick whose schedule still has it. The message of a cancelled tick is empty. */
export function tickIn(message: StoredMessage): ScheduleTick {
  return message.json<ScheduleTick>();
}
