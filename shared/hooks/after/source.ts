/**
 * The content of a delivery queue: revisions of entries for a hook, or due times (ticks) of a schedule for its
 * handler.
 */
import {
  type HookDefinition,
  isForMentions,
  isForSets,
  type ScheduleDefinition,
} from "../../definition/document/index.ts";
import type { LiveOrb } from "../../definition/live-orb.ts";
import { addressIn } from "../../entry/model/index.ts";
import { lastToken, streams, subjects } from "../../store/subjects.ts";
import type { StoredMessage } from "../../store/types.ts";
import { rhythmOf } from "./crons.ts";
import {
  type HookedMention,
  type HookedRevision,
  type HookedSet,
  mentionFor,
  revisionFor,
  setFor,
} from "./events.ts";
import type { DeliveryRecord, Origin, ScheduleTick } from "./stored.ts";

/** One message to deliver. */
export interface Occurrence {
  about: Pick<DeliveryRecord, "event" | "module" | "schema" | "entry" | "revision" | "change">;
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

/** The delivery of a revision of an entry or of a change set, or of a comment on a set, to a hook. */
export type Delivery = (HookedRevision | HookedSet | HookedMention) & {
  live: LiveOrb;
  hook: HookDefinition;
  /** Number of this attempt, from 1. */
  attempt: number;
};

/** Returns the subjects with the messages for which a hook is called. */
export function filterOf(orb: string, hook: Pick<HookDefinition, "on">): string {
  if (isForMentions(hook)) return subjects.allChangeComments(orb);
  return isForSets(hook) ? subjects.allChangeRecords(orb) : subjects.allLogs(orb);
}

/** Returns whether a subject is that of the log of a change set: `<orb>._change.<set>.record`. */
function isSetRecord(subject: string): boolean {
  const [, space, , kind, ...rest] = subject.split(".");
  return space === "_change" && kind === "record" && rest.length === 0;
}

/** Returns whether a subject is that of a comment on a change set: `<orb>._change.<set>.comment.<id>`. */
function isComment(subject: string): boolean {
  const [, space, , kind, , ...rest] = subject.split(".");
  return space === "_change" && kind === "comment" && rest.length === 0;
}

/** Returns whether a message of an orb's stream is one of which hooks for change sets hear. */
export const isOfSet = ({ subject }: Pick<StoredMessage, "subject">): boolean =>
  isSetRecord(subject) || isComment(subject);

/** Begins the keys of change sets. Ids of entries have no dot. */
const OF_SET = "change.";

/** Returns the id of the change set whose deliveries have a key; undefined if it is the key of an entry. */
export function setOfKey(key: string): string | undefined {
  return key.startsWith(OF_SET) ? lastToken(key) : undefined;
}

export interface TickDelivery {
  live: LiveOrb;
  schedule: ScheduleDefinition;
  seq: number;
  /** The due time of the schedule, in milliseconds since the epoch. */
  at: number;
  attempt: number;
}

/** Returns which messages of an orb's stream a hook reads. */
function messagesFor(live: LiveOrb, hook: HookDefinition, since: number) {
  const filter = filterOf(live.orb, hook);
  return { live, id: hook.id, origin: "revisions", stream: streams.orb(live.orb), filter, since } as const;
}

/** Returns a source that reads the entry revisions for which a hook must be called. */
export function revisionsFor(
  live: LiveOrb,
  hook: HookDefinition,
  since: number,
  deliver: (delivery: Delivery) => Promise<void>,
): Source {
  return {
    ...messagesFor(live, hook, since),
    read(message) {
      // After a change of its hook, a queue may have deliveries of change sets.
      const isEntry = message.subject.split(".")[2] === "owner";
      const revision = isEntry ? revisionFor(live.compiled, hook, message) : null;
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

/** Returns the occurrence that a message of a change set is for a hook: a revision of the set, or a mention. */
function ofSet(live: LiveOrb, hook: HookDefinition, message: StoredMessage) {
  if (isForMentions(hook)) {
    const mention = isComment(message.subject) ? mentionFor(live.orb, hook, message) : null;
    return mention && { heard: mention, change: mention.comment.change, revision: null };
  }
  const set = isSetRecord(message.subject) ? setFor(live.orb, hook, message) : null;
  return set && { heard: set, change: set.change.id, revision: set.change.revision };
}

/** Returns a source that reads the revisions of change sets, or the mentions, for which a hook must be called. */
export function setsFor(
  live: LiveOrb,
  hook: HookDefinition,
  since: number,
  deliver: (delivery: Delivery) => Promise<void>,
): Source {
  return {
    ...messagesFor(live, hook, since),
    read(message) {
      const found = ofSet(live, hook, message);
      if (found === null) return null;
      const { heard, change, revision } = found;
      return {
        about: { event: heard.event, module: null, schema: null, entry: null, revision, change },
        deliver: async (attempt) => {
          await deliver({ ...heard, live, hook, attempt });
          return true;
        },
      };
    },
    // `<orb>._change.<set>.record`, or `<orb>._change.<set>.comment.<id>`
    keyOf: ({ subject }) => `${OF_SET}${subject.split(".")[2] ?? ""}`,
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
