import type { DamagedOrb, LiveSummary } from "../definition/stored/index.ts";
import type { Deps } from "../deps.ts";
import { mapInParallel } from "../kernel/parallel.ts";
import { indexBytes } from "../store/budget.ts";
import { buckets, streams, subjects } from "../store/subjects.ts";
import type { StreamInfo } from "../store/types.ts";
import type { PublishedOrbs } from "./published-orbs.ts";

export const MAX_ORBS = 1_000;

export interface OrbFigures {
  orb: string;
  info: StreamInfo;
  entries: number;
}

async function orbFigures(deps: Deps, orb: string): Promise<OrbFigures | undefined> {
  const stream = streams.orb(orb);
  const [info, index] = await Promise.all([
    deps.store.streamInfo(stream),
    // Each entry has one message in the index, so the number of messages is the number of entries.
    deps.store
      .scan(stream, subjects.orbIndex(orb), { fromSeq: 1, limit: 1, maxBytes: indexBytes(1) })
      .catch(() => undefined),
  ]);
  if (info === null || index === undefined) return undefined;
  return { orb, info, entries: index.messages.length + index.pending };
}

/** A copy always lags a little during writes. This many messages are too many. */
const LAG_LIMIT = 1_000;

/** Nanoseconds without contact after which a copy counts as away. Its broker may run, but fail to write to its disk. */
const SILENT_NS = 10_000_000_000;

/** Returns whether the leader has not heard of a copy for a while. 0 means that this leader never has. */
const isSilent = (active: number | undefined) => active !== undefined && (active === 0 || active > SILENT_NS);

/** What the leader of a stream says about another copy. */
export interface Copy {
  /** The broker that has it. */
  name?: string;
  offline?: boolean;
  current?: boolean;
  lag?: number;
  /** Nanoseconds since the last contact. */
  active?: number;
}

/** Returns whether a copy of a stream is away, or far behind. */
export const isCopyMissing = ({ offline, current, lag, active }: Copy) =>
  offline === true || (current === false && ((lag ?? 0) > LAG_LIMIT || isSilent(active)));

/** Returns how many copies of a stream are away, or far behind. */
export function copiesMissing(info: StreamInfo | null): number {
  return (info?.cluster?.replicas ?? []).filter(isCopyMissing).length;
}

export interface Figures {
  orbs: readonly LiveSummary[];
  damaged: DamagedOrb[];
  platform: StreamInfo | null;
  sessions: StreamInfo | null;
  roundTripMs: number;
  server: { version: string };
  figures: OrbFigures[];
}

/** Reads all metrics with two requests per application. */
export async function readFigures(deps: Deps, published: PublishedOrbs): Promise<Figures> {
  const damaged = await published.damaged(deps);
  const [orbs, platform, sessions, roundTripMs, server] = await Promise.all([
    published.list(deps),
    deps.store.streamInfo(streams.platform),
    deps.store.streamInfo(streams.kv(buckets.sessions)),
    deps.store.ping(),
    deps.store.server(),
  ]);
  const asked = orbs.slice(0, MAX_ORBS).map(({ orb }) => orb);
  const found = await mapInParallel(asked, (orb) => orbFigures(deps, orb));
  const figures = found.filter((each) => each !== undefined);
  return { orbs, damaged, platform, sessions, roundTripMs, server, figures };
}
