/**
 * Group commit: writes that arrive while a batch is being committed are combined into the next batch. The broker
 * flushes its disk once per batch, so ten writes in one batch take little more time than a single write.
 */
import { isUnsure } from "../errors.ts";
import { type Append, BATCH_LIMIT } from "../types.ts";
import type { OpenStore } from "./store.ts";

/** Maximum bytes of all message bodies in one batch. */
const MOST_BYTES = 1024 * 1024;
/**
 * Maximum milliseconds that a batch waits for more writes to join it. Clients often write again as soon as they get a
 * response.
 */
const MOST_GATHER_MS = 20;
/** After this many milliseconds, the next batch starts even if the previous one has not finished. */
const PATIENCE_MS = 50;

interface Waiting {
  messages: readonly Append[];
  bytes: number;
  done: (seq: number) => void;
  failed: (error: unknown) => void;
}

/**
 * The subjects that the writes of a batch change, and the subjects whose last sequence number they expect. The broker
 * rejects a batch in which one write changes a subject and another expects its last sequence. Such writes go into
 * different batches.
 */
class Subjects {
  readonly #touched = new Set<string>();
  readonly #bound = new Map<string, number | undefined>();
  #alone = false;

  take(messages: readonly Append[]): boolean {
    const alone = messages.some(({ expectStreamSeq }) => expectStreamSeq !== undefined);
    if (this.#alone || (alone && this.#touched.size > 0)) return false;
    for (const message of messages) if (!this.#admits(message)) return false;
    this.#alone = alone;
    for (const message of messages) {
      this.#touched.add(message.subject);
      if (bindsOwn(message)) this.#bound.set(message.subject, undefined);
    }
    for (const { expect } of messages) {
      if (expect?.subject === undefined) continue;
      // A write may both change a subject and expect its last sequence. No other write in the batch may then expect a
      // sequence number of the same subject, because the broker would reject the batch.
      this.#bound.set(expect.subject, this.#touched.has(expect.subject) ? undefined : expect.seq);
    }
    return true;
  }

  #admits(message: Append): boolean {
    const { subject, expect } = message;
    if (this.#bound.has(subject) || (bindsOwn(message) && this.#touched.has(subject))) return false;
    if (expect?.subject === undefined) return true;
    if (this.#touched.has(expect.subject)) return false;
    return !this.#bound.has(expect.subject) || this.#bound.get(expect.subject) === expect.seq;
  }
}

/**
 * Returns whether the message replaces all messages of its subject, or expects a certain last message there. Another
 * write in the same batch must not change that subject.
 */
function bindsOwn({ expect, rollup }: Append): boolean {
  return rollup === true || (expect !== undefined && expect.subject === undefined);
}

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

async function within(ms: number, work: Promise<void>): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, ms);
  await Promise.race([work, promise]);
  clearTimeout(timer);
}

class Queue {
  readonly waiting: Waiting[] = [];
  #enough = 1;
  #come: (() => void) | undefined;

  add(one: Waiting): void {
    this.waiting.push(one);
    if (this.waiting.length >= this.#enough) this.#come?.();
  }

  /**
   * Waits for further writes, at most `ms` milliseconds. Clients often write again as soon as they get a response. So
   * this method waits for as many new writes as the previous batch contained.
   */
  async gather(answered: number, ms: number): Promise<void> {
    const enough = this.waiting.length + answered;
    if (enough < 3) return;
    this.#enough = enough;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#come = resolve;
    await within(Math.min(ms, MOST_GATHER_MS), promise);
    this.#come = undefined;
  }
}

/** Returns a store that combines concurrent batches (group commit). */
export function withGroupCommit(store: OpenStore): OpenStore {
  const queues = new Map<string, Queue>();

  async function write(stream: string, group: readonly Waiting[]): Promise<void> {
    try {
      let seq = await store.batch(stream, messagesOf(group));
      // The broker returns the last sequence number of the batch. The numbers are consecutive, so count backwards to
      // get the number of each write.
      for (const one of group.toReversed()) {
        one.done(seq);
        seq -= one.messages.length;
      }
    } catch (error) {
      if (group.length === 1 || isUnsure(error)) for (const { failed } of group) failed(error);
      else {
        // One failing write makes the broker reject the whole batch. Split the batch in halves until each failing write
        // is found.
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
