import { toBase64 } from "../../kernel/base64.ts";
import { streams } from "../../store/subjects.ts";
import type { StoredMessage } from "../../store/types.ts";

const encoder = new TextEncoder();
const strict = new TextDecoder("utf-8", { fatal: true });
const EMPTY = new Uint8Array(0);
const NULL = encoder.encode("null");
const COMMA = 44;
const LF = 10;
const CR = 13;
const SPACE = 32;

/** Consecutive messages as JSON. Many clients share them, so they must not be modified. */
export interface Messages {
  /** JSON texts, joined by commas. */
  readonly joined: Uint8Array;
  /** Sequence number of each message in its stream. */
  readonly seqs: readonly number[];
  /** Offset in `joined` at which each message ends, in bytes. */
  readonly ends: readonly number[];
}

export const noMessages: Messages = { joined: EMPTY, seqs: [], ends: [] };

/**
 * Encodes a message body as JSON. JSON stays unchanged, other text becomes a string, other bytes become a base64
 * string, and an empty body becomes null.
 */
function jsonOf(data: Uint8Array): Uint8Array {
  if (data.length === 0) return NULL;
  let text: string;
  try {
    text = strict.decode(data);
  } catch {
    return encoder.encode(JSON.stringify(toBase64(data)));
  }
  try {
    JSON.parse(text);
  } catch {
    return encoder.encode(JSON.stringify(text));
  }
  // `TextDecoder` ignores a byte order mark, but JSON parsers of clients reject it. So remove it.
  const bytes = data[0] === 0xef && data[1] === 0xbb && data[2] === 0xbf ? data.subarray(3) : data;
  if (!bytes.includes(LF) && !bytes.includes(CR)) return bytes;
  return bytes.map((byte) => (byte === LF || byte === CR ? SPACE : byte));
}

/**
 * Encodes a heartbeat, a periodic message of the broker's scheduler, as its sequence number and time. Its body contains
 * nothing useful.
 */
function heartbeat(message: StoredMessage): Uint8Array {
  return encoder.encode(
    JSON.stringify({ seq: message.seq, timestamp: new Date(message.time).toISOString() }),
  );
}

export function encodeMessages(stream: string, messages: readonly StoredMessage[]): Messages {
  return joinTexts(
    messages.map((message) => ({
      seq: message.seq,
      text: stream === streams.heartbeat ? heartbeat(message) : jsonOf(message.data),
    })),
  );
}

export function joinTexts(texts: readonly { seq: number; text: Uint8Array }[]): Messages {
  const seqs: number[] = [];
  const ends: number[] = [];
  let size = 0;
  for (const { seq, text } of texts) {
    size += text.length + (seqs.length === 0 ? 0 : 1);
    seqs.push(seq);
    ends.push(size);
  }
  if (seqs.length === 0) return noMessages;
  const joined = new Uint8Array(size);
  let at = 0;
  for (const { text } of texts) {
    if (at > 0) joined[at++] = COMMA;
    joined.set(text, at);
    at += text.length;
  }
  return { joined, seqs, ends };
}

export function concat(a: Messages, b: Messages): Messages {
  if (a.seqs.length === 0) return b;
  if (b.seqs.length === 0) return a;
  const joined = new Uint8Array(a.joined.length + 1 + b.joined.length);
  joined.set(a.joined);
  joined[a.joined.length] = COMMA;
  joined.set(b.joined, a.joined.length + 1);
  const shift = a.joined.length + 1;
  return { joined, seqs: a.seqs.concat(b.seqs), ends: a.ends.concat(b.ends.map((end) => end + shift)) };
}

export function messagesAfter(messages: Messages, position: number): Messages {
  const skip = messages.seqs.findIndex((seq) => seq > position);
  if (skip === 0) return messages;
  if (skip < 0) return noMessages;
  const from = (messages.ends[skip - 1] ?? 0) + 1;
  return {
    joined: messages.joined.subarray(from),
    seqs: messages.seqs.slice(skip),
    ends: messages.ends.slice(skip).map((end) => end - from),
  };
}
