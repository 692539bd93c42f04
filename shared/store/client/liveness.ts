/**
 * Liveness of the brokers. A slow response alone proves little: with many concurrent requests it waits in a queue of
 * ours, and a broker has elections and slow disks. Complete silence proves more.
 */

/**
 * Facts about one server that all connections of this process or isolate share. Requests must not share anything but
 * numbers.
 */
export interface Liveness {
  /** Number of frames received from it. */
  heard: number;
  /** `heard` when the server last failed, and until when (ms) other servers are preferred; 0 if it never failed. */
  heardAtFailure: number;
  avoidedUntil: number;
}

const AVOID_MS = 5_000;
const servers = new Map<string, Liveness>();

/** Liveness of a server by its URL. There are only as many as are configured. */
export function livenessOf(url: string): Liveness {
  let liveness = servers.get(url);
  if (liveness === undefined) {
    liveness = { heard: 0, heardAtFailure: 0, avoidedUntil: 0 };
    servers.set(url, liveness);
  }
  return liveness;
}

/** Prefers other servers for a while, unless this one sends something. */
export function markFailed(liveness: Liveness): void {
  liveness.heardAtFailure = liveness.heard;
  liveness.avoidedUntil = Date.now() + AVOID_MS;
}

/** Servers in random order, with those that failed recently at the end. */
export function inPreferredOrder(urls: readonly string[]): string[] {
  const now = Date.now();
  const silent = ({ heard, heardAtFailure, avoidedUntil }: Liveness) =>
    heard === heardAtFailure && now < avoidedUntil;
  return urls
    .map((url) => ({ url, rank: Math.random() + (silent(livenessOf(url)) ? 1 : 0) }))
    .sort((a, b) => a.rank - b.rank)
    .map(({ url }) => url);
}

/** Milliseconds between two liveness checks. */
export const CHECK_MS = 250;

/** How long a server has been silent. Counts checks, not time, so that a busy process does not blame the server. */
export class SilenceTimer {
  #liveness: Liveness;
  #heard: number;
  #ms = 0;

  constructor(liveness: Liveness) {
    this.#liveness = liveness;
    this.#heard = liveness.heard;
  }

  /** Continues with another server. */
  follow(liveness: Liveness): void {
    this.#liveness = liveness;
    this.#heard = liveness.heard;
  }

  /** One check. @returns milliseconds of silence so far */
  check(stepMs = CHECK_MS): number {
    const { heard } = this.#liveness;
    this.#ms = heard === this.#heard ? this.#ms + stepMs : 0;
    this.#heard = heard;
    return this.#ms;
  }
}

/**
 * Calls `then` once a silent broker sends something again, or once another broker takes its place.
 * @param current returns the connected broker; undefined ends the wait without a call
 */
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
