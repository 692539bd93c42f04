import type { Context, MiddlewareHandler, Next } from "hono";
import { joined } from "../../shared/kernel/bytes.ts";
import { AppError } from "../../shared/kernel/errors.ts";
import { DEPTH_LIMIT, tooDeep } from "../../shared/kernel/json.ts";
import { malformedAt, placeIn } from "../../shared/kernel/json-fault.ts";
import type { AppEnv } from "../request/context.ts";

/** A JSON body must be smaller than this many bytes. */
export const BODY_LIMIT = 512 * 1024;

/** 413 */
export function tooLarge(limit: number): AppError {
  return new AppError("too_large", "body_too_large", `The body must be smaller than ${limit / 1024} KiB.`);
}

/** 400: only the sender can make the reading of a body fail, by going away or by chunks that are none. */
export function brokenOff(cause: unknown): AppError {
  return new AppError("malformed", "body_incomplete", "The body ended before it was complete.", { cause });
}

/** 415 */
export function notJson(): AppError {
  return new AppError("unsupported_media", "not_json", "The body must be application/json.");
}

/** How many milliseconds something may take in all, and how many nothing of it may come. */
interface Patience {
  totalMs: number;
  idleMs: number;
}

/** What a body is waited for. A request holds a connection to the broker meanwhile, and its sender may be anybody. */
const BODY_PATIENCE: Patience = { totalMs: 15_000, idleMs: 5_000 };

/** What the next part of an upload is waited for: who has a right to upload may make the lines while they are sent. */
const PART_PATIENCE: Patience = { totalMs: 60_000, idleMs: 60_000 };

/** 400: waiting on would let whoever sends a byte now and then hold the request for ever. */
export function tooSlow(): AppError {
  return new AppError("malformed", "body_incomplete", "The body came too slowly.");
}

/** A wait for a body, part by part. */
export interface Wait {
  /** Comes when the body has kept its reader waiting too long; never once that was stopped. */
  late: Promise<undefined>;
  /** A part has come. */
  came(): void;
  stop(): void;
}

/** Begins to wait for a body. One timer, which looks again when parts came meanwhile: nearly all bodies come at once. */
export function waitForBody({ totalMs, idleMs } = BODY_PATIENCE): Wait {
  let giveUp: () => void = () => undefined;
  const late = new Promise<undefined>((resolve) => {
    giveUp = () => resolve(undefined);
  });
  const began = Date.now();
  let last = began;
  let timer: ReturnType<typeof setTimeout> | undefined;
  const look = () => {
    const left = Math.min(began + totalMs, last + idleMs) - Date.now();
    if (left <= 0) giveUp();
    else timer = setTimeout(look, left);
  };
  look();
  return {
    late,
    came() {
      last = Date.now();
    },
    stop: () => clearTimeout(timer),
  };
}

type Part = Awaited<ReturnType<ReadableStreamDefaultReader<Uint8Array>["read"]>>;

async function nextPart(reader: ReadableStreamDefaultReader<Uint8Array>, wait: Wait): Promise<Part> {
  const part = await Promise.race([reader.read(), wait.late]).catch((cause: unknown) => {
    throw brokenOff(cause);
  });
  if (part === undefined) throw tooSlow();
  return part;
}

/**
 * The parts of an upload as they come. What its reader does meanwhile is no pause of its sender's. Whoever ends before
 * they do leaves the rest to be read away.
 * @throws AppError malformed when it breaks off, or nothing comes for too long
 */
export async function* uploaded(body: ReadableStream<Uint8Array>): AsyncGenerator<Uint8Array> {
  const reader = body.getReader();
  let failed = false;
  try {
    for (;;) {
      const wait = waitForBody(PART_PATIENCE);
      const part = await nextPart(reader, wait).finally(wait.stop);
      if (part.done) return;
      yield part.value;
    }
  } catch (error) {
    failed = true;
    // The part that did not come is still asked for: nobody else can read on.
    await reader.cancel().catch(() => undefined);
    throw error;
  } finally {
    if (!failed) reader.releaseLock();
  }
}

/**
 * Reads a body of at most `limit` - 1 bytes; a larger one is refused as soon as that is known.
 * @throws AppError too_large; malformed when it breaks off, or comes too slowly
 */
export async function readLimited(request: Request, limit: number): Promise<Uint8Array> {
  if (Number(request.headers.get("content-length") ?? 0) >= limit) throw tooLarge(limit);
  if (request.body === null) return new Uint8Array(0);
  const parts: Uint8Array[] = [];
  let size = 0;
  const reader = request.body.getReader();
  const wait = waitForBody();
  try {
    for (;;) {
      const part = await nextPart(reader, wait);
      if (part.done) break;
      wait.came();
      size += part.value.byteLength;
      if (size >= limit) {
        reader.releaseLock();
        throw tooLarge(limit);
      }
      parts.push(part.value);
    }
  } finally {
    wait.stop();
  }
  const only = parts[0];
  return parts.length === 1 && only !== undefined ? only : joined(parts);
}

/** What is read away at most, and how long its sender keeps the answer waiting meanwhile. */
const DISCARD_LIMIT = 8 * 1024 * 1024;
const DISCARD_PATIENCE: Patience = { totalMs: 2_000, idleMs: 500 };

