/** Shapes of the messages in the stream `hooks`: the progress of each hook, and its finished deliveries. */
import type { HookEvent } from "../../definition/document/index.ts";

/**
 * A delivery that waits for its next attempt. For hooks, also a revision that waits until an earlier revision of the
 * same entry is delivered.
 */
export interface Waiting {
  /**
   * Sequence number of the message to deliver: the revision in the application's stream, or the tick of the schedule.
   */
  seq: number;
  /**
   * Id of the entry; `change.` and the id of a change set. For a schedule, the sequence number of the tick: deliveries with the same value keep their order,
   * and those of a schedule need not.
   */
  entry: string;
  /** Number of attempts so far. */
  attempts: number;
  /** Time of the next attempt, in milliseconds since the epoch. */
  at: number;
  /** Reason why the last attempt failed. */
  error?: string | undefined;
}

/** The plan of a schedule: up to which due time the broker has its ticks. */
export interface SchedulePlan {
  v: 2;
  /** All that determines when the schedule is due. */
  rhythm: string;
  /**
   * Only ticks with a higher sequence number belong to this plan. Missing in the first message of a plan, whose own
   * number then counts.
   */
  since?: number | undefined;
  /** The last planned due time, in milliseconds since the epoch. */
  last: number;
}

/** A tick of a schedule. */
export interface ScheduleTick {
  v: 2;
  /** The due time, in milliseconds since the epoch. */
  at: number;
  rhythm: string;
}

/** How the newest tick of a schedule ended. */
export interface LastRun {
  seq: number;
  /** The due time. ISO 8601, as the next member. */
  due: string;
  at: string;
  attempts: number;
  /** Reason for the failure. Missing if the handler has accepted the call. */
  error?: string | undefined;
}

/** The content of a queue: revisions in the stream of an application, or ticks of a schedule in the stream `hooks`. */
export type Origin = "revisions" | "ticks";

export interface HookState {
  v: 1;
  /**
   * The stream to which the sequence numbers belong; `revisions` if missing. A schedule may have the id of an earlier
   * hook, so progress of the other kind must be recognised.
   */
  origin?: Origin | undefined;
  /**
   * Every revision up to this sequence number is finished or in `waiting`. Revisions that the hook does not select
   * count as finished.
   */
  cursor: number;
  /** Ordered by sequence number. */
  waiting: Waiting[];
  /** Number of successful deliveries. Does not count deliveries that an operator requested again. */
  delivered?: number | undefined;
  /** Number of deliveries that failed on their last attempt. */
  failed?: number | undefined;
  /** Only of schedules. */
  last?: LastRun | undefined;
}

/** A delivery that has succeeded, or that has failed on its last attempt. */
export interface DeliveryRecord {
  v: 1;
  seq: number;
  event: HookEvent | "schedule.tick";
  /** Null for a schedule, like the three members that follow. */
  module: string | null;
  schema: string | null;
  entry: string | null;
  revision: number | null;
  /** Id of the change set, for an event of a set. */
  change?: string | undefined;
  attempts: number;
  /** ISO 8601 time at which the delivery ended. */
  at: string;
  /** Reason for the failure. Missing if the delivery succeeded. */
  error?: string | undefined;
}

/** The record of a failed delivery is kept for this many seconds. */
export const FAILED_SECONDS = 30 * 86_400;
/** The record of a successful delivery is kept for this many seconds. */
export const DONE_SECONDS = 7 * 86_400;
