/**
 * Rate limits. Each act stores one message in a stream that accepts a limited number per client and minute, for all
 * hosts together.
 */
import type { Deps } from "../deps.ts";
import { AppError } from "../kernel/errors.ts";
import { sha256 } from "../kernel/ids.ts";
import { LIMIT_WINDOW_SECONDS } from "../store/broker/provision.ts";
import { streams, subjects } from "../store/subjects.ts";
import { SubjectFull } from "../store/types.ts";

/** Kinds of acts that are counted separately. */
export type LimitRule = "begin" | "complete" | "invitation" | "bootstrap";

/**
 * Returns the eight numbers of an IPv6 address; undefined for any other text. The last two may be written as an IPv4
 * address.
 */
function groupsOf(address: string): number[] | undefined {
  const dotted = /^(.*:)(\d+)\.(\d+)\.(\d+)\.(\d+)$/.exec(address);
  const [, start = "", a, b, c, d] = dotted ?? [];
  const pair = (high = "", low = "") => (Number(high) * 256 + Number(low)).toString(16);
  const hex = dotted === null ? address : `${start}${pair(a, b)}:${pair(c, d)}`;
  if (!/^[0-9a-f:]+$/i.test(hex) || !hex.includes(":")) return undefined;
  const [head = "", tail] = hex.split("::");
  const left = head === "" ? [] : head.split(":");
  const right = tail === undefined || tail === "" ? [] : tail.split(":");
  const zeros =
    tail === undefined ? [] : Array<string>(Math.max(0, 8 - left.length - right.length)).fill("0");
  return [...left, ...zeros, ...right].map((group) => Number.parseInt(group, 16));
}

/**
 * Returns the network that counts as one client: an IPv4 address in canonical form, or the first 64 bits of an IPv6
 * address. A customer has at least such a network, and could otherwise use a new address for every attempt.
 */
export function clientNetwork(address: string): string {
  const groups = groupsOf(address);
  if (groups === undefined) return address;
  const [, , , , , marker, high = 0, low = 0] = groups;
  if (marker === 0xffff && groups.slice(0, 5).every((group) => group === 0))
    return [high >> 8, high & 255, low >> 8, low & 255].join(".");
  const network = groups.slice(0, 4).map((group) => group.toString(16));
  return `${network.join(":")}::/64`;
}

/**
 * Counts one act of the client. One request, which may run in parallel with others.
 * @throws AppError too_many
 */
export async function enforceRateLimit(deps: Deps, rule: LimitRule): Promise<void> {
  const client = await sha256(clientNetwork(deps.request.client));
  try {
    await deps.store.append(streams.limits, { subject: subjects.limit(rule, client), data: "" });
  } catch (error) {
    if (!(error instanceof SubjectFull)) throw error;
    throw new AppError("too_many", "too_many_requests", "Too many attempts. Try again in a minute.", {
      retryAfter: LIMIT_WINDOW_SECONDS,
    });
  }
}
