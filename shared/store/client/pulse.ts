/**
 * Liveness of the brokers. A slow response alone proves little: with many concurrent requests it waits in a queue of
 * ours, and a broker has elections and slow disks. Complete silence proves more.
 */

/**
 * Facts about one server that all connections of this process or isolate share. Requests must not share anything but
 * numbers.
 */
export interface Pulse {
  /** Number of frames received from it. */
  heard: number;
  /** `heard` when the server last failed, and until when (ms) other servers are preferred; 0 if it never failed. */
  shunnedAt: number;
  shunnedUntil: number;
}

const SHUN_MS = 5_000;
const pulses = new Map<string, Pulse>();

/** Liveness of a server by its URL. There are only as many as are configured. */
export function pulseOf(url: string): Pulse {
  let pulse = pulses.get(url);
  if (pulse === undefined) {
    pulse = { heard: 0, shunnedAt: 0, shunnedUntil: 0 };
    pulses.set(url, pulse);
  }
  return pulse;
}

/** Prefers other servers for a while, unless this one sends something. */
export function shun(pulse: Pulse): void {
  pulse.shunnedAt = pulse.heard;
  pulse.shunnedUntil = Date.now() + SHUN_MS;
}

/** Servers in random order, with those that failed recently at the end. */
export function inOrder(urls: readonly string[]): string[] {
  const now = Date.now();
  const silent = ({ heard, shunnedAt, shunnedUntil }: Pulse) => heard === shunnedAt && now < shunnedUntil;
  return urls
    .map((url) => ({ url, rank: Math.random() + (silent(pulseOf(url)) ? 1 : 0) }))
    .sort((a, b) => a.rank - b.rank)
    .map(({ url }) => url);
}

/** Milliseconds between two liveness checks. */
export const LOOK_MS = 250;

/** How long a server has been silent. Counts checks, not time, so that a busy process does not blame the server. */
export class Silence {
  #pulse: Pulse;
  #heard: number;
  #ms = 0;

  constructor(pulse: Pulse) {
    this.#pulse = pulse;
    this.#heard = pulse.heard;
  }

  /** Continues with another server. */
  follow(pulse: Pulse): void {
    this.#pulse = pulse;
    this.#heard = pulse.heard;
  }

  /** One check. @returns milliseconds of silence so far */
  look(stepMs = LOOK_MS): number {
    const { heard } = this.#pulse;
    this.#ms = heard === this.#heard ? this.#ms + stepMs : 0;
    this.#heard = heard;
    return this.#ms;
  }
}

/**
 * Calls `then` once a silent broker sends something again, or once another broker takes its place.
 * @param current returns the connected broker; undefined ends the wait without a call
 */
export function whenHeard(current: () => Pulse | undefined, then: () => void): void {
  const silent = current();
  const last = silent?.heard;
  const look = () => {
    const now = current();
    if (now === undefined) return;
    if (now === silent && now.heard === last) setTimeout(look, LOOK_MS);
    else then();
  };
  setTimeout(look, LOOK_MS);
}
