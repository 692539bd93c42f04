import type { Context } from "hono";
import type { Actor } from "../../shared/access/actor.ts";
import { requireMay } from "../../shared/access/authorize.ts";
import type { CompiledSchema } from "../../shared/definition/compile.ts";
import type { EntryKey } from "../../shared/entry/index.ts";
import { type Choice, choose, richTextForm } from "../../shared/entry/model/index.ts";
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
import { isLive, listInputOf, readingOf, type Target } from "./list-input.ts";
import { furtherNames, type OperationName } from "./operations.ts";

/**
 * Serves a live list: over the request's own broker connection, or by a redirect to the streams process.
 * @param set the change set within which the list is read
 */
async function liveList(c: Context<AppEnv>, list: ListInput, set: SetOfList | undefined): Promise<Response> {
  const { deps } = c.var;
  const { actor } = list.reading.caller;
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

const EXTRA = { id: furtherNames("get"), key: furtherNames("getBy") };

/** A request about the entries of a schema. */
export interface EntryRequest extends Target {
  c: Context<AppEnv>;
  operation: OperationName;
  /** The last sequence number of the application's stream, if a list begins there. */
  last?: Promise<number | undefined> | undefined;
}

export function searchOf(c: Context<AppEnv>): URLSearchParams {
  const { url } = c.req;
  const at = url.indexOf("?");
  return new URLSearchParams(at < 0 ? "" : url.slice(at + 1));
}

/**
 * Returns whether to decrypt sensitive values. Only owners, and handlers with the permission `entries:reveal`, may
 * request this.
 */
function revealOf({ c, schema, caller }: EntryRequest): boolean {
  const reveal = c.req.query("reveal");
  if (reveal === undefined || reveal === "false") return false;
  if (reveal !== "true")
    throw invalidParameters([{ path: "/reveal", code: "invalid_value", message: "must be true or false" }]);
  requireMay(caller, "reveal", { access: schema.access, own: true });
  return true;
}

/**
 * Returns the time from the parameter `at`, to read the entry as it was then. Only callers who may read its history
 * may use `at`.
 */
function momentOf({ c, schema, caller }: EntryRequest): number | undefined {
  const at = c.req.query("at");
  if (at === undefined) return undefined;
  requireMay(caller, "readRevisions", { access: schema.access, own: true });
  return readMoment(at, c.req.query("revision"));
}

export function choiceOf(
  c: Context<AppEnv>,
  schema: CompiledSchema,
  extra: { locale?: string; market?: string },
): Choice {
  return choose(schema, { ...extra, acceptLanguage: c.req.header("accept-language") });
}

export interface ResponseFacts {
  schema: CompiledSchema;
  actor: Actor;
  choice: Choice;
  /** Whether the response contains data that only writers may see: a draft, or the result of a write. */
  private: boolean;
  /** Whether the response contains referenced entries. */
  expanded: boolean;
  languages: readonly string[];
  /** Whether the request names a revision of the definition. */
  pinned: boolean;
}

/** Returns the cache and language headers. Clients must always revalidate, which the ETag makes cheap. */
export function responseHeaders(answer: ResponseFacts): Record<string, string> {
  const { schema, actor, choice, expanded, languages } = answer;
  const personal = answer.private || expanded;
  const vary: string[] = [];
  if (choice.negotiated && (expanded || schema.translatable.length > 0)) vary.push("Accept-Language");
  const forAll = schema.access.read.least === "public";
  if (personal || !forAll || schema.narrowed.read) vary.push("Authorization", "Cookie");
  // Responses without the header need not vary by it: caches must always revalidate, and the ETags differ.
  if (answer.pinned) vary.push("Orb-Definition");
  const first = schema.translatable.length > 0 ? choice.languages[0] : undefined;
  const spoken = languages.length > 0 ? languages.join(", ") : first;
  const open = actor.kind === "anonymous" && !personal && forAll;
  const headers: Record<string, string> = {
    "cache-control": open ? "public, no-cache" : "private, no-cache",
  };
  if (vary.length > 0) headers.vary = vary.join(", ");
  if (spoken !== undefined && !choice.allLocales) headers["content-language"] = spoken;
  return headers;
}

export async function list(request: EntryRequest): Promise<Response> {
  const { c, live, schema, caller, last, pinned } = request;
  const params = searchOf(c);
  const input = listInputOf(request, params, c.req.header("accept-language"));
  const { query, reading } = input;
  const { change } = query.extra;
  const { latest } = reading;
  if (isLive(params))
    return liveList(c, input, followedIn(c.get("deps"), caller.actor, live, change, latest));
  const { deps, pages } = await readingFrom(c.get("deps"), caller.actor, live, { change }, latest);
  const choice = { ...input.choice, richText: await richTextForm(query.extra.richText) };
  const page = await listEntries(deps, { ...input, choice, last, pages });
  const { languages, ...body } = page;
  const expanded = query.expand.length > 0;
  return completeResponse(c, JSON.stringify(body), 200, {
    ...responseHeaders({
      ...{ schema, actor: caller.actor, choice, expanded, languages, pinned: pinned !== undefined },
      private: latest || change !== undefined,
    }),
    "content-type": "application/json",
  });
}

export async function get(request: EntryRequest, id: string | EntryKey): Promise<Response> {
  const { c, live, schema, caller, pinned } = request;
  const at = momentOf(request);
  const asked = readingOf(request, c.req.query("revision"));
  const readable = pinned?.view(asked.readable) ?? asked.readable;
  const parsed = parseOneQuery(searchOf(c), readable, typeof id === "string" ? EXTRA.id : EXTRA.key);
  const query = pinned === undefined ? parsed : { ...parsed, expand: pinned.expanded(parsed.expand) };
  const { change } = query.extra;
  const { deps, tag } = await readingFrom(c.get("deps"), caller.actor, live, c.req.query(), asked.latest);
  const richText = await richTextForm(query.extra.richText);
  const choice = { ...choiceOf(c, pinned?.pair?.old ?? schema, query.extra), richText };
  const reveal = revealOf(request);
  // The host's cache must not store a response with decrypted values, or one about a past time.
  if (reveal || at !== undefined) c.get("deps").expires?.(0);
  const reading = at === undefined ? asked : asked.withDrafts();
  const input = { reading, id, choice, query, at, reveal, pinned };
  const { entry, etag: plain, languages } = await getEntry(deps, input);
  const etag = withVariant(plain, tag?.());
  const { actor } = caller;
  const expanded = query.expand.length > 0;
  const facts = { schema, actor, choice, expanded, languages, pinned: pinned !== undefined };
  if (reveal) {
    const { "cache-control": _, ...rest } = responseHeaders({ ...facts, private: true });
    const headers = { ...rest, "content-type": "application/json", "cache-control": "no-store" };
    return completeResponse(c, JSON.stringify(entry), 200, headers);
  }
  const headers = {
    ...responseHeaders({ ...facts, private: reading.latest || change !== undefined }),
    etag,
  };
  if (matchesTag(c.req.header("if-none-match"), etag)) return completeResponse(c, null, 304, headers);
  return completeResponse(c, JSON.stringify(entry), 200, { ...headers, "content-type": "application/json" });
}