async function discard(body: ReadableStream<Uint8Array>): Promise<void> {
  const reader = body.getReader();
  const wait = waitForBody(DISCARD_PATIENCE);
  try {
    for (let size = 0; size < DISCARD_LIMIT; ) {
      const part = await Promise.race([reader.read(), wait.late]);
      if (part === undefined || part.done) return;
      wait.came();
      size += part.value.byteLength;
    }
  } finally {
    wait.stop();
  }
}

/**
 * Reads away what is left of a body. A server that has answered without reading closes the connection under the sender, who
 * sees that and not the answer: a 503 would look like a crash.
 */
export async function readAway({ body, headers }: Request): Promise<void> {
  if (body === null || body.locked || Number(headers.get("content-length") ?? 0) > DISCARD_LIMIT) return;
  // Read by somebody else, or broken off by its sender: then nothing is left to be done.
  await discard(body).catch(() => undefined);
}

/** Reads away the body that an early answer left unread. */
export const readToEnd: MiddlewareHandler<AppEnv> = (c, next) =>
  c.req.method === "GET" || c.req.method === "HEAD" ? next() : thenDiscard(c, next);

async function thenDiscard(c: Context<AppEnv>, next: Next): Promise<void> {
  await next();
  const received = c.get("received");
  // Read to its end already. A host with a way of its own to it would make a stream only to find that out.
  if (received === undefined || "error" in received) await readAway(c.req.raw);
}

const strictUtf8 = new TextDecoder("utf-8", { fatal: true });

/**
 * Parses text that came from outside as JSON.
 * @throws AppError malformed when it is no JSON, no UTF-8 or nested deeper than {@link DEPTH_LIMIT}
 */
export function parseJson(body: Uint8Array | string): unknown {
  let text: string | undefined;
  try {
    text = typeof body === "string" ? body : strictUtf8.decode(body);
    if (tooDeep(text)) {
      throw new AppError(
        "malformed",
        "json_too_deep",
        `The body is nested deeper than ${DEPTH_LIMIT} levels.`,
      );
    }
    return JSON.parse(text) as unknown;
  } catch (error) {
    if (error instanceof AppError) throw error;
    const at = text === undefined ? undefined : malformedAt(text);
    const place = text === undefined || at === undefined ? "" : `: look at ${placeIn(text, at)}`;
    throw new AppError("malformed", "malformed_json", `The body is not well-formed JSON in UTF-8${place}.`);
  }
}

/**
 * Hands the value itself to whoever reads the body next. What the request keeps as JSON it would write out and parse
 * again, each time: a number beyond all range would come back as null, and be taken for nothing.
 */
function keepJson(c: Context<AppEnv>, value: unknown): void {
  c.req.bodyCache.json = Promise.resolve(value);
  c.req.json = <T>() => Promise.resolve(value as T);
}

/**
 * No body is of no type, whatever its sender calls it: `curl -d ''` says that it is a form. The library beneath would look
 * at the name once more and refuse it.
 */
function callJson(c: Context<AppEnv>): void {
  const named = c.req.header.bind(c.req);
  const header = (name?: string) => {
    if (name === undefined) return named();
    return name.toLowerCase() === "content-type" ? "application/json" : named(name);
  };
  c.req.header = header as typeof c.req.header;
}

const JSON_TYPE = /^application\/([a-z0-9.+-]+\+)?json\s*(;|$)/i;

const WITH_BODY = new Set(["POST", "PUT"]);

/** Whether the request is of a method whose body is read. */
export function hasBody(c: Context<AppEnv>): boolean {
  return WITH_BODY.has(c.req.method);
}

/**
 * Waits for the body of a request, once, and keeps it unparsed; or keeps what was wrong with it. A caller's session and a
 * definition are read only after that: a sender can take seconds, and both can change meanwhile. No connection to the
 * broker is open while a body is awaited.
 */
export async function receiveBody(c: Context<AppEnv>): Promise<void> {
  if (!hasBody(c) || c.get("received") !== undefined) return;
  try {
    const bytes = await (c.get("host").body?.(c, BODY_LIMIT) ?? readLimited(c.req.raw, BODY_LIMIT));
    c.set("received", { bytes });
  } catch (error) {
    c.set("received", { error });
  }
}

/** @throws AppError too_large; malformed */
async function receivedBody(c: Context<AppEnv>): Promise<Uint8Array> {
  await receiveBody(c);
  const received = c.get("received") ?? { bytes: new Uint8Array(0) };
  if ("error" in received) throw received.error;
  return received.bytes;
}

/**
 * Parses the JSON body. No body is an empty object, which is left to the validation, unless one is required and JSON is said
 * to come: nothing is no JSON.
 * @throws AppError unsupported_media when it is not JSON; too_large; malformed when it does not parse
 */
export async function readJson(c: Context<AppEnv>, required: boolean): Promise<unknown> {
  const isJson = JSON_TYPE.test(c.req.header("content-type") ?? "");
  const bytes = await receivedBody(c);
  if (bytes.length === 0 && !(required && isJson)) {
    keepJson(c, {});
    // Whoever asks next whether there was a body must not be told of these braces.
    c.req.bodyCache.arrayBuffer = new ArrayBuffer(0);
    if (!required) callJson(c);
    return {};
  }
  if (!isJson) throw notJson();
  const value = parseJson(bytes);
  keepJson(c, value);
  return value;
}

/** Parses the JSON body of a route that declares one, after authentication and before validation. */
export function jsonBody(required: boolean): MiddlewareHandler<AppEnv> {
  return async (c, next) => {
    await readJson(c, required);
    await next();
  };
}
