/** Dependencies that the host passes to all functions in shared/, so that tests can replace them. */
import type { MakeImage } from "./images/job.ts";
import type { Store } from "./store/types.ts";

/** The current time. Deployed Workers advance the clock only with I/O, so read it after a broker response. */
export interface Clock {
  now(): number;
}

/** Structured log. Callers must never log user content or secrets. */
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
  /** Maximum bytes stored per application, without files. */
  orbBytes: number;
  /** Maximum bytes of the content of an application's files. */
  orbFileBytes: number;
  /** Maximum rejected writes of unique sensitive values. Each rejection helps a client to guess a value. */
  accountConflicts: number;
  /** Maximum registrations without invitation that a network begins. A long period allows ten times as many. */
  networkSignups: number;
  /** Maximum sign-ups without an invitation that may begin in a realm per hour, from all networks together. */
  realmSignups: number;
  /** Maximum streams that an account may read at the same time. */
  readersPerUser: number;
  readersPerAdmin: number;
  readersPerOrb: number;
}

/** Settings, which the host parses once. */
export interface Config {
  /** Origin of pages, links and WebAuthn, without a trailing slash. */
  publicUrl: string;
  /** Other origins whose web pages may call the API. `*` allows all origins, but without cookies. */
  allowedOrigins: readonly string[];
  replicas: number;
  /** Private Ed25519 keys (a JSON array of JWKs). The first key signs tokens, and all keys verify them. */
  jwtSigningKeys: string;
  /** 256-bit keys as JSON, `[{ "kid", "k" }]`. The first key encrypts values, and all keys decrypt them. */
  encryptionKeys: string;
  /**
   * 256-bit base64url keys for HMACs of unique sensitive values. The store indexes each value under every key, so
   * operators can rotate keys.
   */
  claimKeys: readonly string[];
  streamsUrl: string | undefined;
  /** Milliseconds. */
  longPollMs: number;
  metricsToken: string | undefined;
  /** Maximum bytes of one file. */
  fileBytes: number;
  /** Maximum pixels of an image of which variants are made. */
  imagePixels: number;
  quotas: Quotas;
  /** Network address of all clients, if the host knows that every client has the same one. */
  clientAddress: string | undefined;
}

/** Keeps the content of files on a host, so that repeated downloads do not read from the broker. */
export interface ContentCache {
  /** Maximum bytes of a file that is kept. */
  readonly largest: number;
  /** Pages that are being read from the broker. Concurrent downloads of a file share them. */
  readonly reading: Map<string, Promise<readonly Uint8Array[]>>;
  /**
   * Reads consecutive chunks of an object.
   * @returns the number of bytes; 0 or undefined if the first chunk is not kept
   */
  read(object: string, chunk: number, into: Uint8Array): Promise<number> | undefined;
  /** Keeps a chunk if there is room. The caller must not change the bytes afterwards. */
  write(object: string, chunk: number, data: Uint8Array): void;
}

export interface RequestFacts {
  requestId: string;
  traceparent: string | undefined;
  /** Client address as reported by the host, or "unknown". */
  client: string;
  /** The header `User-Agent`. */
  agent?: string | undefined;
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
  /** Lets work continue after the response. The request's broker connection stays open until the work ends. */
  afterwards: (work: Promise<unknown>) => void;
  /** Makes variants of images. Undefined if this process has no image worker. */
  images?: MakeImage | undefined;
  /** Whether this process must not write to the broker. */
  readOnly?: boolean;
  /** Tells caches when the response expires even if no data changes, in milliseconds since 1970. */
  expires?: (time: number) => void;
}
