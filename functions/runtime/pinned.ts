/**
 * The header `Orb-Definition`: the caller sees and writes entries in the shape of an earlier revision of the orb's
 * definition.
 */
import type { Context } from "hono";
import type { CompiledSchema } from "../../shared/definition/compile.ts";
import { homeKey } from "../../shared/definition/document/index.ts";
import { type LiveOrb, lossHeaders } from "../../shared/definition/live-orb.ts";
import { PinnedRequest, pinnedOrb } from "../../shared/entry/pinned/index.ts";
import { AppError, type Fault, invalidParameters, notFound } from "../../shared/kernel/errors.ts";
import { isDefinitionHeader, refuseDefinition } from "../http/definition-header.ts";
import type { AppEnv } from "../request/context.ts";
import { type Address, addressOf } from "./address.ts";
import type { OperationName } from "./operations.ts";

/** Operations that take the header. */
const TAKEN: ReadonlySet<OperationName> = new Set([
  ...(["list", "get", "create", "update", "patch", "remove"] as const),
  ...(["publish", "unpublish", "archive", "restore"] as const),
  ...(["getBy", "putBy", "patchBy", "removeBy"] as const),
  ...(["patchMany", "removeMany", "revisions", "revision", "revert"] as const),
]);

/** Query parameters that must not be used together with the header, and why. */
const WITHOUT: ReadonlyMap<string, string> = new Map([
  ["live", "because a live list sends changes in the current shape"],
  ["explain", "because it describes the indexes of the current definition"],
]);

/** Returns the revision that the header names. Undefined without the header. */
export function definitionOf(c: Context<AppEnv>): number | undefined {
  const text = c.req.header("orb-definition");
  if (text === undefined) return undefined;
  if (isDefinitionHeader(text)) return Number(text);
  throw new AppError(
    "malformed",
    "invalid_header",
    "Orb-Definition must be the number of a published revision of the orb's definition, such as 12.",
  );
}

/** Where a request leads under the revision that it names. */
export type PinnedAddress =
  | { address: Extract<Address, { kind: "batch" }> }
  | {
      address: Exclude<Address, { kind: "handler" | "batch" }>;
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
  c.set("lossHeaders", {
    ...lossHeaders(live.fence?.loss),
    "orb-definition": String(revision),
    ...(orb.since === undefined ? {} : { deprecation: `@${orb.since}` }),
  });
  const address = addressOf(orb.compiled, segments);
  if (address.kind === "handler") throw refuseDefinition();
  if (address.kind === "batch") return { address };
  const schema = live.compiled.byHome.get(homeKey(address.schema.home));
  const module = schema === undefined ? undefined : live.compiled.modules.get(schema.module);
  if (schema === undefined || module?.routed !== true)
    throw notFound("schema", "The orb's current definition no longer has this schema.");
  return { address, schema, pinned: new PinnedRequest(deps, orb, schema) };
}

/** @throws AppError malformed if an operation or its parameters do not take the header */
export function requireTaken(c: Context<AppEnv>, operation: OperationName): void {
  if (!TAKEN.has(operation)) throw refuseDefinition();
  const names = [...new URL(c.req.url).searchParams.keys()];
  const faults = [...new Set(names)].flatMap((name): Fault[] => {
    const why = WITHOUT.get(name);
    if (why === undefined) return [];
    const message = `must not be used together with the header Orb-Definition, ${why}`;
    return [{ path: `/${name}`, code: "not_applicable", message }];
  });
  if (faults.length > 0) throw invalidParameters(faults);
}
