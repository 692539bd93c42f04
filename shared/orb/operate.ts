/** Moves an orb through its life: publish, unpublish, archive, restore, delete. */
import { type Actor, actorId } from "../access/actor.ts";
import { audit } from "../access/audit.ts";
import { requireOperator } from "../access/authorize.ts";
import { isOrbId } from "../definition/document/ids.ts";
import { next } from "../definition/document/lifecycle.ts";
import { type ExistingOrb, exists, type OrbHead, orbHead } from "../definition/stored/history.ts";
import type { Deps } from "../deps.ts";
import type { HandlerDeps } from "../handlers/contract/types.ts";
import { notFound, revisionMismatch, writeConflict } from "../kernel/errors.ts";
import { Conflict } from "../store/types.ts";
import { ATTEMPTS, changeOrb, comeIntoForce, impactOf, type OrbTarget, readOrb } from "./change.ts";
import { requireHandlers } from "./handlers.ts";
import { beginDeletion, finishDeletion } from "./migrate/settle.ts";
import { type DryRun, told } from "./update.ts";

/** How an orb is published. */
export interface PublishOptions extends OrbTarget {
  /** Lets modules and schemas go although entries are stored in them. */
  force?: boolean | undefined;
}

/**
 * Makes the newest revision the live one.
 * @throws AppError invalid `unknown_handler` naming each; conflict `wrong_state`, `incompatible_change`, `unique_conflict`
 */
export function publishOrb(deps: HandlerDeps, actor: Actor, input: PublishOptions): Promise<ExistingOrb> {
  const force = input.force === true;
  return changeOrb(deps, actor, input, "publish", { publish: true, force }, async (head) => {
    const status = next(head.status, "publish", head.revision !== head.publishedRevision);
    await requireHandlers(deps, head.document);
    const judged = await comeIntoForce(deps, input.orb, head, head.document, force);
    return { status, publishedRevision: head.revision + 1, summary: ["published"], ...judged };
  });
}

/** Tells what publishing would do to stored entries, and changes nothing. */
export async function tryPublish(deps: HandlerDeps, actor: Actor, input: PublishOptions): Promise<DryRun> {
  requireOperator(actor, "orbs.read");
  const head = await readOrb(deps, input.orb);
  next(head.status, "publish", head.revision !== head.publishedRevision);
  await requireHandlers(deps, head.document);
  const impact = await impactOf(deps, input.orb, head, head.document, input.force === true);
  return told(impact, { changes: [], summary: ["published"] });
}

/** Takes an orb off the air; its routes are gone. */
export function unpublishOrb(deps: Deps, actor: Actor, input: OrbTarget): Promise<ExistingOrb> {
  return changeOrb(deps, actor, input, "unpublish", null, async (head) => ({
    status: next(head.status, "unpublish"),
    publishedRevision: null,
    summary: ["unpublished"],
  }));
}

/** Puts an orb away; its routes are gone. */
export function archiveOrb(deps: Deps, actor: Actor, input: OrbTarget): Promise<ExistingOrb> {
  return changeOrb(deps, actor, input, "archive", null, async (head) => ({
    status: next(head.status, "archive"),
    publishedRevision: null,
    summary: ["archived"],
  }));
}

/** Fetches an archived orb back; it is UNPUBLISHED then. */
export function restoreOrb(deps: Deps, actor: Actor, input: OrbTarget): Promise<ExistingOrb> {
  return changeOrb(deps, actor, input, "restore", null, async (head) => ({
    status: next(head.status, "restore"),
    summary: ["restored"],
  }));
}

/**
 * Deletes an orb with its entries and its users. Its history stays. A deletion that stopped halfway is resumed.
 * @throws AppError not_found, precondition
 */
export async function deleteOrb(deps: Deps, actor: Actor, input: OrbTarget): Promise<void> {
  requireOperator(actor, "orbs.write");
  const { orb, ifMatch } = input;
  if (!isOrbId(orb)) throw notFound("orb");
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    const head = await orbHead(deps, orb);
    if (head?.operation === "deleting") {
      await finishDeletion(deps, orb, head);
      return noteDeletion(deps, actor, orb);
    }
    const importing = head?.operation === "importing";
    if (head === null || !(exists(head) || importing)) throw notFound("orb");
    if (ifMatch !== undefined && ifMatch !== head.revision) throw revisionMismatch(head.revision);
    if (!importing) next(head.status, "delete");
    try {
      return await eraseOrb(deps, actor, orb, head);
    } catch (error) {
      if (!(error instanceof Conflict)) throw error;
    }
  }
  throw writeConflict();
}

/**
 * Deletes an orb, or what there is of one, as it was last seen.
 * @throws Conflict when anything was written to its history since; then nothing is done
 */
export async function eraseOrb(deps: Deps, actor: Actor, orb: string, head: OrbHead): Promise<void> {
  await finishDeletion(deps, orb, await beginDeletion(deps, orb, head, actorId(actor)));
  await noteDeletion(deps, actor, orb);
}

function noteDeletion(deps: Deps, actor: Actor, orb: string): Promise<void> {
  return audit(deps, {
    realm: "platform",
    action: "orb",
    actor,
    target: orb,
    outcome: "ok",
    detail: "delete",
  });
}
