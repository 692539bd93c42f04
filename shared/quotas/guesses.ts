/**
 * Slows down guesses at unique sensitive values, such as tax numbers: a conflict reveals that another entry has the
 * value. Each write is first charged as many units as a conflict costs. If the value was free, most of them are given
 * back. So an account can try only a limited number of values.
 */
import type { Actor } from "../access/actor.ts";
import type { Deps, RequestFacts } from "../deps.ts";
import { AppError } from "../kernel/errors.ts";
import { pause } from "../kernel/pause.ts";
import { windowAt } from "../kernel/window.ts";
import { streams, subjects } from "../store/subjects.ts";
import { spenderOf } from "./quotas.ts";
import { tooMany } from "./refusals.ts";

/** Cost of a write if another entry already has its unique value. A write of a free value costs 1. */
const TAKEN = 20;
/**
 * Maximum attempts to count a write. Between two attempts, earlier writes of the account may get their units back.
 */
const TRIES = 4;
/** Milliseconds to wait after the first attempt. Each further wait is twice as long. */
const PAUSE_MS = 25;

/**
 * Rate limits over longer and longer periods. The longer the period, the fewer conflicts it allows per minute, so
 * that persistent clients wait longer.
 */
const LEVELS = [
  { rule: "conflicts", stream: streams.quotas, windows: 1, allowed: 1 },
  { rule: "conflicts-next", stream: streams.quotas, windows: 5, allowed: 2 },
  { rule: "conflicts-long", stream: streams.longQuotas, windows: undefined, allowed: 10 },
] as const;

interface Guess {
  fields: ReadonlySet<string>;
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
 * Charges a write that sets unique sensitive values, because its result tells the caller whether another entry has
 * these values. Charges it even if the values are free.
 */
export async function countGuess(
  deps: Deps,
  actor: Actor,
  orb: string,
  fields: readonly string[],
): Promise<void> {
  const { accountConflicts, windowSeconds, longWindowSeconds } = deps.config.quotas;
  // Charge a write only once, even if it is retried after a conflict.
  if (accountConflicts === 0 || fields.length === 0 || guesses.has(deps.request)) return;
  const { scope, key } = await spenderOf(deps, actor);
  const cost = TAKEN + fields.length - 1;
  for (let attempt = 1; ; attempt++) {
    const levels = LEVELS.map(({ rule, stream, windows, allowed }) => {
      const seconds = windows === undefined ? longWindowSeconds : windowSeconds * windows;
      const { number, left } = windowAt(deps.clock.now(), seconds);
      const subject = subjects.quota(stream, rule, `${key}.${orb}`, number);
      return { stream, subject, left, seconds, most: allowed * accountConflicts };
    });
    const guess: Guess = { fields: new Set(fields), counters: levels };
    const sums = await Promise.all(
      levels.map(({ stream, subject }) => deps.store.count(stream, subject, cost)),
    );
    const reached = levels.filter(({ most }, i) => (sums[i] ?? 0) - cost >= most * TAKEN).at(-1);
    if (reached === undefined) {
      guesses.set(deps.request, guess);
      return;
    }
    refund(deps, guess, cost);
    if (attempt === TRIES) {
      const may = `meet values of unique sensitive fields that are taken ${reached.most} times, or try ${TAKEN} times as many`;
      throw tooMany(scope, { what: "conflicts", may }, reached.left);
    }
    await pause(PAUSE_MS * 2 ** (attempt - 1) * (0.5 + Math.random()));
  }
}

/** Refunds most of what {@link countGuess} charged, unless the write revealed a value of another entry. */
export function releaseGuess(deps: Deps, error?: unknown): void {
  const guess = guesses.get(deps.request);
  if (guess === undefined) return;
  guesses.delete(deps.request);
  if (error !== undefined && reveals(guess, error)) return;
  refund(deps, guess, TAKEN - 1);
}

/**
 * Returns whether an error may tell the caller that another entry has the value they tried, as a conflict on a unique
 * sensitive field does. An unknown error counts too, because it may be such a conflict.
 */
function reveals({ fields }: Guess, error: unknown): boolean {
  if (!(error instanceof AppError) || error.kind === "unavailable" || error.kind === "timeout") return true;
  if (error.code !== "unique_conflict") return false;
  return (error.errors ?? []).some(({ path }) => fields.has(path.split("/")[2] ?? ""));
}
