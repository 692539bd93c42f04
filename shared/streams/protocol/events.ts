/** Messages as they stand on the wire: server-sent events, or a JSON array. */
import { joined } from "../../kernel/bytes.ts";
import type { Messages } from "./messages.ts";
import { formatOffset } from "./offset.ts";

/** `events`: one JSON object per data event. `sse`: the protocol's array per data event. */
export type Form = "events" | "sse";

const encoder = new TextEncoder();
const ARRAY_START = encoder.encode("[");
const ARRAY_END = encoder.encode("]");
const DATA = encoder.encode("event: data\ndata:");
const DATA_ARRAY = encoder.encode("event: data\ndata:[");

/** Keeps intermediaries from taking a quiet stream for a dead one. */
export const KEEP_ALIVE = encoder.encode(": heartbeat\n\n");

/** A page's body. */
export function arrayOf(messages: Messages): Uint8Array {
  return joined([ARRAY_START, messages.joined, ARRAY_END]);
}

/** How far the reader has got: without this event, what came before it would be delivered again. */
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
 * Messages and the control events that belong to them, as one piece: a response may end behind it.
 * @param position the reader's position afterwards
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
    return joined([DATA_ARRAY, messages.joined, tail, last]);
  }
  const parts: Uint8Array[] = [];
  let from = 0;
  messages.ends.forEach((end, i) => {
    const seq = messages.seqs[i] ?? position;
    parts.push(DATA, messages.joined.subarray(from, end), encoder.encode(`\nid:${formatOffset(seq)}\n\n`));
    parts.push(i === messages.ends.length - 1 ? last : controlEvent(seq, cursor, false));
    from = end + 1;
  });
  return joined(parts);
}
