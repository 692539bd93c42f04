/** Creates and updates the broker's streams and key-value buckets. Repeated calls are safe. */

import { pause } from "../../kernel/pause.ts";
import { fileStream, fileSubjects } from "../file-subjects.ts";
import { nullOnConflict } from "../pages.ts";
import type { Installation } from "../policy.ts";
import { buckets, FOLLOWED, kvSubject, streams, subjects } from "../subjects.ts";
import type { Store, StreamConfig } from "../types.ts";
import { baseConfig } from "./store.ts";

const NANOS_PER_SECOND = 1_000_000_000;

/** Period of the rate limits in seconds. The broker counts each attempt for this long. */
export const LIMIT_WINDOW_SECONDS = 60;
export const LIMIT_PER_WINDOW = 300;

/**
 * Seconds until an unchanged quota counter expires. Must be longer than the longest period for which a quota counts.
 */
const QUOTA_SECONDS = 900;
const LONG_QUOTA_SECONDS = 2 * 86_400;

/** Seconds for which the counts of requests are kept. An application has at most one message of some KiB for each hour. */
const USAGE_SECONDS = 8 * 86_400;

/** Number of successful deliveries that are kept for each hook or schedule. The broker discards older ones. */
const DELIVERIES_KEPT = 100;

const HEARTBEAT_SECONDS = 5;
const HEARTBEAT_TTL_SECONDS = 3600;

/** Returns the configuration of the stream that holds an application's entries. */
export function orbStreamConfig(orb: string, replicas: number): StreamConfig {
  return {
    ...baseConfig(streams.orb(orb), [subjects.orbAll(orb)], replicas),
    allow_atomic: true,
    allow_msg_ttl: true,
    allow_msg_schedules: true,
    allow_rollup_hdrs: true,
    republish: { src: subjects.orbAll(orb), dest: feedSubject(subjects.orbAll(orb)) },
  };
}

/** Creates the stream of an application's entries, unless it exists. */
export function createOrbStream({ store, config }: Installation, orb: string): Promise<void> {
  return store.createStream(orbStreamConfig(orb, config.replicas));
}

/** Returns the configuration of the object store for an application's files. */
export function fileStreamConfig(orb: string, replicas: number): StreamConfig {
  return {
    ...baseConfig(fileStream(orb), fileSubjects.ofStore(orb), replicas),
    discard: "new",
    allow_atomic: true,
    allow_msg_ttl: true,
    allow_rollup_hdrs: true,
  };
}

/** Creates the object store of an application's files, unless it exists. */
export function createFileStream({ store, config }: Installation, orb: string): Promise<void> {
  return store.createStream(fileStreamConfig(orb, config.replicas));
}

export function feedSubject(subject: string): string {
  return `_feed.${subject}`;
}

export function republishedFilter(config: StreamConfig): string | undefined {
  const { src, dest } = (config.republish ?? {}) as { src?: string; dest?: string };
  return src !== undefined && dest === feedSubject(src) ? src : undefined;
}

/**
 * Maximum bytes of the bucket in which services register the handlers that they provide. One registration has at most
 * 256 KiB.
 */
const HANDLERS_BYTES = 8 * 1024 * 1024;
const HANDLER_BYTES = 260 * 1024;

function bucketConfig(bucket: string, replicas: number, more: Partial<StreamConfig> = {}): StreamConfig {
  const all = kvSubject(bucket, ">");
  return {
    ...baseConfig(streams.kv(bucket), [all], replicas),
    max_msgs_per_subject: 1,
    discard: "new",
    deny_delete: true,
    allow_rollup_hdrs: true,
    allow_msg_ttl: true,
    ...(FOLLOWED.includes(bucket) ? { republish: { src: all, dest: feedSubject(all) } } : {}),
    ...more,
  };
}

function counters(name: string, seconds: number, replicas: number): StreamConfig {
  return {
    ...baseConfig(name, [`_quota.${name}.>`], replicas),
    allow_msg_counter: true,
    max_msgs_per_subject: 1,
    max_age: seconds * NANOS_PER_SECOND,
  };
}

/** Names of the streams that exist on every installation. */
export const platformStreamNames = (): string[] => platformStreams(1).map(({ name }) => name);

