/** Reads of entries in the caller's language and market, at the addresses of published orbs. */

import type { Context } from "hono";
import { requireMay } from "../../shared/access/authorize.ts";
import { previewRefusal } from "../../shared/access/refusals.ts";
import type { EntryKey } from "../../shared/entry/index.ts";
import { richTextForm } from "../../shared/entry/model/index.ts";
import { parseOneQuery } from "../../shared/entry/query/index.ts";
import { getEntry, type ListInput, listEntries, readMoment } from "../../shared/entry/read/index.ts";
import { invalidParameters } from "../../shared/kernel/errors.ts";
import { LiveLists, type SetOfList, serveLiveList } from "../../shared/streams/live/index.ts";
import { STREAM_VARY } from "../../shared/streams/serve.ts";
import { matchesTag, withVariant } from "../http/etag.ts";
import { followedIn, readingFrom } from "../http/within.ts";
import { completeResponse } from "../middleware/headers.ts";
import type { AppEnv } from "../request/context.ts";
import { handOver, serveReader } from "../streams/reader.ts";
import { furtherNames, GetParameters } from "./definition-parts.ts";
import { isLive, listInputOf, readingOf } from "./list-input.ts";
import { type OrbRequest, responseHeaders, searchOf } from "./request.ts";

const EXTRA = furtherNames(GetParameters);

/**
 * Returns whether to decrypt sensitive values. Only owners, and handlers with the permission `entries:reveal`, may
 * request this.
 */
function revealOf({ c, schema, caller }: OrbRequest): boolean {
  const reveal = c.req.query("reveal");
  if (reveal === undefined || reveal === "false") return false;
  if (reveal !== "true")
    throw invalidParameters([{ path: "/reveal", code: "invalid_value", message: "must be true or false" }]);
  requireMay(caller, "reveal", { access: schema.access, own: true });
  return true;
}

/** Returns the kind of revision to read. The holder of a preview link reads the newest one, unless the request names one. */
export function revisionOf({ c, caller }: OrbRequest): string | undefined {
  return c.req.query("revision") ?? (caller.preview === undefined ? undefined : "latest");
}

/**
 * Returns the time from the parameter `at`, to read the entry as it was then. Only callers who may read its history
 * may use `at`.
 */
function momentOf({ c, schema, caller }: OrbRequest): number | undefined {
  const at = c.req.query("at");
  if (at === undefined) return undefined;
  requireMay(caller, "readRevisions", { access: schema.access, own: true });
  return readMoment(at, c.req.query("revision"));
}

/**
 * Serves a live list: over the request's own broker connection, or by a redirect to the streams process.
 * @param set the change set within which the list is read
 */
async function liveList(c: Context<AppEnv>, list: ListInput, set: SetOfList | undefined): Promise<Response> {
  const { deps } = c.var;
  const { actor } = list.reading.caller;
  if (actor.kind === "preview") throw previewRefusal();
  const definition = list.pinned?.revision;
  const { streamsUrl } = deps.config;
  const { pathname, searchParams: params } = new URL(c.req.url);
  const lastEventId = c.req.header("last-event-id");
  const method = c.req.method === "HEAD" ? "HEAD" : "GET";
  const response =
    streamsUrl === undefined
      ? await serveReader(c, actor, { waits: method === "GET" }, (hub) =>
          serveLiveList(new LiveLists(hub), deps, list, { method, params, lastEventId, set }),
        )
      : await handOver(c, actor, { streamsUrl, path: pathname, name: pathname, definition });
  const shape = definition === undefined ? "" : ", Orb-Definition";
  response.headers.set("vary", `Accept-Language, ${STREAM_VARY}${shape}`);
  return response;
}

export async function list(request: OrbRequest): Promise<Response> {
  const { c, live, actor, last } = request;
  const params = searchOf(c);
  const input = listInputOf(request, params, c.req.header("accept-language"));
  const { query, reading } = input;
  const { change } = query.extra;
  const { latest } = reading;
  if (isLive(params)) return liveList(c, input, followedIn(c.get("deps"), actor, live, change, latest));
  const { deps, pages } = await readingFrom(c.get("deps"), actor, live, { change }, latest);
  const choice = { ...input.choice, richText: await richTextForm(query.extra.richText) };
  const page = await listEntries(deps, { ...input, choice, last, pages });
  const { languages, ...body } = page;
  const expanded = query.expand.length > 0;
  return completeResponse(c, JSON.stringify(body), 200, {
    ...responseHeaders(request, {
      ...{ choice, expanded, languages },
      private: latest || change !== undefined,
    }),
    "content-type": "application/json",
  });
}

export async function get(request: OrbRequest, { id }: { id: string | EntryKey }): Promise<Response> {
  const { c, live, actor, pinned } = request;
  const at = momentOf(request);
  const asked = readingOf(request, revisionOf(request));
  const readable = pinned?.view(asked.readable) ?? asked.readable;
  const parsed = parseOneQuery(searchOf(c), readable, EXTRA);
  const query = pinned === undefined ? parsed : { ...parsed, expand: pinned.expanded(parsed.expand) };
  const { change } = query.extra;
  const { deps, tag } = await readingFrom(c.get("deps"), actor, live, c.req.query(), asked.latest);
  const richText = await richTextForm(query.extra.richText);
  const choice = { ...request.choiceOf(query.extra), richText };
  const reveal = revealOf(request);
  // The host's cache must not store a response with decrypted values, or one about a past time.
  if (reveal || at !== undefined) c.get("deps").expires?.(0);
  const reading = at === undefined ? asked : asked.withDrafts();
  const input = { reading, id, choice, query, at, reveal, pinned };
  const { entry, etag: plain, languages } = await getEntry(deps, input);
  const etag = withVariant(plain, tag?.());
  const facts = { choice, expanded: query.expand.length > 0, languages };
  if (reveal) {
    const { "cache-control": _, ...rest } = responseHeaders(request, { ...facts, private: true });
    const headers = { ...rest, "content-type": "application/json", "cache-control": "no-store" };
    return completeResponse(c, JSON.stringify(entry), 200, headers);
  }
  const headers = {
    ...responseHeaders(request, { ...facts, private: reading.latest || change !== undefined }),
    etag,
  };
  if (matchesTag(c.req.header("if-none-match"), etag)) return completeResponse(c, null, 304, headers);
  return completeResponse(c, JSON.stringify(entry), 200, { ...headers, "content-type": "application/json" });
}
