/**
 * Runs the after-write hooks and the schedules of all applications. Only one process at a time does this: the leader
 * (see `lease.ts`). Other processes wait to take over. They must be long-running processes, because an edge function
 * ends with its request.
 */
import { isForSets } from "../../definition/document/index.ts";
import type { HandlerDeps } from "../../handlers/contract/index.ts";
import { Waker } from "../../kernel/pause.ts";
import { feedSubject } from "../../store/broker/index.ts";
import { SMALL_BYTES } from "../../store/budget.ts";
import { scanPages } from "../../store/pages.ts";
import { streams, subjects } from "../../store/subjects.ts";
import type { Subscription } from "../../store/types.ts";
import { deliverAgain } from "./again.ts";
import { callAfter, callTick } from "./call.ts";
import { Crons } from "./crons.ts";
import { Definitions } from "./definitions.ts";
import { Lease } from "./lease.ts";
import { DeliveryQueue, type QueueOptions } from "./queue.ts";
import { type Delivery, revisionsFor, type Source, setsFor, ticksOf } from "./source.ts";
import { type Post, webhookOf } from "./webhook.ts";

/**
 * Milliseconds between two renewals of the lease (the sign that this process is the leader), and between two checks for
 * changed definitions.
 */
const TICK_MS = 1_000;
/**
 * Milliseconds after which a queue of deliveries checks for new revisions, even without a notification, because one may
 * have been lost.
 */
const LOOK_MS = 10_000;
/** Milliseconds that a queue waits before it tries again after a broker error. */
const FAILED_MS = 1_000;

export interface WorkerOptions {
  /** Unique name of this process. */
  name: string;
  attempts: number;
  retryMs: number;
  post: Post;
}

interface Running {
  queue: DeliveryQueue;
  wake(): void;
  stop(): void;
  subscription: Subscription | undefined;
  ended: Promise<void>;
}

export class HookWorker {
  readonly #deps: HandlerDeps;
  readonly #limits: Pick<QueueOptions, "attempts" | "retryMs">;
  readonly #definitions: Definitions;
  readonly #crons: Crons;
  readonly #lease: Lease;
  readonly #deliver: (delivery: Delivery) => Promise<void>;
  readonly #ticking: Parameters<typeof ticksOf>[3];
  /**
   * Last sequence number of the stream when this process last looked for due schedules. Undefined until this process is
   * the leader.
   */
  #seen: number | undefined;
  /** The period of leadership for which the queues were created. Undefined while this process is not the leader. */
  #term: number | undefined;
  readonly #queues = new Map<string, Running>();
  #stopped = false;
  readonly #waker = new Waker();
  readonly #keeper = new Waker();
  #ended: Promise<void> = Promise.resolve();

