/** The result of one read of a broker stream. */
import type { Messages } from "../protocol/messages.ts";

/** The parts of a stream's state that readers need. */
export interface StreamState {
  /** Sequence of the oldest retained message. */
  first: number;
  /** Sequence of the newest message when the state was read. */
  last: number;
  /** Changes when a message is removed, or when another stream replaces this one under its name. */
  signature: string;
  /** Changes with the live definition of the orb that owns the stream; empty for any other stream. */
  basis: string;
  replicas: number;
  /** Subjects to subscribe to for new messages that match a filter. */
  wakeUps: (filter: string) => string[];
  /** Whether messages on these subjects carry the stored sequence in a header of the broker. */
  numbered: boolean;
}

/** Messages that match a filter, and the reader's position after them. */
export interface StreamPage {
  messages: Messages;
  /** The page starts after this sequence. */
  from: number;
  next: number;
  /** Whether the page reached the end of the stream when it was read. */
  upToDate: boolean;
  state: StreamState;
  /** Differs for different content of the same range. */
  tag: string;
  /** Time at which the cache must drop the page, in milliseconds since the epoch. */
  until: number | undefined;
}
