/**
 * Slows down guessing. That a value of a unique sensitive field is taken tells what another entry holds, which its reader
 * may not see. So each write that brings such a value counts as if it was taken, before anything is told; where it was
 * free, most of that is given back. What is not given back is the price of looking: without it, an account could try
 * value after value until the only one that is taken.
 */
import type { Actor } from "../access/actor.ts";
import type { Deps, RequestFacts } from "../deps.ts";
import { AppError } from "../errors.ts";
import { pause } from "../pause.ts";
import { streams, subjects } from "../store/subjects.ts";
import { windowAt } from "./leases.ts";
import { spenderOf } from "./quotas.ts";
import { tooMany } from "./refusals.ts";

/** A value that was taken costs as much as so many that were free. */
const TAKEN = 20;
/** How often a write looks whether what others of the account have under way was given back, and the first pause. */
const TRIES = 4;
const PAUSE_MS = 25;

/** Conflicts that are allowed grow slower than the windows do, so that who goes on waits longer and longer. */
const LEVELS = [
  { rule: "conflicts", stream: streams.quotas, windows: 1, allowed: 1 },
  { rule: "conflicts-next", stream: streams.quotas, windows: 5, allowed: 2 },
  { rule: "conflicts-long", stream: streams.longQuotas, windows: undefined, allowed: 10 },
] as const;

/** What a request has counted, until it is known what came of it. */
interface Guess {
  fields: ReadonlySet<string>;
  counters: { stream: string; subject: string }[];
}

const guesses = new WeakMap<RequestFacts, Guess>();

function giveBack(deps: Deps, { counters }: Guess, units: number): void {
  if (units === 0) return;
  deps.afterwards(
    Promise.all(counters.map(({ stream, subject }) => deps.store.count(stream, subject, -units))),
  );
}

/**
 * Counts the values of unique sensitive fields that a write brings. One request.
 * @param fields the field of each of them
 * @throws AppError too_many `too_many_conflicts`, before it is known whether they are taken
 */
export async function countGuess(
  deps: Deps,
  actor: Actor,
  orb: string,
  fields: readonly string[],
): Promise<void> {
  const { accountConflicts, windowSeconds, longWindowSeconds } = deps.config.quotas;
  // A write that is decided anew is one guess.
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
    const reached = levels.filter(({ most }, i) => (sums[i] ?? 0) > most * TAKEN).at(-1);
    if (reached === undefined) {
      guesses.set(deps.request, guess);
      return;
    }
    giveBack(deps, guess, cost);
    if (attempt === TRIES) {
      const may = `meet values of unique sensitive fields that are taken ${reached.most} times, or try ${TAKEN} times as many`;
      throw tooMany(scope, { what: "conflicts", may }, reached.left);
    }
    await pause(PAUSE_MS * 2 ** (attempt - 1) * (0.5 + Math.random()));
  }
}

/**
 * Gives back what was counted for a write that did not tell of another entry's value.
 * @param error what came of it; undefined where it was written
 */
export function settleGuess(deps: Deps, error?: unknown): void {
  const guess = guesses.get(deps.request);
  if (guess === undefined) return;
  guesses.delete(deps.request);
  if (error !== undefined && tells(guess, error)) return;
  giveBack(deps, guess, TAKEN - 1);
}

/** Whether a failure names a value that another entry holds, or may have come before or after it was known. */
function tells({ fields }: Guess, error: unknown): boolean {
  if (!(error instanceof AppError) || error.kind === "unavailable" || error.kind === "timeout") return true;
  if (error.code !== "unique_conflict") return false;
  return (error.errors ?? []).some(({ path }) => fields.has(path.split("/")[2] ?? ""));
}
