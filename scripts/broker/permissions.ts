/**
 * Who may do what at the started broker: one table, so that it can be read and tightened in one place.
 * An operator of an external broker finds here what to grant.
 */

/** Users of the started broker. */
export type BrokerUser = "fn" | "streams" | "deploy" | "operator";

interface Permissions {
  publish: { allow: string[]; deny?: string[] };
  subscribe: { allow: string[] };
  /** Kinds of connection in the broker's terms; all when missing. */
  connections?: string[];
}

const READS = [
  "$JS.API.DIRECT.GET.*",
  "$JS.API.DIRECT.GET.*.>",
  "$JS.API.STREAM.MSG.GET.*",
  "$JS.API.STREAM.INFO.*",
];

export const PERMISSIONS: Record<BrokerUser, Permissions> = {
  // The functions, once per request.
  fn: {
    publish: {
      allow: [">"],
      deny: [
        "$SYS.>",
        "$JS.API.ACCOUNT.>",
        "$JS.API.SERVER.>",
        "$JS.API.META.>",
        "$JS.API.STREAM.SNAPSHOT.>",
        "$JS.API.STREAM.RESTORE.>",
        "$JS.API.STREAM.PEER.>",
        "$JS.API.STREAM.LEADER.>",
      ],
    },
    subscribe: { allow: [">"] },
    connections: ["WEBSOCKET"],
  },
  // The streams process: reads, and the live feed.
  streams: {
    publish: { allow: [...READS, "$JS.API.STREAM.NAMES", "$JS.API.CONSUMER.>", "$JS.ACK.>", "$JS.FC.>"] },
    subscribe: { allow: [">"] },
  },
  // Provisioning: creates streams and buckets, writes what the platform ships with.
  deploy: {
    publish: { allow: ["$JS.API.>", "$KV.>", "platform.>", "heartbeat.>", "wallet.>"] },
    subscribe: { allow: ["_INBOX.>", "_INBOX.deploy.>"] },
  },
  // What `npm run nats:url` gives to other clients and services of the person who runs the platform.
  operator: { publish: { allow: [">"] }, subscribe: { allow: [">"] } },
};
