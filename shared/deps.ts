/** Dependencies that the host passes to all functions in shared/, so that tests can replace them. */
import type { MakeImage } from "./images/job.ts";
import type { Store } from "./store/types.ts";

/** The current time. In deployed Workers the clock advances only with I/O, so read it after a broker response. */
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

/** Usage limits; 0 means unlimited. Anonymous callers with the same network address share their limits. */
export interface Quotas {
  windowSeconds: number;
  longWindowSeconds: number;
  accountWrites: number;
  orbWrites: number;
  accountCalls: number;
  orbCalls: number;
  /** Maximum bytes that an account may write in `longWindowSeconds`. */
  accountBytes: number;
  /** Maximum bytes that an application may store, without its files. */
  orbBytes: number;
  /** Maximum total bytes of the files that an application may store. */
  orbFileBytes: number;
  /**
   * Maximum number of rejected writes with a unique sensitive value. Each rejection helps a client to guess a value.
   */
  accountConflicts: number;
  /**
   * Maximum sign-ups without an invitation that a network may begin. The limit for the long period is ten times as
   * high.
   */
  networkSignups: number;
  /**
   * Maximum sign-ups without an invitation that all networks together may begin per hour in one realm (set of
   * accounts).
   */
  realmSignups: number;
  /** Maximum streams that an account may read at the same time. */
  readersPerUser: number;
  readersPerAdmin: number;
  readersPerOrb: number;
}

/** Settings, which the host parses once. */
export interface Config {
  /** Origin of the platform, without a trailing slash. Used for WebAuthn, and in the URLs of pages and links. */
  publicUrl: string;
  /** Other origins whose web pages may call the API. `*` allows all origins, but without cookies. */
  allowedOrigins: readonly string[];
  /** Host names in lower case under which clients may reach the platform. `*` allows every name. */
  hosts: readonly string[];
  replicas: number;
  /** Private Ed25519 keys (a JSON array of JWKs). The first key signs tokens, and all keys verify them. */
  jwtSigningKeys: string;
  /** 256-bit keys as JSON, `[{ "kid", "k" }]`. The first key encrypts values, and all keys decrypt them. */
  encryptionKeys: string;
  /**
   * 256-bit base64url keys for the HMACs of unique sensitive values. Each value is indexed under every key, so that
   * operators can replace a key step by step.
   */
  claimKeys: readonly string[];
  streamsUrl: string | undefined;
  /** Maximum milliseconds that a long-poll request waits for new messages. */
  longPollMs: number;
  metricsToken: string | undefined;
  /** Maximum bytes of one file. */
  fileBytes: number;
  /** Maximum pixels of an image. Larger images have no variants. */
  imagePixels: number;
  quotas: Quotas;
  /** Maximum bytes of the versions of a change set that this host publishes. The hooks process publishes larger ones. */
  publishBytes?: number;
  /** Network address of every client, if the host knows that all clients have the same address. */
  clientAddress: string | undefined;
}

/** Stores content of files on the host, so that repeated downloads do not read it from the broker. */
export interface ContentCache {
  /** Maximum bytes of a file that the cache stores. */
  readonly largest: number;
  /** Pages of files that are being read from the broker. Concurrent downloads of the same file share them. */
  readonly reading: Map<string, Promise<readonly Uint8Array[]>>;
  /**
   * Reads consecutive chunks of an object.
   * @returns the number of bytes; 0 or undefined if the first chunk is not in the cache
   */
  read(object: string, chunk: number, into: Uint8Array): Promise<number> | undefined;
  /** Stores a chunk if there is room. The caller must not change the bytes afterwards. */
  write(object: string, chunk: number, data: Uint8Array): void;
}

/** Content of a file that the host sends to a client. */
export interface SentContent {
  /** The content in pages. After the next page is requested, the buffers of the previous one may be reused. */
  pages: AsyncGenerator<readonly Uint8Array[]>;
  /** Total bytes of all pages. */
  bytes: number;
  /**
   * Called if the response ends early, unless the client has disconnected: a page could not be read, or the client
   * received nothing for too long.
   */
  stopped: (error: unknown) => void;
}

/** Returns the content of a file, or undefined if it is no longer in memory. The caller must not change the bytes. */
export type KeptContent = () => Uint8Array<ArrayBuffer> | undefined;

export interface RequestFacts {
  requestId: string;
  traceparent: string | undefined;
  /** Client address as reported by the host, or "unknown". */
  client: string;
  /** The header `User-Agent`. */
  agent?: string | undefined;
  /** Returns the languages that the client prefers, best first. */
  languages?: (() => readonly string[]) | undefined;
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
  /** Sets the time at which the response expires even if no data changes, in milliseconds since 1970. */
  expires?: (time: number) => void;
  /**
   * Called for each entry that a read meets: the revision of the definition with which its newest revision was written.
   */
  sawDefinition?: (revision: number) => void;
  /** Time until which hooks may delay this request, in milliseconds since 1970. Default: a time limit for each write. */
  hooksUntil?: number | undefined;
}
