import { spawn, spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { totalmem } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { writePrivate } from "../config/data-dir.ts";
import { Failure } from "../process/failure.ts";
import { isFree } from "../process/ports.ts";
import { backoff, retryDelay, supervise } from "../process/supervise.ts";
import { type BrokerConfig, type ClusterNode, renderConfig } from "./config.ts";
import { mender } from "./mend.ts";

/**
 * Percentage by which the broker's memory may grow before the next garbage collection. With Go's default, 100, the
 * broker holds up to twice the memory in use: the index of subjects, and the files that were just read or written.
 */
const GOGC = 50;

/**
 * Maximum share of the machine's memory for the brokers. Near this limit, they collect garbage more often, because
 * other processes need memory too.
 */
const MEMORY_SHARE = 0.5;

const MIB = 2 ** 20;

/** Returns the memory in bytes that the processes of this machine or container can use. */
function availableMemory(): number {
  const constrained = process.constrainedMemory();
  return constrained > 0 ? Math.min(constrained, totalmem()) : totalmem();
}

/**
 * Returns the environment variables for the broker's Go runtime. If the environment already sets one of them, that
 * value is used.
 * @param brokers number of brokers on this machine
 */
function memorySettings(brokers: number, memory = availableMemory()): Record<string, string> {
  const limit = Math.floor((memory * MEMORY_SHARE) / brokers / MIB);
  return {
    GOGC: String(GOGC),
    GOMEMLIMIT: `${limit}MiB`,
  };
}

export interface LaunchOptions {
  binary: string;
  /** Folder for the configuration and the broker's data. The folder stays when the broker stops. */
  dir: string;
  /** TCP port. The default is the port of the last start, or a free one. */
  port?: number | undefined;
  wsPort?: number | undefined;
  /** Ports that the broker must not take, because other processes will use them. */
  reserved?: readonly number[];
  syncInterval: string;
  passwords: BrokerConfig["passwords"];
  jetstream?: boolean;
  maxFileStore?: string | undefined;
  cluster?: ClusterNode;
  /** Receives a line when the broker dies and when it is ready again. */
  say?: (line: string) => void;
  /** Called when the broker's program is gone, so that the broker cannot be started again. */
  givenUp?: ((failure: Failure) => void) | undefined;
}

/** A running broker. If it dies, or can no longer store data, it starts again on the same ports. */
export interface Broker extends AsyncDisposable {
  readonly port: number;
  readonly wsPort: number;
  readonly wsUrl: string;
  readonly pid: number | undefined;
  /** Sends a signal, SIGKILL by default, and resolves when the process has ended. */
  kill(signal?: NodeJS.Signals): Promise<void>;
  stop(): Promise<void>;
  /** Pauses the broker until {@link Broker.resume}, for tests. */
  pause(signal?: NodeJS.Signals): Promise<void>;
  /** Continues a paused broker and resolves when it is ready. */
  resume(): Promise<void>;
  /** Returns why the broker cannot store data, such as `no space left on device`; undefined if it can. */
  fault(): Promise<string | undefined>;
  /** Resolves when the broker is ready, also after a restart. */
  ready(): Promise<void>;
}

/** Milliseconds within which a broker must be ready, and then report its ports, on a busy machine too. */
const READY_LIMIT_MS = 30_000;
/** Milliseconds between two looks for the file with the ports. */
const PORTS_POLL_MS = 10;

/**
 * Command before the broker's command line. It makes the Linux kernel stop the broker when this process dies, even by
 * SIGKILL. On other systems, `scripts/bootstrap.mjs` stops the broker.
 */
let guard: string[] | undefined;
function withParent(binary: string, args: string[]): [string, string[]] {
  guard ??=
    process.platform === "linux" && spawnSync("setpriv", ["--pdeathsig", "TERM", "true"]).status === 0
      ? ["setpriv", "--pdeathsig", "TERM", "--"]
      : [];
  const [first, ...rest] = [...guard, binary, ...args];
  return [first ?? binary, rest];
}

function lastPorts(file: string): { port?: number; wsPort?: number } {
  if (!existsSync(file)) return {};
  try {
    return JSON.parse(readFileSync(file, "utf8")) as { port?: number; wsPort?: number };
  } catch {
    return {};
  }
}

function reason(lines: readonly string[]): string | undefined {
  const fatal = lines.filter((line) => /\[(FTL|ERR)\]/.test(line)).at(-1) ?? lines.at(-1);
  return fatal?.replace(/^.*?\[(FTL|ERR)\]\s*/, "");
}

/**
 * Starts a broker that listens on loopback, and restarts it when it dies or can no longer store data.
 * @throws Failure if the broker does not become ready
 */
export async function launchBroker(options: LaunchOptions): Promise<Broker> {
  const { dir } = options;
  const portsDir = join(dir, "ports");
  const portsFile = join(dir, "ports.json");
  const configFile = join(dir, "nats.conf");
  const storeDir = join(dir, "jetstream");
  mkdirSync(portsDir, { recursive: true, mode: 0o700 });

  const reserved = [...(options.reserved ?? []), options.port, options.wsPort];
  const choose = async (fixed: number | undefined, last: number | undefined) =>
    fixed ?? (last !== undefined && !reserved.includes(last) && (await isFree(last)) ? last : -1);
  const last = lastPorts(portsFile);
  let port = await choose(options.port, last.port);
  let wsPort = await choose(options.wsPort, last.wsPort);

  /** Writes the broker's configuration. Called before each start, because passwords and limits may have changed. */
  function configured(): string {
    rmSync(portsDir, { recursive: true, force: true });
    mkdirSync(portsDir, { mode: 0o700 });
    const { syncInterval, passwords, jetstream = true } = options;
    writePrivate(
      configFile,
      renderConfig({
        port,
        wsPort,
        storeDir,
        portsDir,
        syncInterval,
        passwords,
        jetstream,
        maxFileStore: options.maxFileStore,
        cluster: options.cluster,
      }),
    );
    return configFile;
  }

  const mending = mender({
    // The broker stores its data in a folder of this folder, so the trial write is on the same disk.
    dir: storeDir,
    pid: () => child.pid,
    async restart() {
      await started.catch(() => undefined);
      await child.settled();
      await child.kill("SIGTERM");
    },
    say: (line) => options.say?.(line),
  });
  const child = supervise({
    failure: "nats-server did not start",
    line: (line) => mending.read(line),
    spawn: () =>
      spawn(...withParent(options.binary, ["-c", configured()]), {
        stdio: ["ignore", "ignore", "pipe"],
        env: { ...memorySettings(options.cluster?.routes.length ?? 1), ...process.env },
      }),
    readyLine: "Server is ready",
    readyLimitMs: READY_LIMIT_MS,
    graceMs: 5_000,
    reason,
    async served(isRunning) {
      if (port < 0 || wsPort < 0) ({ port, wsPort } = await takenPorts(portsDir, isRunning));
      writePrivate(portsFile, JSON.stringify({ port, wsPort }));
    },
    // Restart immediately after the first failure, because the whole platform depends on the broker.
    retryMs({ failures, served, ended }) {
      if (!served) return undefined;
      // A broker that ends may recover, for example once the disk has room again. A missing program does not come back.
      if (failures > 0 && !ended) return retryDelay(failures, 100, 3_000);
      return failures === 0 ? 0 : backoff(failures, 100, 3_000);
    },
    restarting: (why) => options.say?.(`The broker stopped (${why}); starting it again …`),
    restarted: () => options.say?.("The broker is back."),
    givenUp: options.givenUp,
  });
  const started = child.start();
  await started;
  const stop = (signal?: NodeJS.Signals) => {
    mending.stop();
    return child.stop(signal);
  };

  const broker: Broker = {
    get port() {
      return port;
    },
    get wsPort() {
      return wsPort;
    },
    get wsUrl() {
      return `ws://127.0.0.1:${wsPort}`;
    },
    get pid() {
      return child.pid;
    },
    fault: () => mending.fault(),
    kill: (signal = "SIGKILL") => child.kill(signal),
    pause: (signal = "SIGKILL") => stop(signal),
    stop: () => stop(),
    resume: () => child.start(),
    ready: () => child.settled(),
    [Symbol.asyncDispose]: () => stop(),
  };
  return broker;
}

/** Reads the broker's ports from the file that the broker writes once it is ready. */
async function takenPorts(
  portsDir: string,
  isRunning: () => boolean,
): Promise<{ port: number; wsPort: number }> {
  for (let waited = 0; waited < READY_LIMIT_MS && isRunning(); waited += PORTS_POLL_MS) {
    const file = readdirSync(portsDir).find((name) => name.endsWith(".ports"));
    try {
      const ports = JSON.parse(readFileSync(join(portsDir, file ?? "none"), "utf8")) as Record<
        string,
        string[]
      >;
      const number = (list: string[] | undefined) => Number(new URL(list?.[0] ?? "").port);
      return { port: number(ports.nats), wsPort: number(ports.websocket) };
    } catch {
      await delay(PORTS_POLL_MS);
    }
  }
  throw new Failure("nats-server did not report its ports.");
}
