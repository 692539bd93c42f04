import type { LiveOrb } from "../definition/live-orb.ts";
import { type DamagedOrb, liveDefinitions } from "../definition/stored/live.ts";
import type { Deps } from "../deps.ts";
import { indexBytes } from "../store/budget.ts";
import { buckets, streams, subjects } from "../store/subjects.ts";
import type { StreamInfo } from "../store/types.ts";

export const MAX_ORBS = 1_000;
const AT_ONCE = 16;

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

export interface Figures {
  orbs: LiveOrb[];
  damaged: DamagedOrb[];
  platform: StreamInfo | null;
  sessions: StreamInfo | null;
  roundTripMs: number;
  server: { version: string };
  figures: OrbFigures[];
}

/** Reads all metrics with two requests per application. */
export async function readFigures(deps: Deps): Promise<Figures> {
  const [{ orbs, damaged }, platform, sessions, roundTripMs, server] = await Promise.all([
    liveDefinitions(deps),
    deps.store.streamInfo(streams.platform),
    deps.store.streamInfo(streams.kv(buckets.sessions)),
    deps.store.ping(),
    deps.store.server(),
  ]);
  const asked = orbs.slice(0, MAX_ORBS).map(({ orb }) => orb);
  const figures: OrbFigures[] = [];
  for (let i = 0; i < asked.length; i += AT_ONCE) {
    const some = await Promise.all(asked.slice(i, i + AT_ONCE).map((orb) => orbFigures(deps, orb)));
    figures.push(...some.filter((each) => each !== undefined));
  }
  return { orbs, damaged, platform, sessions, roundTripMs, server, figures };
}
