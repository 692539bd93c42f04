/** What callers are told when a quota is reached. */
import { AppError } from "../errors.ts";

/** Whose quota it is. */
export type Scope = "account" | "client" | "orb";

/** What is counted. */
export type Counted = "writes" | "calls" | "bytes" | "conflicts" | "streams";

const WHOSE: Record<Scope, string> = {
  account: "Your account",
  client: "Your network address",
  orb: "This orb",
};

const seconds = (count: number) => `${count} ${count === 1 ? "second" : "seconds"}`;

/**
 * 429 with `Retry-After`.
 * @param counted.may what the quota allows, in words that follow "Your account may"
 * @param wait seconds until trying again makes sense
 */
export function tooMany(scope: Scope, counted: { what: Counted; may: string }, wait: number): AppError {
  const detail = `${WHOSE[scope]} may ${counted.may}, and has reached that. Try again in ${seconds(wait)}.`;
  return new AppError("too_many", `too_many_${counted.what}`, detail, { retryAfter: wait, data: { scope } });
}

/** `a window of so many seconds` in words. */
export const within = (count: number) => `within ${seconds(count)}`;

/** 507: there is no room until something is erased, or more is allowed. */
export function orbFull(most: number): AppError {
  const mib = Math.floor(most / (1024 * 1024));
  const detail = `This orb has no room left: it may store ${mib} MiB. A platform admin can erase entries or allow it more.`;
  return new AppError("full", "orb_full", detail);
}
