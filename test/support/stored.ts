/**
 * The stored data of a platform as a file. One version of the platform writes it, and all later versions must be able
 * to read it.
 */
import { createHash } from "node:crypto";
import { orbStreamConfig } from "../../shared/store/broker/provision.ts";
import { buckets, streams } from "../../shared/store/subjects.ts";
import type { Store } from "../../shared/store/types.ts";

/** The messages of each stream, in order. */
export type Stored = Record<string, { seq: number; subject: string; data: string }[]>;

const key = (name: string) => createHash("sha256").update(name).digest("base64url");

/** Keys that encrypted the stored data. They are used for nothing else. */
export const FIXTURE_KEYS = {
  ENCRYPTION_KEYS: JSON.stringify([{ kid: "fixture", k: key("encryption") }]),
  CLAIM_KEY: key("claims"),
};

/** Streams whose data lasts. Sessions, challenges and messages of the broker's scheduler are left out. */
const LASTING = [
  streams.platform,
  ...Object.values(buckets)
    .filter((bucket) => bucket !== buckets.sessions && bucket !== buckets.challenges)
    .map((bucket) => streams.kv(bucket)),
];

/** Reads all lasting data, including the streams of these orbs. */
export async function readStored(store: Store, orbs: readonly string[]): Promise<Stored> {
  const stored: Stored = {};
  for (const stream of [...LASTING, ...orbs.map((orb) => streams.orb(orb))]) {
    const { messages } = await store.scan(stream, ">", { fromSeq: 1, limit: 5_000, maxBytes: 1e8 });
    stored[stream] = messages.map((message) => ({
      seq: message.seq,
      subject: message.subject,
      data: message.text(),
    }));
  }
  return stored;
}

/**
 * Writes the data into a new, provisioned broker. Each message keeps its sequence number, because messages refer to
 * each other by number.
 */
export async function writeStored(store: Store, stored: Stored): Promise<void> {
  for (const [stream, messages] of Object.entries(stored)) {
    if (stream.startsWith("ø")) await store.createStream(orbStreamConfig(stream.slice(1), 1));
    let next = ((await store.streamInfo(stream))?.state.last_seq ?? 0) + 1;
    for (const { seq, subject, data } of messages) {
      // The missing numbers belong to messages that were replaced. Fill each gap with an empty message.
      for (; next < seq && stream.startsWith("ø"); next++) {
        await store.append(stream, { subject: `${stream.slice(1)}._guard.gap.0`, data: "", rollup: true });
      }
      await store.append(stream, { subject, data });
      next++;
    }
  }
}
