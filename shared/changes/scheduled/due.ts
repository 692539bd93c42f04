/** Publishes a change set at its planned time, with the rights that the account which planned it has then. */
import { system } from "../../access/actor.ts";
import { audit } from "../../access/audit.ts";
import { actorFor } from "../../access/authenticate.ts";
import { definitionFor, requireWhole } from "../../definition/stored/index.ts";
import type { Deps } from "../../deps.ts";
import type { OrbContext } from "../../entry/model/index.ts";
import { AppError, type ErrorKind } from "../../kernel/errors.ts";
import { nullIfMissing, nullOnConflict } from "../../store/pages.ts";
import { streams, subjects } from "../../store/subjects.ts";
import { contentOf, isTooLargeHere, publishSet, readContent } from "../content/index.ts";
import {
  type ChangeSet,
  type DueSet,
  findSet,
  isPublishable,
  type Plan,
  type ReadSet,
  setMessage,
  unscheduled,
} from "../record/index.ts";

/**
 * What came of a look at a set: it is live now, it was refused, its time has not come, it is not scheduled, or another
 * process has changed it meanwhile.
 */
export type DueOutcome = "published" | "refused" | "early" | "over" | "changed";

/** Attempts of a publication whose errors may be gone soon, such as a handler that does not answer. */
const ATTEMPTS = 8;
const FIRST_PAUSE_MS = 2_000;
const LONGEST_PAUSE_MS = 120_000;
/** Milliseconds for which a process has a set for itself. A publication takes less, unless its hooks are slow. */
const CLAIM_MS = 45_000;
const REMOVED_SECONDS = 1;

/** Kinds of errors that may be gone soon. */
const PASSING: ReadonlySet<ErrorKind> = new Set([
  "too_many",
  "internal",
  "bad_gateway",
  "unavailable",
  "timeout",
]);

/** Whether the operator has to decide about lost messages first. */
const isDamaged = (error: unknown) => error instanceof AppError && error.code === "orb_damaged";

const isPassing = (error: unknown) =>
  !(error instanceof AppError) || PASSING.has(error.kind) || error.code === "write_conflict";

/** Returns whether a set is scheduled, and its time has come. */
export function isDue(set: ChangeSet, now: number): set is ChangeSet & { plan: Plan } {
  return set.state === "SCHEDULED" && set.plan !== undefined && Date.parse(set.plan.at) <= now;
}

/** The message that says that a set was scheduled. */
interface Due {
  due: DueSet;
  seq: number;
}

/**
 * Publishes a set if its time has come, and no other process is at it. Errors that may be gone soon are thrown, and the
 * set waits for the next attempt. What has failed is stored, so that the attempts of all processes together are limited.
 * @returns `waiting` if the set waits for another attempt
 * @throws AppError orb_damaged, and other errors that may be gone soon
 */
export async function tryDue(deps: Deps, orb: string, id: string): Promise<DueOutcome | "waiting"> {
  const own = ofPlatform(deps);
  const stream = streams.orb(orb);
  const subject = subjects.changeDue(orb, id);
  const message = await nullIfMissing(own.store.get(stream, subject));
  if (message === null || message.size === 0) return "over";
  const due = message.json<DueSet>();
  const now = own.clock.now();
  if (due.next !== undefined && Date.parse(due.next) > now) return "waiting";
  // The hooks process publishes what is too large for this host.
  if (own.config.publishBytes !== undefined && isTooLargeHere(own, (await readContent(own, orb, id)).content))
    return "waiting";
  const [found, context] = await Promise.all([findSet(own, orb, id), definitionFor(own, orb)]);
  // Nothing is written to a stream that has lost messages, until the operator has decided about them.
  requireWhole(orb, context?.fence);
  if (found?.set.state === "SCHEDULED" && !isDue(found.set, now)) return "early";
  const claim = { ...due, next: new Date(now + CLAIM_MS).toISOString() };
  const seq = await replaceDue(own, orb, subject, { due: claim, seq: message.seq });
  if (seq === null) return "changed";
  const { failures = 0 } = due;
  try {
    const outcome = await publishDue(own, orb, id, { isLast: failures + 1 >= ATTEMPTS });
    if (outcome === "early" || outcome === "changed") await replaceDue(own, orb, subject, { due, seq });
    else await removeDue(own, orb, subject, seq);
    return outcome;
  } catch (error) {
    const pause = Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** failures);
    const next = new Date(own.clock.now() + pause).toISOString();
    // If this cannot be stored, the claim ends by itself, and the attempt does not count.
    const failed = { due: { ...due, next, failures: failures + 1 }, seq };
    if (!isDamaged(error)) await replaceDue(own, orb, subject, failed).catch(() => null);
    throw error;
  }
}

