/**
 * `npm run soak [-- --seconds 300]` runs the platform under a steady mixed load, and compares the end of the run with
 * its beginning.
 */
import { readFileSync } from "node:fs";
import { performance } from "node:perf_hooks";
import { setTimeout as delay } from "node:timers/promises";
import { scriptDeps } from "../platform/deps.ts";
import { withStore } from "../platform/prepare-broker.ts";
import { exitWith, Failure } from "../process/failure.ts";
import { childrenOf, memoryMiB } from "./measure.ts";
import { adminToken, document, values } from "./seed.ts";
import { startTemporary } from "./stand.ts";

const CLIENTS = 8;
const SLICES = 15;

interface Slice {
  requests: number;
  failures: number;
  p50: number;
  p99: number;
  functionsMiB: number;
  brokerMiB: number;
  connections: number;
}

function seconds(): number {
  const at = process.argv.indexOf("--seconds");
  const given = at < 0 ? 300 : Number(process.argv[at + 1]);
  if (!Number.isFinite(given) || given < SLICES / 3)
    throw new Failure("--seconds must be a number of at least 5.");
  return given;
}

const quantile = (sorted: readonly number[], q: number) =>
  sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * q))] ?? 0;
const mean = (numbers: readonly number[]) => numbers.reduce((a, b) => a + b, 0) / Math.max(1, numbers.length);

async function main(): Promise<void> {
  const total = seconds();
  await using started = await startTemporary({}, () => undefined);
  const { platform } = started;
  const token = await withStore(platform.operatorAccess, 1, (store) =>
    adminToken(scriptDeps(store, platform.bindings)),
  );
  const ask = async (method: string, path: string, body?: unknown) => {
    const answer = await fetch(`${platform.url}${path}`, {
      method,
      headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    return { status: answer.status, text: await answer.text() };
  };
  const created = await ask("POST", "/api/admin/orbs?publish=true", document("soak"));
  if (created.status !== 201) throw new Failure(`The orb could not be created: ${created.text}`);

  let latencies: number[] = [];
  let failures = 0;
  let running = true;
  const ids: string[] = [];
  const client = async (n: number) => {
    for (let i = 0; running; i++) {
      const id = ids[(i * 7919 + n) % Math.max(1, ids.length)];
      const kind = id === undefined ? 0 : i % 10;
      const before = performance.now();
      const answer = await (kind === 0
        ? ask("POST", "/api/soak/catalog?publish=true", { values: values(i) })
        : kind === 1
          ? ask("PUT", `/api/soak/catalog/${id}?publish=true`, { values: values(i + 1) })
          : kind < 4
            ? ask("GET", "/api/soak/catalog?limit=20")
            : ask("GET", `/api/soak/catalog/${id}`)
      ).catch((error: unknown) => ({ status: 0, text: String(error) }));
      latencies.push(performance.now() - before);
      if (kind === 0 && answer.status === 201) ids.push((JSON.parse(answer.text) as { id: string }).id);
      // 409 and 412 mean that another request wrote the same entry at the same time. Every other request must
      // succeed.
      else if (answer.status !== 200 && answer.status !== 409 && answer.status !== 412) failures++;
    }
  };
  const clients = Array.from({ length: CLIENTS }, (_, n) => client(n));
  const [runtime] = childrenOf(process.pid, /workerd/);
  const slices: Slice[] = [];
  console.log("requests  failed  p50 ms  p99 ms  functions MiB  broker MiB  connections");
  for (let n = 0; n < SLICES; n++) {
    await delay((total / SLICES) * 1000);
    const sorted = latencies.sort((a, b) => a - b);
    const slice: Slice = {
      requests: sorted.length,
      failures,
      p50: quantile(sorted, 0.5),
      p99: quantile(sorted, 0.99),
      functionsMiB: memoryMiB(runtime),
      brokerMiB: memoryMiB(platform.broker?.pid),
      connections: connectionsOf(platform.broker?.wsPort),
    };
    latencies = [];
    failures = 0;
    slices.push(slice);
    const { requests, p50, p99, functionsMiB, brokerMiB, connections } = slice;
    const columns = [requests, slice.failures, p50.toFixed(1), p99.toFixed(1), functionsMiB.toFixed(0)];
    console.log(
      [...columns, brokerMiB.toFixed(0), connections].map((column) => String(column).padStart(8)).join(""),
    );
  }
  running = false;
  await Promise.all(clients);
  const failed = summary(slices);
  if (failed > 0) throw new Failure(`${failed} requests failed.`);
}

/** Returns the number of established connections to a local port; -1 if the kernel does not list them. */
function connectionsOf(port: number | undefined): number {
  if (port === undefined || process.platform !== "linux") return -1;
  const hex = port.toString(16).toUpperCase().padStart(4, "0");
  const lines = readFileSync("/proc/net/tcp", "utf8").split("\n");
  return lines.filter((line) => new RegExp(`^\\s*\\d+: [0-9A-F]{8}:${hex} [0-9A-F:]{13} 01 `).test(line))
    .length;
}

/** Prints how the last third of the run differs from the first, and returns the number of failed requests. */
function summary(slices: readonly Slice[]): number {
  const third = Math.floor(slices.length / 3);
  const [first, last] = [slices.slice(0, third), slices.slice(-third)];
  const drift = (what: keyof Slice) => {
    const [before, after] = [mean(first.map((one) => one[what])), mean(last.map((one) => one[what]))];
    return `${what} ${before.toFixed(1)} → ${after.toFixed(1)}`;
  };
  console.log(
    `first third → last: ${(["p50", "p99", "functionsMiB", "brokerMiB", "connections"] as const).map(drift).join(", ")}`,
  );
  return slices.reduce((sum, one) => sum + one.failures, 0);
}

try {
  await main();
  process.exit(0);
} catch (error) {
  exitWith(error);
}
