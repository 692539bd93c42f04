import { eventsOf, type Form } from "./events.ts";
import { type Messages, messagesAfter } from "./messages.ts";

/** Consecutive messages of a stream. Encoded only once, and then sent to all clients. */
export class Batch {
  readonly from: number;
  readonly to: number;
  readonly messages: Messages;
  readonly upToDate: boolean;
  /**
   * The cursor of the Durable Streams protocol when the batch was created. Clients send it with their next request. It
   * changes over time, so that a shared cache does not answer that request with an old response.
   */
  readonly cursor: number;
  readonly #encoded = new Map<Form, Uint8Array>();

  constructor(from: number, to: number, messages: Messages, upToDate: boolean, cursor: number) {
    this.from = from;
    this.to = to;
    this.messages = messages;
    this.upToDate = upToDate;
    this.cursor = cursor;
  }

  /** Number of messages. */
  get size(): number {
    return this.messages.seqs.length;
  }

  /**
   * Returns the batch as server-sent events, without messages that the client already has.
   * @param cursor minimum cursor of the response
   */
  bytes(form: Form, position: number, cursor: number): Uint8Array {
    if (position > this.from || cursor > this.cursor) {
      const messages = messagesAfter(this.messages, position);
      return eventsOf(form, messages, this.to, Math.max(cursor, this.cursor), this.upToDate);
    }
    const known = this.#encoded.get(form);
    if (known !== undefined) return known;
    const made = eventsOf(form, this.messages, this.to, this.cursor, this.upToDate);
    this.#encoded.set(form, made);
    return made;
  }
}
