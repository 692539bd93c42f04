/** What every verb gets handed: nothing in shared/ reaches for the outside by itself. */
import type { Store } from "./store/types.ts";

/** Milliseconds since the epoch. On deployed Workers it stands still between I/O: read it after the broker's answer. */
export interface Clock {
  now(): number;
}

/** Structured log; values are facts about the request, never what users wrote and never a secret. */
export interface Log {
  debug(message: string, fields?: Record<string, unknown>): void;
  info(message: string, fields?: Record<string, unknown>): void;
  warn(message: string, fields?: Record<string, unknown>): void;
  error(message: string, fields?: Record<string, unknown>): void;
}

/** Quotas; 0: no limit. Calls without sign-in count for the network address instead of an account. */
export interface Quotas {
  /** Length of the window for writes and calls. */
  windowSeconds: number;
  /** Length of the window for bytes. */
  longWindowSeconds: number;
  accountWrites: number;
  orbWrites: number;
  accountCalls: number;
  orbCalls: number;
  /** Bytes of values that an account may write in a long window. */
  accountBytes: number;
  /** Bytes that an orb may store. */
  orbBytes: number;
  /** Conflicts over unique sensitive values in a window. */
  accountConflicts: number;
  /** Live readers of one user, and of one platform admin. */
  readersPerUser: number;
  readersPerAdmin: number;
}

/** Settings, parsed once where a host starts (functions/env.ts). Secrets are only ever read by the code that uses them. */
export interface Config {
  /** Origin of pages, links and WebAuthn, without a trailing slash. */
  publicUrl: string;
  /** Origins that browsers may call from, beside that of `publicUrl`; `*` allows all without cookies. */
  allowedOrigins: readonly string[];
  /** Replicas of every stream and bucket. */
  replicas: number;
  /** Private Ed25519 JWKs as JSON (an array): the first signs, all verify. */
  jwtSigningKeys: string;
  /** 256-bit keys as JSON, `[{ "kid", "k" }]`: the first seals, all open. */
  encryptionKeys: string;
  /** 256-bit base64url keys of the HMAC that claims unique sensitive values: under each of them. The first tells requests apart. */
  claimKeys: readonly string[];
  /** Where the streams service lives when a process of its own serves it. */
  streamsUrl: string | undefined;
  /** Milliseconds that a long-poll waits. */
  longPollMs: number;
  /** Bearer token that may scrape metrics. */
  metricsToken: string | undefined;
  quotas: Quotas;
  /** Address of every client, where the host knows that it is the only one (local emulation). */
  clientAddress: string | undefined;
}

/** Who asks, for log and audit. */
export interface RequestFacts {
  requestId: string;
  traceparent: string | undefined;
  /** Client address as the host vouches for it; "unknown" otherwise. */
  client: string;
}

export interface Deps {
  store: Store;
  clock: Clock;
  log: Log;
  config: Config;
  request: RequestFacts;
  /** New ids: compact, unique, URL-safe, sortable by creation time, beginning with a digit. */
  newId: () => string;
  /** Unguessable URL-safe text of so many bytes. */
  randomToken: (bytes: number) => string;
  /** Work that may go on after the answer was sent, and before the connection is given back. */
  afterwards: (work: Promise<unknown>) => void;
  /**
   * Told when what was read will mean something else without anybody writing (milliseconds since 1970), by those hosts
   * that give an answer again while nothing has changed.
   */
  expires?: (time: number) => void;
}
