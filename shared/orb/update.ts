import type { Actor } from "../access/actor.ts";
import { requireOperator } from "../access/authorize.ts";
import { checkDocument } from "../definition/check/index.ts";
import { type ChangeLog, changeLog, next, type OrbDocument } from "../definition/document/index.ts";
import { type ExistingOrb, findRevision, type OrbOperation } from "../definition/stored/index.ts";
import type { Deps } from "../deps.ts";
import type { HandlerDeps } from "../handlers/contract/index.ts";
import { notFound, revisionMismatch } from "../kernel/errors.ts";
import { mergePatch } from "../kernel/json.ts";
import {
  activate,
  type Change,
  changeOrb,
  impactOf,
  type OrbTarget,
  readOrb,
  requireKeptRoles,
} from "./change.ts";
import { requireHandlers } from "./handlers.ts";
import type { Impact } from "./migrate/index.ts";
import { withSealedSecrets } from "./secrets.ts";
import { orbView, withoutState } from "./view.ts";

export interface UpdateOptions extends OrbTarget {
  publish?: boolean | undefined;
  /** Allows the removal of modules and schemas that have stored entries. */
  force?: boolean | undefined;
}

export interface DryRun extends ChangeLog {
  dryRun: true;
  /** Whether the request would be rejected if it were not a dry run. */
  refused: boolean;
  impact: Impact;
}

/** Writes a new draft. The published definition does not change, unless `publish` is set. */
export function updateOrb(
  deps: HandlerDeps,
  actor: Actor,
  input: UpdateOptions & { document: unknown },
): Promise<ExistingOrb> {
  requireOperator(actor, "orbs.write", input.orb);
  return replace(deps, actor, input, "update", input.document, (head) =>
    soundDocument(deps, head, input.document),
  );
}

/** Writes a new draft: applies the patch to the newest revision. */
export function patchOrb(
  deps: HandlerDeps,
  actor: Actor,
  input: UpdateOptions & { patch: unknown },
): Promise<ExistingOrb> {
  requireOperator(actor, "orbs.write", input.orb);
  return replace(deps, actor, input, "update", { patch: input.patch }, (head) =>
    soundDocument(deps, head, mergePatch(orbView(head), input.patch)),
  );
}

/** Returns how a patch would affect stored entries. Changes nothing. */
export function tryPatch(
  deps: HandlerDeps,
  actor: Actor,
  input: UpdateOptions & { patch: unknown },
): Promise<DryRun> {
  return tryReplace(deps, actor, input, (head) =>
    soundDocument(deps, head, mergePatch(orbView(head), input.patch)),
  );
}

/**
 * Adds a draft to an imported application, whose entries follow an older definition. The older definition is used until
 * the draft is published or replaced.
 */
export function writeDraft(
  deps: Deps,
  actor: Actor,
  target: OrbTarget,
  document: OrbDocument,
): Promise<ExistingOrb> {
  return changeOrb(deps, actor, target, "update", null, async (head) => ({
    document,
    status: next(head.status, "update", true),
    ...changeLog(head.document, document),
  }));
}

/**
 * Returns how an update would affect stored entries. Changes nothing.
 * @throws AppError if the update would publish a definition that names a handler or role which does not exist
 */
export function tryUpdate(
  deps: HandlerDeps,
  actor: Actor,
  input: UpdateOptions & { document: unknown },
): Promise<DryRun> {
  return tryReplace(deps, actor, input, (head) => soundDocument(deps, head, input.document));
}

async function tryReplace(
  deps: HandlerDeps,
  actor: Actor,
  input: UpdateOptions,
  documentFor: (head: ExistingOrb) => Promise<OrbDocument>,
): Promise<DryRun> {
  requireOperator(actor, "orbs.read", input.orb);
  const head = await readOrb(deps, input.orb);
  if (input.ifMatch !== undefined && input.ifMatch !== head.revision) throw revisionMismatch(head.revision);
  const document = await documentFor(head);
  next(head.status, "update");
  if (input.publish === true) await requireHandlers(deps, document);
  if (input.publish === true || head.publishedRevision === null)
    await requireKeptRoles(deps, input.orb, head, document);
  return dryRunResult(
    await impactOf(deps, input.orb, head, document, input.force === true),
    changeLog(head.document, document),
  );
}

export function dryRunResult(impact: Impact, log: ChangeLog): DryRun {
  const refused = impact.changes.some((change) => change.refused) || impact.duplicates.length > 0;
  return { dryRun: true, refused, ...log, impact };
}

/** Writes a new draft with the definition of an older revision. */
export function revertOrb(
  deps: HandlerDeps,
  actor: Actor,
  input: UpdateOptions & { revision: number },
): Promise<ExistingOrb> {
  return replace(deps, actor, input, "revert", { revision: input.revision }, (head) =>
    oldDocument(deps, head, input.revision),
  );
}

/** Returns how reverting to an older revision would affect stored entries. Changes nothing. */
export function tryRevert(
  deps: HandlerDeps,
  actor: Actor,
  input: UpdateOptions & { revision: number },
): Promise<DryRun> {
  return tryReplace(deps, actor, input, (head) => oldDocument(deps, head, input.revision));
}

/** Returns the document of an older revision. Validates it again, because the rules for documents may have changed. */
async function oldDocument(deps: Deps, head: ExistingOrb, revision: number): Promise<OrbDocument> {
  const old = await findRevision(deps, head.document.id, head, revision);
  if (old === null || old.document === null) throw notFound("revision");
  const { document } = checkDocument(old.document, [], head.document);
  return withSealedSecrets(deps.config, document, null);
}

function replace(
  deps: HandlerDeps,
  actor: Actor,
  input: UpdateOptions,
  operation: OrbOperation,
  request: unknown,
  documentFor: (head: ExistingOrb) => Promise<OrbDocument>,
): Promise<ExistingOrb> {
  const publish = input.publish === true;
  const asked = { request, publish, force: input.force === true };
  return changeOrb(deps, actor, input, operation, asked, async (head, attempts): Promise<Change> => {
    const document = await documentFor(head);
    const status = next(head.status, publish ? "publish" : "update", true);
    if (publish) await requireHandlers(deps, document);
    const inForce = publish || head.publishedRevision === null;
    const { force } = asked;
    const judged = inForce ? await activate(deps, input.orb, head, document, force, attempts) : {};
    return {
      document,
      status,
      ...changeLog(head.document, document),
      ...(publish ? { publishedRevision: head.revision + 1 } : {}),
      ...judged,
    };
  });
}

/** Checks a document that a client has sent. @param head the revision that it replaces */
export async function soundDocument(deps: Deps, head: ExistingOrb, sent: unknown): Promise<OrbDocument> {
  const { input, faults } = withoutState(sent, head);
  const { id } = head.document;
  if (
    typeof input === "object" &&
    input !== null &&
    Object.hasOwn(input, "id") &&
    Reflect.get(input, "id") !== id
  ) {
    faults.push({
      path: "/id",
      code: "mismatch",
      message: `must stay "${id}". The id of an orb cannot be changed.`,
    });
  }
  const { document } = checkDocument(input, faults, head.document);
  return withSealedSecrets(deps.config, document, head.document);
}
