/**
 * Limits how much accounts and applications may use. Platform admins are exempt, because they import and repair data.
 */
import { type Actor, accountBehind, accountOf } from "../access/actor.ts";
import { clientKey } from "../access/limits.ts";
import type { Deps } from "../deps.ts";
import { streams } from "../store/subjects.ts";
import { type Limit, spendLease } from "./leases.ts";
import { type Counted, type Scope, tooMany, within } from "./refusals.ts";

/** Requests (`acts`) and bytes that a process may allow before the broker has granted them. */
const AHEAD = { acts: 8, bytes: 1024 * 1024 };
/**
 * Before the broker has granted anything, a process may allow at most 1/100 of a limit. For a limit below 100, this is
 * less than one, so small limits are exact.
 */
const AHEAD_SHARE = 100;

/** The account, client address or application that a limit applies to. */
export interface Spender {
  scope: Scope;
  /** Parts of a message subject, joined by dots. */
  key: string;
}

export function isCounted(actor: Actor): boolean {
  return ["orb", "schedule", "anonymous"].includes(accountBehind(actor).kind);
}

/** Returns whose limit a request counts towards: the actor's account, or the network of an anonymous caller. */
export async function spenderOf(deps: Deps, actor: Actor): Promise<Spender> {
  if (accountBehind(actor).kind !== "anonymous")
    return { scope: "account", key: `account.${accountOf(actor).replace("/", ".")}` };
  return { scope: "client", key: `client.${await clientKey(deps)}` };
}

async function spendQuota(
  deps: Deps,
  { scope, key }: Spender,
  what: Extract<Counted, "writes" | "calls">,
  most: number,
  units = 1,
): Promise<void> {
  if (most === 0) return;
  const seconds = deps.config.quotas.windowSeconds;
  const ahead = Math.min(AHEAD.acts, Math.floor(most / AHEAD_SHARE));
  const limit: Limit = { rule: what, stream: streams.quotas, most, seconds, ahead };
  const wait = await spendLease(deps, limit, key, units);
  const may = `${what === "writes" ? "write" : "call handlers"} ${most} times ${within(seconds)}`;
  if (wait !== undefined) throw tooMany(scope, { what, may }, wait);
}

const orbSpender = (orb: string): Spender => ({ scope: "orb", key: `orb.${orb}` });

/**
 * Counts a write against the limits of the account and the application. Authorize the caller first, so that rejected
 * callers do not use up the application's limit.
 */
export async function countWrite(deps: Deps, actor: Actor, orb: string, writes = 1): Promise<void> {
  if (!isCounted(actor)) return;
  const { accountWrites, orbWrites } = deps.config.quotas;
  await spendQuota(deps, await spenderOf(deps, actor), "writes", accountWrites, writes);
  await spendQuota(deps, orbSpender(orb), "writes", orbWrites, writes);
}

/**
 * Counts a handler call towards the limits of the account and the application. Authorize the caller first, so that
 * rejected callers do not use up the application's limit.
 */
export async function countCall(deps: Deps, actor: Actor, orb: string): Promise<void> {
  if (!isCounted(actor)) return;
  const { accountCalls, orbCalls } = deps.config.quotas;
  await spendQuota(deps, await spenderOf(deps, actor), "calls", accountCalls);
  await spendQuota(deps, orbSpender(orb), "calls", orbCalls);
}

export async function countBytes(deps: Deps, actor: Actor, bytes: number): Promise<void> {
  const { accountBytes: most, longWindowSeconds: seconds } = deps.config.quotas;
  if (most === 0) return;
  const { scope, key } = await spenderOf(deps, actor);
  const ahead = Math.min(AHEAD.bytes, Math.floor(most / AHEAD_SHARE));
  const limit: Limit = { rule: "bytes", stream: streams.longQuotas, most, seconds, ahead };
  const wait = await spendLease(deps, limit, key, bytes);
  const may = `store values of ${Math.floor(most / 1024 / 1024)} MiB ${within(seconds)}`;
  if (wait !== undefined) throw tooMany(scope, { what: "bytes", may }, wait);
}
