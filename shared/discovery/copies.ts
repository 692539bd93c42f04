/** Which brokers of a cluster do not keep up. The others go on, so this is a warning and no failure. */
import type { Config, Deps } from "../deps.ts";
import { pause } from "../kernel/pause.ts";
import { streams } from "../store/subjects.ts";
import { isCopyMissing } from "./gauges.ts";

/** Health checks of one process ask the leaders at most once in this many milliseconds. */
const EVERY_MS = 5_000;
/** Milliseconds to wait for the leaders. A leader that is frozen must not delay a health check. */
const PATIENCE_MS = 500;
/** Streams whose copies tell. Proofs of writes arrive every few seconds in the first one. */
const ASKED = [streams.limits, streams.platform];

interface Known {
  askedAt: number;
  brokers: readonly string[];
}

/** The last answer for this process. Workers must not share promises between requests, so it holds results only. */
const known = new WeakMap<Config, Known>();

/** Returns the names of brokers whose copies are away or far behind. The answer may be some seconds old. */
export async function brokersBehind({
  store,
  clock,
  config,
}: Pick<Deps, "store" | "clock" | "config">): Promise<readonly string[]> {
  if (config.replicas === 1) return [];
  const now = clock.now();
  const last = known.get(config);
  if (last !== undefined && Math.abs(now - last.askedAt) < EVERY_MS) return last.brokers;
  const asked: Known = { askedAt: now, brokers: last?.brokers ?? [] };
  known.set(config, asked);
  const ask = async () => {
    const infos = await Promise.all(ASKED.map((name) => store.streamInfo(name)));
    const missing = infos.flatMap((info) => (info?.cluster?.replicas ?? []).filter(isCopyMissing));
    asked.brokers = [...new Set(missing.map(({ name = "unknown" }) => name))].sort();
  };
  await Promise.race([ask().catch(() => undefined), pause(PATIENCE_MS)]);
  return asked.brokers;
}
