import { definitionFor, repairFence } from "../../definition/stored/index.ts";
import type { Deps } from "../../deps.ts";
import { AppError, type ErrorKind, notFound, writeConflict } from "../../kernel/errors.ts";
import { retry } from "../../kernel/retry.ts";
import { createOrbStream } from "../../store/broker/index.ts";
import { isConflict } from "../../store/pages.ts";
import { streams } from "../../store/subjects.ts";
import { StreamMissing } from "../../store/types.ts";
import type { OrbContext } from "../model/index.ts";

/**
 * Together, 25 attempts take up to 2 seconds. The second one follows immediately, because most conflicts end quickly.
 * Later ones wait for a random time that grows with each attempt.
 */
const CONFLICTS = {
  attempts: 25,
  failed: writeConflict,
  pauseMs: (attempt: number) =>
    attempt === 0 ? 0 : Math.random() * Math.min(80, 4 * 2 ** Math.min(attempt, 5)),
};
/**
 * Maximum attempts of a change that many clients may make of one entry at the same time. Clients count on it that the
 * platform repeats such a change, even if several processes change the entry all the time.
 */
export const CONTENDED_ATTEMPTS = 100;
const MEND = 3;
/**
 * Number of attempts after which a writer assumes that the publication of a definition was interrupted. It then
 * unblocks writes to the application. The attempts take about 300 ms, while a publication blocks writes for a few
 * milliseconds only.
 */
const REOPEN = 11;

/** Dependencies of a write whose definition may not be the one that serves. */
export interface Proposing {
  /** Returns the definition that a change set proposes in place of the one that serves. */
  proposed?: (live: OrbContext) => Promise<OrbContext>;
}

/** Reads the definition again, for another attempt of a write. */
export async function renewDefinition(
  deps: Deps & Proposing,
  { orbId, renew }: { orbId: string; renew?: (() => Promise<OrbContext>) | undefined },
): Promise<OrbContext> {
  if (renew !== undefined) return renew();
  const now = await definitionFor(deps, orbId);
  if (now === null) throw notFound("orb");
  return deps.proposed?.(now) ?? now;
}

export interface WriteRetry {
  /** Maximum number of attempts. */
  attempts?: number;
  /** Time after which no further attempt begins, in milliseconds since the epoch. */
  until?: number;
  /** Kinds of errors that an earlier attempt of the same request may have caused. */
  replayed?: readonly ErrorKind[];
}

/**
 * Optimistic concurrency: repeats a write until it succeeds without a conflict. Each attempt reads the current state
 * again.
 * @param findReplay returns the stored response if an earlier attempt of the same request caused the conflict
 * @throws AppError conflict `write_conflict` after too many attempts, or after `until`
 */
export async function retryOnConflict<T>(
  deps: Deps,
  orb: string,
  run: (attempt: number) => Promise<T>,
  findReplay?: () => Promise<T | null>,
  { attempts = CONFLICTS.attempts, until, replayed = ["conflict", "precondition"] }: WriteRetry = {},
): Promise<T> {
  let created = false;
  const after = async (error: unknown, attempt: number): Promise<boolean> => {
    if (error instanceof StreamMissing && error.stream === streams.orb(orb) && !created) {
      // The application has no stream, because its creation was interrupted. Create the stream now.
      if ((await definitionFor(deps, orb)) === null) return false;
      created = true;
      await createOrbStream(deps, orb);
      return true;
    }
    if (!isConflict(error)) return false;
    if (until !== undefined && deps.clock.now() >= until) throw writeConflict();
    // The process that published a definition may have crashed after it blocked writes. So unblock them.
    if (attempt % MEND === MEND - 1) await repairFence(deps, orb, attempt >= REOPEN);
    return true;
  };
  return retry({ ...CONFLICTS, attempts, after }, async (attempt) => {
    try {
      return await run(attempt);
    } catch (error) {
      if (error instanceof AppError && replayed.includes(error.kind)) {
        const answer = await findReplay?.();
        if (answer !== null && answer !== undefined) return answer;
      }
      throw error;
    }
  });
}
