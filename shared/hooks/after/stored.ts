/** Shapes of the messages in the stream `hooks`: the progress of each hook, and its finished deliveries. */
import type { HookEvent } from "../../definition/document/hooks.ts";

/** A revision whose delivery failed, or that waits behind an earlier revision of the same entry. */
export interface Waiting {
  /** Sequence of the revision in the orb's stream. */
  seq: number;
  entry: string;
  /** Number of attempts so far. */
  attempts: number;
  /** Time of the next attempt, in milliseconds since the epoch. */
  at: number;
  /** Reason why the last attempt failed. */
  error?: string | undefined;
}

export interface HookState {
  v: 1;
  /**
   * Every revision up to this sequence is finished or in `waiting`. Revisions that the hook does not select count as
   * finished.
   */
  cursor: number;
  /** Ordered by sequence. */
  waiting: Waiting[];
}

/** A delivery that has succeeded, or that has failed on its last attempt. */
export interface DeliveryRecord {
  v: 1;
  seq: number;
  event: HookEvent;
  module: string;
  schema: string;
  entry: string;
  revision: number;
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
