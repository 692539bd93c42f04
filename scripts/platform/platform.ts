import { existsSync, mkdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { readSettings as readFunctionsSettings } from "../../functions/env.ts";
import type { Deps } from "../../shared/deps.ts";
import { completeAllForms } from "../../shared/orb/backfill-forms.ts";
import { reconcileAll } from "../../shared/orb/migrate/index.ts";
import { openStore } from "../../shared/store/broker/index.ts";
import type { ConnectOptions } from "../../shared/store/client/index.ts";
import { finishAtStart } from "../backup/swap.ts";
import { launchCluster } from "../broker/cluster.ts";
import { findBroker } from "../broker/find.ts";
import { type Broker, launchBroker } from "../broker/launch.ts";
import { brokerDir, clusterDir, otherLayout } from "../broker/layout.ts";
import { programsIn } from "../bundle/layout.ts";
import type { Target } from "../bundle/programs.ts";
import { claimDataDir, prepareDataDir, runFolder } from "../config/data-dir.ts";
import { readHooksSettings } from "../config/hooks-settings.ts";
import { loadSecrets, type Secrets } from "../config/secrets.ts";
import type { Settings } from "../config/settings.ts";
import type { Functions, FunctionsOptions } from "../host/functions.ts";
import { type HooksProcess, serveHooks } from "../host/hooks.ts";
import { type Streams, serveStreams } from "../host/streams.ts";
import { Failure } from "../process/failure.ts";
import { isNotable, logFile } from "../process/logs.ts";
import { requirePort } from "../process/ports.ts";
import { step } from "../process/progress.ts";
import { readStreamsSettings } from "../streams/settings.ts";
import { RecordKeeper } from "../verify/keeper.ts";
import { answerFaults } from "./broker-fault.ts";
import { scriptDeps } from "./deps.ts";
import { prepareBroker, readyBroker, withStore } from "./prepare-broker.ts";

const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))));
const READY_LIMIT_MS = 20_000;

export interface StartOptions {
  /** Path of the program nats-server: the setting NATS_SERVER_BIN, if it is set. */
  natsServer?: string | undefined;
  /** If false, no streams process starts, and the functions serve the streams. */
  streams?: boolean;
  /** If false, no hooks process starts, so after-write hooks do not run. */
  hooks?: boolean;
  /** Folder that `buildPrograms` wrote: the setting PROGRAMS_DIR, if it is set. See {@link builtPrograms}. */
  programs?: string | undefined;
  /** What serves the API. Default: workerd. */
  target?: Target;
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
  /** Folder with what the processes run and serve. */
  readonly programs: string;
  /** Resolves when a process has died and cannot be started again. The caller must then stop the platform. */
  readonly failed: Promise<Failure>;
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
  givenUp: (failure: Failure) => void,
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
    givenUp,
  };
  if (settings.brokers > 1) {
    return (await launchCluster({ ...launch, dir: clusterDir(dataDir) }, settings.brokers)).nodes;
  }
  const dir = brokerDir(dataDir);
  mkdirSync(dir, { recursive: true, mode: 0o700 });
  return [await launchBroker({ ...launch, dir, port: settings.natsPort, wsPort: settings.natsWsPort })];
}

/** Ends brokers one after the other. Each is started again by what started it. */
async function restartAll(brokers: readonly Broker[]): Promise<void> {
  for (const broker of brokers) {
    await broker.kill("SIGTERM");
    await broker.ready();
  }
}

/** Stops processes, the last started first. Continues if a process fails to stop. */
async function stopAll(parts: { stop(): Promise<void> }[]): Promise<void> {
  const failures: unknown[] = [];
  for (const part of parts.splice(0).reverse())
    await part.stop().catch((error: unknown) => failures.push(error));
  if (failures.length > 0) throw failures[0];
}

/** Starts processes at the same time, and adds each to those to stop. Throws the first failure once all have settled. */
async function startBeside(
  started: { stop(): Promise<void> }[],
  [streams, hooks]: [false | (() => Promise<Streams>), false | (() => Promise<HooksProcess>)],
): Promise<[Streams | undefined, HooksProcess | undefined]> {
  const begin = async <T extends { stop(): Promise<void> }>(start: false | (() => Promise<T>)) => {
    if (start === false) return undefined;
    const part = await start();
    started.push(part);
    return part;
  };
  const both = [begin(streams), begin(hooks)] as const;
  await Promise.allSettled(both);
  return Promise.all(both);
}

/** What every process of a platform gets from its start. */
interface Parts {
  settings: Settings;
  options: StartOptions;
  /** Folder that `buildPrograms` wrote. */
  programs: string;
  givenUp: (failure: Failure) => void;
}

const logOf = ({ settings, options }: Parts, name: string) =>
  options.log ?? terminalAndFile(join(settings.dataDir, "logs", `${name}.log`), settings, options.say);

async function startFunctions(parts: Parts, bindings: Record<string, string>): Promise<Functions> {
  const { settings, options, programs, givenUp } = parts;
  const { host, port, link } = settings;
  // The Workers emulator takes more memory than all other modules, so import it only when it is needed.
  const serve = options.serve ?? (await import("../host/functions.ts")).serveFunctions;
  return serve({ host, port, bindings, log: logOf(parts, "functions"), programs, givenUp, link });
}

function startStreams(parts: Parts, env: Record<string, string>): Promise<Streams> {
  const { host, streamsPort: port } = parts.settings;
  const { programs, givenUp } = parts;
  return serveStreams({ host, port, env, log: logOf(parts, "streams"), programs, givenUp });
}

