import { mkdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { readSettings as readFunctionsSettings } from "../../functions/env.ts";
import type { Deps } from "../../shared/deps.ts";
import { backfillFormsOnce } from "../../shared/orb/backfill-forms.ts";
import { reconcileAll } from "../../shared/orb/migrate/reconcile.ts";
import type { ConnectOptions } from "../../shared/store/client/connection.ts";
import { finishAtStart } from "../backup/swap.ts";
import { launchCluster } from "../broker/cluster.ts";
import { findBroker } from "../broker/find.ts";
import { type Broker, launchBroker } from "../broker/launch.ts";
import { brokerDir, clusterDir, otherLayout } from "../broker/layout.ts";
import { claimDataDir, prepareDataDir } from "../config/data-dir.ts";
import { readHooksSettings } from "../config/hooks-settings.ts";
import { loadSecrets, type Secrets } from "../config/secrets.ts";
import type { Settings } from "../config/settings.ts";
import type { Functions, FunctionsOptions } from "../host/functions.ts";
import { type HooksProcess, serveHooks } from "../host/hooks.ts";
import { type Streams, serveStreams } from "../host/streams.ts";
import { Failure } from "../process/failure.ts";
import { isNotable, logFile } from "../process/logs.ts";
import { requirePort } from "../process/ports.ts";
import { readStreamsSettings } from "../streams/settings.ts";
import { scriptDeps } from "./deps.ts";
import { prepareBroker, withReadyBroker, withStore } from "./prepare-broker.ts";

const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))));
const READY_LIMIT_MS = 20_000;

export interface StartOptions {
  /** Path of the program nats-server: the setting NATS_SERVER_BIN, if it is set. */
  natsServer?: string | undefined;
  /** If false, no streams process starts, and the functions serve the streams. */
  streams?: boolean;
  /** If false, no hooks process starts, so after-write hooks do not run. */
  hooks?: boolean;
  bundle?: string;
  /** Starts the functions. Default: in workerd. */
  serve?: (options: FunctionsOptions) => Promise<Functions>;
  /** When it aborts, stops the start and the processes that already run. */
  signal?: AbortSignal;
  say: (line: string) => void;
  /** Receives every log line of the functions and of the streams process. */
  log?: (line: string) => void;
}

export interface Platform extends AsyncDisposable {
  readonly settings: Settings;
  /** URL at which the functions listen. Users see `settings.publicUrl` instead. */
  readonly url: string;
  readonly streamsUrl: string | undefined;
  readonly hooks: HooksProcess | undefined;
  readonly broker: Broker | undefined;
  readonly brokers: readonly Broker[];
  /** Broker access for creating streams. */
  readonly brokerAccess: ConnectOptions;
  /** Broker access with all rights. */
  readonly operatorAccess: ConnectOptions;
  /** Sign-in URL for the first platform admin; null if the platform has an admin. */
  readonly bootstrapUrl: string | null;
  readonly bindings: Record<string, string>;
  stop(): Promise<void>;
}

function operatorUrl(broker: Broker, secrets: Secrets): string {
  return `nats://operator:${secrets.broker.operator}@127.0.0.1:${broker.port}`;
}

/** All platforms that run from this checkout share one downloaded broker. */
const checkoutCache = join(root, ".data", "bin");

/**
 * Returns the path of nats-server. Downloads go to a folder in the checkout, because the data folders of tests are
 * temporary.
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

export function brokerVariables(access: ConnectOptions): Record<string, string> {
  const { url, user, pass, token, creds } = access;
  const all = { NATS_URL: url, NATS_USER: user, NATS_PASS: pass, NATS_TOKEN: token, NATS_CREDS: creds };
  return Object.fromEntries(
    Object.entries(all).filter((pair): pair is [string, string] => pair[1] !== undefined),
  );
}

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

/** Stops processes, the last started first. Continues if a process fails to stop. */
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
  // The Workers emulator takes more memory than all other modules, so import it only when it is needed.
  const serve = options.serve ?? (await import("../host/functions.ts")).serveFunctions;
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

function startHooks(
  settings: Settings,
  env: Record<string, string>,
  options: StartOptions,
): Promise<HooksProcess> {
  const path = join(settings.dataDir, "logs", "hooks.log");
  return serveHooks({ env, log: options.log ?? terminalAndFile(path, settings, options.say) });
}

/** Starts all processes in order. If one fails, stops those that already run. */
export async function startPlatform(settings: Settings, options: StartOptions): Promise<Platform> {
  const { dataDir, host, port, replicas } = settings;
  const withStreams = options.streams !== false;
  const withHooks = options.hooks !== false;
  prepareDataDir(dataDir);
  const claim = claimDataDir(dataDir);
  const started: { stop(): Promise<void> }[] = [];
  const stop = () => stopAll(started).finally(() => claim.release());
  try {
    await checkPorts(settings, withStreams);
    const secrets = await loadSecrets(dataDir);
    const common = commonBindings(settings, secrets);
    // Check all settings first, so that nothing starts with invalid ones.
    readFunctionsSettings({ ...common, NATS_URL: "ws://localhost" });
    if (withStreams) readStreamsSettings(common);
    if (withHooks) readHooksSettings(common);

    const brokers = await startBrokers(settings, secrets, options);
    const [broker] = brokers;
    started.push(...brokers);
    options.signal?.throwIfAborted();
    const address = brokers.map((node) => node.wsUrl).join(",");
    const as = (user: keyof Secrets["broker"]): ConnectOptions =>
      settings.external ?? { url: address, user, pass: secrets.broker[user] };
    const bindings = { ...common, ...brokerVariables(as("fn")), CLIENT_ADDRESS: "127.0.0.1" };
    const brokerAccess = as("deploy");
    const finish = (act: (deps: Deps) => Promise<void>) =>
      withReadyBroker(as("operator"), replicas, brokers.length, (store) => act(scriptDeps(store, bindings)));
    await finishAtStart(dataDir, finish, options.say);
    const bootstrap = await prepareBroker(settings, brokerAccess, bindings, brokers.length);
    // If a crash interrupted the publication or the deletion of an application, finish it.
    await withStore(as("fn"), replicas, async (store) => {
      const deps = scriptDeps(store, bindings);
      await reconcileAll(deps);
      const { shared, failed } = await backfillFormsOnce(deps);
      for (const { orb, module, schema, field, ids } of shared) {
        options.say(
          `Entries of ${orb}/${module}/${schema} hold one value of the unique field ${field} in different forms: ${ids.join(", ")}. Change it in all but one.`,
        );
      }
      if (failed.length > 0) {
        options.say(`Could not check the unique values of ${failed.join(", ")}. Run npm run rekey.`);
      }
    });
    options.signal?.throwIfAborted();

    started.push(await startFunctions(settings, bindings, options));
    options.signal?.throwIfAborted();
    const streams = withStreams
      ? await startStreams(settings, { ...common, ...brokerVariables(as("streams")) }, options)
      : undefined;
    if (streams !== undefined) started.push(streams);
    const hooks = withHooks ? await startHooks(settings, bindings, options) : undefined;
    if (hooks !== undefined) started.push(hooks);
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
      hooks,
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

/**
 * Returns a function that writes all lines to a file. The terminal shows warnings and errors only, or all lines if
 * LOG_LEVEL is set.
 */
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
