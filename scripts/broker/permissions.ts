/** Permissions of the broker's users. No user can read the replies to another user's requests. */
import { buckets, streams } from "../../shared/store/subjects.ts";

export type BrokerUser = "fn" | "streams" | "deploy" | "operator";

/** Subjects in the syntax of NATS permissions. If `allow` and `deny` both match, `deny` applies. */
interface Subjects {
  allow: string[];
  deny?: string[];
}

interface Permissions {
  publish: Subjects;
  subscribe: Subjects;
  /** Allowed types of connections; all types if missing. */
  connections?: string[];
}

/** Permission to read messages and stream information. */
const READ = [
  "$JS.API.DIRECT.GET.*",
  "$JS.API.DIRECT.GET.*.>",
  "$JS.API.STREAM.MSG.GET.*",
  "$JS.API.STREAM.INFO.*",
  "$JS.API.STREAM.NAMES",
];

const inboxes = (...users: BrokerUser[]) => users.map((user) => `_INBOX.${user}.>`);
const on = (command: string, names: string[]) => names.map((name) => `$JS.API.STREAM.${command}.${name}`);

/** Streams that the functions must not delete, so that an attacker with their credentials cannot either. */
const OWN = [
  streams.platform,
  streams.limits,
  streams.quotas,
  streams.longQuotas,
  streams.usage,
  streams.heartbeat,
  streams.wallet,
  streams.hooks,
  ...Object.values(buckets).map((bucket) => streams.kv(bucket)),
];

/**
 * Streams that the functions may purge, to erase accounts, sessions and the hook deliveries of deleted applications.
 */
const ERASABLE = [
  ...[
    buckets.sessions,
    buckets.apiTokens,
    buckets.challenges,
    buckets.orbUsers,
    buckets.orbCredentials,
    buckets.orbInvitations,
    buckets.unsaved,
  ].map((bucket) => streams.kv(bucket)),
  streams.hooks,
];

/**
 * Subjects of messages that announce changes of definitions, sessions, API tokens and accounts. Only long-lived hosts,
 * which cache this data, may subscribe.
 */
const TOLD = "_feed.$KV.>";

/**
 * Subjects that belong to the broker and the platform. A stream that clients can write to may use any other subject.
 */
const FEEDS_DENIED = [
  "$SYS.>",
  "$JS.>",
  "$KV.>",
  "$O.>",
  "$SRV.>",
  "platform.>",
  "_limit.>",
  "_quota.>",
  "_usage.>",
  "_hooks.>",
];

export const PERMISSIONS: Record<BrokerUser, Permissions> = {
  // The functions call services whose names are unknown here, so their user `fn` has a list of denied subjects instead
  // of allowed ones. The list denies most of the JetStream API: with a push consumer, for example, the user could send
  // a stream's messages to any subject.
  fn: {
    publish: {
      allow: [">"],
      deny: [
        "$SYS.>",
        "$SRV.>",
        "$JS.ACK.>",
        "$JS.FC.>",
        "$JS.API.INFO",
        "$JS.API.ACCOUNT.>",
        "$JS.API.SERVER.>",
        "$JS.API.META.>",
        "$JS.API.CONSUMER.>",
        "$JS.API.STREAM.UPDATE.*",
        "$JS.API.STREAM.SNAPSHOT.*",
        "$JS.API.STREAM.RESTORE.*",
        "$JS.API.STREAM.MSG.DELETE.*",
        "$JS.API.STREAM.PEER.>",
        "$JS.API.STREAM.LEADER.>",
        ...on("DELETE", OWN),
        ...on(
          "PURGE",
          OWN.filter((name) => !ERASABLE.includes(name)),
        ),
        "_INBOX.>",
        "_feed.>",
        "heartbeat.>",
      ],
    },
    subscribe: { allow: [">"], deny: [...FEEDS_DENIED, ...inboxes("streams", "deploy", "operator")] },
    connections: ["WEBSOCKET"],
  },
  // The streams process only reads.
  streams: {
    publish: { allow: READ },
    subscribe: { allow: [">"], deny: [...FEEDS_DENIED, TOLD, ...inboxes("fn", "deploy", "operator")] },
    connections: ["WEBSOCKET"],
  },
  // Provisioning creates streams and buckets and writes the platform's built-in definitions.
  deploy: {
    publish: {
      allow: [
        ...READ,
        "$JS.API.STREAM.CREATE.*",
        "$JS.API.STREAM.UPDATE.*",
        "$KV.>",
        "platform.>",
        "heartbeat.>",
      ],
    },
    subscribe: { allow: inboxes("deploy") },
    connections: ["WEBSOCKET"],
  },
  // `npm run nats:url` prints these credentials for the operator's own clients and services.
  operator: { publish: { allow: [">"] }, subscribe: { allow: [">"] } },
};