function startHooks(parts: Parts, env: Record<string, string>): Promise<HooksProcess> {
  const { programs, givenUp } = parts;
  return serveHooks({ env, log: logOf(parts, "hooks"), programs, givenUp });
}

/** Returns the folder of what the processes run. Builds it into the data folder if none is given. */
export async function builtPrograms(dataDir: string, target: Target, given?: string): Promise<string> {
  if (given) {
    if (!existsSync(programsIn(given).assets))
      throw new Failure(`PROGRAMS_DIR=${given} holds no programs. Correct or unset it.`);
    return given;
  }
  const { buildPrograms } = await import("../bundle/programs.ts");
  const dir = runFolder(dataDir);
  await buildPrograms(dir, [target]);
  return dir;
}

/** Finishes a publication or a deletion of an application that a crash interrupted. */
async function finishOrbs(deps: Deps, say: StartOptions["say"]): Promise<void> {
  await reconcileAll(deps);
  const { shared, failed } = await completeAllForms(deps);
  for (const { orb, module, schema, field, ids } of shared) {
    say(
      `Entries of ${orb}/${module}/${schema} hold one value of the unique field ${field} in different forms: ${ids.join(", ")}. Change it in all but one.`,
    );
  }
  if (failed.length > 0) say(`Could not check the unique values of ${failed.join(", ")}. Run npm run rekey.`);
}

/** Returns the keeper of the record of a platform's data. Its `stop` closes its connection. */
function recordKeeper(
  { dataDir, replicas }: Settings,
  access: ConnectOptions,
  bindings: Record<string, string>,
  { brokers, say }: { brokers: readonly Broker[]; say: StartOptions["say"] },
): RecordKeeper {
  const store = openStore({ ...access, replicas, reconnect: true, name: "record" });
  return new RecordKeeper(scriptDeps(store, bindings), {
    dataDir,
    say,
    brokers: () => brokers.map(({ pid }) => pid).join(),
    ...(brokers.length === 0 ? {} : { restart: () => restartAll(brokers) }),
  });
}

/**
 * Starts all processes in order. If one fails, stops those that already run. The functions start last, so that their
 * health is 200 only once everything else runs.
 */
export async function startPlatform(settings: Settings, options: StartOptions): Promise<Platform> {
  const { dataDir, host, port, replicas } = settings;
  const withStreams = options.streams !== false;
  const withHooks = options.hooks !== false;
  const wait = <T>(what: string, act: () => Promise<T>) => step(options.say, what, act);
  prepareDataDir(dataDir);
  const claim = claimDataDir(dataDir);
  const started: { stop(): Promise<void> }[] = [];
  const stop = () => stopAll(started).finally(() => claim.release());
  const failed = Promise.withResolvers<Failure>();
  try {
    await checkPorts(settings, withStreams);
    const secrets = await loadSecrets(dataDir);
    const common = commonBindings(settings, secrets);
    // Check all settings first, so that nothing starts with invalid ones.
    readFunctionsSettings({ ...common, NATS_URL: "ws://localhost" });
    if (withStreams) readStreamsSettings(common);
    if (withHooks) readHooksSettings(common);
    const programs = await wait("the console and the programs to be built", () =>
      builtPrograms(dataDir, options.target ?? "workerd", options.programs),
    );
    const parts: Parts = { settings, options, programs, givenUp: failed.resolve };

    const brokers = await wait("the broker to start and to read its data", () =>
      startBrokers(settings, secrets, options, failed.resolve),
    );
    const [broker] = brokers;
    started.push(...brokers);
    options.signal?.throwIfAborted();
    const address = brokers.map((node) => node.wsUrl).join(",");
    const as = (user: keyof Secrets["broker"]): ConnectOptions =>
      settings.external ?? { url: address, user, pass: secrets.broker[user] };
    const bindings = { ...common, ...brokerVariables(as("fn")), CLIENT_ADDRESS: "127.0.0.1" };
    const brokerAccess = as("deploy");
    if (settings.external === undefined) started.push(answerFaults(as("operator"), brokers));
    // Without a leader, a cluster answers none of the requests below.
    const count = Math.max(brokers.length, replicas);
    await wait("the broker to accept requests", () => readyBroker(brokerAccess, replicas, count));
    const finish = (act: (deps: Deps) => Promise<void>) =>
      withStore(as("operator"), replicas, (store) => act(scriptDeps(store, bindings)));
    await wait("an interrupted restore to be finished", () => finishAtStart(dataDir, finish, options.say));
    const keeper = recordKeeper(settings, as("operator"), bindings, { brokers, say: options.say });
    started.push(keeper);
    // Before anything is written: a new message could take the sequence number of a lost one.
    await wait("the data to be compared with its record", () => keeper.start());
    const bootstrap = await wait("the broker to create the platform's streams", () =>
      prepareBroker(settings, brokerAccess, bindings),
    );
    await wait("interrupted changes of applications to be finished", () =>
      withStore(as("fn"), replicas, (store) => finishOrbs(scriptDeps(store, bindings), options.say)),
    );
    options.signal?.throwIfAborted();

    const [streams, hooks] = await wait("the processes of streams and hooks to start", () =>
      startBeside(started, [
        withStreams && (() => startStreams(parts, { ...common, ...brokerVariables(as("streams")) })),
        withHooks && (() => startHooks(parts, bindings)),
      ]),
    );
    options.signal?.throwIfAborted();
    started.push(await wait("the API to start", () => startFunctions(parts, bindings)));
    const url = `http://${host === "0.0.0.0" || host === "::" ? "127.0.0.1" : host}:${port}`;
    await wait("the API to become healthy", () => healthy(url, options.signal));
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
      programs,
      failed: failed.promise,
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
