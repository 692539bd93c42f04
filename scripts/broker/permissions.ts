/**
 * Who may do what at the started broker: one table, so that it can be read and tightened in one place. Whoever runs
 * a broker of his own finds here what to grant to its users.
 *
 * Everybody's answers come in on `_INBOX.<user>.>`, and nobody hears another one's.
 */
import { buckets, streams } from "../../shared/store/subjects.ts";

/** Users of the started broker. */
export type BrokerUser = "fn" | "streams" | "deploy" | "operator";

/** Subjects in the broker's terms; `deny` wins. */
interface Subjects {
  allow: string[];
  deny?: string[];
}

interface Permissions {
  publish: Subjects;
  subscribe: Subjects;
  /** Kinds of connection in the broker's terms; all when missing. */
  connections?: string[];
}

/** Reading of messages, and of what a stream is. */
const READ = [
  "$JS.API.DIRECT.GET.*",
  "$JS.API.DIRECT.GET.*.>",
  "$JS.API.STREAM.MSG.GET.*",
  "$JS.API.STREAM.INFO.*",
  "$JS.API.STREAM.NAMES",
];

const inboxes = (...users: BrokerUser[]) => users.map((user) => `_INBOX.${user}.>`);
const on = (command: string, names: string[]) => names.map((name) => `$JS.API.STREAM.${command}.${name}`);

/** Streams that are the platform's own, not an orb's; a functions' user that is broken into must not drop them. */
const OWN = [
  streams.platform,
  streams.limits,
  streams.quotas,
  streams.longQuotas,
  streams.heartbeat,
  streams.wallet,
  ...Object.values(buckets).map((bucket) => streams.kv(bucket)),
];

/** Of those, the ones from which accounts and sessions are erased. */
const ERASABLE = [
  buckets.sessions,
  buckets.challenges,
  buckets.orbUsers,
  buckets.orbCredentials,
  buckets.orbInvitations,
].map((bucket) => streams.kv(bucket));

/** What buckets tell of definitions and sessions is for hosts only. */
const TOLD = "_feed.$KV.>";

/** What live streams are made of: any stream that a platform admin maps, but nothing of the broker's or the platform's. */
const FEEDS_DENIED = ["$SYS.>", "$JS.>", "$KV.>", "$SRV.>", "platform.>", "_limit.>", "_quota.>"];

export const PERMISSIONS: Record<BrokerUser, Permissions> = {
  // The functions, once per request. They write orbs' subjects and ask services, whose names nobody knows
  // beforehand; so what is refused is listed: all of the broker's own interface but what they use, above all
  // consumers (a push consumer can deliver a stream into any subject), and the platform's own streams as a whole.
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
  // Provisioning: creates streams and buckets, and writes what the platform ships with.
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
  // What `npm run nats:url` gives to other clients and services of the person who runs the platform.
  operator: { publish: { allow: [">"] }, subscribe: { allow: [">"] } },
};
