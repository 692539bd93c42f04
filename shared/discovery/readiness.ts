import type { Deps } from "../deps.ts";
import { unavailable } from "../kernel/errors.ts";
import { buckets } from "../store/subjects.ts";

/**
 * Checks that the broker responds and is in contact with a leader. A ping is not enough, because a broker that is cut
 * off from the others answers pings.
 * @returns round-trip time to the broker in milliseconds
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
