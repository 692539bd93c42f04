/**
 * What is spent of a quota, counted at the broker for all processes. Each process takes more than it needs at the moment,
 * as a lease that it spends from memory: most acts ask the broker nothing, and none waits for it in the usual course.
 *
 * All leases of a window together are never more than the quota. Beyond it come at most `ahead` units of each process,
 * which it lends while its lease is under way.
 */
import type { Config, Deps } from "../deps.ts";
import { type streams, subjects } from "../store/subjects.ts";
import { PerHost } from "./per-host.ts";

/** A limit on something that is counted, in windows of equal length. */
export interface Limit {
  rule: string;
  stream: typeof streams.quotas | typeof streams.longQuotas;
  /** Units of a window. */
  most: number;
  seconds: number;
  /** Units that a process lends before it has heard from the broker. */
  ahead: number;
}

/** What a process holds of a limit in one window. */
interface Lease {
  window: number;
  /** Units that may still be spent; negative: lent, and not counted yet. */
  left: number;
  /** Units that were spent here. */
  spent: number;
  /** Whether the broker had no more to give. */
  last: boolean;
  renewing: boolean;
}

/** A lease takes this part of a limit at most. */
const SHARE = 20;
/** Leases that one process remembers. */
const REMEMBERED = 20_000;

const leases = new PerHost<Lease>(REMEMBERED);

/** The number of a window, and the seconds until it ends. */
export function windowAt(now: number, seconds: number): { number: number; left: number } {
  const ms = seconds * 1000;
  const number = Math.floor(now / ms);
  return { number, left: Math.max(1, Math.ceil(((number + 1) * ms - now) / 1000)) };
}

function leaseOf(config: Config, name: string, window: number): Lease {
  const known = leases.get(config, name);
  if (known?.window === window) return known;
  return leases.set(config, name, { window, left: 0, spent: 0, last: false, renewing: false });
}

/** Takes what is needed and, unless that is under way already, as much again as was spent so far. One request. */
async function renew(deps: Deps, limit: Limit, key: string, lease: Lease, need: number): Promise<void> {
  const first = !lease.renewing;
  const more = first ? Math.min(lease.spent, Math.floor(limit.most / SHARE)) : 0;
  const subject = subjects.quota(limit.stream, limit.rule, key, lease.window);
  lease.renewing = true;
  try {
    const sum = await deps.store.count(limit.stream, subject, need + more);
    const over = Math.max(0, sum - limit.most);
    lease.left += Math.max(0, need + more - over);
    if (over > 0) lease.last = true;
  } finally {
    if (first) lease.renewing = false;
  }
}

/**
 * Spends units of a limit. Asks the broker nothing while the lease of this process lasts, and renews it beside the
 * request's own work.
 * @param key whose: tokens joined by dots
 * @returns undefined; where the limit is reached, the seconds until the next window begins
 */
export async function spend(
  deps: Deps,
  limit: Limit,
  key: string,
  units: number,
): Promise<number | undefined> {
  const { number, left } = windowAt(deps.clock.now(), limit.seconds);
  const lease = leaseOf(deps.config, `${limit.rule}.${key}`, number);
  while (lease.left + (lease.last ? 0 : limit.ahead) < units) {
    if (lease.last) return left;
    await renew(deps, limit, key, lease, units - lease.left);
  }
  lease.left -= units;
  lease.spent += units;
  if (lease.left < limit.ahead && !lease.last && !lease.renewing) {
    deps.afterwards(renew(deps, limit, key, lease, limit.ahead - Math.min(0, lease.left)));
  }
  return undefined;
}
