/**
 * Encodes and decodes message headers. The client library's own implementation costs as much as the rest of a message.
 */
import type { Msg, MsgHdrs } from "nats.ws";

const VERSION = "NATS/1.0";
const encoder = new TextEncoder();
const decoder = new TextDecoder();

const BREAKS = /[\r\n]/;
const NAME = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
/** Encoded headers by their text, because most messages of new entries have the same. */
const blocks = new Map<string, Uint8Array>();
const MOST_BLOCKS = 256;

/**
 * Whether headers are worth caching: they only name a stream and expect no earlier message. Others may contain secrets.
 */
function comesAgain(values: Record<string, string>): boolean {
  const { "Nats-Expected-Stream": stream, "Nats-Expected-Last-Subject-Sequence": seq, ...others } = values;
  return stream !== undefined && (seq ?? "0") === "0" && Object.keys(others).length === 0;
}

/**
 * Headers for the client library, which only needs their bytes.
 * @throws Error if a name or value contains a line break
 */
export function toHeaders(values: Record<string, string>): MsgHdrs {
  let text = `${VERSION}\r\n`;
  for (const name in values) {
    const value = values[name];
    if (value === undefined) continue;
    if (!NAME.test(name) || BREAKS.test(value)) throw new Error(`no header of a message: ${name}`);
    text += `${name}: ${value}\r\n`;
  }
  text += "\r\n";
  const known = blocks.get(text);
  const block = known ?? encoder.encode(text);
  if (known === undefined && comesAgain(values)) {
    if (blocks.size >= MOST_BLOCKS) blocks.clear();
    blocks.set(text, block);
  }
  return { encode: () => block } as unknown as MsgHdrs;
}

/**
 * The headers of a message as text. The client decodes every header, which costs more than the rest of a read. This
 * class searches the bytes in front of the body instead.
 */
function headersOf(message: Msg & { size?: () => number }): string {
  const { data } = message;
  const length =
    (message.size?.() ?? 0) - message.subject.length - (message.reply?.length ?? 0) - data.length;
  if (length > VERSION.length && length <= data.byteOffset) {
    const text = decoder.decode(new Uint8Array(data.buffer, data.byteOffset - length, length));
    if (text.startsWith(VERSION) && text.endsWith("\r\n\r\n")) return text;
  }
  const { headers } = message;
  const code = headers?.code ?? 0;
  const lines = headers
    ?.keys()
    .flatMap((name) => headers.values(name).map((value) => `${name}: ${value}\r\n`));
  return `${VERSION}${code === 0 ? "" : ` ${code}`}\r\n${lines?.join("") ?? ""}\r\n`;
}

/** Headers of a direct get response: those of the publisher come first, then those of the broker. */
export class ResponseHeaders {
  /** The raw text with the empty line at its end. */
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }

  static of(message: Msg): ResponseHeaders {
    return new ResponseHeaders(headersOf(message));
  }

  /** Status code; 0 for a message. */
  get status(): number {
    const { text } = this;
    return text[VERSION.length] === " " ? Number(text.slice(VERSION.length + 1, VERSION.length + 4)) : 0;
  }

  /**
   * The headers that describe the body, which nearly no message has. Caching the broker's headers and the expectations
   * would take many times the space.
   */
  own(): ResponseHeaders | undefined {
    const lines = this.text.split("\r\n").slice(1, -2);
    const own = lines.filter((line) => !line.startsWith("Nats-") || line.startsWith("Nats-Marker-Reason:"));
    return own.length === 0 ? undefined : new ResponseHeaders(["", ...own, ""].join("\r\n"));
  }

  /** The first value of a header. */
  first(name: string): string | undefined {
    return this.#at(this.text.indexOf(`\r\n${name}:`), name);
  }

  /** The last value of a header, which the broker wrote. */
  last(name: string): string | undefined {
    return this.#at(this.text.lastIndexOf(`\r\n${name}:`), name);
  }

  #at(at: number, name: string): string | undefined {
    if (at < 0) return undefined;
    const from = at + name.length + 3;
    return this.text.slice(from, this.text.indexOf("\r\n", from)).trim();
  }
}
