/** Counts the open streams of each reader. The broker stores the counts, because requests share no memory. */
import { type Actor, accountOf } from "../access/actor.ts";
import type { Deps } from "../deps.ts";
import { AppError } from "../kernel/errors.ts";
import { windowAt } from "../kernel/window.ts";
import { streams, subjects } from "../store/subjects.ts";

/**
 * Length of a counting period in seconds. A stream counts in the period in which it began. No stream stays open
 * longer than a period.
 */
const WINDOW_SECONDS = 90;
const RETRY_SECONDS = 10;

/**
 * Counts an open stream of an account until the returned function is called. If the process crashes before that, the
 * stream counts until the end of the next period.
 * @param address identifies readers without an account
 * @returns a function that ends the count; call it once
 */
export function takeReader(deps: Deps, actor: Actor, address: string): Promise<() => Promise<void>> {
  const { readersPerUser, readersPerAdmin } = deps.config.quotas;
  const most = actor.kind === "platform" ? readersPerAdmin : readersPerUser;
  const detail = `You already read ${most} streams, which is the limit. Close one and try again.`;
  const counted = actor.kind === "anonymous" ? `anonymous.${address}` : accountOf(actor).replace("/", ".");
  return take(deps, `account.${counted}`, most, detail);
}

export function takeOrbReader(deps: Deps, orb: string): Promise<() => Promise<void>> {
  const { readersPerOrb: most } = deps.config.quotas;
  return take(
    deps,
    `orb.${orb}`,
    most,
    `The orb has ${most} live readers, which is the limit. Try again later.`,
  );
}

async function take(deps: Deps, key: string, most: number, detail: string): Promise<() => Promise<void>> {
  const { number } = windowAt(deps.clock.now(), WINDOW_SECONDS);
  const subjectOf = (window: number) => subjects.quota(streams.quotas, "readers", key, window);
  const subject = subjectOf(number);
  const release = async () => void (await deps.store.count(streams.quotas, subject, -1));
  const [began, before] = await Promise.all([
    deps.store.count(streams.quotas, subject, 1),
    deps.store.get(streams.quotas, subjectOf(number - 1)),
  ]);
  const reading = began + Number(before?.json<{ val: string }>().val ?? 0);
  if (reading > most) {
    deps.afterwards(release());
    throw new AppError("too_many", "too_many_streams", detail, { retryAfter: RETRY_SECONDS });
  }
  return release;
}
