import { buckets, streams, subjects } from "../../shared/store/subjects.ts";
import type { Store } from "../../shared/store/types.ts";

/**
 * Buckets that requests with a body write to. The bucket of challenges is left out, because even a refused attempt uses
 * up a challenge.
 */
const BUCKETS = [
  buckets.platformAdmins,
  buckets.platformCredentials,
  buckets.platformInvitations,
  buckets.orbUsers,
  buckets.orbCredentials,
  buckets.orbInvitations,
  buckets.orbs,
  buckets.sessions,
  buckets.streamMappings,
];

/** Returns the stored state that a refused request must not change: accounts, definitions, and the stream of an orb. */
export async function writtenState(store: Store, orb: string): Promise<unknown> {
  const last = async (stream: string) => (await store.streamInfo(stream))?.state.last_seq;
  const limits = { fromSeq: 1, limit: 1, maxBytes: 64 * 1024 * 1024 };
  const count = async (filter: string) => {
    const { messages, pending } = await store.scan(streams.platform, filter, limits);
    return messages.length + pending;
  };
  return {
    entries: await last(streams.orb(orb)),
    history: (await store.get(streams.platform, subjects.orbHistory(orb)))?.seq,
    orbs: await count("platform.orbs.>"),
    definitions: await count("platform.definitions.>"),
    buckets: await Promise.all(BUCKETS.map((bucket) => last(streams.kv(bucket)))),
  };
}
