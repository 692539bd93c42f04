import type { Messages } from "../protocol/index.ts";

export interface StreamState {
  /** Time when the stream was created, as RFC 3339 text. It changes when the stream is restored from a backup. */
  created: string;
  /** Sequence number of the oldest stored message. */
  first: number;
  /** Sequence number of the newest message when the state was read. */
  last: number;
  /** Text that changes when a message is removed, or when the stream is deleted and created again. */
  signature: string;
  /** Text that changes with the published definition of the application. Empty if no application owns the stream. */
  basis: string;
  /** Whether reads may miss the newest messages. */
  lags: boolean;
  /** Returns the subjects to subscribe to for notifications about new messages. */
  wakeUps: (filter: string) => string[];
  /** Whether notifications contain the sequence number of the message. */
  numbered: boolean;
}

export interface StreamPage {
  messages: Messages;
  /** The page starts after this sequence number. */
  from: number;
  next: number;
  /** Whether the page reached the end of the stream when it was read. */
  upToDate: boolean;
  state: StreamState;
  /** Text that changes with the page's content. The ETag header contains it. */
  tag: string;
  /** Time at which the cache must drop the page, in milliseconds since the epoch. */
  until: number | undefined;
}
