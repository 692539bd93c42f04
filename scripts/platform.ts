import { mkdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { readSettings as readFunctionsSettings } from "../functions/env.ts";
import { ensureBootstrap } from "../shared/access/bootstrap.ts";
import { storeBuiltInMessages } from "../shared/definitions/definitions.ts";
import { AppError } from "../shared/errors.ts";
import { claimFormsOnce } from "../shared/orb/claim-forms.ts";
import { settleAll } from "../shared/orb/settle.ts";
import { provision } from "../shared/store/provision.ts";
import { openStore } from "../shared/store/store.ts";
import type { Store } from "../shared/store/types.ts";
import type { ConnectOptions } from "../shared/store/wire.ts";
import { checkBroker } from "./broker/check.ts";
import { launchCluster } from "./broker/cluster.ts";
import { findBroker } from "./broker/find.ts";
import { type Broker, launchBroker } from "./broker/launch.ts";
import { brokerDir, clusterDir, otherLayout } from "./broker/layout.ts";
import { claimDataDir, prepareDataDir } from "./data-dir.ts";
import { scriptDeps } from "./deps.ts";
import { Failure, why } from "./failure.ts";
import type { Functions, FunctionsOptions } from "./host/functions.ts";
import { type Streams, serveStreams } from "./host/streams.ts";
import { isNotable, logFile } from "./logs.ts";
import { requirePort } from "./ports.ts";
import { loadSecrets, type Secrets } from "./secrets.ts";
import type { Settings } from "./settings.ts";
import { readStreamsSettings } from "./streams/settings.ts";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const READY_LIMIT_MS = 20_000;
const ELECTION_LIMIT_MS = 30_000;

/** How a platform is started, beside its settings. */
export interface StartOptions {
  /** NATS_SERVER_BIN, when set. */
  natsServer?: string | undefined;
  /** False leaves the streams process out; the functions serve streams then. */
  streams?: boolean;
  /** A bundle of the functions made before. */
  bundle?: string;
  /** What serves the functions; workerd when missing. */
  serve?: (options: FunctionsOptions) => Promise<Functions>;
  /** Gives the start up, and stops what already runs. */
  signal?: AbortSignal;
  /** What a person at the terminal should know while it starts and runs. */
  say: (line: string) => void;
  /** Every line of the functions' log and of the streams process. */
  log?: (line: string) => void;
}

/** A running platform. */
export interface Platform extends AsyncDisposable {
  readonly settings: Settings;
  /** Where the functions listen; `settings.publicUrl` is what people see. */
  readonly url: string;
  readonly streamsUrl: string | undefined;
  /** The started broker; undefined with an external one. */
  readonly broker: Broker | undefined;
  /** All started brokers: one, or those of a cluster. */
  readonly brokers: readonly Broker[];
  /** How the provisioning user reaches the broker. */
  readonly brokerAccess: ConnectOptions;
  /** How somebody who may do everything reaches the broker; with an external one the same as the above. */
  readonly operatorAccess: ConnectOptions;
  /** Where the first platform admin signs in, with the bootstrap invitation; null when there is one already. */
  readonly bootstrapUrl: string | null;
  /** Variables that the functions got. */
  readonly bindings: Record<string, string>;
  stop(): Promise<void>;
}

/** `nats://` address of a started broker with the operator's credentials. */
function operatorUrl(broker: Broker, secrets: Secrets): string {
  return `nats://operator:${secrets.broker.operator}@127.0.0.1:${broker.port}`;
}

/** Where the checkout keeps an obtained broker, for all of its runs. */
const checkoutCache = join(root, ".data", "bin");

/**
 * Path of the broker for tests and measurements, whose data folders do not last: an obtained one stays with the checkout.
 * @throws Failure in one line when there is none
 */
export function lastingBroker(say?: (line: string) => void): string {
  return findBroker({
    explicit: process.env.NATS_SERVER_BIN,
    path: process.env.PATH,
    caches: [checkoutCache],
    ...(say === undefined ? {} : { say }),
  });
}

async function checkPorts(settings: Settings, withStreams: boolean): Promise<void> {
  await requirePort(settings.port, "PORT", settings.host);
  if (withStreams) await requirePort(settings.streamsPort, "STREAMS_PORT", settings.host);
  if (settings.external !== undefined) return;
  if (settings.natsPort !== undefined) await requirePort(settings.natsPort, "NATS_PORT");
  if (settings.natsWsPort !== undefined) await requirePort(settings.natsWsPort, "NATS_WS_PORT");
}

/** What the functions and the streams process both need to know. */
export function commonBindings(settings: Settings, secrets: Secrets): Record<string, string> {
  return {
    NATS_REPLICAS: String(settings.replicas),
    PUBLIC_URL: settings.publicUrl,
    JWT_SIGNING_KEYS: secrets.JWT_SIGNING_KEYS,
    ENCRYPTION_KEYS: secrets.ENCRYPTION_KEYS,
    CLAIM_KEY: secrets.CLAIM_KEY,
    ...settings.passedOn,
  };
}

/** The broker's address and credentials as variables. */
export function brokerVariables(access: ConnectOptions): Record<string, string> {
  const { url, user, pass, token, creds } = access;
  const all = { NATS_URL: url, NATS_USER: user, NATS_PASS: pass, NATS_TOKEN: token, NATS_CREDS: creds };
  return Object.fromEntries(
    Object.entries(all).filter((pair): pair is [string, string] => pair[1] !== undefined),
  );
}

/** Runs `act` with a store that is closed afterwards. */
export async function withStore<T>(
  access: ConnectOptions,
  replicas: number,
  act: (store: Store) => Promise<T>,
): Promise<T> {
  // A lasting connection is one that tells why it was refused.
  const store = openStore({ ...access, replicas, reconnect: true, connectTimeoutMs: 5_000 });
  try {
    return await act(store);
  } finally {
    await store.close().catch(() => undefined);
  }
}

/** Waits until the functions say that all is well. */
async function healthy(url: string, signal: AbortSignal | undefined): Promise<void> {
  const deadline = Date.now() + READY_LIMIT_MS;
  let last = "no answer";
  while (Date.now() < deadline) {
    try {
      const answer = await fetch(`${url}/api/health`, { signal: AbortSignal.timeout(3_000) });
      await answer.body?.cancel();
      if (answer.ok) return;
      last = `status ${answer.status}`;
    } catch (error) {
      last = error instanceof Error ? error.message : String(error);
    }
    await delay(50, undefined, { signal });
  }
  throw new Failure(`The functions did not become healthy within ${READY_LIMIT_MS / 1000} s (${last}).`);
}

/** The brokers of this start: none when somebody else runs one, one, or a cluster. */
async function startBrokers(
  settings: Settings,
  secrets: Secrets,
  options: StartOptions,
): Promise<readonly Broker[]> {
  if (settings.external !== undefined) return [];
  const { dataDir } = settings;
  const other = otherLayout(dataDir, settings.brokers);
  if (other !== undefined) options.say(other);
  const launch = {
    binary: findBroker({
      explicit: options.natsServer,
      path: process.env.PATH,
      caches: [join(dataDir, "bin"), checkoutCache],
      say: options.say,
    }),
    syncInterval: settings.syncInterval,
    passwords: secrets.broker,
    reserved: [settings.port, settings.streamsPort],
    say: options.say,
  };
  if (settings.brokers > 1) {
    return (await launchCluster({ ...launch, dir: clusterDir(dataDir) }, settings.brokers)).nodes;
  }
  const dir = brokerDir(dataDir);
  mkdirSync(dir, { recursive: true, mode: 0o700 });
  return [await launchBroker({ ...launch, dir, port: settings.natsPort, wsPort: settings.natsWsPort })];
}

/** Hosts of an address for messages, without its credentials. */
function hostsOf(url: string): string {
  return url
    .split(",")
    .map((one) => new URL(one).host)
    .join(", ");
}

/** A cluster elects its leaders first: until then JetStream answers nobody. */
async function settled(brokers: number, check: () => Promise<void>): Promise<void> {
  const deadline = Date.now() + ELECTION_LIMIT_MS;
  for (;;) {
    try {
      await check();
      return;
    } catch (error) {
      if (brokers < 2 || Date.now() > deadline) throw error;
      await delay(200);
    }
  }
}

/**
 * Checks a broker and creates what the platform needs there; what is there already stays as it is.
 * @param access of a user who may create streams
 * @param variables what the functions get
 * @returns the first operator's invitation, while there is none
 */
export function prepareBroker(
  settings: Settings,
  access: ConnectOptions,
  variables: Record<string, string>,
  brokers: number,
): ReturnType<typeof ensureBootstrap> {
  return withStore(access, settings.replicas, async (store) => {
    await settled(brokers, () => checkBroker(store, hostsOf(access.url)));
    await provision(store, { replicas: settings.replicas, patienceMs: 10_000 }).catch((error: unknown) => {
      if (!(error instanceof AppError)) throw error;
      throw new Failure(
        `The broker at ${hostsOf(access.url)} could not create the platform's streams${why(error)}: check its disk, its limits, the user's rights, and that NATS_REPLICAS is not more than its servers.`,
      );
    });
    const deps = scriptDeps(store, variables);
    const [bootstrap] = await Promise.all([ensureBootstrap(deps), storeBuiltInMessages(deps)]);
    return bootstrap;
  });
}

/** Stops parts in the reverse order of their start; one that fails keeps no other running. @throws the first failure */
async function stopAll(parts: { stop(): Promise<void> }[]): Promise<void> {
  const failures: unknown[] = [];
  for (const part of parts.splice(0).reverse())
    await part.stop().catch((error: unknown) => failures.push(error));
  if (failures.length > 0) throw failures[0];
}

async function startFunctions(
  settings: Settings,
  bindings: Record<string, string>,
  options: StartOptions,
): Promise<Functions> {
  const { host, port, link, dataDir } = settings;
  const log = options.log ?? terminalAndFile(join(dataDir, "logs", "functions.log"), settings, options.say);
  // Loaded only where it is used: the emulator takes more memory than all else together.
  const serve = options.serve ?? (await import("./host/functions.ts")).serveFunctions;
  return serve({ host, port, bindings, log, bundle: options.bundle, link });
}

function startStreams(
  settings: Settings,
  env: Record<string, string>,
  options: StartOptions,
): Promise<Streams> {
  const { host, streamsPort: port, dataDir } = settings;
  const log = options.log ?? terminalAndFile(join(dataDir, "logs", "streams.log"), settings, options.say);
  return serveStreams({ host, port, env, log });
}

/**
 * Starts everything in order, and stops what runs already when a later part fails.
 * @throws Failure in one line for what the person at the terminal can mend
 */
export async function startPlatform(settings: Settings, options: StartOptions): Promise<Platform> {
  const { dataDir, host, port, replicas } = settings;
  const withStreams = options.streams !== false;
  prepareDataDir(dataDir);
  const claim = claimDataDir(dataDir);
  const started: { stop(): Promise<void> }[] = [];
  const stop = () => stopAll(started).finally(() => claim.release());
  try {
    await checkPorts(settings, withStreams);
    const secrets = await loadSecrets(dataDir);
    const common = commonBindings(settings, secrets);
    // What the functions or the streams process would refuse is told before anything is started.
    readFunctionsSettings({ ...common, NATS_URL: "ws://localhost" });
    if (withStreams) readStreamsSettings(common);

    const brokers = await startBrokers(settings, secrets, options);
    const [broker] = brokers;
    started.push(...brokers);
    options.signal?.throwIfAborted();
    const address = brokers.map((node) => node.wsUrl).join(",");
    const as = (user: keyof Secrets["broker"]): ConnectOptions =>
      settings.external ?? { url: address, user, pass: secrets.broker[user] };
    const bindings = { ...common, ...brokerVariables(as("fn")), CLIENT_ADDRESS: "127.0.0.1" };
    const brokerAccess = as("deploy");
    const bootstrap = await prepareBroker(settings, brokerAccess, bindings, brokers.length);
    // What the last run began and did not finish of publishing and deleting orbs.
    await withStore(as("fn"), replicas, async (store) => {
      const deps = scriptDeps(store, bindings);
      await settleAll(deps);
      const { shared, failed } = await claimFormsOnce(deps);
      for (const { orb, module, schema, field, ids } of shared) {
        options.say(
          `Entries of ${orb}/${module}/${schema} hold one value of the unique field ${field} in different forms: ${ids.join(", ")}. Change it in all but one.`,
        );
      }
      if (failed.length > 0) {
        options.say(`Could not check the unique values of ${failed.join(", ")}: run npm run rekey.`);
      }
    });
    options.signal?.throwIfAborted();

    started.push(await startFunctions(settings, bindings, options));
    options.signal?.throwIfAborted();
    const streams = withStreams
      ? await startStreams(settings, { ...common, ...brokerVariables(as("streams")) }, options)
      : undefined;
    if (streams !== undefined) started.push(streams);
    const url = `http://${host === "0.0.0.0" || host === "::" ? "127.0.0.1" : host}:${port}`;
    await healthy(url, options.signal);
    claim.tell({
      url: settings.publicUrl,
      replicas,
      ...(broker === undefined ? {} : { natsUrl: operatorUrl(broker, secrets), natsWsUrl: address }),
    });
    return {
      settings,
      url,
      streamsUrl: streams?.url,
      broker,
      brokers,
      brokerAccess,
      operatorAccess: as("operator"),
      bootstrapUrl: bootstrap?.url ?? null,
      bindings,
      stop,
      [Symbol.asyncDispose]: stop,
    };
  } catch (error) {
    await stop().catch(() => undefined);
    throw error;
  }
}

/** Everything goes to a file; the terminal gets what is notable, or all of it when LOG_LEVEL was asked for. */
export function terminalAndFile(
  path: string,
  settings: Settings,
  say: (line: string) => void,
): (line: string) => void {
  const write = logFile(path, say);
  const all = settings.passedOn.LOG_LEVEL !== undefined;
  return (line) => {
    write(line);
    if (all || isNotable(line)) say(line);
  };
}
