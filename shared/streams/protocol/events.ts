/** Encodes messages as server-sent events or as a JSON array. */
import { concatBytes } from "../../kernel/ids.ts";
import type { Messages } from "./messages.ts";
import { formatOffset } from "./offset.ts";

/** `events` sends one JSON object per data event; `sse` sends the protocol's JSON array per data event. */
export type Form = "events" | "sse";

const encoder = new TextEncoder();
const ARRAY_START = encoder.encode("[");
const ARRAY_END = encoder.encode("]");
const DATA = encoder.encode("event: data\ndata:");
const DATA_ARRAY = encoder.encode("event: data\ndata:[");

/** Sent on a quiet stream so that intermediaries keep the connection open. */
export const KEEP_ALIVE = encoder.encode(": heartbeat\n\n");

/** Returns the body of a page. */
export function arrayOf(messages: Messages): Uint8Array {
  return concatBytes([ARRAY_START, messages.joined, ARRAY_END]);
}

/** Encodes the reader's new position. Without this event, a client would request the preceding messages again. */
export function controlEvent(position: number, cursor: number, upToDate: boolean): Uint8Array {
  const offset = formatOffset(position);
  const control = {
    streamNextOffset: offset,
    streamCursor: String(cursor),
    ...(upToDate ? { upToDate } : {}),
  };
  return encoder.encode(`event: control\ndata:${JSON.stringify(control)}\nid:${offset}\n\n`);
}

/**
 * Encodes messages and their control events as one piece, so that a response can end after it.
 * @param position the reader's position after the messages
 */
export function eventsOf(
  form: Form,
  messages: Messages,
  position: number,
  cursor: number,
  upToDate: boolean,
): Uint8Array {
  const last = controlEvent(position, cursor, upToDate);
  if (messages.seqs.length === 0) return last;
  if (form === "sse") {
    const tail = encoder.encode(`]\nid:${formatOffset(position)}\n\n`);
    return concatBytes([DATA_ARRAY, messages.joined, tail, last]);
  }
  const parts: Uint8Array[] = [];
  let from = 0;
  messages.ends.forEach((end, i) => {
    const seq = messages.seqs[i] ?? position;
    parts.push(DATA, messages.joined.subarray(from, end), encoder.encode(`\nid:${formatOffset(seq)}\n\n`));
    parts.push(i === messages.ends.length - 1 ? last : controlEvent(seq, cursor, false));
    from = end + 1;
  });
  return concatBytes(parts);
}
