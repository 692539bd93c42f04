/** Publishes a change set at its planned time, with the rights that the account which planned it has then. */
import { system } from "../../access/actor.ts";
import { audit } from "../../access/audit.ts";
import { actorFor } from "../../access/authenticate.ts";
import { definitionFor } from "../../definition/stored/live.ts";
import type { Deps } from "../../deps.ts";
import type { OrbContext } from "../../entry/model/resolve.ts";
import { AppError, type ErrorKind } from "../../kernel/errors.ts";
import { nullOnConflict } from "../../store/pages.ts";
import { streams } from "../../store/subjects.ts";
import { contentOf } from "../content/content.ts";
import { publishSet } from "../content/publish.ts";
import {
  type ChangeSet,
  findSet,
  type Plan,
  type ReadSet,
  setMessage,
  unscheduled,
} from "../record/record.ts";
import { isPublishable } from "../record/workflow.ts";

/**
 * What came of a look at a set: it is live now, it was refused, its time has not come, it is not scheduled, or another
 * process has changed it meanwhile.
 */
export type DueOutcome = "published" | "refused" | "early" | "over" | "changed";

/** Kinds of errors that may be gone soon. */
const PASSING: ReadonlySet<ErrorKind> = new Set([
  "too_many",
  "internal",
  "bad_gateway",
  "unavailable",
  "timeout",
]);

const isPassing = (error: unknown) =>
  !(error instanceof AppError) || PASSING.has(error.kind) || error.code === "write_conflict";

/** Returns whether a set is scheduled, and its time has come. */
export function isDue(set: ChangeSet, now: number): set is ChangeSet & { plan: Plan } {
  return set.state === "SCHEDULED" && set.plan !== undefined && Date.parse(set.plan.at) <= now;
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
    if (isPassing(error) && !isLast) throw error;
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
    detail: known?.detail ?? "The publication failed unexpectedly.",
  };
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
