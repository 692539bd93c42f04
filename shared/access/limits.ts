/** Rate limits: one message per act to a stream that takes only so many per client and minute, wherever we run. */
import type { Deps } from "../deps.ts";
import { AppError } from "../errors.ts";
import { sha256 } from "../ids.ts";
import { LIMIT_WINDOW_SECONDS } from "../store/provision.ts";
import { streams, subjects } from "../store/subjects.ts";
import { SubjectFull } from "../store/types.ts";

/** What is counted apart. */
export type LimitRule = "begin" | "complete" | "invitation" | "bootstrap";

/**
 * Who is counted as one: an IPv4 address, or the 64 bits of an IPv6 address that a single customer is given at least,
 * who could otherwise take a new address for every attempt.
 */
export function clientNetwork(address: string): string {
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address)?.[1];
  if (mapped !== undefined) return mapped;
  if (!/^[0-9a-f:]+$/i.test(address) || !address.includes(":")) return address;
  const [head = "", tail] = address.toLowerCase().split("::");
  const left = head === "" ? [] : head.split(":");
  const right = tail === undefined || tail === "" ? [] : tail.split(":");
  const zeros =
    tail === undefined ? [] : Array<string>(Math.max(0, 8 - left.length - right.length)).fill("0");
  const groups = [...left, ...zeros, ...right].slice(0, 4);
  return `${groups.map((group) => Number.parseInt(group, 16).toString(16)).join(":")}::/64`;
}

/**
 * Counts one act of the client. One request, which may run beside others.
 * @throws AppError too_many
 */
export async function countAct(deps: Deps, rule: LimitRule): Promise<void> {
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