export function platformStreams(replicas: number): StreamConfig[] {
  return [
    {
      ...baseConfig(streams.platform, ["platform.>"], replicas),
      allow_atomic: true,
      allow_msg_ttl: true,
      allow_rollup_hdrs: true,
    },
    {
      ...baseConfig(streams.limits, ["_limit.>"], replicas),
      // Store the stream on disk, because a single broker loses memory streams when it restarts.
      max_msgs_per_subject: LIMIT_PER_WINDOW,
      discard: "new",
      discard_new_per_subject: true,
      max_age: LIMIT_WINDOW_SECONDS * NANOS_PER_SECOND,
    },
    counters(streams.quotas, QUOTA_SECONDS, replicas),
    counters(streams.longQuotas, LONG_QUOTA_SECONDS, replicas),
    {
      ...baseConfig(streams.usage, ["_usage.>"], replicas),
      max_msgs_per_subject: 1,
      max_age: USAGE_SECONDS * NANOS_PER_SECOND,
    },
    // Do not set `max_age` for this stream. It would also delete the message that schedules the heartbeats.
    {
      ...baseConfig(streams.heartbeat, ["heartbeat.>"], replicas),
      allow_msg_schedules: true,
      allow_msg_ttl: true,
      allow_rollup_hdrs: true,
      republish: { src: "heartbeat.>", dest: feedSubject("heartbeat.>") },
    },
    {
      ...baseConfig(streams.hooks, ["_hooks.>"], replicas),
      allow_atomic: true,
      allow_msg_ttl: true,
      allow_msg_schedules: true,
      allow_rollup_hdrs: true,
      max_msgs_per_subject: DELIVERIES_KEPT,
    },
    {
      ...baseConfig(streams.wallet, ["wallet.>"], replicas),
      republish: { src: "wallet.>", dest: feedSubject("wallet.>") },
    },
    bucketConfig(buckets.orbs, replicas),
    bucketConfig(buckets.platformAdmins, replicas),
    bucketConfig(buckets.platformInvitations, replicas),
    bucketConfig(buckets.platformCredentials, replicas),
    bucketConfig(buckets.orbUsers, replicas),
    bucketConfig(buckets.orbCredentials, replicas),
    bucketConfig(buckets.orbInvitations, replicas),
    bucketConfig(buckets.sessions, replicas),
    bucketConfig(buckets.apiTokens, replicas),
    bucketConfig(buckets.challenges, replicas),
    // Services register their handlers in this bucket. Rollups (messages that replace all others) are off, because a
    // service could use one to delete the keys of other services. The byte limit keeps the bucket small enough to read
    // as a whole.
    bucketConfig(buckets.handlers, replicas, {
      ...{ allow_rollup_hdrs: false, max_bytes: HANDLERS_BYTES, max_msg_size: HANDLER_BYTES },
    }),
    bucketConfig(buckets.streamMappings, replicas),
    bucketConfig(buckets.platformSettings, replicas),
    bucketConfig(buckets.unsaved, replicas),
    bucketConfig(buckets.presence, replicas),
  ];
}

async function scheduleHeartbeat(store: Store): Promise<void> {
  if ((await store.get(streams.heartbeat, subjects.heartbeatSchedule)) !== null) return;
  await store.append(streams.heartbeat, {
    subject: subjects.heartbeatSchedule,
    data: "{}",
    expect: { seq: 0 },
    headers: {
      "Nats-Schedule": `@every ${HEARTBEAT_SECONDS}s`,
      "Nats-Schedule-Target": subjects.heartbeat,
      "Nats-Schedule-TTL": `${HEARTBEAT_TTL_SECONDS}s`,
    },
  });
}

/**
 * Default public streams, each mapped to subjects of the broker. Operators may change or remove them, so provisioning
 * never restores them.
 */
export const DEFAULT_MAPPINGS = [
  {
    name: "heartbeat",
    stream: streams.heartbeat,
    subjectFilter: subjects.heartbeat,
    description: "Heartbeats, published every few seconds by the broker's scheduler.",
  },
  {
    name: "wallet",
    stream: streams.wallet,
    subjectFilter: "wallet.{userID}.>",
    description: "Events in the caller's own wallet.",
  },
] as const;

async function mapStreams(store: Store): Promise<void> {
  const bucket = buckets.streamMappings;
  for (const { name, ...mapping } of DEFAULT_MAPPINGS) {
    // If an operator has removed the mapping, its key has a deletion marker. Do not create it again.
    if ((await store.get(streams.kv(bucket), kvSubject(bucket, name))) !== null) continue;
    await nullOnConflict(store.kvPut(bucket, name, JSON.stringify({ v: 1, ...mapping }), { expect: 0 }));
  }
}

const limitOf = ({ max_bytes }: StreamConfig) => (typeof max_bytes === "number" ? max_bytes : -1);

/** Creates a stream. If the stream exists, only updates its `republish` setting and adds a missing byte limit. */
async function bringUp(store: Store, config: StreamConfig): Promise<void> {
  const there = await store.streamInfo(config.name);
  if (there === null) return store.createStream(config);
  const { republish } = config;
  const unlimited = limitOf(there.config) < 0 && limitOf(config) > 0;
  if (unlimited || republishedFilter(config) !== republishedFilter(there.config)) {
    const max_bytes = unlimited ? limitOf(config) : limitOf(there.config);
    await store.updateStream({ ...there.config, republish, max_bytes });
  }
}

/**
 * Creates missing streams and key-value buckets.
 * @param patienceMs how many milliseconds to retry, because a starting broker reports that it is healthy before it can
 *   create streams
 */
export async function provision(
  store: Store,
  options: { replicas: number; patienceMs?: number },
): Promise<void> {
  const deadline = Date.now() + (options.patienceMs ?? 5000);
  for (const config of platformStreams(options.replicas)) {
    for (;;) {
      try {
        await bringUp(store, config);
        break;
      } catch (error) {
        if (Date.now() > deadline) throw error;
        await pause(200);
      }
    }
  }
  await nullOnConflict(scheduleHeartbeat(store));
  await mapStreams(store);
}
