/**
 * Forwards HTTP requests to services, and their responses to clients. Neither side trusts the other: a service never
 * receives the caller's cookies or tokens. Its response cannot use the rights of the platform's own pages.
 */
import type { Context } from "hono";
import type { Principal } from "../../shared/access/authorize.ts";
import { onlyReads } from "../../shared/definition/document/index.ts";
import type { LiveOrb } from "../../shared/definition/live-orb.ts";
import { HTTP_PART_BYTES, type RemoteHttpHandler } from "../../shared/handlers/contract/index.ts";
import { credentialFor } from "../../shared/handlers/credential.ts";
import { callerOf } from "../../shared/handlers/dispatch.ts";
import type { AskOptions } from "../../shared/handlers/remote.ts";
import {
  askHttp,
  type BodyPart,
  type HttpReply,
  type ResponseRest,
} from "../../shared/handlers/remote-http.ts";
import { AppError } from "../../shared/kernel/errors.ts";
import { ByteCollector, concatBytes } from "../../shared/kernel/ids.ts";
import { withLength } from "../http/fixed-length.ts";
import { tooLarge } from "../middleware/body-errors.ts";
import { hasCredentials } from "../middleware/session.ts";
import { readUpload } from "../middleware/upload-body.ts";
import { type AppEnv, holdConnection } from "../request/context.ts";

/** Request headers that every service receives. A service's registration can add others. */
const REQUEST_HEADERS: readonly string[] = [
  "accept",
  "accept-language",
  "content-encoding",
  "content-language",
  "content-type",
  "idempotency-key",
  "if-match",
  "if-modified-since",
  "if-none-match",
  "if-range",
  "if-unmodified-since",
  "origin",
  "prefer",
  "range",
  "user-agent",
  "x-requested-with",
];

/** Response headers that a service may set. The platform sets all others, especially cookies and security headers. */
const RESPONSE_HEADERS: readonly string[] = [
  "accept-ranges",
  "allow",
  "cache-control",
  "content-disposition",
  "content-language",
  "content-location",
  "content-range",
  "content-type",
  "etag",
  "last-modified",
  "link",
  "location",
  "retry-after",
  "vary",
];

/**
 * The sandbox gives a service's page an opaque origin. Its scripts cannot read the platform's responses, and their
 * requests carry no session cookie.
 */
const SANDBOX =
  "sandbox allow-downloads allow-forms allow-modals allow-popups allow-popups-to-escape-sandbox allow-scripts; frame-ancestors 'none'";

/**
 * Maximum bytes of path, query and headers together. One broker message must hold them and the first part of the
 * body.
 */
const HEAD_LIMIT = 64 * 1024;

/**
 * Number of parts that come before the handler's path when a URL's path is split at slashes: an empty part, `api`,
 * and the application's id.
 */
export const LEADING = 3;

/**
 * Returns the path below a handler, percent-encoded as the client sent it. The URL parser has already removed dot
 * segments, including encoded ones.
 * @param above number of segments between the application's id and this path
 */
function pathBelow(pathname: string, above: number): string {
  const segments = pathname.split("/").slice(LEADING + above);
  const path = segments.length === 0 ? "" : `/${segments.join("/")}`;
  try {
    if (!/\p{Cc}/u.test(decodeURIComponent(path))) return path;
  } catch {
    // Invalid encoding: the code below throws the error.
  }
  const detail = "The path is not percent-encoded UTF-8 without control characters. Correct the URL.";
  throw new AppError("malformed", "invalid_address", detail);
}

function headersFor(c: Context<AppEnv>, { headers }: RemoteHttpHandler): Record<string, string> {
  return Object.fromEntries(
    [...REQUEST_HEADERS, ...headers].flatMap((name) => {
      const value = c.req.header(name);
      return value === undefined ? [] : [[name, value]];
    }),
  );
}

/** Yields the request body in parts. Buffers at most one part at a time. */
async function* partsOf(c: Context<AppEnv>, limit: number): AsyncGenerator<BodyPart, undefined> {
  const received = c.get("received");
  if (received !== undefined) {
    if ("error" in received) throw received.error;
    if (received.bytes.length > limit) throw tooLarge(limit + 1);
    yield { bytes: received.bytes, more: false };
    return;
  }
  const { body } = c.req.raw;
  let part = new ByteCollector();
  let total = 0;
  if (body !== null) {
    for await (const chunk of readUpload(body)) {
      total += chunk.length;
      if (total > limit) throw tooLarge(limit + 1);
      for (let rest = chunk; rest.length > 0; ) {
        if (part.size === HTTP_PART_BYTES) {
          yield { bytes: concatBytes(part.parts()), more: true };
          part = new ByteCollector();
        }
        const taken = rest.subarray(0, HTTP_PART_BYTES - part.size);
        part.add(taken);
        rest = rest.subarray(taken.length);
      }
    }
  }
  yield { bytes: concatBytes(part.parts()), more: false };
}

