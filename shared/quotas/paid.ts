/** Remembers the bytes that were charged for a write, so that its attempts after conflicts cost nothing. */
import type { Deps, RequestFacts } from "../deps.ts";

/** A write makes at most one revision of each kind. */
type Kind = "live" | "draft";

const paid = new WeakMap<RequestFacts, Record<Kind, number>>();

/** Declares that all values that a request stores from now on are those of one write. */
export function payOnce(request: RequestFacts): void {
  paid.set(request, { live: 0, draft: 0 });
}

/**
 * Charges the bytes of a revision. If the request is one write, charges only what exceeds an earlier attempt.
 * @param charge throws if a quota is reached
 */
export async function chargeOnce(
  { request }: Deps,
  kind: Kind,
  bytes: number,
  charge: (bytes: number) => Promise<void>,
): Promise<void> {
  const known = paid.get(request);
  const before = known?.[kind] ?? 0;
  if (bytes <= before) return;
  await charge(bytes - before);
  if (known !== undefined) known[kind] = bytes;
}
