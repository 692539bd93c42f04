import { spawn, spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { writePrivate } from "../config/data-dir.ts";
import { Failure } from "../process/failure.ts";
import { isFree } from "../process/ports.ts";
import { backoff, supervise } from "../process/supervise.ts";
import type { BrokerConfig, ClusterNode } from "./config.ts";
import { renderConfig } from "./config.ts";
import { memorySettings } from "./memory.ts";

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
}

/** A running broker. If it dies, it starts again on the same ports. */
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
  /** Resolves when the broker is ready, also after a restart. */
  ready(): Promise<void>;
}

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
 * Starts a broker that listens on loopback, and restarts it when it dies.
 * @throws Failure if the broker does not become ready
 */
export async function launchBroker(options: LaunchOptions): Promise<Broker> {
  const { dir } = options;
  const portsDir = join(dir, "ports");
  const portsFile = join(dir, "ports.json");
  const configFile = join(dir, "nats.conf");
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
        storeDir: join(dir, "jetstream"),
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

  const child = supervise({
    failure: "nats-server did not start",
    spawn: () =>
      spawn(...withParent(options.binary, ["-c", configured()]), {
        stdio: ["ignore", "ignore", "pipe"],
        env: { ...memorySettings(options.cluster?.routes.length ?? 1), ...process.env },
      }),
    readyLine: "Server is ready",
    readyLimitMs: 30_000,
    graceMs: 5_000,
    reason,
    async served() {
      if (port < 0 || wsPort < 0) ({ port, wsPort } = await takenPorts(portsDir));
      writePrivate(portsFile, JSON.stringify({ port, wsPort }));
    },
    // Restart immediately after the first failure, because the whole platform depends on the broker.
    retryMs({ failures, served }) {
      if (!served) return undefined;
      return failures === 0 ? 0 : backoff(failures, 100, 3_000);
    },
    restarting: (why) => options.say?.(`The broker stopped (${why}); starting it again …`),
    restarted: () => options.say?.("The broker is back."),
  });
  await child.start();

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
    kill: (signal = "SIGKILL") => child.kill(signal),
    pause: (signal = "SIGKILL") => child.stop(signal),
    stop: () => child.stop(),
    resume: () => child.start(),
    ready: () => child.settled(),
    [Symbol.asyncDispose]: () => child.stop(),
  };
  return broker;
}

/** Reads the broker's ports from the file that the broker writes when it is ready. */
async function takenPorts(portsDir: string): Promise<{ port: number; wsPort: number }> {
  for (let attempt = 0; attempt < 100; attempt++) {
    const file = readdirSync(portsDir).find((name) => name.endsWith(".ports"));
    try {
      const ports = JSON.parse(readFileSync(join(portsDir, file ?? "none"), "utf8")) as Record<
        string,
        string[]
      >;
      const number = (list: string[] | undefined) => Number(new URL(list?.[0] ?? "").port);
      return { port: number(ports.nats), wsPort: number(ports.websocket) };
    } catch {
      await delay(10);
    }
  }
  throw new Failure("nats-server did not report its ports.");
}
