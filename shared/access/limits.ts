/**
 * Rate limits that all hosts share. Each attempt appends a message to a stream, which accepts only a fixed number of
 * messages per client and minute.
 */
import type { Deps } from "../deps.ts";
import { AppError } from "../kernel/errors.ts";
import { sha256 } from "../kernel/ids.ts";
import { windowAt } from "../kernel/window.ts";
import { LIMIT_WINDOW_SECONDS } from "../store/broker/index.ts";
import { streams, subjects } from "../store/subjects.ts";
import { SubjectFull } from "../store/types.ts";

export type LimitRule = "begin" | "complete" | "invitation" | "bootstrap";

/**
 * Returns the network whose requests are counted together: an IPv4 address, or the first 64 bits of an IPv6 address. A
 * customer usually gets a whole IPv6 /64 network, and could use a new address for each attempt.
 */
export function clientNetwork(address: string): string {
  // Parse the address as part of a URL: the URL parser accepts only IPv6 here, and gives all spellings of an address
  // the same form.
  const host = URL.parse(`http://[${address}]`)?.hostname.slice(1, -1);
  if (host === undefined) return address;
  const [, high, low] = /^::ffff:(\w+):(\w+)$/.exec(host) ?? [];
  if (high !== undefined)
    return URL.parse(`http://0x${high.padStart(4, "0")}${low?.padStart(4, "0")}`)?.hostname ?? address;
  const [left = [], right = []] = host.split("::").map((half) => half.split(":").filter(Boolean));
  const zeros = Array<string>(8 - left.length - right.length).fill("0");
  return `${[...left, ...zeros, ...right].slice(0, 4).join(":")}::/64`;
}

/**
 * Returns the network of a client address in CIDR notation, so that people can recognise where they signed in. The
 * network is the first 24 bits of an IPv4 address, or the first 48 bits of an IPv6 address. Returns null for loopback
 * addresses and unknown addresses.
 */
export function coarseNetwork(address: string): string | null {
  const network = clientNetwork(address);
  const v4 = /^(\d{1,3}\.\d{1,3}\.\d{1,3})\.\d{1,3}$/.exec(network)?.[1];
  if (v4 !== undefined) return v4.startsWith("127.") ? null : `${v4}.0/24`;
  const v6 = /^(\w+:\w+:\w+):\w+::\/64$/.exec(network)?.[1];
  return v6 === undefined || v6 === "0:0:0" ? null : `${v6}::/48`;
}

/**
 * Returns the key under which every limit counts a client without an account: a hash of its network. Nothing else may
 * identify a client by its address.
 */
export function clientKey({ request }: Pick<Deps, "request">): Promise<string> {
  return sha256(clientNetwork(request.client));
}

/** Throws 429 if the client has made too many attempts of this kind in the last minute. */
export async function enforceRateLimit(deps: Deps, rule: LimitRule): Promise<void> {
  const client = await clientKey(deps);
  try {
    await deps.store.append(streams.limits, { subject: subjects.limit(rule, client), data: "" });
  } catch (error) {
    if (!(error instanceof SubjectFull)) throw error;
    throw new AppError("too_many", "too_many_requests", "Too many attempts. Try again in a minute.", {
      retryAfter: LIMIT_WINDOW_SECONDS,
    });
  }
}

const HOUR_SECONDS = 3600;
/** The sign-up limit of a network for the long period is this many times the limit for the short period. */
const LONG_SIGNUPS = 10;

interface CounterLimit {
  stream: typeof streams.quotas | typeof streams.longQuotas;
  key: string;
  rule: string;
  most: number;
  seconds: number;
}

/**
 * Counts an attempt in the current period with one broker request.
 * @returns seconds until the next period if the limit is exceeded, otherwise 0
 */
async function countIn(deps: Deps, limit: CounterLimit): Promise<number> {
  if (limit.most === 0) return 0;
  const { number, left } = windowAt(deps.clock.now(), limit.seconds);
  const subject = subjects.quota(limit.stream, limit.rule, limit.key, number);
  return (await deps.store.count(limit.stream, subject, 1)) > limit.most ? left : 0;
}

/**
 * Counts an attempt of the client's network in a short and in a long period.
 * @returns seconds until the exceeded limit resets, or the longer wait if both limits are exceeded; 0 if no limit is
 * exceeded
 */
async function countNetwork(
  deps: Deps,
  rule: string,
  short: { most: number; seconds: number },
  long: { most: number; seconds: number },
): Promise<number> {
  const key = `client.${await clientKey(deps)}`;
  const waits = await Promise.all([
    countIn(deps, { ...short, key, rule, stream: streams.quotas }),
    countIn(deps, { ...long, key, rule, stream: streams.longQuotas }),
  ]);
  return Math.max(...waits);
}

function tooManySignups(scope: "client" | "realm", wait: number): AppError {
  const whose = scope === "client" ? "your network address" : "this realm";
  const detail = `Too many accounts were registered from ${whose}. Try again later, or ask for an invitation.`;
  return new AppError("too_many", "too_many_signups", detail, { retryAfter: wait, data: { scope } });
}

/**
 * Counts a registration without an invitation. Throws 429 if the client's network or the whole realm (set of
 * accounts) exceeds its limit. Checks the network first: a rejected attempt does not count towards the realm's limit,
 * so one network alone cannot use up that limit.
 */
export async function countSignup(deps: Deps, realm: string): Promise<void> {
  const { networkSignups, realmSignups, windowSeconds, longWindowSeconds } = deps.config.quotas;
  const network = await countNetwork(
    deps,
    "signups",
    { most: networkSignups, seconds: windowSeconds },
    { most: networkSignups * LONG_SIGNUPS, seconds: longWindowSeconds },
  );
  if (network > 0) throw tooManySignups("client", network);
  const whole = await countIn(deps, {
    stream: streams.longQuotas,
    key: `realm.${realm}`,
    rule: "signups",
    most: realmSignups,
    seconds: HOUR_SECONDS,
  });
  if (whole > 0) throw tooManySignups("realm", whole);
}

const DAY_SECONDS = 86_400;
/** Maximum number of recovery codes that one network may try per minute and per day. */
export const CODES_PER_NETWORK = { minute: 10, day: 100 } as const;
/** Maximum number of recovery codes per hour that all networks together may try for one account. */
export const CODES_PER_ACCOUNT = 10;

function requireCodeLimit(wait: number): void {
  if (wait === 0) return;
  const detail = "Too many recovery codes were tried. Try again later, or ask an admin for a recovery link.";
  throw new AppError("too_many", "too_many_requests", detail, { retryAfter: wait });
}

/** Counts an attempt to use a recovery code. Throws 429 if the client's network exceeds its limit. */
export async function countCode(deps: Deps): Promise<void> {
  const { minute, day } = CODES_PER_NETWORK;
  const wait = await countNetwork(
    deps,
    "codes",
    { most: minute, seconds: LIMIT_WINDOW_SECONDS },
    { most: day, seconds: DAY_SECONDS },
  );
  requireCodeLimit(wait);
}

/** Counts an attempt to use a recovery code for an account. Throws 429 if the account exceeds its limit. */
export async function countCodeOf(deps: Deps, realm: string, account: string): Promise<void> {
  const wait = await countIn(deps, {
    stream: streams.longQuotas,
    key: `account.${realm}.${account}`,
    rule: "codes",
    most: CODES_PER_ACCOUNT,
    seconds: HOUR_SECONDS,
  });
  requireCodeLimit(wait);
}