/** Returns dependencies for work that no caller has asked for, such as that of a request which has only read the set. */
function ofPlatform(deps: Deps): Deps {
  const request = { requestId: deps.newId(), traceparent: undefined, client: "unknown" };
  return { ...deps, request, hooksUntil: undefined };
}

/** Returns the sequence number of the new message, or null if another process has changed it. */
async function replaceDue(
  { store }: Deps,
  orb: string,
  subject: string,
  { due, seq }: Due,
): Promise<number | null> {
  const message = { subject, data: JSON.stringify(due), rollup: true, expect: { seq } };
  return nullOnConflict(store.append(streams.orb(orb), message));
}

/** Removes the message about a set, unless the set was scheduled again meanwhile. */
async function removeDue({ store }: Deps, orb: string, subject: string, seq: number): Promise<void> {
  const gone = { subject, data: "", rollup: true, ttl: REMOVED_SECONDS, expect: { seq } };
  await nullOnConflict(nullIfMissing(store.append(streams.orb(orb), gone)));
}

/**
 * Publishes a set if its time has come. Several processes may do this at the same time: the set is published once. If
 * the publication is refused, the set keeps the reason, and is scheduled no longer.
 * @param options.isLast whether to give up after an error that may be gone soon, instead of throwing it
 */
export async function publishDue(
  deps: Deps,
  orb: string,
  id: string,
  { isLast = false }: { isLast?: boolean } = {},
): Promise<DueOutcome> {
  const [found, context] = await Promise.all([findSet(deps, orb, id), definitionFor(deps, orb)]);
  if (found === null || context === null || found.set.state !== "SCHEDULED") return "over";
  const { set } = found;
  if (!isDue(set, deps.clock.now())) return "early";
  try {
    const actor = await actorFor(deps, set.plan.by);
    if (actor === null) throw callerGone();
    const { hash } = set.plan;
    await publishSet(deps, actor, { orbId: orb, orb: context, set: id, ifMatch: set.revision, hash });
    return "published";
  } catch (cause) {
    const error = cause instanceof AppError && cause.code === "change_not_found" ? unreadable(cause) : cause;
    const now = await findSet(deps, orb, id);
    if (now?.seq !== found.seq) return now?.set.state === "SCHEDULED" ? "changed" : "over";
    if (isDamaged(error) || (isPassing(error) && !isLast)) throw error;
    return refuse(deps, context, { ...found, set }, error);
  }
}

function callerGone(): AppError {
  const detail =
    "The account that scheduled the change set was removed or disabled, or its API token has expired or was revoked.";
  return new AppError("forbidden", "scheduler_gone", detail);
}

/** Error for an account that has lost its rights in the set. Callers without rights get a 404, which would be no reason. */
function unreadable(cause: AppError): AppError {
  const detail = "The account that scheduled the change set may not read it any longer.";
  return new AppError("forbidden", "forbidden", detail, { cause });
}

/** Returns the text of an error for all who may read the set, so without the words of a hook about an entry. */
function detailOf(error: AppError | undefined): string {
  if (error === undefined) return "The publication failed unexpectedly.";
  if (error.code !== "write_refused") return error.detail;
  return "Nothing was published, because a hook refused an entry. Publish the set by hand to see the reason.";
}

/** Ends the schedule of a set that cannot be published, and stores the reason. */
async function refuse(
  deps: Deps,
  context: OrbContext,
  { set, seq }: ReadSet & { set: { plan: Plan } },
  error: unknown,
): Promise<DueOutcome> {
  const { orb } = context;
  const known = error instanceof AppError ? error : undefined;
  if (known === undefined)
    deps.log.error("a scheduled publication failed", { orb, change: set.id, error: String(error) });
  const code = known?.code ?? "internal_error";
  const refused = {
    publishAt: set.plan.at,
    at: new Date(deps.clock.now()).toISOString(),
    by: set.plan.by.sub,
    code,
    detail: detailOf(known),
  };
  requireWhole(orb, (await definitionFor(deps, orb))?.fence);
  const next = unscheduled(deps, system, set, "refuse", { plan: undefined, refused });
  const content = await contentOf(deps, context, set.id);
  const holds = set.approvals.length > 0 && isPublishable(context.compiled, set, content);
  await audit(deps, {
    realm: orb,
    action: "change",
    actor: { sub: set.plan.by.sub },
    target: set.id,
    outcome: "refused",
    detail: `publication ${code}`,
  });
  const message = setMessage(orb, holds ? { ...next, state: "APPROVED" } : next, seq);
  return (await nullOnConflict(deps.store.append(streams.orb(orb), message))) === null
    ? "changed"
    : "refused";
}
