import { type ChildProcess, fork } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import type { Job, Result } from "./client.ts";

/** Kernel clock ticks per second in /proc (always 100 on Linux). */
const TICKS = 100;

/** Returns the processor seconds that a process has used; 0 if /proc is not available. */
export function cpuSeconds(pid: number | undefined): number {
  if (pid === undefined) return 0;
  try {
    const fields = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ").at(-1)?.split(" ") ?? [];
    return (Number(fields[11]) + Number(fields[12])) / TICKS;
  } catch {
    return 0;
  }
}

/**
 * Returns the resident memory of a process in MiB.
 * @param of `now`, or the highest value since the process started
 */
export function memoryMiB(pid: number | undefined, of: "now" | "peak" = "now"): number {
  if (pid === undefined) return 0;
  const pattern = of === "now" ? /^VmRSS:\s+(\d+)/m : /^VmHWM:\s+(\d+)/m;
  try {
    return Number(pattern.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1] ?? 0) / 1024;
  } catch {
    return 0;
  }
}

export function childrenOf(pid: number, command: RegExp): number[] {
  const found: number[] = [];
  for (const name of readdirSync("/proc")) {
    if (!/^\d+$/.test(name)) continue;
    try {
      const stat = readFileSync(`/proc/${name}/stat`, "utf8");
      if (Number(stat.split(") ").at(-1)?.split(" ")[1]) !== pid) continue;
      if (command.test(readFileSync(`/proc/${name}/cmdline`, "utf8"))) found.push(Number(name));
    } catch {
      // The process has ended in the meantime.
    }
  }
  return found;
}

export class Client implements Disposable {
  readonly #child: ChildProcess = fork(new URL("./client.ts", import.meta.url), { stdio: "inherit" });

  run(job: Job): Promise<Result> {
    return new Promise((resolve, reject) => {
      this.#child.once("message", (answer: { result?: Result; error?: string }) => {
        if (answer.result !== undefined) resolve(answer.result);
        else reject(new Error(answer.error));
      });
      this.#child.send(job);
    });
  }

  [Symbol.dispose](): void {
    this.#child.disconnect();
  }
}

/** A server to measure, with the ids of its processes. */
export interface Target {
  name: string;
  url: string;
  method?: string;
  path: string;
  body?: string;
  headers?: Record<string, string>;
  keys?: string[];
  /** Requests that warm up the server. Needed if the measurement must be the first to request its keys. */
  warmUp?: { path?: string; headers?: Record<string, string> };
  /** The measured process (workerd or the host). */
  pid: number | undefined;
  brokerPid: number | undefined;
}

/** Headers that bypass the response cache. */
export const PAST_ANSWERS: NonNullable<Target["warmUp"]> = { headers: { range: "bytes=0-" } };

/** Returns the targets that respond with 2xx. Reports all other targets. */
export async function served(targets: readonly Target[]): Promise<Target[]> {
  const out: Target[] = [];
  for (const target of targets) {
    const fill = (text: string) => text.replaceAll("{any}", target.keys?.[0] ?? "").replaceAll("{n}", "0");
    const answer = await fetch(`${target.url}${fill(target.path)}`, {
      method: target.method ?? "GET",
      headers: {
        ...target.headers,
        ...(target.body === undefined ? {} : { "content-type": "application/json" }),
      },
      ...(target.body === undefined ? {} : { body: fill(target.body) }),
    });
    const text = await answer.text();
    if (answer.ok) out.push(target);
    else console.error(`  ${target.name}: status ${answer.status}, left out: ${text.slice(0, 200)}`);
  }
  return out;
}

/** Medians of all rounds. Processor time is in microseconds per request. */
export interface Figures {
  name: string;
  requests: number;
  failures: number;
  failure: number;
  perSecond: number;
  p50: number;
  p99: number;
  cpuUs: number;
  brokerUs: number;
  /** Median latency without load: one request at a time. */
  aloneP50: number;
  /** Size of a response including its headers. */
  bytes: number;
}

const median = (values: number[]): number => {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1
    ? (sorted[middle] ?? 0)
    : ((sorted[middle - 1] ?? 0) + (sorted[middle] ?? 0)) / 2;
};

let counter = 0;
/** For each URL, how many of the target's keys earlier rounds have used. Later rounds use other keys. */
const asked = new Map<string, number>();

