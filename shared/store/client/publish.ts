import type { NatsConnection, PublishOptions } from "nats.ws";
import { AppError } from "../../kernel/errors.ts";
import { toHeaders } from "./headers.ts";

/** Returns an upper bound of a body's size in bytes: a UTF-16 unit takes at most three bytes. */
export function mostBytes(data: string | Uint8Array): number {
  return typeof data === "string" ? data.length * 3 : data.length;
}

const EMPTY = new Uint8Array(0);
const encoder = new TextEncoder();

/** Encodes text; passes bytes through. */
function bytes(data: string | Uint8Array): Uint8Array {
  if (typeof data !== "string") return data;
  return data === "" ? EMPTY : encoder.encode(data);
}

/** Returns a random name for the inbox of a connection. */
export function randomName(): string {
  const raw = crypto.getRandomValues(new Uint8Array(12));
  let out = "";
  for (const byte of raw) out += (byte & 63).toString(36).padStart(2, "0");
  return out;
}

/** Sends one message without waiting. @throws AppError too_large if it exceeds the broker's limit */
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
