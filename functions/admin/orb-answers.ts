/** Responses about orbs: the headers, and the query parameter `change`, with which a document is within a change set. */
import type { Context } from "hono";
import {
  type DefinitionWithin,
  definitionWithin,
  type Proposed,
  proposeDefinition,
  rebaseDefinition,
  tryProposal,
} from "../../shared/changes/proposal/index.ts";
import type { ExistingOrb } from "../../shared/definition/stored/index.ts";
import { type Fault, invalidParameters } from "../../shared/kernel/errors.ts";
import { isReplayed } from "../../shared/orb/idempotency.ts";
import type { DryRun } from "../../shared/orb/update.ts";
import { type OrbView, orbView } from "../../shared/orb/view.ts";
import { ifMatch, revisionTag, withVariant } from "../http/etag.ts";
import type { AppEnv } from "../request/context.ts";

export function orbAnswer(c: Context<AppEnv>, orb: ExistingOrb) {
  orbHeaders(c, orb);
  return orbView(orb);
}

export function orbHeaders(
  c: Context<AppEnv>,
  orb: ExistingOrb,
  newest = orb.revision,
  variant?: string,
): string {
  const etag = withVariant(revisionTag(newest), variant);
  c.header("etag", etag);
  c.header("cache-control", "private, no-cache");
  if (isReplayed(orb)) c.header("idempotent-replayed", "true");
  return etag;
}

interface WithinQuery {
  change: string;
  publish?: boolean | undefined;
  dryRun?: boolean | undefined;
  force?: boolean | undefined;
}

/** Throws 400 for a parameter that means nothing within a change set. */
function refuse(name: string): never {
  const fault: Fault = {
    path: `/${name}`,
    code: "not_applicable",
    message: "must not be used together with change",
  };
  throw invalidParameters([fault]);
}

function shown(c: Context<AppEnv>, { orb, revision }: DefinitionWithin): OrbView {
  c.header("etag", revisionTag(revision));
  c.header("cache-control", "private, no-cache");
  return orbView(orb);
}

/** Writes a definition into a change set, or tells what its publication would do. */
export async function proposeWithin(
  c: Context<AppEnv>,
  orb: string,
  { change, publish, dryRun, force }: WithinQuery,
  proposed: Proposed,
): Promise<OrbView | DryRun> {
  if (publish === true) refuse("publish");
  const input = { orb, set: change, proposed, force, ifMatch: ifMatch(c.req.header("if-match")) };
  const { deps, actor } = c.var;
  if (dryRun === true) return tryProposal(deps, actor, input);
  return shown(c, await proposeDefinition(deps, actor, input));
}

/** Reads the definition as a change set will leave it. */
export async function readWithin(
  c: Context<AppEnv>,
  orb: string,
  { change, revision }: { change: string; revision: "latest" | "published" },
): Promise<OrbView> {
  if (revision === "published") refuse("revision");
  return shown(c, await definitionWithin(c.var.deps, c.var.actor, { orb, set: change }));
}

/** Moves the definition in a change set to the live one of now. */
export async function rebaseWithin(
  c: Context<AppEnv>,
  orb: string,
  { change, keep = {} }: { change: string; keep?: Readonly<Record<string, "change" | "live">> | undefined },
): Promise<OrbView> {
  const input = { orb, set: change, keep, ifMatch: ifMatch(c.req.header("if-match")) };
  return shown(c, await rebaseDefinition(c.var.deps, c.var.actor, input));
}
