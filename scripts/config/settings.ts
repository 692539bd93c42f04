import { resolve } from "node:path";
import { publicUrlFault } from "../../functions/env.ts";
import { Failure } from "../process/failure.ts";

/** Environment variables by name. An empty value counts as missing. */
export type Environment = Record<string, string | undefined>;

export interface ExternalBroker {
  url: string;
  user?: string;
  pass?: string;
  token?: string;
  creds?: string;
}

/** Settings of `npm start`, listed in docs/reference/settings.md. */
export interface Settings {
  host: string;
  port: number;
  streamsPort: number;
  dataDir: string;
  /** Origin of the platform, without a trailing slash. */
  publicUrl: string;
  natsPort: number | undefined;
  natsWsPort: number | undefined;
  external: ExternalBroker | undefined;
  /** Number of brokers to start: one, or a cluster of three. */
  brokers: 1 | 3;
  replicas: number;
  /** Whether Durable Objects keep the broker connection open. Otherwise each request opens one. */
  link: boolean;
  /** Broker's `sync_interval`: "always", or a duration such as "10s". */
  syncInterval: string;
  passedOn: Record<string, string>;
}

/** Environment variables that are passed unchanged to the code in `functions/`. */
const PASSED_ON = [
  "ALLOWED_HOSTS",
  "ALLOWED_ORIGINS",
  "TRUST_PROXY",
  "JWT_SIGNING_KEYS",
  "ENCRYPTION_KEYS",
  "CLAIM_KEY",
  "STREAMS_URL",
  "STREAMS_LONG_POLL_MS",
  "STREAMS_MAX",
  "STREAMS_MAX_PER_USER",
  "STREAMS_MAX_PER_ADMIN",
  "STREAMS_MAX_PER_ORB",
  "STREAMS_ROTATE_MS",
  "QUOTA_WINDOW_SECONDS",
  "QUOTA_LONG_WINDOW_SECONDS",
  "QUOTA_ACCOUNT_WRITES",
  "QUOTA_ORB_WRITES",
  "QUOTA_ACCOUNT_CALLS",
  "QUOTA_ORB_CALLS",
  "QUOTA_ACCOUNT_MIB",
  "QUOTA_ORB_MIB",
  "QUOTA_ORB_FILES_MIB",
  "QUOTA_ACCOUNT_CONFLICTS",
  "QUOTA_NETWORK_SIGNUPS",
  "QUOTA_REALM_SIGNUPS",
  "HOOKS_ATTEMPTS",
  "HOOKS_RETRY_MS",
  "HOOKS_ALLOWED_NETWORKS",
  "HOOKS_LOOPBACK",
  "METRICS_TOKEN",
  "FILE_MIB",
  "IMAGE_MEGAPIXELS",
  "NATS_LINK_COUNT",
  "NATS_LINK_LOCATION",
  "LOG_LEVEL",
] as const;

function get(env: Environment, name: string): string | undefined {
  const value = env[name]?.trim();
  return value === undefined || value === "" ? undefined : value;
}

function port(env: Environment, name: string): number | undefined {
  const text = get(env, name);
  if (text === undefined) return undefined;
  const value = Number(text);
  if (!Number.isInteger(value) || value < 1 || value > 65_535) {
    throw new Failure(`${name}=${text} is not a port. Use a number from 1 to 65535.`);
  }
  return value;
}

/**
 * Rejects equal port numbers before any process starts. Otherwise the error would depend on which process takes the
 * port first.
 */
function requireDifferent(ports: Record<string, number | undefined>): void {
  const names = new Map<number, string>();
  for (const [name, value] of Object.entries(ports)) {
    if (value === undefined) continue;
    const other = names.get(value);
    if (other !== undefined)
      throw new Failure(`${other} and ${name} are both ${value}. Choose another port for one of them.`);
    names.set(value, name);
  }
}

function origin(env: Environment, fallback: string): string {
  const text = get(env, "PUBLIC_URL") ?? fallback;
  const fault = publicUrlFault(text);
  if (fault !== undefined) throw new Failure(`PUBLIC_URL=${text} ${fault}.`);
  return new URL(text).origin;
}

