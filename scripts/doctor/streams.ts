/**
 * Checks every stream: whether its configuration is as provisioned, and whether its replicas are complete and up to
 * date.
 */

import { type Copy, isCopyMissing } from "../../shared/discovery/gauges.ts";
import { inParallel } from "../../shared/kernel/parallel.ts";
import { platformStreams } from "../../shared/store/broker/index.ts";
import type { Store } from "../../shared/store/types.ts";
import { allStreams, api } from "../backup/format.ts";
import { type Finding, fail, ok, sizeOf, warn } from "./finding.ts";

/** Maximum parallel requests to the broker. */
const AT_ONCE = 32;

interface Stream {
  config: { num_replicas: number };
  state: { bytes: number };
  cluster?: { leader?: string; replicas?: Copy[] };
}

async function infos(store: Store, names: string[]): Promise<Map<string, Stream>> {
  const found = new Map<string, Stream>();
  const read = async (name: string) => {
    // The stream may have just been deleted together with its application.
    const info = await api(store, `STREAM.INFO.${name}`, {}).catch(() => undefined);
    if (info !== undefined) found.set(name, info as unknown as Stream);
  };
  await inParallel(names, read, AT_ONCE);
  return found;
}

/** Formats up to five names, and the number of further names. */
function some(names: string[]): string {
  const shown = names.slice(0, 5).join(", ");
  return names.length > 5 ? `${shown} and ${names.length - 5} more` : shown;
}

/**
 * Checks the streams of a broker.
 * @param replicas the number of replicas that every stream should have
 */
export async function checkStreams(store: Store, replicas: number): Promise<Finding[]> {
  const streams = await infos(store, await allStreams(store));
  const missing = platformStreams(replicas)
    .map(({ name }) => name)
    .filter((name) => !streams.has(name));
  if (missing.length > 0) {
    return [
      fail(
        "streams",
        `These streams do not exist: ${some(missing)}.`,
        "Run npm run provision, or restore a backup.",
      ),
    ];
  }
  const where = (is: (stream: Stream) => boolean) =>
    [...streams].filter(([, one]) => is(one)).map(([name]) => name);
  const findings: Finding[] = [];
  const otherCount = where(({ config }) => config.num_replicas !== replicas);
  if (otherCount.length > 0) {
    findings.push(
      fail(
        "replicas",
        `These streams do not have ${replicas} copies: ${some(otherCount)}.`,
        "Set NATS_REPLICAS to the number that you want, for every host, and run npm run provision.",
      ),
    );
  }
  const leaderless = where(({ cluster }) => cluster !== undefined && !cluster.leader);
  if (leaderless.length > 0) {
    findings.push(
      fail(
        "replicas",
        `These streams have no leader, so they refuse writes: ${some(leaderless)}.`,
        "Start the missing brokers: more than half of the copies must run.",
      ),
    );
  }
  const behind = where(({ cluster }) => (cluster?.replicas ?? []).some(isCopyMissing));
  if (behind.length > 0) {
    findings.push(
      warn(
        "replicas",
        `A copy of these streams is offline or far behind: ${some(behind)}.`,
        "Start the missing broker, or wait until it has caught up, before you stop another one.",
      ),
    );
  }
  if (findings.length > 0) return findings;
  const bytes = [...streams.values()].reduce((sum, { state }) => sum + state.bytes, 0);
  return [
    ok(
      "replicas",
      `All ${streams.size} streams have ${replicas} of ${replicas} copies, together ${sizeOf(bytes)} per copy.`,
    ),
  ];
}
