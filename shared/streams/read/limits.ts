import type { PageLimit } from "./source.ts";

export interface HubLimits {
  /**
   * Maximum simultaneous readers of new messages per user, and per platform admin. Admins get more, because a whole
   * backend may use one admin's token.
   */
  perUser: number;
  perAdmin: number;
  /** Maximum simultaneous readers of new messages per application. */
  perOrb: number;
  total: number;
  /** Disconnect a slow reader for which more than this many bytes are waiting to be sent. */
  queueBytes: number;
  /** Maximum bytes of cached pages; 0 turns the cache off. */
  cacheBytes: number;
  page: PageLimit;
  /** Maximum pages in memory at the same time. Further requests wait. */
  pages: number;
  pagesPerUser: number;
}

export interface HubTimes {
  /** A response that waits for new messages ends after about this many milliseconds. The client then reconnects. */
  rotateMs: number;
  /** Milliseconds between keep-alive comments on a quiet stream. */
  keepAliveMs: number;
  longPollMs: number;
  /** Milliseconds between two searches for messages of which the broker's notification was lost. */
  pollMs: number;
  /** Disconnect a reader that accepts no data for this many milliseconds. */
  stallMs: number;
}

export const DEFAULT_LIMITS: HubLimits = {
  perUser: 100,
  perAdmin: 6000,
  perOrb: 5000,
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
