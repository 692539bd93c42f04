import type { Context } from "hono";
import type { Actor } from "../../shared/access/actor.ts";
import { principalIn, requireMay } from "../../shared/access/authorize.ts";
import type { CompiledSchema } from "../../shared/definition/compile.ts";
import { readableBy } from "../../shared/entry/model/fields.ts";
import { type Choice, choose } from "../../shared/entry/model/localize.ts";
import { parseOneQuery } from "../../shared/entry/query/query.ts";
import { readMoment } from "../../shared/entry/read/at.ts";
import { getEntry, latestOf } from "../../shared/entry/read/get.ts";
import { listEntries } from "../../shared/entry/read/list.ts";
import { invalidParameters } from "../../shared/kernel/errors.ts";
import { matchesTag } from "../http/etag.ts";
import { completeResponse } from "../middleware/headers.ts";
import type { AppEnv } from "../request/context.ts";
import { definitions, furtherNames } from "./definitions.ts";
import { isLive, listInputOf, type Reader } from "./list-input.ts";
import { liveList } from "./live.ts";

const GET_EXTRA = furtherNames(definitions.get);

export interface Reading extends Reader {
  c: Context<AppEnv>;
}

export function parametersOf(c: Context<AppEnv>): URLSearchParams {
  const { url } = c.req;
  const at = url.indexOf("?");
  return new URLSearchParams(at < 0 ? "" : url.slice(at + 1));
}

/**
 * Returns whether to decrypt sensitive values. Only owners, and handlers with the permission `entries:reveal`, may
 * request this.
 */
function revealOf({ c, live, schema, actor }: Reading): boolean {
  const reveal = c.req.query("reveal");
  if (reveal === undefined || reveal === "false") return false;
  if (reveal !== "true")
    throw invalidParameters([{ path: "/reveal", code: "invalid_value", message: "must be true or false" }]);
  const principal = principalIn(actor, live.orb, live.compiled);
  requireMay(principal, "reveal", { access: schema.access, own: true });
  return true;
}

/**
 * Returns the time from the parameter `at`, to read the entry as it was then. Only callers who may read its history
 * may use `at`.
 */
function momentOf({ c, live, schema, actor }: Reading): number | undefined {
  const at = c.req.query("at");
  if (at === undefined) return undefined;
  const principal = principalIn(actor, live.orb, live.compiled);
  requireMay(principal, "readRevisions", { access: schema.access, own: true });
  return readMoment(at);
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
}

/** Returns the cache and language headers. Clients must always revalidate, which the ETag makes cheap. */
export function responseHeaders(answer: ResponseFacts): Record<string, string> {
  const { schema, actor, choice, expanded, languages } = answer;
  const personal = answer.private || expanded;
  const vary: string[] = [];
  if (choice.negotiated && (expanded || schema.translatable.length > 0)) vary.push("Accept-Language");
  const forAll = schema.access.read.least === "public";
  if (personal || !forAll || schema.narrowed.read) vary.push("Authorization", "Cookie");
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

export async function list(
  reading: Reading,
  last: Promise<number | undefined> | undefined,
): Promise<Response> {
  const { c, schema, actor } = reading;
  const params = parametersOf(c);
  const input = listInputOf(reading, params, c.req.header("accept-language"));
  if (isLive(params)) return liveList(c, actor, input);
  const { query, choice, latest } = input;
  const page = await listEntries(c.get("deps"), actor, { ...input, last });
  const { languages, ...body } = page;
  const expanded = query.expand.length > 0;
  return completeResponse(c, JSON.stringify(body), 200, {
    ...responseHeaders({ schema, actor, choice, private: latest, expanded, languages }),
    "content-type": "application/json",
  });
}

export async function get(reading: Reading, id: string): Promise<Response> {
  const { c, live, schema, actor } = reading;
  const at = momentOf(reading);
  const latest = latestOf(actor, live, schema, c.req.query("revision")) || at !== undefined;
  const readable = readableBy(schema, principalIn(actor, live.orb, live.compiled), true);
  const query = parseOneQuery(parametersOf(c), readable, GET_EXTRA);
  const choice = choiceOf(c, schema, query.extra);
  const reveal = revealOf(reading);
  // The host's cache must not store a response with decrypted values, or one about a past time.
  if (reveal || at !== undefined) c.get("deps").expires?.(0);
  const { entry, etag, languages } = await getEntry(c.get("deps"), actor, {
    orb: live,
    schema,
    id,
    choice,
    query,
    latest,
    at,
    reveal,
  });
  const expanded = query.expand.length > 0;
  if (reveal) {
    const { "cache-control": _, ...rest } = responseHeaders({
      schema,
      actor,
      choice,
      private: true,
      expanded,
      languages,
    });
    const headers = { ...rest, "content-type": "application/json", "cache-control": "no-store" };
    return completeResponse(c, JSON.stringify(entry), 200, headers);
  }
  const headers = {
    ...responseHeaders({ schema, actor, choice, private: latest, expanded, languages }),
    etag,
  };
  if (matchesTag(c.req.header("if-none-match"), etag)) return completeResponse(c, null, 304, headers);
  return completeResponse(c, JSON.stringify(entry), 200, { ...headers, "content-type": "application/json" });
}
