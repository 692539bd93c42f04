/** Seeded random choices for tests, so that a failure can be replayed. */
import { randomInt } from "node:crypto";
import { onTestFailed } from "vitest";

/** A pseudorandom generator. */
export interface Random {
  /** Returns a number from 0 to 1, exclusive. */
  next(): number;
  /** Returns a whole number from 0 to `limit`, exclusive. */
  below(limit: number): number;
  pick<T>(list: readonly T[]): T;
  /** Returns a separate generator. Parallel tasks need one each, because the order in which they draw varies. */
  fork(): Random;
}

/** Returns a generator with a fixed seed (Mulberry32). */
export function seededRandom(seed: number): Random {
  let state = seed;
  const next = () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
  const below = (limit: number) => Math.floor(next() * limit);
  return {
    next,
    below,
    pick<T>(list: readonly T[]): T {
      if (list.length === 0) throw new Error("cannot pick from an empty list");
      return list[below(list.length)] as T;
    },
    fork: () => seededRandom(below(2 ** 32)),
  };
}

/** Returns a new seed for the running test, or the one in `TEST_SEED`. Prints the seed if the test fails. */
export function testSeed(): number {
  const given = process.env.TEST_SEED;
  const seed = given === undefined ? randomInt(2 ** 31) : Number(given);
  onTestFailed(() => console.error(`Repeat the test's random choices with TEST_SEED=${seed}.`));
  return seed;
}

/** Returns a generator with the seed of {@link testSeed}. */
export const testRandom = (): Random => seededRandom(testSeed());

/** How many times as much as usual tests do: `TEST_TIMES=20` before a release. */
const TIMES = Number(process.env.TEST_TIMES ?? 1);

/** Returns how often a test makes new random choices. `TEST_TIMES` multiplies it. */
export const rounds = (usual: number): number => usual * TIMES;

/**
 * Yields whole numbers without an end, from a random one on. One run of a test stops at some of the steps of a long
 * act, and several runs together at each. With `TEST_TIMES`, one run stops at each step.
 * @param apart distance of two steps
 */
export function* someSteps(apart: number): Generator<number> {
  const distance = Math.max(1, Math.floor(apart / TIMES));
  for (let step = testRandom().below(distance); ; step += distance) yield step;
}
