/** Racing writers and readers of a few entries, for tests of caches. */

import { setTimeout as pause } from "node:timers/promises";
import { homeOf } from "../../shared/definition/document/home.ts";
import { AppError } from "../../shared/kernel/errors.ts";
import { streams, subjects } from "../../shared/store/subjects.ts";
import { Conflict, type Store, StreamMissing } from "../../shared/store/types.ts";
import type { Random } from "./random.ts";

export const STREAM = streams.orb("shop");
export const SUBJECTS = Array.from({ length: 12 }, (_, i) =>
  subjects.entryLog({ orb: "shop", ...homeOf("CONTENT", "product"), id: String(i) }),
);
export { pause };

/** Waits until a condition holds. Throws after 80 seconds. */
export async function until(holds: () => Promise<boolean> | boolean): Promise<void> {
  for (const deadline = Date.now() + 80_000; Date.now() < deadline; await pause(5)) if (await holds()) return;
  throw new Error("the condition was not met within 80 s");
}

/** A window of time that no machine is too slow for, in milliseconds. */
const WIDE_MS = 60_000;

/**
 * Does something before a moment. If a busy machine was late, does it again with twice the time.
 * @param ms how long before the moment the first attempt begins
 * @param act gets the moment, in milliseconds since the epoch. Each attempt needs entries of its own.
 */
export async function before<T>(ms: number, act: (moment: number) => Promise<T>): Promise<T> {
  const moment = Date.now() + ms;
  const isLate = () => Date.now() >= moment && ms < WIDE_MS;
  try {
    const done = await act(moment);
    return isLate() ? await before(2 * ms, act) : done;
  } catch (error) {
    if (isLate()) return before(2 * ms, act);
    throw error;
  }
}

/** Minimum number of writes per round, on machines of any speed. */
export const ENOUGH = 20;

/** Writes entries in every possible way until the given time. Records when each write was acknowledged. */
export async function write(
  store: Store,
  until: number,
  random: Random,
  acknowledged?: Map<string, number>,
): Promise<number> {
  let count = 0;
  const note = (subject: string, seq: number) =>
    acknowledged?.set(subject, Math.max(seq, acknowledged.get(subject) ?? 0));
  while (Date.now() < until || count <= ENOUGH) {
    const [a, b] = [random.pick(SUBJECTS), random.pick(SUBJECTS)];
    const way = random.next();
    try {
      if (way < 0.5) note(a, await store.append(STREAM, { subject: a, data: String(count) }));
      else if (way < 0.7) {
        const messages = [
          { subject: a, data: "{}", rollup: true },
          ...(a === b ? [] : [{ subject: b, data: "{}" }]),
        ];
        note(messages.at(-1)?.subject ?? a, await store.batch(STREAM, messages));
      } else if (way < 0.9) {
        const seqs = await store.pipeline(STREAM, [
          { subject: a, data: "first" },
          { subject: b, data: "second" },
        ]);
        note(a, seqs[0] ?? 0);
        note(b, seqs[1] ?? 0);
      } else {
        const last = await store.get(STREAM, a);
        note(
          a,
          await store.append(STREAM, { subject: a, data: "expected", expect: { seq: last?.seq ?? 0 } }),
        );
      }
      count++;
    } catch (error) {
      // While brokers die, writes may fail in these ways.
      const expected = [Conflict, AppError, StreamMissing].some((kind) => error instanceof kind);
      if (!expected) throw error;
    }
    if (random.next() < 0.3) await pause(random.next() * 4);
  }
  return count;
}

/**
 * Reads from the cache. A result must never be older than the writes acknowledged before the read, and never go back in
 * time.
 * @param brokers with more than one, reads of another process's writes may go back in time
 */
export async function read(
  store: Store,
  until: number,
  random: Random,
  acknowledged: Map<string, number>,
  brokers = 1,
): Promise<number> {
  const seen = new Map<string, number>();
  let count = 0;
  while (Date.now() < until || count <= ENOUGH) {
    const wanted = random.next() < 0.5 ? [random.pick(SUBJECTS)] : SUBJECTS.filter(() => random.next() < 0.5);
    const least = new Map(wanted.map((subject) => [subject, acknowledged.get(subject) ?? 0]));
    const consistency = random.pick(["stale", "cached"] as const);
    const found = await store
      .getMany(STREAM, wanted, { consistency, maxBytes: 1e8 })
      .catch((error: unknown) => {
        if (brokers > 1 && error instanceof AppError) return undefined;
        throw error;
      });
    if (found === undefined) {
      await pause(20);
      continue;
    }
    for (const subject of wanted) {
      const seq = found.get(subject)?.seq ?? 0;
      if (seq < (least.get(subject) ?? 0)) throw new Error(`${seq} is from before ${least.get(subject)}`);
      if (brokers === 1 && seq < (seen.get(subject) ?? 0))
        throw new Error(`back from ${seen.get(subject)} to ${seq}`);
      seen.set(subject, seq);
    }
    count++;
    // Reads from the cache do no I/O, so yield now and then to let the writers run.
    if (count % 20 === 0) await pause(0);
    if (random.next() < 0.05) await pause(random.next() * 3);
  }
  return count;
}
