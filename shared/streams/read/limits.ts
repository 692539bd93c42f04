/** How much a host gives its readers, and for how long. */
import type { PageLimit } from "./source.ts";

export interface HubLimits {
  /** Live readers of one user, and of one platform admin (who may speak for a whole backend). */
  perUser: number;
  perAdmin: number;
  total: number;
  /** Bytes that may wait for one slow reader before it is cut off. */
  queueBytes: number;
  /** Bytes of pages kept for readers that catch up; 0: none. */
  cacheBytes: number;
  page: PageLimit;
  /** Pages that are read and sent at once, and those of one user among them: the others wait. */
  pages: number;
  pagesPerUser: number;
}

export interface HubTimes {
  /** A live answer ends after about so many milliseconds, and the reader asks again. */
  rotateMs: number;
  /** Milliseconds between two signs of life on a quiet stream. */
  keepAliveMs: number;
  longPollMs: number;
  /** Milliseconds between two looks at a stream that nothing was heard of. */
  pollMs: number;
  /** Milliseconds that a slow reader may take to take anything at all. */
  stallMs: number;
}

export const DEFAULT_LIMITS: HubLimits = {
  perUser: 100,
  perAdmin: 6000,
  total: 10_000,
  queueBytes: 1_000_000,
  cacheBytes: 0,
  page: { messages: 10_000, bytes: 4_000_000 },
  pages: 64,
  pagesPerUser: 4,
};

export const DEFAULT_TIMES: HubTimes = {
  rotateMs: 60_000,
  keepAliveMs: 15_000,
  longPollMs: 25_000,
  pollMs: 20_000,
  stallMs: 30_000,
};
