import type { PageLimit } from "./source.ts";

export interface HubLimits {
  /** Maximum live readers per user, and per platform admin: an admin's token may serve a whole backend. */
  perUser: number;
  perAdmin: number;
  /** Maximum live readers of one orb's streams. */
  perOrb: number;
  total: number;
  /** Disconnect a slow reader with more than this many unsent bytes. */
  queueBytes: number;
  /** Size of the page cache in bytes; 0 turns it off. */
  cacheBytes: number;
  page: PageLimit;
  /** Maximum pages in memory at the same time. Further requests wait. */
  pages: number;
  pagesPerUser: number;
}

export interface HubTimes {
  /** Live responses end after about this many milliseconds; the reader reconnects. */
  rotateMs: number;
  /** Milliseconds between keep-alive comments on a quiet stream. */
  keepAliveMs: number;
  longPollMs: number;
  /** Milliseconds between polls for messages that no notification announced. */
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
