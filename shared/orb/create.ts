/**
 * Creates applications. The application exists as soon as its first revision is stored. The stream for its entries is
 * created afterwards.
 */

import { type Actor, actorId } from "../access/actor.ts";
import { requireOperator } from "../access/authorize.ts";
import { eraseRealm } from "../access/users.ts";
import { checkDocument } from "../definition/check/index.ts";
import { changeLog, type OrbDocument } from "../definition/document/index.ts";
import type { Retired } from "../definition/retired.ts";
import {
  appendRecord,
  type ExistingOrb,
  exists,
  heartbeat,
  nextRevision,
  type OrbHead,
  type OrbRecord,
  orbHead,
} from "../definition/stored/index.ts";
import type { Deps } from "../deps.ts";
import type { Idempotency, IdempotencyClaim } from "../entry/model/index.ts";
import type { HandlerDeps } from "../handlers/contract/index.ts";
import { handlersUnder } from "../handlers/registry.ts";
import { AppError, writeConflict } from "../kernel/errors.ts";
import { createOrbStream } from "../store/broker/index.ts";
import { nullOnConflict } from "../store/pages.ts";
import { streams, subjects } from "../store/subjects.ts";
import { SubjectsTaken } from "../store/types.ts";
import { replayed } from "./change.ts";
import { requireHandlers } from "./handlers.ts";
import { orbClaim, orbReplay, withKeyRecord } from "./idempotency.ts";
import { eraseAbandoned, placeTombstone, reconcileOrb } from "./migrate/index.ts";
import { withSealedSecrets } from "./secrets.ts";
import { withoutState } from "./view.ts";

export interface CreateOrb {
  /** The unvalidated definition. */
  document: unknown;
  publish?: boolean | undefined;
  idempotency?: Idempotency | undefined;
}

export async function createOrb(deps: HandlerDeps, actor: Actor, input: CreateOrb): Promise<ExistingOrb> {
  requireOperator(actor, "orbs.create");
  const given = withoutState(input.document, null);
  const checked = checkDocument(given.input, given.faults);
  const document = await withSealedSecrets(deps.config, checked.document, null);
  const publish = input.publish === true;
  const claim = await orbClaim(deps, actor, input.idempotency, { document: input.document, publish });
  const orb = document.id;
  const [head, before] = await Promise.all([
    headToFollow(deps, orb),
    orbReplay(deps, claim),
    publish ? requireHandlers(deps, document) : undefined,
  ]);
  if (before !== null) return replayed(deps, orb, before);
  requireAbsent(orb, head);
  // Users who registered with a deleted application of this id must not get access to the new one.
  if (head !== null) await eraseRealm(deps, orb);
  await requireFreeSubjects(deps, orb);
  const record = firstRecord(document, head, { by: actorId(actor), now: deps.clock.now(), publish });
  const seq = await nullOnConflict(append(deps, orb, record, head, claim));
  if (seq === null) {
    // Another request has just created the application. If it was an earlier attempt with the same idempotency key,
    // return its result.
    const same = await orbReplay(deps, claim);
    if (same !== null) return replayed(deps, orb, same);
    requireAbsent(orb, await orbHead(deps, orb));
    throw writeConflict();
  }
  const made: OrbHead = { ...record, seq };
  await createStream(deps, made, orb);
  await reconcileOrb(deps, orb, made);
  if (!exists(made)) throw new AppError("internal", "internal", "The orb could not be read back.");
  return made;
}

function append(
  deps: Deps,
  orb: string,
  record: OrbRecord,
  head: OrbHead | null,
  claim: IdempotencyClaim | undefined,
): Promise<number> {
  const place = { subject: subjects.orbPlace(orb), data: "{}", rollup: true };
  const signs = record.operation === "importing" ? [heartbeat(orb, record.revision)] : [];
  return appendRecord(deps, orb, record, head?.seq ?? 0, withKeyRecord(claim, [place, ...signs]));
}

/**
 * Returns the newest revision of an application with this id, if there is one. An abandoned import counts as a
 * revision, so erases it first.
 */
async function headToFollow(deps: Deps, orb: string): Promise<OrbHead | null> {
  const head = await orbHead(deps, orb);
  const erased = head?.operation === "importing" && (await eraseAbandoned(deps, orb, head));
  return erased ? orbHead(deps, orb) : head;
}