/** Sends a request to the handler's service and returns the response. Authorize the caller before calling this. */
export async function callOverHttp(
  c: Context<AppEnv>,
  live: LiveOrb,
  handler: RemoteHttpHandler,
  { above, principal, guess }: { above: number; principal: Principal; guess: AskOptions["guess"] },
): Promise<Response> {
  const url = new URL(c.req.url);
  // Another website can make a browser send a GET or HEAD with the user's cookie. For these methods, the service gets
  // only rights to read.
  const safe = c.req.method === "GET" || c.req.method === "HEAD";
  const credential = await credentialFor(
    c.var.deps,
    live,
    handler,
    principal,
    (act) => !safe || onlyReads(act),
  );
  const head = {
    orbId: live.orb,
    handler: handler.name,
    method: c.req.method,
    path: pathBelow(url.pathname, above),
    query: url.search.slice(1),
    headers: headersFor(c, handler),
    caller: callerOf(principal),
    ...(credential === undefined ? {} : { credential }),
  };
  if (JSON.stringify(head).length > HEAD_LIMIT) {
    const detail = `The URL and the headers are larger than ${HEAD_LIMIT / 1024} KiB. Send less.`;
    throw new AppError("too_large", "body_too_large", detail);
  }
  const limit = handler.maxBodyBytes;
  if (Number(c.req.header("content-length") ?? 0) > limit) throw tooLarge(limit + 1);
  const parts = partsOf(c, limit);
  const release = holdConnection(c);
  try {
    const reply = await askHttp(c.var.deps, handler, head, parts, { guess });
    return await responseOf(c, reply, release);
  } catch (error) {
    release();
    throw error;
  } finally {
    await parts.return(undefined);
  }
}

async function responseOf(c: Context<AppEnv>, reply: HttpReply, release: () => void): Promise<Response> {
  const { status, body, rest } = reply;
  const headers = new Headers({
    "content-security-policy": SANDBOX,
    // A sandboxed page with any other opener policy is not loaded by browsers.
    "cross-origin-opener-policy": "unsafe-none",
  });
  for (const name of RESPONSE_HEADERS) {
    const value = reply.headers.get(name);
    if (value !== undefined) headers.set(name, value);
  }
  if (hasCredentials(c)) {
    const cached = headers.get("cache-control") ?? "";
    if (!/\b(private|no-store)\b/i.test(cached)) headers.set("cache-control", "no-store");
  } else {
    // The sandboxed page has an opaque origin, so its own images and scripts count as cross-origin. Browsers request
    // them without cookies.
    headers.set("cross-origin-resource-policy", "cross-origin");
  }
  if (status === 401) headers.set("www-authenticate", 'Bearer realm="platform"');
  const empty = body.length === 0 && rest === undefined;
  if (!empty && !headers.has("content-type")) headers.set("content-type", "application/octet-stream");
  if (rest === undefined || c.req.method === "HEAD") {
    await rest?.end();
    release();
    return new Response(empty || c.req.method === "HEAD" ? null : body, { status, headers });
  }
  headers.set("content-length", String(rest.length));
  const stream = streamOf(c, body, rest, release);
  return new Response(withLength(stream, rest.length), { status, headers });
}

/**
 * Streams the response to the client. Requests each part from the service only after the client has taken the previous
 * one. The stream has no internal queue, so it can fail only during a read. The Node host then closes the connection
 * without sending anything more.
 */
function streamOf(
  c: Context<AppEnv>,
  first: Uint8Array,
  rest: ResponseRest,
  release: () => void,
): ReadableStream<Uint8Array> {
  const { deps, host } = c.var;
  const source: UnderlyingDefaultSource<Uint8Array> = {
    start(controller) {
      if (first.length > 0) controller.enqueue(first);
    },
    async pull(controller) {
      try {
        const part = await rest.parts.next();
        if (part.done !== true) {
          controller.enqueue(part.value);
          return;
        }
        controller.close();
      } catch (error) {
        // The status has already been sent. Ending the connection early tells the client that the response is
        // incomplete.
        const code = error instanceof AppError ? error.code : String(error);
        deps.log.warn("a handler stopped before its response was complete", { error: code });
        if (host.cut === undefined) controller.error(new Error("the handler's response is incomplete"));
        else {
          host.cut(c);
          controller.close();
        }
      }
      release();
    },
    async cancel() {
      await rest.end();
      release();
    },
  };
  return new ReadableStream(source, { highWaterMark: 0 });
}
