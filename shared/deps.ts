/** Dependencies that the host passes to all functions in shared/, so that tests can replace them. */
import type { Store } from "./store/types.ts";

/**
 * Milliseconds since the epoch. Deployed Workers advance the clock only with I/O, so read it after a broker response.
 */
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
  /** Period for writes and calls. */
  windowSeconds: number;
  /** Period for bytes. */
  longWindowSeconds: number;
  accountWrites: number;
  orbWrites: number;
  accountCalls: number;
  orbCalls: number;
  /** Bytes of values that an account may write in a long period. */
  accountBytes: number;
  /** Bytes that an orb may store. */
  orbBytes: number;
  /** Maximum conflicts over unique sensitive values in a period. Conflicts could help to guess them. */
  accountConflicts: number;
  /** Maximum open streams of one user, and of one platform admin. */
  readersPerUser: number;
  readersPerAdmin: number;
  /** Maximum open streams of one orb. */
  readersPerOrb: number;
}

/** Settings, parsed once by the host in functions/env.ts. */
export interface Config {
  /** Origin of pages, links and WebAuthn, without a trailing slash. */
  publicUrl: string;
  /** Other origins that browsers may call from. `*` allows all origins, but without cookies. */
  allowedOrigins: readonly string[];
  /** Replicas of every stream and bucket. */
  replicas: number;
  /** Private Ed25519 JWKs as a JSON array. The first signs, all verify. */
  jwtSigningKeys: string;
  /** 256-bit keys as JSON, `[{ "kid", "k" }]`. The first encrypts, all decrypt. */
  encryptionKeys: string;
  /**
   * 256-bit base64url keys for HMACs of unique sensitive values. Each value is indexed under every key, so that keys
   * can be rotated.
   * The first key also authenticates idempotent requests.
   */
  claimKeys: readonly string[];
  /** URL of the streams process, if there is one. */
  streamsUrl: string | undefined;
  /** Time limit of a long-poll, in milliseconds. */
  longPollMs: number;
  /** Bearer token that may read metrics. */
  metricsToken: string | undefined;
  quotas: Quotas;
  /** Network address of all clients, if the host knows that there is only one. */
  clientAddress: string | undefined;
}

/** Facts about the current request, for the log and audit. */
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
  /** Creates a sortable, URL-safe id that starts with a digit. */
  newId: () => string;
  /** Creates random base64url text of this many bytes. */
  randomToken: (bytes: number) => string;
  /** Continues work after the response, and keeps the request's connection open for it. */
  afterwards: (work: Promise<unknown>) => void;
  /** Tells hosts that cache responses when this one becomes outdated without a write, in milliseconds since 1970. */
  expires?: (time: number) => void;
}
