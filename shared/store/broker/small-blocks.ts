import { READ_BYTES } from "../budget.ts";
import { scanPages } from "../pages.ts";
import { streams, subjects } from "../subjects.ts";
import type { Store, StreamConfig } from "../types.ts";

/** Bytes that the broker adds to `max_msg_size` when it estimates the size of a stream. */
const RECORD_BYTES = 290;
const ESTIMATE = 2 ** 23;

/**
 * Limits that no stream reaches. They make the broker keep messages in files of 32,000 bytes instead of 8 MiB.
 *
 * The broker reads and holds whole files. So with large ones, it would hold nearly all data of a stream that is read at
 * random places. No setting names the size. The broker derives it from `max_msgs` times the estimated message size, with
 * 64 bits. That product is 2^64 here, which counts as 0, and the smallest size follows. A broker that calculates
 * otherwise uses files of 8 MiB: it needs more memory, and everything else stays the same.
 */
export const SMALL_BLOCKS = { max_msg_size: ESTIMATE - RECORD_BYTES, max_msgs: 2 ** 41 } as const;

const ORBS_PER_PAGE = 256;
const AT_ONCE = 16;

const isLimit = (value: unknown) => typeof value === "number" && value > 0;

/** Returns the configuration with small files, or undefined if it has limits already. An operator may have set them. */
function withSmallBlocks(config: StreamConfig): StreamConfig | undefined {
  const limits = [config.max_msgs, config.max_msg_size, config.max_bytes, config.max_msgs_per_subject];
  return limits.some(isLimit) ? undefined : { ...config, ...SMALL_BLOCKS };
}

async function shrink(store: Store, stream: string): Promise<void> {
  const there = await store.streamInfo(stream);
  const config = there === null ? undefined : withSmallBlocks(there.config);
  if (config !== undefined) await store.updateStream(config);
}

/**
 * Gives the streams of existing orbs small files. The broker applies it to new files, after its next start. Files that
 * exist keep their size. Skips a stream that does not respond, because the start must not depend on it. The next start
 * tries it again.
 */
export async function shrinkOrbs(store: Store): Promise<void> {
  const read = (fromSeq: number) =>
    store.scan(streams.platform, subjects.allOrbPlaces, {
      fromSeq,
      limit: ORBS_PER_PAGE,
      maxBytes: READ_BYTES,
    });
  for await (const places of scanPages(read)) {
    const orbs = places
      .filter(({ size }) => size > 0)
      .map(({ subject }) => streams.orb(subject.split(".").at(-1) ?? ""));
    for (let i = 0; i < orbs.length; i += AT_ONCE)
      await Promise.allSettled(orbs.slice(i, i + AT_ONCE).map((stream) => shrink(store, stream)));
  }
}