  constructor(deps: HandlerDeps, { name, attempts, retryMs, post }: WorkerOptions) {
    this.#deps = deps;
    this.#definitions = new Definitions(deps);
    this.#crons = new Crons(deps);
    this.#lease = new Lease(deps, name);
    this.#deliver = async (delivery) => {
      const { url } = delivery.hook;
      if (url === undefined) await callAfter(deps, delivery);
      else await post(await webhookOf(deps, url, delivery));
    };
    this.#ticking = {
      deliver: (tick) => callTick(deps, tick),
      isLate: (schedule, at) => this.#crons.isLate(schedule, at),
    };
    this.#limits = { attempts, retryMs };
  }

  /** Whether this process is the leader, which delivers. */
  get leads(): boolean {
    return this.#lease.valid;
  }

  start(): void {
    this.#ended = Promise.all([this.#run(), this.#keep()]).then(() => undefined);
  }

  /**
   * Waits for deliveries in progress and stops. Then releases the lease, so that another process can take over without
   * delay.
   */
  async stop(): Promise<void> {
    this.#stopped = true;
    this.#waker.wake();
    this.#keeper.wake();
    await this.#ended;
    await this.#stopQueues();
    await this.#lease.release();
  }

  /** Renews the lease in a loop of its own, so that this process stays the leader during a slow delivery. */
  async #keep(): Promise<void> {
    while (!this.#stopped) {
      this.#keeper.forget();
      try {
        const idle = this.#definitions.orbs.size === 0 && this.#queues.size === 0 && this.#crons.none;
        const led = this.#lease.valid;
        if (!idle && (await this.#lease.hold()) && !led) this.#waker.wake();
      } catch (error) {
        this.#deps.log.warn("the hooks process could not renew its lease; it tries again", {
          error: String(error),
        });
      }
      if (!this.#stopped) await this.#keeper.wait(TICK_MS);
    }
  }

  async #run(): Promise<void> {
    while (!this.#stopped) {
      this.#waker.forget();
      try {
        await this.tick();
      } catch (error) {
        this.#deps.log.warn("the hooks process could not look for work; it tries again", {
          error: String(error),
        });
      }
      if (!this.#stopped) await this.#waker.wait(TICK_MS);
    }
  }

  /** Makes one pass of the loop: reloads changed definitions, updates the queues, and handles redelivery requests. */
  async tick(): Promise<void> {
    const before = this.#definitions.orbs.size;
    await this.#definitions.refresh();
    if (before === 0 && this.#definitions.orbs.size > 0) this.#keeper.wake();
    const { term } = this.#lease;
    if (term !== this.#term) {
      // A restore may have replaced the streams, so the progress in memory may be wrong. New queues read the stored
      // progress.
      await this.#stopQueues();
      this.#seen = undefined;
      // The previous leader may have changed the plans of schedules, so read them again.
      this.#crons.forget();
      this.#term = term;
    }
    await this.#crons.look();
    if (term === undefined) return;
    await this.#crons.reconcile(this.#definitions.orbs, this.#definitions.unreadable);
    await this.#wakeTicking();
    await this.#follow(this.#optionsOf(term));
    const sourceOf = (orb: string, id: string) =>
      this.#definitions.unreadable.has(orb) ? "unknown" : this.#sourceOf(orb, id);
    await deliverAgain(this.#deps, sourceOf, this.#optionsOf(term));
  }

  #optionsOf(term: number): QueueOptions {
    const leads = () => this.#lease.term === term;
    return { ...this.#limits, leads, valid: () => !this.#stopped && leads() };
  }

  /**
   * Wakes the queues of the schedules that have come due. The broker sends no notifications for this stream, so read
   * it.
   */
  async #wakeTicking(): Promise<void> {
    const { store } = this.#deps;
    // At the first read, start at the end of the stream, because each queue reads the earlier due times itself.
    this.#seen ??= (await store.streamInfo(streams.hooks))?.state.last_seq ?? 0;
    if (this.#crons.none) return;
    const read = (fromSeq: number) =>
      store.scan(streams.hooks, subjects.allHookTicks, { fromSeq, limit: 200, maxBytes: SMALL_BYTES });
    for await (const messages of scanPages(read, { fromSeq: this.#seen + 1 })) {
      const ticking = new Set(messages.map(({ subject }) => subject));
      for (const { queue, wake } of this.#queues.values()) if (ticking.has(queue.source.filter)) wake();
      this.#seen = messages.at(-1)?.seq ?? this.#seen;
    }
  }

  #sourceOf(orb: string, id: string): Source | undefined {
    return this.#sourcesOf(orb).find((source) => source.id === id);
  }

  #sourcesOf(orb: string): Source[] {
    const found = this.#definitions.orbs.get(orb);
    if (found === undefined) return [];
    const { live, hooks, schedules } = found;
    const ticks = schedules.flatMap((schedule) => {
      const since = this.#crons.since(live, schedule);
      if (since === undefined) return [];
      return [ticksOf(live, schedule, since, this.#ticking)];
    });
    const called = hooks.map(({ hook, since }) =>
      (isForSets(hook) ? setsFor : revisionsFor)(live, hook, since, this.#deliver),
    );
    return [...called, ...ticks];
  }

  /** Starts, updates and stops delivery queues, so that each hook and each schedule has exactly one. */
  async #follow(options: QueueOptions): Promise<void> {
    const wanted = new Set<string>();
    for (const orb of this.#definitions.orbs.keys()) {
      for (const source of this.#sourcesOf(orb)) {
        const { id, origin, since, live, filter } = source;
        const key = `${orb} ${id} ${origin} ${filter} ${since} ${live.fence?.incarnation}`;
        wanted.add(key);
        const running = this.#queues.get(key);
        if (running === undefined)
          this.#queues.set(key, this.#begin(key, new DeliveryQueue(this.#deps, source, options), options));
        else running.queue.source = source;
      }
    }
    const gone = [...this.#queues].filter(([key]) => !wanted.has(key));
    for (const [key] of gone) this.#queues.delete(key);
    await ended(gone.map(([, queue]) => queue));
  }

  async #stopQueues(): Promise<void> {
    const queues = [...this.#queues.values()];
    this.#queues.clear();
    await ended(queues);
  }

  #begin(key: string, queue: DeliveryQueue, { valid }: QueueOptions): Running {
    let stopped = false;
    const waker = new Waker();
    const stop = () => {
      stopped = true;
      waker.wake();
    };
    const run = async () => {
      while (!stopped) {
        waker.forget();
        try {
          if (await queue.round()) continue;
          const due = (queue.due ?? Number.POSITIVE_INFINITY) - this.#deps.clock.now();
          await waker.wait(valid() ? Math.max(0, Math.min(LOOK_MS, due)) : TICK_MS);
        } catch (error) {
          this.#deps.log.warn("a hook could not deliver; it tries again", {
            orb: queue.source.live.orb,
            error: String(error),
          });
          if (!stopped) await waker.wait(FAILED_MS);
        }
      }
    };
    // Without a subscription, this queue would miss new deliveries. Remove it; the worker soon starts another one.
    const lost = () => {
      stop();
      if (this.#queues.get(key)?.queue === queue) this.#queues.delete(key);
    };
    const wake = () => waker.wake();
    const { origin, filter } = queue.source;
    const subscription =
      origin === "ticks" ? undefined : this.#deps.store.subscribe(feedSubject(filter), wake, lost);
    return { queue, wake, stop, subscription, ended: run() };
  }
}

async function ended(queues: readonly Running[]): Promise<void> {
  for (const { stop, subscription } of queues) {
    stop();
    subscription?.unsubscribe();
  }
  await Promise.all(queues.map((queue) => queue.ended));
}
