/** Limits how many readers and pages a host serves at the same time. */
import { AppError } from "../../kernel/errors.ts";
import { orbOf } from "../../store/subjects.ts";
import { FairSemaphore } from "./fair-semaphore.ts";
import type { HubLimits } from "./limits.ts";

export interface AdmissionOptions {
  limits: HubLimits;
  /**
   * Checks the limit of an application's readers.
   * @throws AppError too_many
   */
  admitToOrb: ((orb: string) => Promise<void>) | undefined;
  /** Called for each reader that is rejected because of a limit. */
  refused: () => void;
}

export class Admission {
  readonly #limits: HubLimits;
  readonly #admitToOrb: AdmissionOptions["admitToOrb"];
  readonly #refused: () => void;
  readonly #readers = new Map<string, number>();
  readonly #orbReaders = new Map<string, number>();
  readonly #pages: FairSemaphore;
  #total = 0;

  constructor({ limits, admitToOrb, refused }: AdmissionOptions) {
    this.#limits = limits;
    this.#admitToOrb = admitToOrb;
    this.#refused = refused;
    this.#pages = new FairSemaphore(limits.pages, limits.pagesPerUser);
  }

  get readers(): number {
    return this.#total;
  }

  /**
   * Counts a new reader of a stream.
   * @returns a function that removes the reader; repeated calls have no effect
   * @throws AppError too_many if the user or the application has too many readers; unavailable if this server has too
   * many
   */
  async admit(user: string, admin: boolean, stream: string): Promise<() => void> {
    const mine = this.#readers.get(user) ?? 0;
    if (mine >= this.#most(admin))
      this.#refuse(`You already read ${mine} streams, which is the limit. Close one and try again.`);
    const orb = orbOf(stream);
    if (orb !== undefined && (this.#orbReaders.get(orb) ?? 0) >= this.#limits.perOrb)
      this.#refuse(`The orb has ${this.#limits.perOrb} live readers, which is the limit. Try again later.`);
    if (this.#total >= this.#limits.total) {
      this.#refused();
      const detail = "This server is at its limit of stream readers. Try again in a few seconds.";
      throw new AppError("unavailable", "streams_full", detail, { retryAfter: 5 });
    }
    // This is the only wait between the checks and the count. Other readers may be admitted meanwhile.
    if (orb !== undefined && this.#admitToOrb !== undefined) await this.#admitToOrb(orb);
    add(this.#readers, user, 1);
    if (orb !== undefined) add(this.#orbReaders, orb, 1);
    this.#total++;
    let held = true;
    return () => {
      if (!held) return;
      held = false;
      this.#total--;
      add(this.#readers, user, -1);
      if (orb !== undefined) add(this.#orbReaders, orb, -1);
    };
  }

  /**
   * Waits until the user may load another page. The number of loaded pages is limited, because each page stays in
   * memory until it is sent.
   * @returns a function to call when the page is sent; repeated calls have no effect
   */
  pageTurn(user: string, admin: boolean): Promise<() => void> {
    const waiting = this.#pages.waitingOf(user);
    if (waiting >= this.#most(admin))
      this.#refuse(
        `You already have ${waiting} stream requests waiting, which is the limit. Wait for their responses and try again.`,
      );
    return this.#pages.take(user);
  }

  #most(admin: boolean): number {
    return admin ? this.#limits.perAdmin : this.#limits.perUser;
  }

  #refuse(detail: string): never {
    this.#refused();
    throw new AppError("too_many", "too_many_streams", detail, { retryAfter: 10 });
  }
}

function add(counts: Map<string, number>, key: string, change: 1 | -1): void {
  const count = (counts.get(key) ?? 0) + change;
  if (count <= 0) counts.delete(key);
  else counts.set(key, count);
}
