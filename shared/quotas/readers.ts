/** How many streams a caller reads at a time, where every request has a hub of its own: the broker keeps count. */
import { type Actor, accountOf } from "../access/actor.ts";
import type { Deps } from "../deps.ts";
import { AppError } from "../errors.ts";
import { streams, subjects } from "../store/subjects.ts";
import { windowAt } from "./leases.ts";

/** Readers are counted in the window that they began in; none lasts longer than one of these. */
const WINDOW_SECONDS = 90;
/** Seconds until trying again makes sense: others may have ended, or are forgotten with their window. */
const RETRY_SECONDS = 10;

/**
 * Takes a reader's place. Those whose process died count until the window after theirs has ended. One trip.
 * @returns how to give it back, once
 * @throws AppError too_many `too_many_streams`
 */
export async function takeReader(deps: Deps, actor: Actor): Promise<() => Promise<void>> {
  const { readersPerUser, readersPerAdmin } = deps.config.quotas;
  const most = actor.kind === "platform" ? readersPerAdmin : readersPerUser;
  const { number } = windowAt(deps.clock.now(), WINDOW_SECONDS);
  const key = `account.${accountOf(actor).replace("/", ".")}`;
  const subjectOf = (window: number) => subjects.quota(streams.quotas, "readers", key, window);
  const subject = subjectOf(number);
  const leave = async () => void (await deps.store.count(streams.quotas, subject, -1));
  const [began, before] = await Promise.all([
    deps.store.count(streams.quotas, subject, 1),
    deps.store.get(streams.quotas, subjectOf(number - 1)),
  ]);
  const reading = began + Number(before?.json<{ val: string }>().val ?? 0);
  if (reading > most) {
    deps.afterwards(leave());
    throw new AppError("too_many", "too_many_streams", `You read ${most} streams already.`, {
      retryAfter: RETRY_SECONDS,
    });
  }
  return leave;
}
