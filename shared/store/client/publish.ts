import type { MsgHdrs, NatsConnection, PublishOptions } from "nats.ws";
import { AppError } from "../../kernel/errors.ts";
import { encodeText } from "../../kernel/ids.ts";
import { VERSION } from "./message.ts";

/** Returns an upper bound for the bytes of a body: UTF-8 needs at most three bytes per UTF-16 code unit. */
export function mostBytes(data: string | Uint8Array): number {
  return typeof data === "string" ? data.length * 3 : data.length;
}

const EMPTY = new Uint8Array(0);

function bytes(data: string | Uint8Array): Uint8Array {
  if (typeof data !== "string") return data;
  return data === "" ? EMPTY : encodeText(data);
}

const BREAKS = /[\r\n]/;
const NAME = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;

/**
 * Encodes headers, because the client library's own encoder is slow.
 * @throws Error if a name is invalid or a value contains a line break
 */
function toHeaders(values: Record<string, string>): MsgHdrs {
  let text = `${VERSION}\r\n`;
  for (const name in values) {
    const value = values[name];
    if (value === undefined) continue;
    if (!NAME.test(name) || BREAKS.test(value)) throw new Error(`no header of a message: ${name}`);
    text += `${name}: ${value}\r\n`;
  }
  text += "\r\n";
  const block = encodeText(text);
  return { encode: () => block } as unknown as MsgHdrs;
}

export function randomName(): string {
  const raw = crypto.getRandomValues(new Uint8Array(12));
  let out = "";
  for (const byte of raw) out += (byte & 63).toString(36).padStart(2, "0");
  return out;
}

/** Sends one message without waiting for an acknowledgement. */
export function publish(
  connection: NatsConnection,
  subject: string,
  data: string | Uint8Array,
  reply: string | undefined,
  values: Record<string, string> | undefined,
): void {
  const body = bytes(data);
  const limit = connection.info?.max_payload;
  if (limit !== undefined && body.length + 1024 > limit) {
    throw new AppError(
      "too_large",
      "payload_too_large",
      `The data is larger than the broker accepts (${limit} bytes). Send less, or raise max_payload of the broker.`,
    );
  }
  const options: PublishOptions = {};
  if (reply !== undefined) options.reply = reply;
  if (values !== undefined) options.headers = toHeaders(values);
  connection.publish(subject, body, options);
}
