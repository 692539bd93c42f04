/**
 * Publishes scheduled change sets when their time comes, in a long-lived process. What is scheduled is stored in the
 * broker, so a process that starts late finds it. Several processes may run: a set is published once.
 */
import type { Deps } from "../../deps.ts";
import { nullIfMissing } from "../../entry/model/resolve.ts";
import { pause } from "../../kernel/pause.ts";
import { feedSubject } from "../../store/broker/provision.ts";
import { SMALL_BYTES } from "../../store/budget.ts";
import { nullOnConflict, scanPages } from "../../store/pages.ts";
import { lastToken, streams, subjects } from "../../store/subjects.ts";
import type { StoredMessage, Subscription } from "../../store/types.ts";
import type { DueSet } from "../record/record.ts";
import { publishDue } from "./due.ts";

/** Milliseconds between two looks at the sets whose time has come. */
const LOOK_MS = 1_000;
/** Milliseconds between two reads of what is scheduled, in case that the broker's notifications were lost. */
const LOOK_AT_ALL_MS = 300_000;
/** Attempts of a publication whose errors may be gone soon, such as a handler that does not answer. */
const ATTEMPTS = 8;
const FIRST_PAUSE_MS = 2_000;
const LONGEST_PAUSE_MS = 120_000;
const REMOVED_SECONDS = 1;
const AT_ONCE = 200;

/** A set that was scheduled. */
interface Scheduled {
  orb: string;
  set: string;
  /** Sequence number of the message that says so. */
  seq: number;
  /** Milliseconds since the epoch: the planned time, or that of the next attempt. */
  at: number;
  attempts: number;
}

export class ScheduleKeeper {
  readonly #deps: Deps;
  readonly #scheduled = new Map<string, Scheduled>();
  /** Sets about which the broker has sent a notification since the last look. */
  readonly #named = new Set<string>();
  readonly #waiting = new AbortController();
  #subscription: Subscription | undefined;
  #lookedAtAll = Number.NEGATIVE_INFINITY;
  #ended: Promise<void> = Promise.resolve();

  constructor(deps: Deps) {
    this.#deps = deps;
  }

  start(): void {
    this.#ended = this.#run();
  }

  /** Waits until the publication in progress is done. */
  async stop(): Promise<void> {
    this.#waiting.abort();
    this.#subscription?.unsubscribe();
    await this.#ended;
  }

  async #run(): Promise<void> {
    const { signal } = this.#waiting;
    while (!signal.aborted) {
      try {
        await this.look();
      } catch (error) {
        this.#deps.log.warn("the scheduled change sets could not be looked at; the next look tries again", {
          error: String(error),
        });
      }
      await pause(LOOK_MS, signal);
    }
  }

  /** Publishes the sets whose time has come. */
  async look(): Promise<void> {
    this.#follow();
    if (Date.now() - this.#lookedAtAll > LOOK_AT_ALL_MS) await this.#readAll();
    for (const subject of [...this.#named]) {
      // A notification that comes during the read adds the set again.
      this.#named.delete(subject);
      await this.#read(subject).catch((error: unknown) => {
        this.#named.add(subject);
        throw error;
      });
    }
    for (const [subject, scheduled] of [...this.#scheduled]) {
      if (this.#waiting.signal.aborted) return;
      if (scheduled.at <= this.#deps.clock.now()) await this.#publish(subject, scheduled);
    }
  }

  #follow(): void {
    if (this.#subscription !== undefined) return;
    const lost = () => {
      this.#subscription = undefined;
      this.#lookedAtAll = Number.NEGATIVE_INFINITY;
    };
    const every = feedSubject(subjects.everyChangeDue);
    const prefix = every.length - subjects.everyChangeDue.length;
    const take = ({ subject }: { subject: string }) => void this.#named.add(subject.slice(prefix));
    this.#subscription = this.#deps.store.subscribe(every, take, lost);
  }

  async #readAll(): Promise<void> {
    const { store, log } = this.#deps;
    const now = Date.now();
    const page = { limit: AT_ONCE, maxBytes: SMALL_BYTES };
    const read = (fromSeq: number) =>
      store.scan(streams.platform, subjects.allOrbPlaces, { fromSeq, ...page });
    for await (const places of scanPages(read)) {
      for (const place of places.filter(({ size }) => size > 0)) {
        const orb = lastToken(place.subject);
        try {
          await this.#readOrb(orb);
        } catch (error) {
          // One damaged application must not keep the sets of others from being published.
          log.warn("the scheduled change sets of an application could not be read", {
            orb,
            error: String(error),
          });
        }
      }
    }
    this.#lookedAtAll = now;
  }

  async #readOrb(orb: string): Promise<void> {
    const read = async (fromSeq: number) =>
      (await nullIfMissing(
        this.#deps.store.scan(streams.orb(orb), subjects.changesDue(orb), {
          fromSeq,
          limit: AT_ONCE,
          maxBytes: SMALL_BYTES,
        }),
      )) ?? { messages: [], pending: 0 };
    for await (const messages of scanPages(read)) for (const message of messages) this.#take(message);
  }

  async #read(subject: string): Promise<void> {
    const [orb = ""] = subject.split(".");
    const message = await nullIfMissing(this.#deps.store.get(streams.orb(orb), subject));
    if (message === null) this.#scheduled.delete(subject);
    else this.#take(message);
  }

  #take(message: StoredMessage): void {
    const { subject, seq, size } = message;
    if (this.#scheduled.get(subject)?.seq === seq) return;
    this.#scheduled.delete(subject);
    if (size === 0) return;
    const [orb = "", , set = ""] = subject.split(".");
    const at = Date.parse(message.json<DueSet>().at);
    this.#scheduled.set(subject, { orb, set, seq, at, attempts: 0 });
  }

  async #publish(subject: string, scheduled: Scheduled): Promise<void> {
    const { clock, log } = this.#deps;
    const { orb, set, attempts } = scheduled;
    try {
      const outcome = await publishDue(this.#deps, orb, set, { isLast: attempts + 1 >= ATTEMPTS });
      // The set was scheduled for another time. The notification about it may have been lost.
      if (outcome === "early") await this.#read(subject);
      else if (outcome !== "changed") await this.#remove(subject, scheduled);
    } catch (error) {
      scheduled.attempts += 1;
      scheduled.at = clock.now() + Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** attempts);
      log.warn("a scheduled change set could not be published; another attempt follows", {
        orb,
        change: set,
        error: String(error),
      });
    }
  }

  /** Removes the message about a set, unless the set was scheduled again meanwhile. */
  async #remove(subject: string, { orb, seq }: Scheduled): Promise<void> {
    this.#scheduled.delete(subject);
    const gone = { subject, data: "", rollup: true, ttl: REMOVED_SECONDS, expect: { seq } };
    await nullOnConflict(nullIfMissing(this.#deps.store.append(streams.orb(orb), gone)));
  }
}
