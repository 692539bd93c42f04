/** Dependencies of every verb. Code in shared/ accesses nothing else outside of it. */
import type { Store } from "./store/types.ts";

/** Milliseconds since the epoch. On deployed Workers it advances only with I/O, so read it after a broker response. */
export interface Clock {
  now(): number;
}

/** Structured log. Fields must be facts about the request, never user content and never a secret. */
export interface Log {
  debug(message: string, fields?: Record<string, unknown>): void;
  info(message: string, fields?: Record<string, unknown>): void;
  warn(message: string, fields?: Record<string, unknown>): void;
  error(message: string, fields?: Record<string, unknown>): void;
}

/** Quotas; 0 means no limit. Anonymous calls count for the network address instead of an account. */
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
  /** Live readers of one orb's streams. */
  readersPerOrb: number;
}

/** Settings, parsed once by the host (functions/env.ts). Only the code that uses a secret reads it. */
export interface Config {
  /** Origin of pages, links and WebAuthn, without a trailing slash. */
  publicUrl: string;
  /** Further origins that browsers may call from; `*` allows all origins without cookies. */
  allowedOrigins: readonly string[];
  /** Number of replicas of every stream and bucket. */
  replicas: number;
  /** Private Ed25519 JWKs as a JSON array. The first signs, all verify. */
  jwtSigningKeys: string;
  /** 256-bit keys as JSON, `[{ "kid", "k" }]`. The first encrypts, all decrypt. */
  encryptionKeys: string;
  /**
   * 256-bit base64url keys for the HMAC of unique sensitive values, one index key under each. The first also identifies
   * repeated requests.
   */
  claimKeys: readonly string[];
  /** URL of the streams process, if there is one. */
  streamsUrl: string | undefined;
  /** Time limit of a long-poll in milliseconds. */
  longPollMs: number;
  /** Bearer token that may read metrics. */
  metricsToken: string | undefined;
  quotas: Quotas;
  /** Address of every client, if the host knows that there is only one (local emulation). */
  clientAddress: string | undefined;
}

/** Facts about the request, for log and audit. */
export interface RequestFacts {
  requestId: string;
  traceparent: string | undefined;
  /** Client address as reported by the host, or "unknown". */
  client: string;
}

export interface Deps {
  store: Store;
  clock: Clock;
  log: Log;
  config: Config;
  request: RequestFacts;
  /** New ids: compact, unique, URL-safe, sortable by creation time, starting with a digit. */
  newId: () => string;
  /** Unguessable URL-safe text of this many bytes. */
  randomToken: (bytes: number) => string;
  /** Registers work that continues after the response and keeps the connection open. */
  afterwards: (work: Promise<unknown>) => void;
  /**
   * Reports when data that was read will change its meaning without a write (milliseconds since 1970), for hosts that
   * cache responses.
   */
  expires?: (time: number) => void;
}
