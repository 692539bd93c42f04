import { AppError } from "../kernel/errors.ts";

export type Scope = "account" | "client" | "orb";

export type Counted = "writes" | "calls" | "bytes" | "conflicts" | "streams";

const WHOSE: Record<Scope, string> = {
  account: "Your account",
  client: "Your network address",
  orb: "This orb",
};

const seconds = (count: number) => `${count} ${count === 1 ? "second" : "seconds"}`;

/**
 * Returns a 429 error with `Retry-After`.
 * @param wait seconds
 */
export function tooMany(scope: Scope, counted: { what: Counted; may: string }, wait: number): AppError {
  const detail = `${WHOSE[scope]} may ${counted.may}, and has reached that limit. Try again in ${seconds(wait)}.`;
  return new AppError("too_many", `too_many_${counted.what}`, detail, { retryAfter: wait, data: { scope } });
}

export const within = (count: number) => `within ${seconds(count)}`;

/** Returns a 507 error. It has no `Retry-After`, because waiting does not help. */
export function orbFull(most: number): AppError {
  const mib = Math.floor(most / (1024 * 1024));
  const detail = `This orb has reached its storage quota of ${mib} MiB. A platform admin can erase entries or raise the quota.`;
  return new AppError("full", "orb_full", detail);
}
