/**
 * Permissions of the started broker's users, in one table. It also shows what to grant to the users of an external
 * broker.
 *
 * Each user receives replies on `_INBOX.<user>.>`, and no user can read another one's.
 */
import { buckets, streams } from "../../shared/store/subjects.ts";

/** Users of the started broker. */
export type BrokerUser = "fn" | "streams" | "deploy" | "operator";

/** Subjects in NATS permission syntax; `deny` takes precedence. */
interface Subjects {
  allow: string[];
  deny?: string[];
}

interface Permissions {
  publish: Subjects;
  subscribe: Subjects;
  /** Allowed connection types; all if missing. */
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

/** The platform's own streams. An attacker with the functions' credentials must not be able to delete them. */
const OWN = [
  streams.platform,
  streams.limits,
  streams.quotas,
  streams.longQuotas,
  streams.heartbeat,
  streams.wallet,
  ...Object.values(buckets).map((bucket) => streams.kv(bucket)),
];

/** Those of them that the functions may purge, to erase accounts and sessions. */
const ERASABLE = [
  buckets.sessions,
  buckets.challenges,
  buckets.orbUsers,
  buckets.orbCredentials,
  buckets.orbInvitations,
].map((bucket) => streams.kv(bucket));

/** Only hosts may subscribe to changes of definitions and sessions. */
const TOLD = "_feed.$KV.>";

/** Subjects of live streams: any stream that a platform admin can map, but no subject of the broker or the platform. */
const FEEDS_DENIED = ["$SYS.>", "$JS.>", "$KV.>", "$SRV.>", "platform.>", "_limit.>", "_quota.>"];

export const PERMISSIONS: Record<BrokerUser, Permissions> = {
  // The functions write to orbs' subjects and call services, whose names are not known in advance, so this user has a
  // deny list: the JetStream API except what the functions use (in particular consumers, because a push consumer can
  // deliver a stream to any subject), and the platform's own streams as a whole.
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
        "$JS.API.STREAM.LIST",
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
  // `npm run nats:url` prints these credentials for other clients and services of the operator.
  operator: { publish: { allow: [">"] }, subscribe: { allow: [">"] } },
};
