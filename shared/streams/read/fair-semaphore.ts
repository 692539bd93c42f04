/** A fair semaphore: it divides a limited amount, such as memory, among requests in the order of their arrival. */

interface Waiting {
  owner: string;
  size: number;
  urgent: boolean;
  go: () => void;
}

export class FairSemaphore {
  readonly #most: number;
  readonly #each: number;
  readonly #held = new Map<string, number>();
  #waiting: Waiting[] = [];
  #taken = 0;

  /**
   * @param most maximum total size of all running requests
   * @param each maximum total size per owner. A request that waits because its owner has reached this maximum does not
   * delay other owners.
   */
  constructor(most: number, each = most) {
    this.#most = most;
    this.#each = each;
  }

  waitingOf(owner: string): number {
    return this.#waiting.filter((waiting) => waiting.owner === owner).length;
  }

  /**
   * @param size how much the request needs, reduced to the total amount and to the owner's limit
   * @param urgent whether the request overtakes waiting requests that are not urgent
   * @returns a function that releases the share; repeated calls have no effect
   */
  async take(owner: string, size = 1, urgent = false): Promise<() => void> {
    const share = Math.min(size, this.#most, this.#each);
    if (this.#waiting.length > 0 || !this.#fits(owner, share)) {
      await new Promise<void>((go) => {
        const after = urgent ? this.#waiting.findIndex((other) => !other.urgent) : -1;
        this.#waiting.splice(after < 0 ? this.#waiting.length : after, 0, { owner, size: share, urgent, go });
        this.#next();
      });
    } else this.#hold(owner, share);
    let held = true;
    return () => {
      if (!held) return;
      held = false;
      this.#hold(owner, -share);
      this.#next();
    };
  }

  #fits(owner: string, size: number): boolean {
    return this.#taken + size <= this.#most && (this.#held.get(owner) ?? 0) + size <= this.#each;
  }

  #hold(owner: string, size: number): void {
    this.#taken += size;
    const held = (this.#held.get(owner) ?? 0) + size;
    if (held === 0) this.#held.delete(owner);
    else this.#held.set(owner, held);
  }

  #next(): void {
    for (let at = 0; at < this.#waiting.length && this.#taken < this.#most; ) {
      const waiting = this.#waiting[at];
      if (waiting === undefined) return;
      if (this.#fits(waiting.owner, waiting.size)) {
        this.#waiting.splice(at, 1);
        this.#hold(waiting.owner, waiting.size);
        waiting.go();
      } else if (this.#taken + waiting.size > this.#most) {
        // This request does not fit yet. Do not serve later, smaller ones first: a large request could then wait
        // forever.
        return;
      } else at++;
    }
  }
}
