/** The platform's streams and buckets. Creating them again changes nothing. */
import { pause } from "../../kernel/pause.ts";
import { buckets, FOLLOWED, kvSubject, streams, subjects } from "../subjects.ts";
import { Conflict, type Store, type StreamConfig } from "../types.ts";
import { baseConfig } from "./store.ts";

const NANOS_PER_SECOND = 1_000_000_000;

/** Rate-limit rules: how many acts one client may do in the window. The broker counts and forgets by itself. */
export const LIMIT_WINDOW_SECONDS = 60;
export const LIMIT_PER_WINDOW = 300;

/** Lifetime of quota counters in seconds: longer than the longest window that the settings allow. */
const QUOTA_SECONDS = 900;
const LONG_QUOTA_SECONDS = 2 * 86_400;

/** Seconds between two heartbeats, and until one is forgotten. */
const HEARTBEAT_SECONDS = 5;
const HEARTBEAT_TTL_SECONDS = 3600;

/** The stream that holds an orb's entries. `republish` tells live listeners also what the scheduler appended. */
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

/** Where a stream with `republish` tells what it stored on a subject. */
export function feedSubject(subject: string): string {
  return `_feed.${subject}`;
}

/** Filter of what a stream tells of, where it does. */
export function republishedFilter(config: StreamConfig): string | undefined {
  const { src, dest } = (config.republish ?? {}) as { src?: string; dest?: string };
  return src !== undefined && dest === feedSubject(src) ? src : undefined;
}

/** Bytes of all registrations of handlers. The largest one that the platform accepts has 256 KiB. */
const HANDLERS_BYTES = 8 * 1024 * 1024;

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

/** A stream of counters. The broker deletes a counter that has not changed for this many seconds. */
function counters(name: string, seconds: number, replicas: number): StreamConfig {
  return {
    ...baseConfig(name, [`_quota.${name}.>`], replicas),
    allow_msg_counter: true,
    max_msgs_per_subject: 1,
    max_age: seconds * NANOS_PER_SECOND,
  };
}

/** Settings of every stream and bucket that the platform itself has. */
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
      // Not in memory: a broker that is alone forgets a stream in memory altogether when it is started again.
      max_msgs_per_subject: LIMIT_PER_WINDOW,
      discard: "new",
      discard_new_per_subject: true,
      max_age: LIMIT_WINDOW_SECONDS * NANOS_PER_SECOND,
    },
    counters(streams.quotas, QUOTA_SECONDS, replicas),
    counters(streams.longQuotas, LONG_QUOTA_SECONDS, replicas),
    // No max_age: it would remove the schedule. Each beat has a lifetime of its own.
    {
      ...baseConfig(streams.heartbeat, ["heartbeat.>"], replicas),
      allow_msg_schedules: true,
      allow_msg_ttl: true,
      allow_rollup_hdrs: true,
      republish: { src: "heartbeat.>", dest: feedSubject("heartbeat.>") },
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
    bucketConfig(buckets.challenges, replicas),
    // Services write their own keys here. They must not roll up the keys of others, nor store more than the platform can
    // list: publishing an orb lists them all.
    bucketConfig(buckets.handlers, replicas, { allow_rollup_hdrs: false, max_bytes: HANDLERS_BYTES }),
    bucketConfig(buckets.streamMappings, replicas),
  ];
}

/** Lets the broker's scheduler publish heartbeats, unless it does already. */
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

/** The mappings that the platform ships with; what an operator changed or removed stays so. */
export const DEFAULT_MAPPINGS = [
  {
    name: "heartbeat",
    stream: streams.heartbeat,
    subjectFilter: subjects.heartbeat,
    description: "A message every few seconds, published by the broker's scheduler.",
  },
  {
    name: "wallet",
    stream: streams.wallet,
    subjectFilter: "wallet.{userID}.>",
    description: "What happens in the caller's own wallet.",
  },
] as const;

async function mapStreams(store: Store): Promise<void> {
  const bucket = buckets.streamMappings;
  for (const { name, ...mapping } of DEFAULT_MAPPINGS) {
    // A removed mapping has left a marker.
    if ((await store.get(streams.kv(bucket), kvSubject(bucket, name))) !== null) continue;
    await once(store.kvPut(bucket, name, JSON.stringify({ v: 1, ...mapping }), { expect: 0 }));
  }
}

/** Does a step that another may have done at the same moment. */
async function once(step: Promise<unknown>): Promise<void> {
  await step.catch((error: unknown) => {
    if (!(error instanceof Conflict)) throw error;
  });
}

/** Bytes that a stream may hold; -1 if it has no limit. */
const limitOf = ({ max_bytes }: StreamConfig) => (typeof max_bytes === "number" ? max_bytes : -1);

/**
 * Creates a stream. One that exists keeps its settings, except that it republishes what this version wants, and gets the
 * limit of this version if it has none.
 */
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
 * Creates what is missing. Right after a start, a broker that reports itself healthy may still refuse to create a
 * stream: it is asked again for up to `patienceMs`.
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
  await once(scheduleHeartbeat(store));
  await mapStreams(store);
}
