import type { Context, MiddlewareHandler, Next } from "hono";
import { AppError, type Fault, invalid } from "../../shared/kernel/errors.ts";
import { ByteCollector } from "../../shared/kernel/ids.ts";
import { DEPTH_LIMIT, membersIn } from "../../shared/kernel/json.ts";
import { flawsIn, malformedAt, placeIn } from "../../shared/kernel/json-fault.ts";
import type { AppEnv } from "../request/context.ts";
import { bodyAborted, noBody, notJson, notMergePatch, tooLarge, tooSlow } from "./body-errors.ts";

/** A JSON body must be smaller than this many bytes. */
export const BODY_LIMIT = 512 * 1024;

/** Maximum milliseconds to receive the whole body (`totalMs`), and to wait for the next chunk (`idleMs`). */
interface Patience {
  totalMs: number;
  idleMs: number;
}

/** These time limits are short, because anyone may send a body and each body occupies memory. */
const BODY_PATIENCE: Patience = { totalMs: 15_000, idleMs: 5_000 };

export interface BodyWait {
  late: Promise<undefined>;
  came(): void;
  stop(): void;
}

/**
 * Starts the time limits for receiving a body. Uses one timer and rarely resets it, because most bodies arrive in one
 * piece.
 */
export function waitForBody({ totalMs, idleMs } = BODY_PATIENCE): BodyWait {
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

async function nextPart(reader: ReadableStreamDefaultReader<Uint8Array>, wait: BodyWait): Promise<Part> {
  const part = await Promise.race([reader.read(), wait.late]).catch((cause: unknown) => {
    throw bodyAborted(cause);
  });
  if (part === undefined) throw tooSlow();
  return part;
}

/** Reads a body smaller than `limit` bytes. Rejects a larger one as early as possible. */
async function readLimited(request: Request, limit: number): Promise<Uint8Array> {
  if (Number(request.headers.get("content-length") ?? 0) >= limit) throw tooLarge(limit);
  if (request.body === null) return new Uint8Array(0);
  const collected = new ByteCollector();
  const reader = request.body.getReader();
  const wait = waitForBody();
  try {
    for (;;) {
      const part = await nextPart(reader, wait);
      if (part.done) break;
      wait.came();
      if (collected.size + part.value.byteLength >= limit) {
        reader.releaseLock();
        throw tooLarge(limit);
      }
      collected.add(part.value);
    }
  } finally {
    wait.stop();
  }
  return collected.bytes();
}

/** Limits for discarding an unread body. */
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
 * Reads and ignores the rest of a body. Otherwise the server closes the connection, and the client may never see the
 * response.
 */
export async function discardBody({ body, headers }: Request): Promise<void> {
  if (body === null || body.locked || Number(headers.get("content-length") ?? 0) > DISCARD_LIMIT) return;
  // Ignore errors, which occur if the client has disconnected or another reader has locked the body.
  await discard(body).catch(() => undefined);
}

export const readToEnd: MiddlewareHandler<AppEnv> = (c, next) =>
  c.req.method === "GET" || c.req.method === "HEAD" ? next() : thenDiscard(c, next);

async function thenDiscard(c: Context<AppEnv>, next: Next): Promise<void> {
  await next();
  const received = c.get("received");
  // A body that was received completely needs no discarding. Some hosts would even create a stream for it.
  if (received === undefined || "error" in received) await discardBody(c.req.raw);
}

const strictUtf8 = new TextDecoder("utf-8", { fatal: true });

function flawed(flaws: Fault[]): AppError {
  const twice = flaws.filter(({ code }) => code === "duplicate");
  if (twice.length === 0) return invalid(flaws);
  const detail =
    "The body has properties twice, and only one of their values could be used. See errors for each one.";
  return new AppError("malformed", "duplicate_property", detail, { errors: twice });
}

/**
 * Parses JSON. Rejects invalid UTF-8 and deep nesting, and all that `JSON.parse` would change or drop: properties that
 * an object has twice, and numbers beyond double precision.
 */
export function parseJson(body: Uint8Array | string): unknown {
  let text: string | undefined;
  try {
    text = typeof body === "string" ? body : strictUtf8.decode(body);
    const members = membersIn(text);
    if (members === undefined) {
      throw new AppError(
        "malformed",
        "json_too_deep",
        `The body is nested deeper than ${DEPTH_LIMIT} levels. Send a flatter value.`,
      );
    }
    const value = JSON.parse(text) as unknown;
    const flaws = flawsIn(text, members, value);
    if (flaws.length > 0) throw flawed(flaws);
    return value;
  } catch (error) {
    if (error instanceof AppError) throw error;
    const at = text === undefined ? undefined : malformedAt(text);
    const place = text === undefined || at === undefined ? "" : `: see ${placeIn(text, at)}`;
    throw new AppError("malformed", "malformed_json", `The body is not well-formed JSON in UTF-8${place}.`);
  }
}

/**
 * Makes later calls of `c.req.json()` return the value. Otherwise Hono would serialise and parse the value again, which
 * turns huge numbers into null.
 */
function keepJson(c: Context<AppEnv>, value: unknown): void {
  c.req.bodyCache.json = Promise.resolve(value);
  c.req.json = <T>() => Promise.resolve(value as T);
}

/** Makes an empty body count as JSON. Commands such as `curl -d ''` declare the content type of an HTML form. */
function callJson(c: Context<AppEnv>): void {
  const named = c.req.header.bind(c.req);
  const header = (name?: string) => {
    if (name === undefined) return named();
    return name.toLowerCase() === "content-type" ? "application/json" : named(name);
  };
  c.req.header = header as typeof c.req.header;
}

const JSON_TYPE = /^application\/([a-z0-9.+-]+\+)?json\s*(;|$)/i;

const MERGE_PATCH_TYPE = /^application\/(merge-patch\+)?json\s*(;|$)/i;

const WITH_BODY = new Set(["POST", "PUT", "PATCH"]);

export function hasBody(c: Context<AppEnv>): boolean {
  return WITH_BODY.has(c.req.method);
}

/**
 * Receives the body before the session is read, because the session can end while a slow client sends the body. While
 * the body arrives, the request uses no broker connection.
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

async function receivedBody(c: Context<AppEnv>): Promise<Uint8Array> {
  if (c.get("received") === undefined) await receiveBody(c);
  const received = c.get("received") ?? { bytes: new Uint8Array(0) };
  if ("error" in received) throw received.error;
  return received.bytes;
}

/** Parses the JSON body. An empty optional body counts as an empty object. */
export async function readJson(c: Context<AppEnv>, required: boolean): Promise<unknown> {
  const type = c.req.header("content-type");
  const isJson = JSON_TYPE.test(type ?? "");
  const bytes = await receivedBody(c);
  if (bytes.length === 0 && !(required && isJson)) {
    if (required) throw type === undefined ? noBody() : notJson();
    keepJson(c, {});
    // Keep the raw body empty, so that later code can detect that the client sent no body.
    c.req.bodyCache.arrayBuffer = new ArrayBuffer(0);
    callJson(c);
    return {};
  }
  if (!isJson) throw notJson();
  if (c.req.method === "PATCH" && !MERGE_PATCH_TYPE.test(type ?? "")) throw notMergePatch();
  const value = parseJson(bytes);
  keepJson(c, value);
  return value;
}

export function jsonBody(required: boolean): MiddlewareHandler<AppEnv> {
  return async (c, next) => {
    await readJson(c, required);
    await next();
  };
}