async function round(client: Client, target: Target, connections: number, durationMs: number) {
  const url = new URL(target.url);
  const address = `${target.url}${target.path}`;
  const firstKey = asked.get(address) ?? 0;
  const before = [cpuSeconds(target.pid), cpuSeconds(target.brokerPid)];
  const result = await client.run({
    host: url.hostname === "localhost" ? "127.0.0.1" : url.hostname,
    port: Number(url.port),
    method: target.method ?? "GET",
    path: target.path,
    ...(target.body === undefined ? {} : { body: target.body }),
    headers: target.headers ?? {},
    keys: target.keys ?? [],
    connections,
    durationMs,
    first: counter,
    firstKey,
  });
  counter += result.requests + connections;
  asked.set(address, firstKey + result.requests + connections);
  const used = (i: number, pid: number | undefined) =>
    ((cpuSeconds(pid) - (before[i] ?? 0)) * 1e6) / Math.max(1, result.requests);
  return { ...result, cpuUs: used(0, target.pid), brokerUs: used(1, target.brokerPid) };
}

/**
 * Measures targets alternately, so that a slow phase of the machine affects all of them.
 * @param options.roundMs length of one round under load
 * @param options.warmUpMs load before the first round; a JavaScript engine needs seconds to compile hot code
 */
export async function compare(
  client: Client,
  targets: readonly Target[],
  options: { rounds: number; roundMs: number; connections: number; warmUpMs?: number },
): Promise<Map<string, Figures>> {
  const warmUpMs = options.warmUpMs ?? Math.min(500, options.roundMs);
  const seen = new Map<string, { loaded: Awaited<ReturnType<typeof round>>[]; alone: number[] }>();
  for (const target of targets) {
    seen.set(target.name, { loaded: [], alone: [] });
    await round(client, { ...target, ...target.warmUp }, options.connections, warmUpMs);
  }
  for (let i = 0; i < options.rounds; i++) {
    for (const target of targets) {
      const of = seen.get(target.name);
      of?.loaded.push(await round(client, target, options.connections, options.roundMs));
      of?.alone.push((await round(client, target, 1, options.roundMs / 5)).p50);
    }
  }
  const out = new Map<string, Figures>();
  for (const [name, { loaded, alone }] of seen) {
    const of = (pick: (r: (typeof loaded)[number]) => number) => median(loaded.map(pick));
    out.set(name, {
      name,
      requests: loaded.reduce((sum, r) => sum + r.requests, 0),
      failures: loaded.reduce((sum, r) => sum + r.failures, 0),
      failure: loaded.find((r) => r.failure !== 0)?.failure ?? 0,
      perSecond: of((r) => r.perSecond),
      p50: of((r) => r.p50),
      p99: of((r) => r.p99),
      cpuUs: of((r) => r.cpuUs),
      brokerUs: of((r) => r.brokerUs),
      aloneP50: median(alone),
      bytes: of((r) => r.bytes / Math.max(1, r.requests)),
    });
  }
  return out;
}

/** Requests each key of a target once, or as many keys as the time allows. */
export async function askForAll(
  client: Client,
  target: Target,
  options: { connections: number; mostMs: number },
): Promise<void> {
  const deadline = Date.now() + options.mostMs;
  for (let asked = 0; asked < (target.keys?.length ?? 0) && Date.now() < deadline; )
    asked += (await round(client, target, options.connections, 1_000)).requests;
}

/**
 * Returns the median milliseconds of the first request after a pause. The broker drops file blocks from memory after 10
 * s. A read loads its block again, so the next target has an advantage. The order of the targets therefore changes from
 * round to round.
 */
export async function afterRest(
  client: Client,
  targets: readonly Target[],
  options: { rounds: number; restMs: number },
): Promise<Map<string, number>> {
  const seen = new Map(targets.map(({ name }) => [name, [] as number[]]));
  for (let i = 0; i < options.rounds; i++) {
    await delay(options.restMs);
    for (const target of i % 2 === 0 ? targets : targets.toReversed())
      seen.get(target.name)?.push((await round(client, target, 1, 0)).p50);
  }
  return new Map([...seen].map(([name, latencies]) => [name, median(latencies)]));
}
