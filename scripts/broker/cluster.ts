import { existsSync, mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { writePrivate } from "../config/data-dir.ts";
import { freePort, isFree } from "../process/ports.ts";
import { type Broker, type LaunchOptions, launchBroker } from "./launch.ts";

export interface Cluster extends AsyncDisposable {
  readonly nodes: readonly Broker[];
  readonly wsUrl: string;
  stop(): Promise<void>;
}

async function routePorts(file: string, count: number, reserved: readonly number[]): Promise<number[]> {
  const last = existsSync(file) ? (JSON.parse(readFileSync(file, "utf8")) as number[]) : [];
  const usable = async (port: number) => !reserved.includes(port) && (await isFree(port));
  if (last.length === count && (await Promise.all(last.map(usable))).every(Boolean)) return last;
  const ports: number[] = [];
  while (ports.length < count) {
    const port = await freePort();
    if (!ports.includes(port) && !reserved.includes(port)) ports.push(port);
  }
  writePrivate(file, JSON.stringify(ports));
  return ports;
}

/**
 * Starts a broker cluster on one machine, to try out the production setup. This does not make data safer, because all
 * brokers use the same disk.
 */
export async function launchCluster(
  options: Omit<LaunchOptions, "port" | "wsPort" | "cluster">,
  count: number,
): Promise<Cluster> {
  mkdirSync(options.dir, { recursive: true, mode: 0o700 });
  const routes = await routePorts(join(options.dir, "routes.json"), count, options.reserved ?? []);
  const results = await Promise.allSettled(
    routes.map((port, i) => {
      const name = `n${i + 1}`;
      const dir = join(options.dir, name);
      mkdirSync(dir, { recursive: true, mode: 0o700 });
      return launchBroker({ ...options, dir, cluster: { name, port, routes } });
    }),
  );
  const nodes = results.flatMap((result) => (result.status === "fulfilled" ? [result.value] : []));
  const stop = async () => {
    await Promise.all(nodes.map((node) => node.stop()));
  };
  const failed = results.find((result) => result.status === "rejected");
  if (failed !== undefined) {
    await stop();
    throw failed.reason;
  }
  return {
    nodes,
    get wsUrl() {
      return nodes.map((node) => node.wsUrl).join(",");
    },
    stop,
    [Symbol.asyncDispose]: stop,
  };
}
