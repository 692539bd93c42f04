/**
 * Atomic writes of a long-lived process, several as one. A batch costs the broker the same few file operations however
 * much it holds, so what comes while one is under way is written by the next, and many together cost little more than one.
 */
import { AppError } from "../../kernel/errors.ts";
import { type Append, BATCH_LIMIT } from "../types.ts";
import type { OpenStore } from "./store.ts";
import { Refused } from "./write.ts";

/** Bytes of the bodies of one group. */
const MOST_BYTES = 1024 * 1024;
/**
 * How long, at most, those who were just answered are waited for, where several write. It is as long as their batch took:
 * without them it would be written in parts, and the second would wait for that long.
 */
const MOST_GATHER_MS = 20;
/** How long others wait for a group: one that takes longer met a broker that is busy or away, and is not alone with it. */
const PATIENCE_MS = 50;

/** A write that waits for its turn. */
interface Waiting {
  messages: readonly Append[];
  bytes: number;
  done: (seq: number) => void;
  failed: (error: unknown) => void;
}

/**
 * The subjects of a group. A message may say what must be the last one on a subject, or replace all that is there: of such
 * a subject no other write of the group may know anything. Several may expect the same sequence of a subject that none writes.
 */
class Subjects {
  readonly #touched = new Set<string>();
  /** Expected sequences of subjects that no write of the group touches; undefined for subjects that one touches or replaces. */
  readonly #bound = new Map<string, number | undefined>();
  /** Of a write that expects something of the whole stream. */
  #alone = false;

  /** Takes a write in; false when it must not be in one group with those that are. */
  take(messages: readonly Append[]): boolean {
    const alone = messages.some(({ expectStreamSeq }) => expectStreamSeq !== undefined);
    if (this.#alone || (alone && this.#touched.size > 0)) return false;
    const bound = new Map<string, number | undefined>();
    for (const { expect } of messages)
      if (expect?.subject !== undefined) bound.set(expect.subject, expect.seq);
    for (const { subject, expect, rollup } of messages) {
      if (rollup === true || bound.has(subject)) bound.set(subject, undefined);
      else if (expect !== undefined && expect.subject === undefined) bound.set(subject, undefined);
    }
    for (const [subject, seq] of bound) {
      if (this.#touched.has(subject)) return false;
      // Several writes can expect the same sequence of a subject that none of them writes.
      const same = seq !== undefined && this.#bound.get(subject) === seq;
      if (this.#bound.has(subject) && !same) return false;
    }
    for (const { subject } of messages) if (this.#bound.has(subject)) return false;
    this.#alone = alone;
    for (const [subject, seq] of bound) this.#bound.set(subject, seq);
    for (const { subject } of messages) this.#touched.add(subject);
    return true;
  }
}

/** The messages of a group. An expectation about another subject stands once in a batch. */
function messagesOf(group: readonly Waiting[]): Append[] {
  const expected = new Set<string>();
  return group.flatMap(({ messages }) =>
    messages.map((message) => {
      const elsewhere = message.expect?.subject;
      if (elsewhere === undefined || elsewhere === message.subject) return message;
      const { expect: _, ...rest } = message;
      if (expected.has(elsewhere)) return rest;
      expected.add(elsewhere);
      return message;
    }),
  );
}

/** Whether it may have been written all the same. */
function isUnsure(error: unknown): boolean {
  if (!(error instanceof AppError) || error instanceof Refused) return false;
  return error.kind === "timeout" || error.kind === "unavailable";
}

/**
 * Takes out the first that waits, and all others that may be one with it. They were sent at the same time: one that must
 * wait for another's subject holds up nobody else.
 */
function nextGroup(waiting: Waiting[]): Waiting[] {
  const subjects = new Subjects();
  let messages = 0;
  let bytes = 0;
  const group: Waiting[] = [];
  const later: Waiting[] = [];
  for (const one of waiting) {
    const fits = messages + one.messages.length <= BATCH_LIMIT && bytes + one.bytes <= MOST_BYTES;
    if ((fits || group.length === 0) && subjects.take(one.messages)) {
      messages += one.messages.length;
      bytes += one.bytes;
      group.push(one);
    } else later.push(one);
  }
  waiting.splice(0, waiting.length, ...later);
  return group;
}

/** Resolves when something is done, or that time is over. */
async function within(ms: number, work: Promise<void>): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, ms);
  await Promise.race([work, promise]);
  clearTimeout(timer);
}

/** What is written to one stream. */
class Queue {
  readonly waiting: Waiting[] = [];
  #enough = 1;
  #come: (() => void) | undefined;

  add(one: Waiting): void {
    this.waiting.push(one);
    if (this.waiting.length >= this.#enough) this.#come?.();
  }

  /**
   * Resolves when those who were answered just now, and often write again at once, wait too; or soon.
   * @param ms how long to wait for them at most
   */
  async gather(answered: number, ms: number): Promise<void> {
    const enough = this.waiting.length + answered;
    // Whoever writes alone waits for nobody.
    if (enough < 3) return;
    this.#enough = enough;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#come = resolve;
    await within(Math.min(ms, MOST_GATHER_MS), promise);
    this.#come = undefined;
  }
}

/** The same store, whose batches are written several as one. */
export function grouped(store: OpenStore): OpenStore {
  /** What waits for each stream that is being written to. */
  const queues = new Map<string, Queue>();

  async function write(stream: string, group: readonly Waiting[]): Promise<void> {
    try {
      let seq = await store.batch(stream, messagesOf(group));
      // One batch is stored without anything in between: each write ends where the one behind it begins.
      for (const one of group.toReversed()) {
        one.done(seq);
        seq -= one.messages.length;
      }
    } catch (error) {
      if (group.length === 1 || isUnsure(error)) for (const { failed } of group) failed(error);
      else {
        // Nothing was written, because of some of them: by halves, until these are alone with the answer that is theirs.
        const half = Math.ceil(group.length / 2);
        await Promise.all([write(stream, group.slice(0, half)), write(stream, group.slice(half))]);
      }
    }
  }

  async function run(stream: string, queue: Queue): Promise<void> {
    while (queue.waiting.length > 0) {
      const group = nextGroup(queue.waiting);
      const left = queue.waiting.length;
      const began = Date.now();
      await within(PATIENCE_MS, write(stream, group));
      // Writes that have waited for a whole batch already are not delayed again.
      if (left === 0) await queue.gather(group.length, Date.now() - began);
    }
    queues.delete(stream);
  }

  return {
    ...store,
    batch(stream, messages) {
      if (messages.length < 2) return store.batch(stream, messages);
      const { promise, resolve: done, reject: failed } = Promise.withResolvers<number>();
      const bytes = messages.reduce((sum, { data }) => sum + data.length, 0);
      const busy = queues.get(stream);
      const queue = busy ?? new Queue();
      queue.add({ messages, bytes, done, failed });
      if (busy === undefined) {
        queues.set(stream, queue);
        void run(stream, queue);
      }
      return promise;
    },
  };
}
