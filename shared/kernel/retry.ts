import { pause } from "./pause.ts";

/** Work throws this, or an error that extends this, to be repeated: the data that it read has changed meanwhile. */
export class Again extends Error {}

/** How often work is repeated, and after which errors. */
export interface RetryPolicy {
  /** Maximum number of attempts. */
  attempts: number;
  /** Returns whether to repeat the work after an error. Default: after {@link Again}. */
  after?: (error: unknown, attempt: number) => boolean | Promise<boolean>;
  /** Returns the milliseconds to wait after an attempt. The first attempt is number 0. Default: none. */
  pauseMs?: (attempt: number) => number;
  /** Returns the error to throw after the last attempt. Default: the error of that attempt. */
  failed?: (cause: unknown) => unknown;
}

/** Waits before the next attempt. Throws if there is none. */
async function beforeNext(policy: RetryPolicy, error: unknown, attempt: number): Promise<void> {
  const repeats = policy.after === undefined ? error instanceof Again : await policy.after(error, attempt);
  if (!repeats) throw error;
  if (attempt + 1 >= policy.attempts) throw policy.failed === undefined ? error : policy.failed(error);
  const ms = policy.pauseMs?.(attempt) ?? 0;
  if (ms > 0) await pause(ms);
}

/** Repeats work until it succeeds, as the policy says. The first attempt is number 0. */
export async function retry<T>(policy: RetryPolicy, work: (attempt: number) => Promise<T>): Promise<T> {
  for (let attempt = 0; ; attempt++) {
    try {
      return await work(attempt);
    } catch (error) {
      await beforeNext(policy, error, attempt);
    }
  }
}

/** Like {@link retry}, for work that yields. Each attempt must continue where the one before it ended. */
export async function* retryEach<T>(
  policy: RetryPolicy,
  work: (attempt: number) => AsyncIterable<T>,
): AsyncGenerator<T> {
  for (let attempt = 0; ; attempt++) {
    try {
      yield* work(attempt);
      return;
    } catch (error) {
      await beforeNext(policy, error, attempt);
    }
  }
}
