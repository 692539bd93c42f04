/**
 * Parses the query of a list request. The streams process uses this too, for live lists (lists that send changes).
 */
import type { Principal } from "../../shared/access/authorize.ts";
import type { CompiledSchema } from "../../shared/definition/compile.ts";
import type { LiveOrb } from "../../shared/definition/live-orb.ts";
import { choose, comparableTargets } from "../../shared/entry/model/index.ts";
import type { PinnedRequest } from "../../shared/entry/pinned/index.ts";
import { type ListQuery, parseListQuery } from "../../shared/entry/query/index.ts";
import { type ListInput, Reading } from "../../shared/entry/read/index.ts";
import { invalidParameters } from "../../shared/kernel/errors.ts";
import { furtherNames, ListParameters } from "./definition-parts.ts";

const LIST_EXTRA = furtherNames(ListParameters);

/** The schema that a request is about, and the caller. */
export interface Target {
  live: LiveOrb;
  schema: CompiledSchema;
  caller: Principal;
  /** The earlier revision of the definition whose shape the caller uses. */
  pinned?: PinnedRequest | undefined;
}

/**
 * Returns what the caller may read of the revision that the parameter `revision` asks for.
 * @throws AppError if the caller may not read that kind of revision in any entry of the schema
 */
export function readingOf({ live, schema, caller }: Target, revision: string | undefined): Reading {
  const latest = revision === "latest";
  const reading = Reading.of(caller, live, schema, latest);
  if (revision === undefined || latest || revision === "published") return reading;
  throw invalidParameters([
    { path: "/revision", code: "invalid_value", message: "must be published or latest" },
  ]);
}

/** Returns whether a request asks for a live list, which sends changes until the client disconnects. */
export const isLive = (params: URLSearchParams) => params.has("live");

/** Parses the query of a list, in the shape that the caller uses. */
export function listQueryOf(
  { live, caller, pinned }: Target,
  { readable, comparable }: Reading,
  params: URLSearchParams,
  extra: readonly string[],
): ListQuery {
  const targetOf = comparableTargets(live.compiled, caller);
  if (pinned === undefined) return parseListQuery(params, readable, extra, comparable, targetOf);
  const query = parseListQuery(params, pinned.view(readable), extra, pinned.compared(comparable), (one) => {
    const found = targetOf(one);
    return found === undefined ? undefined : pinned.compared(found);
  });
  return { ...query, expand: pinned.expanded(query.expand) };
}

/** Returns the list that a request asks for. */
export function listInputOf(
  target: Target,
  params: URLSearchParams,
  acceptLanguage: string | undefined,
): ListInput {
  const { schema, pinned } = target;
  const reading = readingOf(target, params.get("revision") ?? undefined);
  const query = listQueryOf(target, reading, params, LIST_EXTRA);
  const pair = pinned?.pair;
  const choice = choose(pair?.old ?? schema, { ...query.extra, acceptLanguage });
  return { reading, choice, query, pinned: pair === undefined ? undefined : pinned };
}
