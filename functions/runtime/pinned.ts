/**
 * The header `Orb-Definition`: the caller sees and writes entries in the shape of an earlier revision of the orb's
 * definition.
 */
import type { Context } from "hono";
import { pinnedTo } from "../../shared/access/actor.ts";
import { pinnedRefusal } from "../../shared/access/refusals.ts";
import type { CompiledSchema } from "../../shared/definition/compile.ts";
import { homeKey } from "../../shared/definition/document/index.ts";
import { type LiveOrb, lossHeaders } from "../../shared/definition/live-orb.ts";
import { PinnedRequest, pinnedOrb } from "../../shared/entry/pinned/index.ts";
import { notFound } from "../../shared/kernel/errors.ts";
import { definitionOf, NO_SHAPE, refuseDefinition, showShape } from "../http/definition-header.ts";
import type { AppEnv } from "../request/context.ts";
import { type Address, addressOf, type EntryAddress } from "./address.ts";

/** Built-in handlers that take or show values of entries. Their input and output have the current shape. */
const OF_ENTRIES: ReadonlySet<string> = new Set([
  ...["settings.get", "settings.set", "transactions.list", "transactions.record"],
]);

type HandlerAddress = Extract<Address, { kind: "handler" }>;

/** Where a request leads under the revision that it names. */
export type PinnedAddress =
  | { address: HandlerAddress | Extract<Address, { kind: "batch" }> }
  | {
      address: EntryAddress;
      /** The schema in the live definition. */
      schema: CompiledSchema;
      pinned: PinnedRequest;
    };

/** Finds what a path leads to in an earlier revision, and sets the headers that all its responses have. */
export async function pinnedAddress(
  c: Context<AppEnv>,
  live: LiveOrb,
  segments: readonly string[],
  revision: number,
): Promise<PinnedAddress> {
  const { deps } = c.var;
  const orb = await pinnedOrb(deps, live, revision);
  const address = addressOf(orb.compiled, segments);
  if (address.kind === "handler") return { address: handlerNow(c, live, segments) };
  if (address.kind === "search")
    throw definitionOf(c) === undefined ? pinnedRefusal(revision) : refuseDefinition(NO_SHAPE.search);
  showShape(c, live, orb);
  if (address.kind === "batch") return { address };
  const schema = live.compiled.byHome.get(homeKey(address.schema.home));
  const module = schema === undefined ? undefined : live.compiled.modules.get(schema.module);
  if (schema === undefined || module?.routed !== true)
    throw notFound("schema", "The orb's current definition no longer has this schema.");
  return { address, schema, pinned: new PinnedRequest(deps, orb, schema) };
}

/**
 * Returns the handler that a path leads to. A handler has no shape, so only an API token can be for a revision.
 * @throws AppError malformed if the request has the header; forbidden if the handler shows values of entries
 */
function handlerNow(c: Context<AppEnv>, live: LiveOrb, segments: readonly string[]): HandlerAddress {
  if (definitionOf(c) !== undefined) throw refuseDefinition(NO_SHAPE.handler);
  const address = addressOf(live.compiled, segments);
  if (address.kind !== "handler") throw notFound("handler", "The orb's current definition no longer has it.");
  const own = OF_ENTRIES.has(address.name) && c.var.actor !== undefined ? pinnedTo(c.var.actor) : undefined;
  if (own !== undefined) throw pinnedRefusal(own);
  c.set("lossHeaders", lossHeaders(live.fence?.loss));
  return address;
}