function externalBroker(env: Environment): ExternalBroker | undefined {
  const url = get(env, "NATS_URL");
  if (url === undefined) return undefined;
  const isWebSocket = (one: string) => URL.canParse(one) && /^wss?:$/.test(new URL(one).protocol);
  if (!url.split(",").every((one) => isWebSocket(one.trim()))) {
    const ours = url.startsWith("nats://")
      ? " (nats:// is for services: unset NATS_URL to use the started broker)"
      : "";
    throw new Failure(
      `NATS_URL must be the address of the broker's WebSocket listener, ws://… or wss://… (separate several with commas)${ours}.`,
    );
  }
  const user = get(env, "NATS_USER");
  const pass = get(env, "NATS_PASS");
  const token = get(env, "NATS_TOKEN");
  const creds = get(env, "NATS_CREDS");
  if ((user === undefined) !== (pass === undefined))
    throw new Failure("NATS_USER and NATS_PASS must be set together.");
  return {
    url,
    ...(user === undefined ? {} : { user }),
    ...(pass === undefined ? {} : { pass }),
    ...(token === undefined ? {} : { token }),
    ...(creds === undefined ? {} : { creds }),
  };
}

/**
 * Reads the settings from environment variables.
 * @throws Failure that names the invalid variable
 */
export function readSettings(env: Environment): Settings {
  const functionsPort = port(env, "PORT") ?? 8787;
  const streamsPort = port(env, "STREAMS_PORT") ?? 52_012;
  const natsPort = port(env, "NATS_PORT");
  const natsWsPort = port(env, "NATS_WS_PORT");
  requireDifferent({
    PORT: functionsPort,
    STREAMS_PORT: streamsPort,
    NATS_PORT: natsPort,
    NATS_WS_PORT: natsWsPort,
  });
  const brokers = get(env, "NATS_BROKERS") ?? "1";
  if (brokers !== "1" && brokers !== "3")
    throw new Failure(`NATS_BROKERS=${brokers} is not valid. Use 1 or 3.`);
  const replicas = get(env, "NATS_REPLICAS") ?? brokers;
  if (!/^[1-5]$/.test(replicas))
    throw new Failure(`NATS_REPLICAS=${replicas} is not valid. Use a number from 1 to 5.`);
  const external = externalBroker(env);
  if (external === undefined && Number(replicas) > Number(brokers)) {
    throw new Failure(
      `NATS_REPLICAS=${replicas} needs as many brokers: npm run cluster starts three, npm start one.`,
    );
  }
  const syncInterval = get(env, "NATS_SYNC_INTERVAL") ?? "10s";
  if (!/^(always|\d+(ms|s|m))$/.test(syncInterval)) {
    throw new Failure(
      `NATS_SYNC_INTERVAL=${syncInterval} is not valid. Use "always" or a duration such as 1s.`,
    );
  }
  const link = get(env, "NATS_LINK") ?? "none";
  if (link !== "none" && link !== "durable-object") {
    throw new Failure(`NATS_LINK=${link} is not valid. Use "none" or "durable-object".`);
  }
  const passedOn: Record<string, string> = {};
  for (const name of PASSED_ON) {
    const value = get(env, name);
    if (value !== undefined) passedOn[name] = value;
  }
  return {
    host: get(env, "HOST") ?? "127.0.0.1",
    port: functionsPort,
    streamsPort,
    dataDir: resolve(get(env, "DATA_DIR") ?? ".data"),
    publicUrl: origin(env, `http://localhost:${functionsPort}`),
    natsPort,
    natsWsPort,
    external,
    brokers: brokers === "3" ? 3 : 1,
    replicas: Number(replicas),
    link: link === "durable-object",
    syncInterval,
    passedOn,
  };
}

const OF_THE_PLATFORM =
  /^(PORT|HOST|DATA_DIR|PUBLIC_URL|ALLOWED_HOSTS|ALLOWED_ORIGINS|LOG_LEVEL|CLIENT_ADDRESS|TRUST_PROXY|PROGRAMS_DIR|FILE_MIB|IMAGE_MEGAPIXELS|GOGC|GOMEMLIMIT|(NATS|STREAMS|HOOKS|QUOTA|HOST_CACHE|HOST_CONTENT|HOST_DRAIN|JWT|ENCRYPTION|CLAIM|METRICS)_.*)$/;

/** Removes the platform's settings from the environment of the tests, because each test chooses its own. */
export function testEnvironment(env: Environment): Environment {
  const kept = Object.fromEntries(Object.entries(env).filter(([name]) => !OF_THE_PLATFORM.test(name)));
  const taken = {
    TEST_BROKERS: get(env, "NATS_BROKERS"),
    TEST_LINK: get(env, "NATS_LINK"),
    TEST_HOST: get(env, "PLATFORM_HOST"),
  };
  return { ...kept, ...Object.fromEntries(Object.entries(taken).filter(([, value]) => value !== undefined)) };
}
