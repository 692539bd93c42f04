/** Reads settings from environment variables. No other code in `functions/` reads environment variables. */
// Extends zod. A host imports this file first, so it must come before every module that defines a schema.
import { z } from "@hono/zod-openapi";
import type { Config } from "../shared/deps.ts";
import { AppError } from "../shared/kernel/errors.ts";
import type { ConnectOptions } from "../shared/store/client/index.ts";
import { DEFAULT_LIMITS } from "../shared/streams/read/index.ts";

const MIB = 1024 * 1024;

const optional = z
  .string({ error: "must be text" })
  .optional()
  .transform((value) => (value === undefined || value === "" ? undefined : value));
const list = z
  .string({ error: "must be text" })
  .optional()
  .transform((value) => (value ?? "").split(",").flatMap((part) => part.trim() || []));
export const count = (fallback: number, min: number, max: number) =>
  optional
    .transform((value) => (value === undefined ? fallback : Number(value)))
    .refine(
      (value) => Number.isInteger(value) && value >= min && value <= max,
      `must be a whole number from ${min} to ${max}`,
    );
/** Schema of a usage limit, where 0 means unlimited. */
const quota = (fallback: number) => count(fallback, 0, 1_000_000_000);
const oneOf = <const T extends readonly string[]>(words: T) =>
  z.enum(words, { error: `must be ${words.slice(0, -1).join(", ")} or ${words.at(-1)}` });

function originOf(text: string): string | undefined {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  return url !== undefined && /^https?:$/.test(url.protocol) && url.href === `${url.origin}/`
    ? url.origin
    : undefined;
}

/** Returns whether a URL names the local machine by a name of `localhost`. */
export function isLocalUrl(text: string): boolean {
  return URL.canParse(text) && /^(.+\.)?localhost$/.test(new URL(text).hostname);
}

/**
 * Returns the problem with the public URL; undefined if there is none. Browsers support passkeys only on host names
 * (not IP addresses), and over http only on localhost.
 */
