import type { Deps } from "../deps.ts";
import { unavailable } from "../kernel/errors.ts";
import { buckets } from "../store/subjects.ts";

/**
 * Checks that the broker responds and has contact with a leader. A broker that is cut off from the others still answers
 * pings.
 * @returns milliseconds of a round trip to the broker
 * @throws AppError unavailable
 */
export async function requireReady({ store }: Pick<Deps, "store">): Promise<number> {
  // Only a leader responds to this read. No application has the id `health`, so the response is small.
  const checks = Promise.all([store.ping(), store.kvGet(buckets.orbs, "health")]);
  const [roundTripMs] = await checks.catch((error: unknown) => {
    throw unavailable(error);
  });
  return roundTripMs;
}
