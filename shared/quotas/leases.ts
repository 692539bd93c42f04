/**
 * Counts usage at the broker for all processes. A process leases more units than it needs and spends them from memory.
 * Most acts send no request to the broker, and acts usually do not wait for one.
 *
 * All leases of a window together never exceed the limit. A process may spend `ahead` units before its lease arrives, so
 * the total exceeds the limit by at most `ahead` per process.
 */
import type { Config, Deps } from "../deps.ts";
import { type streams, subjects } from "../store/subjects.ts";
import { PerHost } from "./per-host.ts";

/** A limit on usage in windows of equal length. */
export interface Limit {
  rule: string;
  stream: typeof streams.quotas | typeof streams.longQuotas;
  /** Units per window. */
  most: number;
  seconds: number;
  /** Units that a process may spend before the broker answers. */
  ahead: number;
}

/** The units that this process holds in one window. */
interface Lease {
  window: number;
  /** Units left to spend. Negative: spent ahead and not counted at the broker yet. */
  left: number;
  /** Units that this process has spent. */
  spent: number;
  /** Whether the limit is used up at the broker. */
  last: boolean;
  renewing: boolean;
}

/** A lease takes at most one part in this many of a limit, so that other processes get some. */
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

/** Leases `need` units and, unless another renewal is under way, as many as this process has spent. One request. */
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
 * Spends units of a limit. Sends no request while the lease lasts, and renews it in the background.
 * @param key the account, client or orb: tokens joined by dots
 * @returns undefined, or the seconds until the next window if the limit is reached
 */
export async function spendLease(
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
