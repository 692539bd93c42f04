import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as delay } from "node:timers/promises";
import { writePrivate } from "../data-dir.ts";
import { Failure } from "../failure.ts";
import { isFree } from "../ports.ts";
import type { BrokerConfig, ClusterNode } from "./config.ts";
import { renderConfig } from "./config.ts";

/** What to start. */
export interface LaunchOptions {
  binary: string;
  /** Folder for the configuration and the broker's files; it is kept. */
  dir: string;
  /** Fixed ports; without one the port of the last start is taken again, or a free one. */
  port?: number | undefined;
  wsPort?: number | undefined;
  /** Ports that others will listen on: they may be free now, and are not taken again all the same. */
  reserved?: readonly number[];
  syncInterval: string;
  passwords: BrokerConfig["passwords"];
  jetstream?: boolean;
  maxFileStore?: string | undefined;
  /** Its place among several. */
  cluster?: ClusterNode;
  /** Told when the broker died and when it is back. */
  say?: (line: string) => void;
}

/** A started broker, watched: when it dies it is started again on the same ports. */
export interface Broker extends AsyncDisposable {
  readonly port: number;
  readonly wsPort: number;
  /** `ws://127.0.0.1:…` */
  readonly wsUrl: string;
  /** Process id of the running broker; undefined between two lives. */
  readonly pid: number | undefined;
  /** Sends the running broker a signal; by default it is killed outright. Resolves when it is gone. */
  kill(signal?: NodeJS.Signals): Promise<void>;
  /** Stops it for good. */
  stop(): Promise<void>;
  /** Stops it and does not start it again until {@link Broker.resume}: how a test takes the broker away. */
  pause(signal?: NodeJS.Signals): Promise<void>;
  /** Starts a paused broker again; resolves when it is ready. */
  resume(): Promise<void>;
  /** Resolves when the broker is ready (after a death, when it is ready again). */
  ready(): Promise<void>;
}

const READY = "Server is ready";
const START_LIMIT_MS = 30_000;
const STOP_LIMIT_MS = 5_000;

/** On Linux the kernel ends the broker with us, even when we are killed outright; elsewhere our guardian does. */
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

/** The broker's own words on why it stopped, without its prefix. */
function reason(lines: string[]): string {
  const fatal = lines.filter((line) => /\[(FTL|ERR)\]/.test(line)).at(-1) ?? lines.at(-1);
  return fatal?.replace(/^.*?\[(FTL|ERR)\]\s*/, "") ?? "it said nothing";
}

/**
 * Starts a broker on loopback and watches it.
 * @throws Failure in one line when it does not become ready
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

  let child: ChildProcess | undefined;
  let wanted = true;
  let starting: Promise<void> | undefined;
  let lines: string[] = [];

  async function start(): Promise<void> {
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
    lines = [];
    const [command, args] = withParent(options.binary, ["-c", configFile]);
    const born = spawn(command, args, { stdio: ["ignore", "ignore", "pipe"] });
    child = born;
    await new Promise<void>((resolve, reject) => {
      const refuse = (why: string) => reject(new Failure(`nats-server did not start: ${why}`));
      const timer = setTimeout(() => {
        born.kill("SIGKILL");
        refuse(`not ready after ${START_LIMIT_MS / 1000} s`);
      }, START_LIMIT_MS);
      born.once("error", (error) => refuse(error.message));
      born.once("exit", () => {
        clearTimeout(timer);
        refuse(reason(lines));
      });
      createInterface({ input: born.stderr }).on("line", (line) => {
        lines = [...lines, line].slice(-50);
        if (line.includes(READY)) {
          clearTimeout(timer);
          resolve();
        }
      });
    });
    try {
      if (port < 0 || wsPort < 0) ({ port, wsPort } = await takenPorts(portsDir));
      writePrivate(portsFile, JSON.stringify({ port, wsPort }));
    } catch (error) {
      // Nobody would look after it: it would hold the folder against the next one.
      born.kill("SIGKILL");
      throw error;
    }
    born.once("exit", () => {
      if (wanted && child === born) void revive();
    });
    // It may have died between its last word and this line.
    if (born.exitCode !== null || born.signalCode !== null)
      throw new Failure(`nats-server stopped: ${reason(lines)}`);
  }

  /** Starts a broker that died again, at once and then ever more slowly, until it stays or is no longer wanted. */
  async function revive(): Promise<void> {
    child = undefined;
    options.say?.("The broker stopped; starting it again …");
    let settle: () => void = () => undefined;
    starting = new Promise((resolve) => {
      settle = resolve;
    });
    for (let wait = 100; wanted; wait = Math.min(wait * 2, 3_000)) {
      try {
        await start();
        options.say?.("The broker is back.");
        break;
      } catch (error) {
        options.say?.(error instanceof Error ? error.message : String(error));
        await delay(wait);
      }
    }
    starting = undefined;
    settle();
  }

  /** Ends the running broker and waits until it is gone. */
  async function end(signal: NodeJS.Signals): Promise<void> {
    const dying = child;
    if (dying === undefined || dying.exitCode !== null || dying.signalCode !== null) return;
    const gone = once(dying, "exit");
    dying.kill(signal);
    const timer = setTimeout(() => dying.kill("SIGKILL"), STOP_LIMIT_MS);
    await gone;
    clearTimeout(timer);
  }

  async function pause(signal: NodeJS.Signals = "SIGKILL"): Promise<void> {
    wanted = false;
    await end(signal);
    await starting;
    await end(signal);
    child = undefined;
  }

  await start();
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
      return child?.pid;
    },
    kill: (signal = "SIGKILL") => end(signal),
    pause,
    stop: () => pause("SIGTERM"),
    async resume() {
      wanted = true;
      await start();
    },
    async ready() {
      await starting;
    },
    [Symbol.asyncDispose]: () => pause("SIGTERM"),
  };
  return broker;
}

/** Reads the ports that the broker wrote down; it does so right after it said that it is ready. */
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
  throw new Failure("nats-server did not tell its ports.");
}