export function publicUrlFault(text: string): string | undefined {
  const origin = originOf(text);
  if (origin === undefined) return "is not an origin. Set it to one such as https://platform.example";
  const { hostname, protocol } = new URL(origin);
  if (/^\[|^[\d.]+$/.test(hostname))
    return "is an IP address, but passkeys need a host name. Set it to an origin such as http://localhost:8787 or https://platform.example";
  if (protocol === "http:" && !/^(.+\.)?localhost$/.test(hostname))
    return "must begin with https, because browsers support passkeys over http on localhost only";
  return undefined;
}
const PublicUrl = z.string({ error: "is missing" }).transform((text, context) => {
  const fault = publicUrlFault(text);
  if (fault !== undefined) context.addIssue(fault);
  return originOf(text) ?? "";
});

const json = (shape: z.ZodType, form: string) =>
  z.string({ error: "is missing" }).refine((text) => {
    try {
      return shape.safeParse(JSON.parse(text)).success;
    } catch {
      return false;
    }
  }, `must be ${form}`);
const KEY_256 = /^[A-Za-z0-9_-]{43}$/;
const SigningKeys = z
  .array(z.object({ kty: z.literal("OKP"), crv: z.literal("Ed25519"), d: z.string(), x: z.string() }))
  .min(1);
const SealingKeys = z.array(z.object({ kid: z.string().min(1), k: z.string().regex(KEY_256) })).min(1);

const Environment = z.object({
  NATS_URL: z.string({ error: "is missing" }).regex(/^wss?:\/\//, "must be a ws:// or wss:// address"),
  NATS_USER: optional,
  NATS_PASS: optional,
  NATS_TOKEN: optional,
  NATS_CREDS: optional,
  NATS_REPLICAS: count(1, 1, 5),
  PUBLIC_URL: PublicUrl,
  ALLOWED_HOSTS: list.refine(
    (names) => names.every((name) => name === "*" || /^[\w.-]+$/.test(name)),
    "must be host names without a port, separated by commas",
  ),
  ALLOWED_ORIGINS: list
    .transform((parts) => parts.map((part) => (part === "*" ? part : originOf(part))))
    .refine(
      (origins): origins is string[] => !origins.includes(undefined),
      "must be * or comma-separated origins such as https://app.example",
    ),
  JWT_SIGNING_KEYS: json(SigningKeys, "a JSON array of private Ed25519 keys (JWK)"),
  ENCRYPTION_KEYS: json(SealingKeys, 'a JSON array of { "kid", "k" }, k 256 bits in base64url'),
  CLAIM_KEY: list.refine(
    (keys) => keys.length > 0 && keys.every((key) => KEY_256.test(key)),
    "must be 256 bits in base64url (43 characters)",
  ),
  STREAMS_URL: optional.refine(
    (url) => url === undefined || (/^https?:\/\//.test(url) && URL.canParse(url)),
    "must be an address such as https://streams.example",
  ),
  STREAMS_LONG_POLL_MS: count(25_000, 10, 60_000),
  METRICS_TOKEN: optional,
  FILE_MIB: count(1_024, 1, 1_048_576),
  IMAGE_MEGAPIXELS: count(20, 1, 1_000),
  LOG_LEVEL: optional
    .transform((value) => value ?? "info")
    .pipe(oneOf(["debug", "info", "warn", "error", "silent"])),
  CLIENT_ADDRESS: optional,
  QUOTA_WINDOW_SECONDS: count(60, 1, 60),
  QUOTA_LONG_WINDOW_SECONDS: count(86_400, 1, 86_400),
  QUOTA_ACCOUNT_WRITES: quota(6_000),
  QUOTA_ORB_WRITES: quota(60_000),
  QUOTA_ACCOUNT_CALLS: quota(6_000),
  QUOTA_ORB_CALLS: quota(60_000),
  QUOTA_ACCOUNT_MIB: quota(2_048),
  QUOTA_ORB_MIB: quota(20_480),
  QUOTA_ORB_FILES_MIB: quota(102_400),
  QUOTA_ACCOUNT_CONFLICTS: quota(5),
  QUOTA_NETWORK_SIGNUPS: quota(10),
  QUOTA_REALM_SIGNUPS: quota(1_000),
  STREAMS_MAX_PER_USER: count(DEFAULT_LIMITS.perUser, 1, 1_000_000),
  STREAMS_MAX_PER_ADMIN: count(DEFAULT_LIMITS.perAdmin, 1, 1_000_000),
  STREAMS_MAX_PER_ORB: count(DEFAULT_LIMITS.perOrb, 1, 1_000_000),
  NATS_LINK_COUNT: count(1, 1, 64),
  NATS_LINK_LOCATION: optional.pipe(
    oneOf(["wnam", "enam", "sam", "weur", "eeur", "apac", "oc", "afr", "me"]).optional(),
  ),
});

export interface Settings {
  config: Config;
  broker: ConnectOptions & { replicas: number };
  /** Number and location of the Durable Objects that hold broker connections. */
  link: { count: number; location: string | undefined };
  logLevel: z.infer<typeof Environment>["LOG_LEVEL"];
}

/** Parses environment variables. An error names every invalid variable, but no value, because some are secret. */
export function readVariables<T>(shape: z.ZodType<T>, env: Record<string, unknown>): T {
  const parsed = shape.safeParse(env);
  if (parsed.success) return parsed.data;
  const faults = parsed.error.issues.map((issue) => `${issue.path.join(".")} ${issue.message}`);
  throw new AppError("invalid", "settings_invalid", `The settings are not valid: ${faults.join("; ")}.`);
}

/** Returns the names of the platform: those of its URLs, and further ones that the operator allows. */
function hostsOf(e: { PUBLIC_URL: string; STREAMS_URL?: string | undefined; ALLOWED_HOSTS: string[] }) {
  const urls = [e.PUBLIC_URL, e.STREAMS_URL].flatMap((url) =>
    url === undefined ? [] : new URL(url).hostname,
  );
  return [...new Set([...urls, ...e.ALLOWED_HOSTS.map((name) => name.toLowerCase())])];
}

/** Reads all settings from environment variables. */
export function readSettings(env: Record<string, unknown>): Settings {
  const e = readVariables(Environment, env);
  return {
    config: {
      publicUrl: e.PUBLIC_URL,
      allowedOrigins: e.ALLOWED_ORIGINS,
      hosts: hostsOf(e),
      replicas: e.NATS_REPLICAS,
      jwtSigningKeys: e.JWT_SIGNING_KEYS,
      encryptionKeys: e.ENCRYPTION_KEYS,
      claimKeys: e.CLAIM_KEY,
      streamsUrl: e.STREAMS_URL,
      longPollMs: e.STREAMS_LONG_POLL_MS,
      metricsToken: e.METRICS_TOKEN,
      fileBytes: e.FILE_MIB * MIB,
      imagePixels: e.IMAGE_MEGAPIXELS * 1_000_000,
      clientAddress: e.CLIENT_ADDRESS,
      quotas: {
        windowSeconds: e.QUOTA_WINDOW_SECONDS,
        longWindowSeconds: e.QUOTA_LONG_WINDOW_SECONDS,
        accountWrites: e.QUOTA_ACCOUNT_WRITES,
        orbWrites: e.QUOTA_ORB_WRITES,
        accountCalls: e.QUOTA_ACCOUNT_CALLS,
        orbCalls: e.QUOTA_ORB_CALLS,
        accountBytes: e.QUOTA_ACCOUNT_MIB * MIB,
        orbBytes: e.QUOTA_ORB_MIB * MIB,
        orbFileBytes: e.QUOTA_ORB_FILES_MIB * MIB,
        accountConflicts: e.QUOTA_ACCOUNT_CONFLICTS,
        networkSignups: e.QUOTA_NETWORK_SIGNUPS,
        realmSignups: e.QUOTA_REALM_SIGNUPS,
        readersPerUser: e.STREAMS_MAX_PER_USER,
        readersPerAdmin: e.STREAMS_MAX_PER_ADMIN,
        readersPerOrb: e.STREAMS_MAX_PER_ORB,
      },
    },
    broker: {
      url: e.NATS_URL,
      replicas: e.NATS_REPLICAS,
      ...(e.NATS_USER === undefined ? {} : { user: e.NATS_USER }),
      ...(e.NATS_PASS === undefined ? {} : { pass: e.NATS_PASS }),
      ...(e.NATS_TOKEN === undefined ? {} : { token: e.NATS_TOKEN }),
      ...(e.NATS_CREDS === undefined ? {} : { creds: e.NATS_CREDS }),
    },
    link: { count: e.NATS_LINK_COUNT, location: e.NATS_LINK_LOCATION },
    logLevel: e.LOG_LEVEL,
  };
}
