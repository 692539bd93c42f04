/**
 * Publishes scheduled change sets when their time comes, in a long-lived process. What is scheduled is stored in the
 * broker, so a process that starts late finds it. Several processes may run: a set is published once.
 */
import type { Deps } from "../../deps.ts";
import { feedSubject } from "../../store/broker/index.ts";
import { SMALL_BYTES } from "../../store/budget.ts";
import { Keeper } from "../../store/keeper.ts";
import { nullIfMissing, pagesOf, scanPages } from "../../store/pages.ts";
import { lastToken, streams, subjects } from "../../store/subjects.ts";
import type { StoredMessage } from "../../store/types.ts";
import type { DueSet } from "../record/index.ts";
import { tryDue } from "./due.ts";

/** Milliseconds between two looks at the sets whose time has come. */
const LOOK_MS = 1_000;
/** Milliseconds between two reads of what is scheduled, in case that the broker's notifications were lost. */
const LOOK_AT_ALL_MS = 300_000;
/** Milliseconds until the next look at a set or at an application after a failure. */
const FIRST_PAUSE_MS = 2_000;
const LONGEST_PAUSE_MS = 120_000;
/** Milliseconds for which an application rests whose schedule could not be read. */
const REST_MS = 10_000;
const AT_ONCE = 200;
/** Maximum number of applications whose sets are published at the same time. */
const ORBS_AT_ONCE = 8;

/** A set that was scheduled. */
interface Scheduled {
  orb: string;
  set: string;
  /** Sequence number of the message that says so. */
  seq: number;
  /** Milliseconds since the epoch: the planned time, or that of the next attempt. */
  at: number;
  /** Failures since this process has read the message. */
  failures: number;
}

const pauseAfter = (failures: number) => Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** failures);

const EVERY = feedSubject(subjects.everyChangeDue);
/** Characters that the subject of a notification has before that of the stored message. */
const PREFIX = EVERY.length - subjects.everyChangeDue.length;

const orbOf = (subject: string) => subject.slice(0, subject.indexOf("."));

export class ScheduleKeeper extends Keeper {
  readonly #deps: Deps;
  readonly #scheduled = new Map<string, Scheduled>();
  /** Sets about which the broker has sent a notification since the last look. */
  readonly #named = new Set<string>();
  /** The applications whose sets are being read or published. One that is slow must not hold the others. */
  readonly #busy = new Map<string, Promise<void>>();
  /** Until when applications rest whose schedule could not be read. */
  readonly #resting = new Map<string, number>();
  #readingAll: Promise<void> | undefined;

  constructor(deps: Deps) {
    // A look does not wait for the applications that are still busy.
    super(deps.store, { subject: EVERY, lookMs: LOOK_MS, lookAtAllMs: LOOK_AT_ALL_MS, overlaps: true });
    this.#deps = deps;
  }

  /** Waits until the publications in progress are done. */
  override async stop(): Promise<void> {
    await super.stop();
    await Promise.allSettled([this.#readingAll, ...this.#busy.values()]);
  }

  protected override failed(error: unknown): void {
    this.#deps.log.warn("the scheduled change sets could not be looked at; the next look tries again", {
      error: String(error),
    });
  }

  /** Publishes the sets whose time has come, except for those of applications at which an earlier look still is. */
  override async look(): Promise<void> {
    if (this.follow() && this.#readingAll === undefined) {
      this.#readingAll = this.#readAll().finally(() => {
        this.#readingAll = undefined;
      });
      await this.#readingAll;
    }
    const now = this.#deps.clock.now();
    const due = [...this.#scheduled.values()].filter(({ at }) => at <= now);
    const orbs = new Set([...[...this.#named].map(orbOf), ...due.map(({ orb }) => orb)]);
    const works = [...orbs]
      .filter((orb) => !this.#busy.has(orb) && (this.#resting.get(orb) ?? 0) <= now)
      .slice(0, Math.max(0, ORBS_AT_ONCE - this.#busy.size))
      .map((orb) => {
        const work = this.#lookAt(orb).finally(() => this.#busy.delete(orb));
        this.#busy.set(orb, work);
        return work;
      });
    await Promise.all(works);
  }

  /** Reads what has changed in the schedule of an application, and publishes its sets whose time has come. */
  async #lookAt(orb: string): Promise<void> {
    this.#resting.delete(orb);
    for (const subject of [...this.#named].filter((named) => orbOf(named) === orb)) {
      // A notification that comes during the read adds the set again.
      this.#named.delete(subject);
      try {
        await this.#read(subject);
      } catch (error) {
        this.#named.add(subject);
        this.#resting.set(orb, this.#deps.clock.now() + REST_MS);
        this.#warn("a scheduled change set could not be read", orb, error);
      }
    }
    for (const [subject, scheduled] of [...this.#scheduled]) {
      if (this.isEnding) return;
      if (scheduled.orb === orb && scheduled.at <= this.#deps.clock.now())
        await this.#publish(subject, scheduled);
    }
  }

  #warn(message: string, orb: string, error: unknown, more: object = {}): void {
    this.#deps.log.warn(message, { orb, ...more, error: String(error) });
  }

  protected override take(subject: string): void {
    this.#named.add(subject.slice(PREFIX));
  }

  async #readAll(): Promise<void> {
    const { store } = this.#deps;
    const now = Date.now();
    // If the broker does not answer, the next read comes after the rest, not with the next look.
    this.sawAll(now - LOOK_AT_ALL_MS + REST_MS);
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
          this.#warn("the scheduled change sets of an application could not be read", orb, error);
        }
      }
    }
    this.sawAll(now);
  }

  async #readOrb(orb: string): Promise<void> {
    const page = { limit: AT_ONCE, maxBytes: SMALL_BYTES };
    for await (const messages of pagesOf(this.#deps.store, streams.orb(orb), subjects.changesDue(orb), page))
      for (const message of messages) this.#keep(message);
  }

  async #read(subject: string): Promise<void> {
    const orb = orbOf(subject);
    const message = await nullIfMissing(this.#deps.store.get(streams.orb(orb), subject));
    if (message === null) this.#scheduled.delete(subject);
    else this.#keep(message);
  }

  #keep(message: StoredMessage): void {
    const { subject, seq, size } = message;
    if (this.#scheduled.get(subject)?.seq === seq) return;
    this.#scheduled.delete(subject);
    if (size === 0) return;
    const [orb = "", , set = ""] = subject.split(".");
    const { at, next = at } = message.json<DueSet>();
    this.#scheduled.set(subject, { orb, set, seq, at: Date.parse(next), failures: 0 });
  }

  async #publish(subject: string, scheduled: Scheduled): Promise<void> {
    const { orb, set } = scheduled;
    try {
      const outcome = await tryDue(this.#deps, orb, set);
      if (outcome === "published" || outcome === "refused" || outcome === "over")
        this.#scheduled.delete(subject);
      // The notification about another time, or about the next attempt, may have been lost.
      else await this.#read(subject);
    } catch (error) {
      this.#warn("a scheduled change set could not be published; another attempt follows", orb, error, {
        change: set,
      });
    }
    // Unless the message names a later time, for example because the application is damaged.
    scheduled.at = this.#deps.clock.now() + pauseAfter(scheduled.failures);
    scheduled.failures += 1;
  }
}
