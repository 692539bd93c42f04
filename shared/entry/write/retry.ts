/** Optimistic concurrency: retries a write from the start after a write conflict. */
import { definitionFor } from "../../definition/stored/live.ts";
import { repairFence } from "../../definition/stored/live-record.ts";
import type { Deps } from "../../deps.ts";
import { AppError, notFound, writeConflict } from "../../kernel/errors.ts";
import { pause } from "../../kernel/pause.ts";
import { orbStreamConfig } from "../../store/broker/provision.ts";
import { streams } from "../../store/subjects.ts";
import { Conflict, StreamMissing } from "../../store/types.ts";
import type { OrbContext } from "../model/resolve.ts";

/** Retries after the first run. With the delays below, all retries together take up to 2 seconds. */
const ATTEMPTS = 24;
/** Each time that this many runs have met a conflict, compare the orb's fence with the live definition record. */
const MEND = 3;
/**
 * After this many attempts, about 300 ms, reopen the definition in force. A publication that looks at the last writes keeps it
 * closed for some milliseconds, and could never finish if each writer reopened it at once.
 */
const REOPEN = 11;

/** Reads the current definition before a retry. @throws AppError not_found */
export async function renewDefinition(
  deps: Deps,
  { orbId, renew }: { orbId: string; renew?: (() => Promise<OrbContext>) | undefined },
): Promise<OrbContext> {
  if (renew !== undefined) return renew();
  const now = await definitionFor(deps, orbId);
  if (now === null) throw notFound("orb");
  return now;
}

/**
 * Runs a write until it meets no conflict. Each run reads the state again, so a lost race gets the response that the
 * new state calls for: 412, 409, or a write on top of the other one.
 * @param findReplay returns the response if this request was sent twice and the other copy has already succeeded. That
 * copy may be the cause of the conflict and become readable only now.
 * @throws AppError conflict `write_conflict` after too many conflicts
 */
export async function retryOnConflict<T>(
  deps: Deps,
  orb: string,
  run: (attempt: number) => Promise<T>,
  findReplay?: () => Promise<T | null>,
): Promise<T> {
  let created = false;
  for (let attempt = 0; ; attempt++) {
    try {
      return await run(attempt);
    } catch (error) {
      if (error instanceof StreamMissing && error.stream === streams.orb(orb) && !created) {
        // The orb exists but its stream does not: the creation of the orb stopped halfway. Create the stream now.
        if ((await definitionFor(deps, orb)) === null) throw error;
        created = true;
        await deps.store.createStream(orbStreamConfig(orb, deps.config.replicas));
        continue;
      }
      if (error instanceof AppError && (error.kind === "conflict" || error.kind === "precondition")) {
        const answer = await findReplay?.();
        if (answer !== null && answer !== undefined) return answer;
      }
      if (!(error instanceof Conflict)) throw error;
      if (attempt >= ATTEMPTS) throw writeConflict();
      // Two fresh reads did not help: a publisher can have stopped between the fence and the live record.
      if (attempt % MEND === MEND - 1) await repairFence(deps, orb, attempt >= REOPEN);
      // Retry once without a pause, because most conflicts are over by then. Then pause for a growing, random time.
      if (attempt > 0) await pause(Math.random() * Math.min(80, 4 * 2 ** Math.min(attempt, 5)));
    }
  }
}
