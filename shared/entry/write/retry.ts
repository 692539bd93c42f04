import { definitionFor } from "../../definition/stored/live.ts";
import { repairFence } from "../../definition/stored/live-record.ts";
import type { Deps } from "../../deps.ts";
import { AppError, notFound, writeConflict } from "../../kernel/errors.ts";
import { pause } from "../../kernel/pause.ts";
import { orbStreamConfig } from "../../store/broker/provision.ts";
import { streams } from "../../store/subjects.ts";
import { Conflict, StreamMissing } from "../../store/types.ts";
import type { OrbContext } from "../model/resolve.ts";

/** Maximum retries after a conflict. Together they take up to 2 seconds. */
const ATTEMPTS = 24;
const MEND = 3;
/**
 * Number of attempts after which a writer assumes that the publication of a definition was interrupted. It then
 * unblocks writes to the application. The attempts take about 300 ms, while a publication blocks writes for a few
 * milliseconds only.
 */
const REOPEN = 11;

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
 * Optimistic concurrency: repeats a write until it succeeds without a conflict. Each attempt reads the current state
 * again.
 * @param findReplay returns the stored response if an earlier attempt of the same request caused the conflict
 * @throws AppError conflict `write_conflict` after too many attempts
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
        // The application has no stream, because its creation was interrupted. Create the stream now.
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
      // The process that published a definition may have crashed after it blocked writes. So unblock them.
      if (attempt % MEND === MEND - 1) await repairFence(deps, orb, attempt >= REOPEN);
      // Retry immediately the first time, because most conflicts end quickly. Later retries wait for a random time
      // that grows with each attempt.
      if (attempt > 0) await pause(Math.random() * Math.min(80, 4 * 2 ** Math.min(attempt, 5)));
    }
  }
}
