import { concatBytes } from "../../kernel/ids.ts";
import type { Messages } from "./messages.ts";
import { formatOffset } from "./offset.ts";

/** Possible names of the server-sent events that contain messages. Browsers pass `message` events to `onmessage`. */
export const EVENT_NAMES = ["data", "message"] as const;

/**
 * The format of an event stream. The first word is the data of an event: a JSON object (`events`), or a JSON array
 * (`sse`), as the Durable Streams protocol requires. The second word is the name of the events.
 */
export type Form = `${"events" | "sse"} ${(typeof EVENT_NAMES)[number]}`;

const encoder = new TextEncoder();
const ARRAY_START = encoder.encode("[");
const ARRAY_END = encoder.encode("]");

/** Proxies keep a quiet connection open if they see this comment from time to time. */
export const KEEP_ALIVE = encoder.encode(": heartbeat\n\n");

export function arrayOf(messages: Messages): Uint8Array {
  return concatBytes([ARRAY_START, messages.joined, ARRAY_END]);
}

/** Returns an event that tells the client its new position, so that it does not request the same messages again. */
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
 * Returns messages and the new position as server-sent events, in one array of bytes. A response can end after any such
 * array.
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
  const [mode, name] = form.split(" ");
  const begin = encoder.encode(`event: ${name}\ndata:`);
  if (mode === "sse") {
    const tail = encoder.encode(`]\nid:${formatOffset(position)}\n\n`);
    return concatBytes([begin, ARRAY_START, messages.joined, tail, last]);
  }
  const parts: Uint8Array[] = [];
  let from = 0;
  messages.ends.forEach((end, i) => {
    const seq = messages.seqs[i] ?? position;
    parts.push(begin, messages.joined.subarray(from, end), encoder.encode(`\nid:${formatOffset(seq)}\n\n`));
    parts.push(i === messages.ends.length - 1 ? last : controlEvent(seq, cursor, false));
    from = end + 1;
  });
  return concatBytes(parts);
}
