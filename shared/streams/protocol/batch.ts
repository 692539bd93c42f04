import { eventsOf, type Form } from "./events.ts";
import { behind, type Messages } from "./messages.ts";

/** A step of a stream: messages, and the positions before and after. Encoded once for all who listen. */
export class Batch {
  readonly from: number;
  readonly to: number;
  readonly messages: Messages;
  readonly upToDate: boolean;
  /** The cursor of the time when it was made. */
  readonly cursor: number;
  #events: Uint8Array | undefined;
  #sse: Uint8Array | undefined;

  constructor(from: number, to: number, messages: Messages, upToDate: boolean, cursor: number) {
    this.from = from;
    this.to = to;
    this.messages = messages;
    this.upToDate = upToDate;
    this.cursor = cursor;
  }

  /**
   * The step as events for a reader at a position.
   * @param cursor the least cursor that the reader may see
   */
  bytes(form: Form, position: number, cursor: number): Uint8Array {
    if (position > this.from || cursor > this.cursor) {
      const messages = behind(this.messages, position);
      return eventsOf(form, messages, this.to, Math.max(cursor, this.cursor), this.upToDate);
    }
    if (form === "sse") {
      this.#sse ??= eventsOf(form, this.messages, this.to, this.cursor, this.upToDate);
      return this.#sse;
    }
    this.#events ??= eventsOf(form, this.messages, this.to, this.cursor, this.upToDate);
    return this.#events;
  }
}
