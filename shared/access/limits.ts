/** Rate limits: one message per act to a stream that takes only so many per client and minute, wherever we run. */
import type { Deps } from "../deps.ts";
import { AppError } from "../errors.ts";
import { sha256 } from "../ids.ts";
import { LIMIT_WINDOW_SECONDS } from "../store/provision.ts";
import { streams, subjects } from "../store/subjects.ts";
import { SubjectFull } from "../store/types.ts";

/** What is counted apart. */
export type LimitRule = "begin" | "complete" | "invitation" | "bootstrap";

/**
 * Counts one act of the client. One request, which may run beside others.
 * @throws AppError too_many
 */
export async function countAct(deps: Deps, rule: LimitRule): Promise<void> {
  const client = await sha256(deps.request.client);
  try {
    await deps.store.append(streams.limits, { subject: subjects.limit(rule, client), data: "" });
  } catch (error) {
    if (!(error instanceof SubjectFull)) throw error;
    throw new AppError("too_many", "too_many_requests", "Too many attempts. Try again in a minute.", {
      retryAfter: LIMIT_WINDOW_SECONDS,
    });
  }
}
