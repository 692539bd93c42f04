/**
 * Creates the responses to requests for streams. The host authenticates the caller first, and then sends the response.
 */
import { unavailable } from "../kernel/errors.ts";
import { sha256 } from "../kernel/ids.ts";
import { matchesTag } from "../kernel/tags.ts";
import { type Caller, requireReadable } from "./caller.ts";
import {
  filterFor,
  getMapping,
  listMappings,
  lossHeadersOf,
  type Mapping,
  servedMappings,
} from "./mappings/index.ts";
import { answerCursor, arrayOf, formatOffset, parseQuery, type Query } from "./protocol/index.ts";
import {
  beginningOf,
  checkRetained,
  type Hub,
  type OpenReader,
  type PageStart,
  Reader,
  type ReaderEnd,
  type Sink,
  type StreamPage,
  waitFor,
} from "./read/index.ts";

export interface StreamRequest {
  method: "GET" | "HEAD";
  name: string;
  params: URLSearchParams;
  header: (name: string) => string | undefined;
  /** Aborted when the client disconnects. */
  signal?: AbortSignal | undefined;
}

export type Headers = Record<string, string>;

export type Answer =
  | {
      kind: "whole";
      status: 200 | 204 | 304;
      headers: Headers;
      body: Uint8Array | null;
      /** The host must call this after it has sent or cancelled the body. */
      sent?: () => void;
    }
  | { kind: "live"; headers: Headers; start: (sink: Sink, ended: (reason: ReaderEnd) => void) => OpenReader };

/** Value of the Vary header: every stream response depends on the caller. */
export const STREAM_VARY = "Authorization, Cookie";

const JSON_TYPE = "application/json";

function headersFor(next: number, cursor: number | undefined, upToDate: boolean): Headers {
  return {
    "stream-next-offset": formatOffset(next),
    ...(cursor === undefined ? {} : { "stream-cursor": String(cursor) }),
    ...(upToDate ? { "stream-up-to-date": "true" } : {}),
  };
}

async function startOf(hub: Hub, mapping: Mapping, query: Query): Promise<PageStart> {
  if (query.start.at === "after") return query.start.position;
  if (query.start.at === "beginning") return "beginning";
  return (await hub.source.state(mapping.stream)).last;
}

/**
 * Loads a page of messages. Each user may have only a few pages in memory. So the caller must call the returned
 * function `sent` after the page was sent.
 */
async function pageFor(
  hub: Hub,
  { stream }: Mapping,
  filter: string,
  from: PageStart,
  caller: Caller,
  signal: AbortSignal | undefined,
): Promise<{ page: StreamPage; sent: () => void }> {
  const sent = await hub.pageTurn(caller.userId, caller.admin);
  try {
    if (signal?.aborted === true) throw unavailable("the client has disconnected");
    return { page: await hub.source.page(stream, filter, from, hub.limits.page), sent };
  } catch (error) {
    sent();
    throw error;
  }
}

/** The browser may store pages, but must ask the server before it reuses them. */
const PAGE_CACHING = "private, no-cache";

/** Returns the ETag of a page. It depends on the filter, which may contain the caller's id. */
async function etagOf(mapping: Mapping, filter: string, page: StreamPage): Promise<string> {
  const what = await sha256(JSON.stringify([mapping.stream, filter, page.tag]));
  return `"${page.from}-${page.next}-${what.slice(0, 22)}${page.upToDate ? "" : "-more"}"`;
}

async function head(hub: Hub, mapping: Mapping): Promise<Answer> {
  const state = await hub.source.state(mapping.stream);
  const headers = {
    "content-type": JSON_TYPE,
    "cache-control": "no-store",
    ...headersFor(state.last, answerCursor(undefined, hub.now()), true),
  };
  return { kind: "whole", status: 200, headers, body: null };
}

async function catchUp(
  hub: Hub,
  request: StreamRequest,
  mapping: Mapping,
  filter: string,
  query: Query,
  caller: Caller,
): Promise<Answer> {
  const type = { "content-type": JSON_TYPE };
  const cursor = answerCursor(query.cursor, hub.now());
  if (query.start.at === "now") {
    const { last } = await hub.source.state(mapping.stream);
    const headers = { ...type, "cache-control": "no-store", ...headersFor(last, cursor, true) };
    return { kind: "whole", status: 200, headers, body: new TextEncoder().encode("[]") };
  }
  const from = await startOf(hub, mapping, query);
  const { page, sent } = await pageFor(hub, mapping, filter, from, caller, request.signal);
  const etag = await etagOf(mapping, filter, page);
  const headers = {
    ...type,
    "cache-control": PAGE_CACHING,
    etag,
    ...headersFor(page.next, cursor, page.upToDate),
  };
  if (matchesTag(request.header("if-none-match"), etag))
    return { kind: "whole", status: 304, headers, body: null, sent };
  return { kind: "whole", status: 200, headers, body: arrayOf(page.messages), sent };
}

