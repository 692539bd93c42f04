/** The messages of the stream `hooks`: the progress of each hook, and its deliveries. */
import type { HookEvent } from "../../definition/document/hooks.ts";

/** A revision that a hook has not accepted yet, or that waits for an earlier revision of its entry. */
export interface Waiting {
  /** Sequence of the revision in the orb's stream. */
  seq: number;
  entry: string;
  /** Attempts so far. */
  attempts: number;
  /** Time of the next attempt, in milliseconds since the epoch. */
  at: number;
  /** Why the last attempt failed. */
  error?: string | undefined;
}

export interface HookState {
  v: 1;
  /** Every revision up to this sequence was delivered or given up, or is in `waiting`. */
  cursor: number;
  /** In order of the sequence. */
  waiting: Waiting[];
}

/** A delivery that is over. */
export interface DeliveryRecord {
  v: 1;
  seq: number;
  event: HookEvent;
  module: string;
  schema: string;
  entry: string;
  revision: number;
  attempts: number;
  /** ISO 8601. */
  at: string;
  /** Missing if the delivery succeeded. */
  error?: string | undefined;
}

/** Seconds for which a delivery that was given up is kept. */
export const FAILED_SECONDS = 30 * 86_400;
/** Seconds for which a delivery that succeeded is kept. */
export const DONE_SECONDS = 7 * 86_400;
