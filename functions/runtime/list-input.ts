/**
 * Parses the query of a list request. The streams process uses this too, for live lists (lists that send changes).
 */
import type { Actor } from "../../shared/access/actor.ts";
import { principalIn } from "../../shared/access/authorize.ts";
import type { CompiledSchema } from "../../shared/definition/compile.ts";
import type { LiveOrb } from "../../shared/definition/live-orb.ts";
import { comparableBy, comparableTargets, readableBy } from "../../shared/entry/model/fields.ts";
import { choose } from "../../shared/entry/model/localize.ts";
import { parseListQuery } from "../../shared/entry/query/query.ts";
import { latestOf } from "../../shared/entry/read/get.ts";
import type { ListInput } from "../../shared/entry/read/list.ts";
import { definitions, furtherNames } from "./definitions.ts";

const LIST_EXTRA = furtherNames(definitions.list);

/** The schema that a request reads from, and the caller. */
export interface Reader {
  live: LiveOrb;
  schema: CompiledSchema;
  actor: Actor;
}

/** Returns whether a request asks for a live list, which sends changes until the client disconnects. */
export const isLive = (params: URLSearchParams) => params.has("live");

/** Returns the list that a request asks for. */
export function listInputOf(
  reader: Reader,
  params: URLSearchParams,
  acceptLanguage: string | undefined,
): ListInput & { latest: boolean } {
  const { live, schema, actor } = reader;
  const latest = latestOf(actor, live, schema, params.get("revision") ?? undefined);
  const caller = principalIn(actor, live.orb, live.compiled);
  const compared = comparableBy(schema, caller);
  const targetOf = comparableTargets(live.compiled, caller);
  const query = parseListQuery(params, readableBy(schema, caller, true), LIST_EXTRA, compared, targetOf);
  return { orb: live, schema, choice: choose(schema, { ...query.extra, acceptLanguage }), query, latest };
}
