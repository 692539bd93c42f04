/** Decides a write anew as long as others come between. */
import { definitionFor } from "../../definition/stored/live.ts";
import { mendFence } from "../../definition/stored/live-record.ts";
import type { Deps } from "../../deps.ts";
import { AppError, notFound, writeConflict } from "../../kernel/errors.ts";
import { pause } from "../../kernel/pause.ts";
import { orbStreamConfig } from "../../store/broker/provision.ts";
import { streams } from "../../store/subjects.ts";
import { Conflict, StreamMissing } from "../../store/types.ts";
import type { OrbContext } from "../model/resolve.ts";

/** How often a write that met another one is decided anew. */
const ATTEMPTS = 24;
/** After this many attempts, compare the orb's fence with the live record. */
const MEND = 3;
/**
 * After this many attempts, about 300 ms, reopen the definition in force. A publication that looks at the last writes keeps it
 * closed for some milliseconds, and could never finish if each writer reopened it at once.
 */
const REOPEN = 11;

/** Reads the definition for the retry of a write. @throws AppError not_found */
export async function renewed(
  deps: Deps,
  { orbId, renew }: { orbId: string; renew?: (() => Promise<OrbContext>) | undefined },
): Promise<OrbContext> {
  if (renew !== undefined) return renew();
  const now = await definitionFor(deps, orbId);
  if (now === null) throw notFound("orb");
  return now;
}

/**
 * Runs a write until nobody came between. Each run reads anew, so a lost race ends in the answer that the winner's
 * state calls for: 412, 409, or a write on top of it.
 * @param again the answer that this very request got already, when it was sent twice: its other sending may be what came
 * between, and be seen only now
 * @throws AppError conflict `write_conflict` when others kept coming between
 */
export async function attempts<T>(
  deps: Deps,
  orb: string,
  run: (attempt: number) => Promise<T>,
  again?: () => Promise<T | null>,
): Promise<T> {
  let created = false;
  for (let attempt = 0; ; attempt++) {
    try {
      return await run(attempt);
    } catch (error) {
      if (error instanceof StreamMissing && error.stream === streams.orb(orb) && !created) {
        // The orb exists and its stream does not: its creation stopped halfway. The write completes it.
        if ((await definitionFor(deps, orb)) === null) throw error;
        created = true;
        await deps.store.createStream(orbStreamConfig(orb, deps.config.replicas));
        continue;
      }
      if (error instanceof AppError && (error.kind === "conflict" || error.kind === "precondition")) {
        const answer = await again?.();
        if (answer !== null && answer !== undefined) return answer;
      }
      if (!(error instanceof Conflict)) throw error;
      if (attempt >= ATTEMPTS) throw writeConflict();
      // Two fresh reads did not help: a publisher can have stopped between the fence and the live record.
      if (attempt % MEND === MEND - 1) await mendFence(deps, orb, attempt >= REOPEN);
      // The first retry at once: most conflicts are over by then. Later ones spread out.
      if (attempt > 0) await pause(Math.random() * Math.min(80, 4 * 2 ** Math.min(attempt, 5)));
    }
  }
}
