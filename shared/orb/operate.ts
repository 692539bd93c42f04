import { type Actor, actorId } from "../access/actor.ts";
import { audit } from "../access/audit.ts";
import { requireOperator } from "../access/authorize.ts";
import { changeLog, isOrbId, next } from "../definition/document/index.ts";
import { type ExistingOrb, exists, findRevision, type OrbHead, orbHead } from "../definition/stored/index.ts";
import type { Deps } from "../deps.ts";
import type { HandlerDeps } from "../handlers/contract/index.ts";
import { notFound, revisionMismatch } from "../kernel/errors.ts";
import { retry } from "../kernel/retry.ts";
import {
  activate,
  changeOrb,
  impactOf,
  ORB_CONFLICTS,
  type OrbTarget,
  readOrb,
  requireKeptRoles,
} from "./change.ts";
import { requireHandlers } from "./handlers.ts";
import { beginDeletion, finishDeletion } from "./migrate/index.ts";
import { type DryRun, dryRunResult } from "./update.ts";

export interface PublishOptions extends OrbTarget {
  /** Allows the removal of modules and schemas that have stored entries. */
  force?: boolean | undefined;
}

export function publishOrb(deps: HandlerDeps, actor: Actor, input: PublishOptions): Promise<ExistingOrb> {
  const force = input.force === true;
  return changeOrb(deps, actor, input, "publish", { publish: true, force }, async (head, attempts) => {
    const status = next(head.status, "publish", head.revision !== head.publishedRevision);
    await requireHandlers(deps, head.document);
    const judged = await activate(deps, input.orb, head, head.document, force, attempts);
    return { status, publishedRevision: head.revision + 1, summary: ["published"], ...judged };
  });
}

/** Returns how publishing would change the published definition and affect stored entries. Changes nothing. */
export async function tryPublish(deps: HandlerDeps, actor: Actor, input: PublishOptions): Promise<DryRun> {
  requireOperator(actor, "orbs.read", input.orb);
  const head = await readOrb(deps, input.orb);
  next(head.status, "publish", head.revision !== head.publishedRevision);
  await requireHandlers(deps, head.document);
  const live =
    head.publishedRevision === null
      ? null
      : await findRevision(deps, input.orb, head, head.publishedRevision);
  await requireKeptRoles(deps, input.orb, head, head.document);
  const impact = await impactOf(deps, input.orb, head, head.document, input.force === true);
  return dryRunResult(impact, changeLog(live?.document ?? null, head.document));
}

export function unpublishOrb(deps: Deps, actor: Actor, input: OrbTarget): Promise<ExistingOrb> {
  return changeOrb(deps, actor, input, "unpublish", null, async (head) => ({
    status: next(head.status, "unpublish"),
    publishedRevision: null,
    summary: ["unpublished"],
  }));
}

export function archiveOrb(deps: Deps, actor: Actor, input: OrbTarget): Promise<ExistingOrb> {
  return changeOrb(deps, actor, input, "archive", null, async (head) => ({
    status: next(head.status, "archive"),
    publishedRevision: null,
    summary: ["archived"],
  }));
}

/** Restores an archived application. Its status becomes UNPUBLISHED. */
export function restoreOrb(deps: Deps, actor: Actor, input: OrbTarget): Promise<ExistingOrb> {
  return changeOrb(deps, actor, input, "restore", null, async (head) => ({
    status: next(head.status, "restore"),
    summary: ["restored"],
  }));
}

/** Deletes an application with its entries and users, but keeps its history. Continues an interrupted deletion. */
export async function deleteOrb(deps: Deps, actor: Actor, input: OrbTarget): Promise<void> {
  requireOperator(actor, "orbs.write", input.orb);
  const { orb, ifMatch } = input;
  if (!isOrbId(orb)) throw notFound("orb");
  await retry(ORB_CONFLICTS, async () => {
    const head = await orbHead(deps, orb);
    if (head?.operation === "deleting") {
      await finishDeletion(deps, orb, head);
      return noteDeletion(deps, actor, orb);
    }
    const importing = head?.operation === "importing";
    if (head === null || !(exists(head) || importing)) throw notFound("orb");
    if (ifMatch !== undefined && ifMatch !== head.revision) throw revisionMismatch(head.revision);
    if (!importing) next(head.status, "delete");
    await eraseOrb(deps, actor, orb, head);
  });
}

/**
 * Deletes an application or an unfinished import.
 * @throws Conflict if the application has changed since `head` was read; then nothing is deleted
 */
export async function eraseOrb(deps: Deps, actor: Actor, orb: string, head: OrbHead): Promise<void> {
  await finishDeletion(deps, orb, await beginDeletion(deps, orb, head, actorId(actor)));
  await noteDeletion(deps, actor, orb);
}

function noteDeletion(deps: Deps, actor: Actor, orb: string): Promise<void> {
  return audit(deps, { realm: "platform", action: "orb", actor, target: orb, detail: "delete" });
}
