/**
 * Slows down guesses at values of entries that the caller may not read, such as tax numbers or the addresses of a
 * newsletter: a conflict reveals that another entry has the value. Each write is first charged as many units as a
 * conflict costs. If the value was free, they are given back: all of them, or most of them if the value is a secret. So
 * an account can meet only a limited number of values, and try only a limited number of secrets.
 */
import type { Actor } from "../access/actor.ts";
import type { Deps, RequestFacts } from "../deps.ts";
import { AppError } from "../kernel/errors.ts";
import { type RetryPolicy, retry } from "../kernel/retry.ts";
import { windowAt } from "../kernel/window.ts";
import { streams, subjects } from "../store/subjects.ts";
import { payOnce } from "./paid.ts";
import { spenderOf } from "./quotas.ts";
import { tooMany } from "./refusals.ts";

/** Cost of a write if another entry already has its unique value. */
const TAKEN = 20;
/** Cost of a write of a free secret value. Other free values cost nothing. */
const FREE_SECRET = 1;
/** How a write is counted again. Between two attempts, earlier writes of the account may get their units back. */
const UNTIL_COUNTED: RetryPolicy = {
  attempts: 4,
  after: (error) => error instanceof AppError && error.kind === "too_many",
  pauseMs: (attempt) => 25 * 2 ** attempt * (0.5 + Math.random()),
};

/**
 * Rate limits over longer and longer periods. The longer the period, the fewer conflicts it allows per minute, so
 * that persistent clients wait longer.
 */
const LEVELS = [
  { rule: "conflicts", stream: streams.quotas, windows: 1, allowed: 1 },
  { rule: "conflicts-next", stream: streams.quotas, windows: 5, allowed: 2 },
  { rule: "conflicts-long", stream: streams.longQuotas, windows: undefined, allowed: 10 },
] as const;

/** The unique fields in which a write sets values that the caller may not read in other entries. */
export interface Guesses {
  /** Fields whose values are secret: sensitive ones, and those that the caller may read in no entry. */
  secret: readonly string[];
  /** Further fields, because the caller may not read all entries. */
  unread: readonly string[];
}

interface Guess {
  fields: ReadonlySet<string>;
  /** Units that are given back if the values were free. */
  back: number;
  counters: { stream: string; subject: string }[];
}

const guesses = new WeakMap<RequestFacts, Guess>();

function refund(deps: Deps, { counters }: Guess, units: number): void {
  if (units === 0) return;
  deps.afterwards(
    Promise.all(counters.map(({ stream, subject }) => deps.store.count(stream, subject, -units))),
  );
}

/**
 * Charges a write that sets unique values which the caller may not read in other entries, because its result tells the
 * caller whether another entry has these values. Charges it even if the values are free.
 */
export async function countGuess(deps: Deps, actor: Actor, orb: string, given: Guesses): Promise<void> {
  const { secret, unread } = given;
  const { accountConflicts, windowSeconds, longWindowSeconds } = deps.config.quotas;
  // Charge a write only once, even if it is retried after a conflict.
  if (accountConflicts === 0 || secret.length + unread.length === 0 || guesses.has(deps.request)) return;
  const { scope, key } = await spenderOf(deps, actor);
  const cost = TAKEN + Math.max(0, secret.length - 1);
  const back = secret.length > 0 ? TAKEN - FREE_SECRET : cost;
  await retry(UNTIL_COUNTED, async () => {
    const levels = LEVELS.map(({ rule, stream, windows, allowed }) => {
      const seconds = windows === undefined ? longWindowSeconds : windowSeconds * windows;
      const { number, left } = windowAt(deps.clock.now(), seconds);
      const subject = subjects.quota(stream, rule, `${key}.${orb}`, number);
      return { stream, subject, left, seconds, most: allowed * accountConflicts };
    });
    const guess: Guess = { fields: new Set([...secret, ...unread]), back, counters: levels };
    const sums = await Promise.all(
      levels.map(({ stream, subject }) => deps.store.count(stream, subject, cost)),
    );
    const reached = levels.filter(({ most }, i) => (sums[i] ?? 0) - cost >= most * TAKEN).at(-1);
    if (reached === undefined) {
      guesses.set(deps.request, guess);
      return;
    }
    refund(deps, guess, cost);
    const may = `meet ${reached.most} unique values of entries that it may not read, or try ${TAKEN} times as many secret ones`;
    throw tooMany(scope, { what: "conflicts", may }, reached.left);
  });
}

/** Refunds all or most of what {@link countGuess} charged, unless the write revealed a value of another entry. */
export function releaseGuess(deps: Deps, error?: unknown): void {
  const guess = guesses.get(deps.request);
  if (guess === undefined) return;
  guesses.delete(deps.request);
  if (error !== undefined && reveals(guess, error)) return;
  refund(deps, guess, guess.back);
}

/**
 * Returns whether an error may tell the caller that another entry has the value they tried, as a conflict on one of the
 * fields does. An unknown error counts too, because it may be such a conflict.
 */
function reveals({ fields }: Guess, error: unknown): boolean {
  if (!(error instanceof AppError) || error.kind === "unavailable" || error.kind === "timeout") return true;
  if (error.code !== "unique_conflict") return false;
  return (error.errors ?? []).some(({ path }) => fields.has(path.split("/")[2] ?? ""));
}

/**
 * Returns the dependencies of one write. Quotas count each write of a request, but not again if it is repeated after a
 * conflict.
 */
export function ofOneWrite<D extends Deps>(deps: D): D {
  const request = { ...deps.request };
  payOnce(request);
  return { ...deps, request };
}
