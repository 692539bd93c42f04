/** Dependencies that the host passes to all functions in shared/, so that tests can replace them. */
import type { Store } from "./store/types.ts";

/** Deployed Workers advance the clock only with I/O, so read it after a broker response. */
export interface Clock {
  now(): number;
}

/** Structured log. Never log user content or secrets. */
export interface Log {
  debug(message: string, fields?: Record<string, unknown>): void;
  info(message: string, fields?: Record<string, unknown>): void;
  warn(message: string, fields?: Record<string, unknown>): void;
  error(message: string, fields?: Record<string, unknown>): void;
}

/** Limits on usage; 0 means unlimited. Anonymous callers share the limits of their network address. */
export interface Quotas {
  windowSeconds: number;
  longWindowSeconds: number;
  accountWrites: number;
  orbWrites: number;
  accountCalls: number;
  orbCalls: number;
  /** Maximum bytes that an account may write per long period. */
  accountBytes: number;
  /** Maximum bytes stored per orb. */
  orbBytes: number;
  /** Maximum rejected writes of unique sensitive values. Each one helps to guess a value. */
  accountConflicts: number;
  /** Maximum open streams per account. */
  readersPerUser: number;
  readersPerAdmin: number;
  readersPerOrb: number;
}

/** Settings, parsed once by the host. */
export interface Config {
  /** Origin of pages, links and WebAuthn, without a trailing slash. */
  publicUrl: string;
  /** Other origins that browsers may call from. `*` allows all origins, but without cookies. */
  allowedOrigins: readonly string[];
  replicas: number;
  /** Private Ed25519 JWKs as a JSON array. The first signs, all verify. */
  jwtSigningKeys: string;
  /** 256-bit keys as JSON, `[{ "kid", "k" }]`. The first encrypts, all decrypt. */
  encryptionKeys: string;
  /**
   * 256-bit base64url keys for HMACs of unique sensitive values. Each value is indexed under every key, so that keys
   * can be rotated.
   */
  claimKeys: readonly string[];
  streamsUrl: string | undefined;
  /** Milliseconds. */
  longPollMs: number;
  metricsToken: string | undefined;
  quotas: Quotas;
  /** Network address of all clients, if the host knows that there is only one. */
  clientAddress: string | undefined;
}

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
  /** Creates a URL-safe id that sorts by time. */
  newId: () => string;
  randomToken: (bytes: number) => string;
  /** Continues work after the response and keeps the request's broker connection open for it. */
  afterwards: (work: Promise<unknown>) => void;
  /** Tells caches when the response becomes outdated without a write, in milliseconds since 1970. */
  expires?: (time: number) => void;
}