async function longPoll(
  hub: Hub,
  request: StreamRequest,
  mapping: Mapping,
  filter: string,
  query: Query,
  caller: Caller,
): Promise<Answer> {
  const release = await hub.admit(caller.userId, caller.admin, mapping.stream);
  try {
    const { stream } = mapping;
    const until = Math.min(hub.now() + hub.times.longPollMs, caller.expiresAt);
    const from = await startOf(hub, mapping, query);
    const { page, sent } = await pageFor(hub, mapping, filter, from, caller, request.signal);
    const there = page.messages.seqs.length > 0;
    // The page is empty, so it needs no memory. Let the user load another page while this request waits for messages.
    if (!there) sent();
    const found = there ? page : await waitFor(hub, stream, filter, page.next, until, request.signal);
    const headers = {
      "cache-control": "private, no-cache",
      ...headersFor(found.next, answerCursor(query.cursor, hub.now()), found.upToDate),
    };
    if (found.messages.seqs.length === 0) return { kind: "whole", status: 204, headers, body: null };
    return {
      kind: "whole",
      status: 200,
      headers: { "content-type": JSON_TYPE, ...headers },
      body: arrayOf(found.messages),
      sent,
    };
  } finally {
    release();
  }
}

async function live(
  hub: Hub,
  mapping: Mapping,
  filter: string,
  query: Query,
  caller: Caller,
): Promise<Answer> {
  const { stream } = mapping;
  const release = await hub.admit(caller.userId, caller.admin, mapping.stream);
  try {
    const state = await hub.source.state(stream);
    const { start } = query;
    const fromBeginning = start.at === "beginning";
    const position = start.at === "after" ? start.position : fromBeginning ? beginningOf(state) : state.last;
    // Check the offset now, because an error status cannot be sent once the event stream has begun.
    checkRetained(state, position);
    const cursor = answerCursor(query.cursor, hub.now());
    return {
      kind: "live",
      headers: {
        "content-type": "text/event-stream",
        "cache-control": "private, no-cache, no-transform",
        "x-accel-buffering": "no",
        "stream-next-offset": formatOffset(position),
        "stream-cursor": String(cursor),
        // The official client of the protocol uses the mode `sse`, and takes any value of this header as true, even
        // `false`. So only the mode `events` gets the header.
        ...(query.mode === "sse" ? {} : { "stream-up-to-date": String(position >= state.last) }),
      },
      start(sink, ended) {
        const reader = new Reader({
          hub,
          sink,
          form: `${query.mode === "sse" ? "sse" : "events"} ${query.event}`,
          stream,
          filter,
          position,
          fromBeginning,
          cursor,
          expiresAt: caller.expiresAt,
          ended: (reason) => {
            release();
            ended(reason);
          },
        });
        void reader.run();
        return reader;
      },
    };
  } catch (error) {
    release();
    throw error;
  }
}

export async function serveStream(hub: Hub, request: StreamRequest, caller: Caller): Promise<Answer> {
  hub.requireConnection();
  const known = await requireReadable(hub.source.store, request.name, caller);
  const query = parseQuery(request.params, request.header("last-event-id"));
  const mapping = known ?? (await getMapping(hub.source.store, request.name));
  const [answer, lossHeaders] = await Promise.all([
    answerFor(hub, request, mapping, query, caller),
    lossHeadersOf(hub.source.store, mapping.stream),
  ]);
  return { ...answer, headers: { ...answer.headers, ...lossHeaders } };
}

function answerFor(
  hub: Hub,
  request: StreamRequest,
  mapping: Mapping,
  query: Query,
  caller: Caller,
): Promise<Answer> {
  const filter = filterFor(mapping, caller.userId);
  if (request.method === "HEAD") return head(hub, mapping);
  switch (query.mode) {
    case "catch-up":
      return catchUp(hub, request, mapping, filter, query, caller);
    case "long-poll":
      return longPoll(hub, request, mapping, filter, query, caller);
    default:
      return live(hub, mapping, filter, query, caller);
  }
}

export interface StreamListing {
  name: string;
  description: string;
  href: string;
}

export async function listStreams(hub: Hub): Promise<StreamListing[]> {
  hub.requireConnection();
  const { store } = hub.source;
  const mappings = await servedMappings(store, await listMappings(store));
  return mappings.map(({ name, description }) => ({ name, description, href: `/api/streams/${name}` }));
}