/** Reserves the id for an import. The application stays invisible until all of it is imported. */
export async function beginImport(deps: HandlerDeps, actor: Actor, orb: string): Promise<OrbHead> {
  const head = await headToFollow(deps, orb);
  requireAbsent(orb, head);
  // Users who registered with a deleted application of this id must not get access to the new one.
  if (head !== null) await eraseRealm(deps, orb);
  await requireFreeSubjects(deps, orb);
  const at = new Date(deps.clock.now()).toISOString();
  const revision = (head?.revision ?? 0) + 1;
  const by = actorId(actor);
  const record: OrbRecord = {
    v: 1,
    revision,
    operation: "importing",
    by,
    at,
    status: null,
    publishedRevision: null,
    document: null,
    changes: [],
    summary: ["import began"],
    createdAt: at,
    createdBy: by,
    basis: revision + 1,
  };
  const seq = await nullOnConflict(append(deps, orb, record, head, undefined));
  if (seq === null) {
    requireAbsent(orb, await orbHead(deps, orb));
    throw writeConflict();
  }
  const made = { ...record, seq };
  await createStream(deps, made, orb);
  return made;
}

/**
 * Makes the imported application visible as a draft.
 * @throws Conflict if another request cancelled the import
 */
export async function finishImport(
  deps: Deps,
  begun: OrbHead,
  document: OrbDocument,
  retired: Retired[] | undefined,
): Promise<OrbHead> {
  const act = { operation: "create", by: begun.by, now: deps.clock.now() } as const;
  const { summary } = changeLog(null, document);
  const record = nextRevision(begun, act, { status: "SAVED", document, summary, retired });
  return { ...record, seq: await appendRecord(deps, document.id, record, begun.seq) };
}

/**
 * Returns the first revision of an application. Its number continues after the revisions of a deleted application with
 * the same id.
 */
function firstRecord(
  document: OrbDocument,
  head: OrbHead | null,
  act: { by: string; now: number; publish: boolean },
): OrbRecord {
  const revision = (head?.revision ?? 0) + 1;
  const at = new Date(act.now).toISOString();
  return {
    v: 1,
    revision,
    operation: "create",
    by: act.by,
    at,
    status: act.publish ? "PUBLISHED" : "SAVED",
    publishedRevision: act.publish ? revision : null,
    document,
    changes: [],
    summary: changeLog(null, document).summary,
    createdAt: at,
    createdBy: act.by,
    basis: revision,
  };
}

function requireAbsent(orb: string, head: OrbHead | null): void {
  if (exists(head)) {
    throw new AppError("conflict", "orb_exists", `An orb "${orb}" already exists.`, {
      data: { status: head.status, revision: head.revision },
    });
  }
  if (head?.operation === "importing") {
    throw new AppError(
      "conflict",
      "import_unfinished",
      `The orb "${orb}" is being imported. Send DELETE to cancel the import.`,
    );
  }
  if (head?.operation === "deleting") {
    throw new AppError(
      "conflict",
      "deletion_unfinished",
      `The orb "${orb}" is being deleted. Send DELETE again to finish it.`,
    );
  }
}

/** Throws 409 if another stream or a handler uses the broker subjects of the application. */
async function requireFreeSubjects(deps: HandlerDeps, orb: string): Promise<void> {
  const [names, handlers] = await Promise.all([
    deps.store.streamNames(subjects.orbAll(orb)),
    handlersUnder(deps, orb),
  ]);
  const other = names.find((name) => name !== streams.orb(orb));
  if (other !== undefined) throw overlaps(orb, `the stream "${other}"`);
  const [handler] = handlers;
  if (handler !== undefined) throw overlaps(orb, `the handler ${handler}`);
}

function overlaps(orb: string, what: string): AppError {
  return new AppError(
    "conflict",
    "orb_overlaps",
    `The subjects of an orb "${orb}" would overlap those of ${what}. Choose another id.`,
  );
}

/**
 * Creates the stream for the entries. If this fails, the first write of an entry tries again. Deletes the application
 * if another stream uses the same subjects.
 */
async function createStream(deps: Deps, made: OrbHead, orb: string): Promise<void> {
  try {
    await createOrbStream(deps, orb);
  } catch (error) {
    if (!(error instanceof SubjectsTaken)) {
      deps.log.warn("an orb's stream could not be created; the first write will create it", {
        orb,
        error: String(error),
      });
      return;
    }
    const act = { operation: "deleted", by: made.by, now: deps.clock.now() } as const;
    const gone = { status: null, publishedRevision: null, document: null, summary: ["deleted"] };
    await appendRecord(deps, orb, nextRevision(made, act, gone), made.seq, [placeTombstone(orb)]);
    throw overlaps(orb, "another stream");
  }
}
