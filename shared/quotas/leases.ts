/**
 * Rate limits that several processes share. A process leases units from the broker in advance and spends them from
 * memory, so most requests need no round trip. The leases together never exceed the limit. Before its first lease is
 * granted, a process may spend a few units (`ahead`).
 */
import type { Config, Deps } from "../deps.ts";
import { PerHost } from "../kernel/bounded-map.ts";
import { windowAt } from "../kernel/window.ts";
import { type streams, subjects } from "../store/subjects.ts";

export interface Limit {
  rule: string;
  stream: typeof streams.quotas | typeof streams.longQuotas;
  most: number;
  seconds: number;
  /** Units that a process may spend before the broker has granted it a lease. */
  ahead: number;
}

interface Lease {
  window: number;
  /** Units that are left to spend. Negative if the process spent units before it leased them. */
  left: number;
  spent: number;
  /** Whether the processes have leased all units of the rate limit. */
  last: boolean;
  renewing: boolean;
}

/** A lease takes at most 1/`SHARE` of the rate limit, so that other processes can lease units too. */
const SHARE = 20;
const REMEMBERED = 20_000;

const leases = new PerHost<Lease>(REMEMBERED);

function leaseOf(config: Config, name: string, window: number): Lease {
  const known = leases.get(config, name);
  if (known?.window === window) return known;
  return leases.set(config, name, { window, left: 0, spent: 0, last: false, renewing: false });
}

/**
 * Leases the units that a limit needs now. Also leases some in advance: as many as the process has spent so far in this
 * period. Exact limits (`ahead` is 0) lease nothing in advance: a unit that one request holds in reserve could be the
 * last one, while a parallel request is refused.
 */
async function renew(deps: Deps, limit: Limit, key: string, lease: Lease, need: number): Promise<void> {
  const first = !lease.renewing;
  const more = first && limit.ahead > 0 ? Math.min(lease.spent, Math.floor(limit.most / SHARE)) : 0;
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
 * Spends units of a rate limit. Usually, this process has already leased the units, so it sends no request to the
 * broker.
 * @returns seconds until the next period if the limit is reached
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
