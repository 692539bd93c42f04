/**
 * Detects dead brokers by silence on the whole connection. One slow response does not prove that the broker is dead: it
 * may be busy with other requests or a slow disk.
 */

/**
 * The number of frames received from one server, and the time until which to avoid this server. All requests of a
 * Worker share this object. It must contain only numbers, because a request in Workers cannot use I/O objects of
 * another request.
 */
export interface Liveness {
  heard: number;
  heardAtFailure: number;
  avoidedUntil: number;
}

const AVOID_MS = 5_000;
const servers = new Map<string, Liveness>();

export function livenessOf(url: string): Liveness {
  let liveness = servers.get(url);
  if (liveness === undefined) {
    liveness = { heard: 0, heardAtFailure: 0, avoidedUntil: 0 };
    servers.set(url, liveness);
  }
  return liveness;
}

/** Avoids this server for 5 seconds, or until it sends a frame. */
export function markFailed(liveness: Liveness): void {
  liveness.heardAtFailure = liveness.heard;
  liveness.avoidedUntil = Date.now() + AVOID_MS;
}

/** Returns the servers in random order, but those that failed recently last. */
export function inPreferredOrder(urls: readonly string[]): string[] {
  const now = Date.now();
  const silent = ({ heard, heardAtFailure, avoidedUntil }: Liveness) =>
    heard === heardAtFailure && now < avoidedUntil;
  return urls
    .map((url) => ({ url, rank: Math.random() + (silent(livenessOf(url)) ? 1 : 0) }))
    .sort((a, b) => a.rank - b.rank)
    .map(({ url }) => url);
}

export const CHECK_MS = 250;

/**
 * Measures how long a server has been silent. Counts timer ticks instead of milliseconds, because a busy process reads
 * frames late.
 */
export class SilenceTimer {
  #liveness: Liveness;
  #heard: number;
  #ms = 0;

  constructor(liveness: Liveness) {
    this.#liveness = liveness;
    this.#heard = liveness.heard;
  }

  follow(liveness: Liveness): void {
    this.#liveness = liveness;
    this.#heard = liveness.heard;
  }

  check(stepMs = CHECK_MS): number {
    const { heard } = this.#liveness;
    this.#ms = heard === this.#heard ? this.#ms + stepMs : 0;
    this.#heard = heard;
    return this.#ms;
  }
}

/** Calls `then` as soon as the silent broker sends a frame, or the connection changes to another broker. */
export function onceHeard(current: () => Liveness | undefined, then: () => void): void {
  const silent = current();
  const last = silent?.heard;
  const check = () => {
    const now = current();
    if (now === undefined) return;
    if (now === silent && now.heard === last) setTimeout(check, CHECK_MS);
    else then();
  };
  setTimeout(check, CHECK_MS);
}
