/**
 * Signs of life of the brokers. How long an answer may take says little: with many requests at once it is a queue of our
 * own making, and a broker has elections and slow disks. That nobody here hears anything at all says more.
 */

/** What all connections of this process or isolate know of one server: numbers, as requests may share nothing else. */
export interface Pulse {
  /** Frames that came from it. */
  heard: number;
  /** `heard` when somebody gave up on it, and until when (ms) others are tried first; 0 when nobody did. */
  shunnedAt: number;
  shunnedUntil: number;
}

const SHUN_MS = 5_000;
const pulses = new Map<string, Pulse>();

/** The signs of life of a server by its address: there are as many as are configured. */
export function pulseOf(url: string): Pulse {
  let pulse = pulses.get(url);
  if (pulse === undefined) {
    pulse = { heard: 0, shunnedAt: 0, shunnedUntil: 0 };
    pulses.set(url, pulse);
  }
  return pulse;
}

/** Lets others be tried first for a while, unless it is heard again. */
export function shun(pulse: Pulse): void {
  pulse.shunnedAt = pulse.heard;
  pulse.shunnedUntil = Date.now() + SHUN_MS;
}

/** Servers in random order; those that were silent just now come last. */
export function inOrder(urls: readonly string[]): string[] {
  const now = Date.now();
  const silent = ({ heard, shunnedAt, shunnedUntil }: Pulse) => heard === shunnedAt && now < shunnedUntil;
  return urls
    .map((url) => ({ url, rank: Math.random() + (silent(pulseOf(url)) ? 1 : 0) }))
    .sort((a, b) => a.rank - b.rank)
    .map(({ url }) => url);
}

/** Milliseconds between two looks at whether anything was heard. */
export const LOOK_MS = 250;

/** How long a server has been silent. It is counted in looks, so that whoever is too busy to look blames nobody. */
export class Silence {
  #pulse: Pulse;
  #heard: number;
  #ms = 0;

  constructor(pulse: Pulse) {
    this.#pulse = pulse;
    this.#heard = pulse.heard;
  }

  /** Goes on with another server, of which nothing was heard either. */
  follow(pulse: Pulse): void {
    this.#pulse = pulse;
    this.#heard = pulse.heard;
  }

  /** One look. @returns milliseconds of silence up to now */
  look(stepMs = LOOK_MS): number {
    const { heard } = this.#pulse;
    this.#ms = heard === this.#heard ? this.#ms + stepMs : 0;
    this.#heard = heard;
    return this.#ms;
  }
}

/**
 * Calls `then` once a silent broker is heard again, or another one is connected to.
 * @param current the broker that is connected to; undefined ends the wait without a call
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
