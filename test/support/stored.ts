/** What a platform has stored, as a file: written once by a version, and read by all that come after it. */
import { createHash } from "node:crypto";
import { orbStreamConfig } from "../../shared/store/provision.ts";
import { buckets, streams } from "../../shared/store/subjects.ts";
import type { Store } from "../../shared/store/types.ts";

/** Messages by stream, in order. */
export type Stored = Record<string, { seq: number; subject: string; data: string }[]>;

const key = (name: string) => createHash("sha256").update(name).digest("base64url");

/** The keys that the fixtures were sealed with: of no use anywhere else. */
export const FIXTURE_KEYS = {
  ENCRYPTION_KEYS: JSON.stringify([{ kid: "fixture", k: key("encryption") }]),
  CLAIM_KEY: key("claims"),
};

/** What lasts: neither sessions and challenges, nor what the broker's scheduler makes. */
const LASTING = [
  streams.platform,
  ...Object.values(buckets)
    .filter((bucket) => bucket !== buckets.sessions && bucket !== buckets.challenges)
    .map((bucket) => streams.kv(bucket)),
];

/** Reads everything lasting, with the streams of these orbs. */
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

/** Writes it into a fresh, provisioned broker; sequences are the same, as messages refer to each other by them. */
export async function writeStored(store: Store, stored: Stored): Promise<void> {
  for (const [stream, messages] of Object.entries(stored)) {
    if (stream.startsWith("ø")) await store.createStream(orbStreamConfig(stream.slice(1), 1));
    let next = ((await store.streamInfo(stream))?.state.last_seq ?? 0) + 1;
    for (const { seq, subject, data } of messages) {
      // What had been replaced by then leaves a gap.
      for (; next < seq && stream.startsWith("ø"); next++) {
        await store.append(stream, { subject: `${stream.slice(1)}._guard.gap.0`, data: "", rollup: true });
      }
      await store.append(stream, { subject, data });
      next++;
    }
  }
}
