/** What one read of a broker stream returns. */
import type { Messages } from "./messages.ts";

/** What matters of a stream's state. */
export interface StreamState {
  /** Position of the oldest message that is retained. */
  first: number;
  /** Position of the newest message; nothing behind it existed when this was read. */
  last: number;
  /** Changes when a message is removed, or the stream is another one of the same name. */
  signature: string;
  replicas: number;
  /** Subjects on which to listen in order to learn of a new message that a filter matches. */
  wakeUps: (filter: string) => string[];
  /** Whether it is the broker that says there, in a header, at which position it stored a message. */
  numbered: boolean;
}

/** A page of a filter, and the reader's position behind it. */
export interface StreamPage {
  messages: Messages;
  /** The position behind which it begins. */
  from: number;
  next: number;
  /** Nothing more matched when this was read. */
  upToDate: boolean;
  state: StreamState;
}
