/**
 * Summaries of all published applications, in one message of the broker. A process that starts reads it instead of all
 * definitions. It is a cache: whoever has read many definitions replaces it, and readers read what changed since.
 */
import type { LiveSummary } from "../definition/stored/index.ts";
import type { Deps } from "../deps.ts";
import { nullOnConflict } from "../store/pages.ts";
import { streams, subjects } from "../store/subjects.ts";

/** The broker accepts messages of up to a million bytes. This has about 10,000 applications. */
const MAX_LENGTH = 900_000;

/** An application that is not published has no name and no queues. */
type StoredSummary = [
  orb: string,
  seq: number,
  name?: string | null,
  queues?: [id: string, since: number | null][],
];

interface Stored {
  v: 1;
  /** Tells the bucket of the definitions from a later one with the same name. */
  created: string;
  /** Definitions up to this sequence number of the bucket are included. */
  upTo: number;
  orbs: StoredSummary[];
}

/** The summary of one application, and the sequence number of its definition. Null if it is not published. */
export interface KnownSummary {
  seq: number;
  found: LiveSummary | null;
}

export interface Summaries {
  upTo: number;
  keys: Map<string, KnownSummary>;
}

function summaryIn([orb, seq, name, queues]: StoredSummary): KnownSummary {
  if (queues === undefined) return { seq, found: null };
  const some = queues.map(([id, since]) => ({ id, since: since ?? undefined }));
  return { seq, found: { orb, name: name ?? undefined, queues: some } };
}

function stored([orb, { seq, found }]: [string, KnownSummary]): StoredSummary {
  if (found === null) return [orb, seq];
  return [orb, seq, found.name ?? null, found.queues.map(({ id, since }) => [id, since ?? null])];
}

/** Returns the stored summaries, or undefined if there are none of this bucket. */
export async function readSummaries(
  { store }: Pick<Deps, "store">,
  created: string,
): Promise<Summaries | undefined> {
  const message = await store.get(streams.platform, subjects.orbSummaries);
  if (message === null || message.size === 0) return undefined;
  const body = message.json<Stored>();
  if (body.v !== 1 || body.created !== created) return undefined;
  return { upTo: body.upTo, keys: new Map(body.orbs.map((one) => [one[0], summaryIn(one)])) };
}

/** Replaces the stored summaries, unless another process replaces them at the same time. */
export async function writeSummaries(
  { store }: Pick<Deps, "store">,
  created: string,
  { upTo, keys }: Summaries,
): Promise<void> {
  const data = JSON.stringify({ v: 1, created, upTo, orbs: [...keys].map(stored) } satisfies Stored);
  if (new TextEncoder().encode(data).length > MAX_LENGTH) return;
  const before = await store.get(streams.platform, subjects.orbSummaries);
  await nullOnConflict(
    store.append(streams.platform, {
      subject: subjects.orbSummaries,
      data,
      rollup: true,
      expect: { seq: before?.seq ?? 0 },
    }),
  );
}
