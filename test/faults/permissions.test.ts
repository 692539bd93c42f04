import { connect, type NatsConnection } from "nats.ws";
import { afterAll, beforeAll, expect, test } from "vitest";
import { startBroker, type TestBroker, type TestUser } from "../support/broker.ts";

let broker: TestBroker;
const connections = new Map<TestUser, NatsConnection>();
const refused = new Map<TestUser, string[]>();

beforeAll(async () => {
  broker = await startBroker();
  for (const user of ["fn", "streams", "deploy", "operator"] as const) {
    const connection = await connect({
      servers: broker.wsUrl,
      user,
      pass: user,
      inboxPrefix: `_INBOX.${user}`,
    });
    const violations: string[] = [];
    connections.set(user, connection);
    refused.set(user, violations);
    void (async () => {
      for await (const status of connection.status()) {
        if (status.type === "error")
          violations.push(String(status.permissionContext?.subject ?? status.data));
      }
    })();
  }
});

afterAll(async () => {
  for (const connection of connections.values()) await connection.close();
  await broker?.stop();
});

/** Returns whether the broker allows a user to publish or subscribe to a subject. */
async function may(user: TestUser, act: "publish" | "subscribe", subject: string): Promise<boolean> {
  const connection = connections.get(user);
  const violations = refused.get(user);
  if (connection === undefined || violations === undefined) throw new Error("not connected");
  violations.length = 0;
  // An invalid body, so that an allowed request has no effect.
  if (act === "publish") connection.publish(subject, "?");
  else connection.subscribe(subject, { callback: () => undefined });
  await connection.flush();
  await new Promise((resolve) => setTimeout(resolve, 0));
  return !violations.includes(subject);
}

test.each([
  ["fn", "publish", "shop.content.owner.product.1"],
  ["fn", "publish", "svc.pricing.quote"],
  ["fn", "publish", "$JS.API.DIRECT.GET.platform"],
  ["fn", "publish", "$JS.API.STREAM.MSG.GET.KV_sessions"],
  ["fn", "publish", "$JS.API.STREAM.LIST"],
  ["fn", "publish", "$JS.API.STREAM.CREATE.øshop"],
  ["fn", "publish", "$JS.API.STREAM.DELETE.øshop"],
  ["fn", "publish", "$JS.API.STREAM.PURGE.KV_sessions"],
  ["fn", "subscribe", "_INBOX.fn.x.*"],
  ["fn", "subscribe", "_feed.shop.content.public.>"],
  ["fn", "subscribe", "_feed.$KV.sessions.>"],
  ["streams", "publish", "$JS.API.DIRECT.GET.øshop"],
  ["streams", "subscribe", "wallet.1.>"],
  ["streams", "subscribe", "_INBOX.streams.x.*"],
  ["deploy", "publish", "$JS.API.STREAM.CREATE.platform"],
  ["deploy", "publish", "$KV.platform_invitations.x"],
  ["operator", "publish", "$KV.handlers.pricing.quote"],
  ["operator", "subscribe", "svc.pricing.>"],
] as const)("%s can %s %s", async (user, act, subject) => {
  expect(await may(user, act, subject)).toBe(true);
});

test.each([
  ["fn", "publish", "$JS.API.CONSUMER.CREATE.KV_sessions"],
  ["fn", "publish", "$JS.API.CONSUMER.DURABLE.CREATE.platform.x"],
  ["fn", "publish", "$JS.API.STREAM.DELETE.platform"],
  ["fn", "publish", "$JS.API.STREAM.DELETE.KV_platform_admins"],
  ["fn", "publish", "$JS.API.STREAM.PURGE.platform"],
  ["fn", "publish", "$JS.API.STREAM.PURGE.KV_platform_credentials"],
  ["fn", "publish", "$JS.API.STREAM.UPDATE.platform"],
  ["fn", "publish", "$JS.API.STREAM.SNAPSHOT.platform"],
  ["fn", "publish", "$JS.API.STREAM.RESTORE.platform"],
  ["fn", "publish", "$JS.API.ACCOUNT.PURGE.x"],
  ["fn", "publish", "$JS.API.META.LEADER.STEPDOWN"],
  ["fn", "publish", "$SYS.REQ.SERVER.PING"],
  ["fn", "publish", "_INBOX.operator.x"],
  ["fn", "publish", "heartbeat.tick"],
  ["fn", "subscribe", "$KV.sessions.>"],
  ["fn", "subscribe", "platform.>"],
  ["fn", "subscribe", "_INBOX.operator.>"],
  ["streams", "publish", "shop.content.public.product.1"],
  ["streams", "publish", "$KV.handlers.x.y"],
  ["streams", "publish", "$JS.API.STREAM.CREATE.x"],
  ["streams", "publish", "$JS.API.STREAM.PURGE.KV_sessions"],
  ["streams", "publish", "$JS.API.CONSUMER.CREATE.platform"],
  ["streams", "subscribe", "$KV.platform_invitations.>"],
  ["streams", "subscribe", "_feed.$KV.sessions.>"],
  ["streams", "subscribe", "_INBOX.fn.>"],
  ["deploy", "publish", "shop.content.owner.product.1"],
  ["deploy", "publish", "$JS.API.STREAM.DELETE.platform"],
  ["deploy", "publish", "$JS.API.STREAM.PURGE.platform"],
  ["deploy", "subscribe", "platform.>"],
  ["deploy", "subscribe", "_INBOX.fn.>"],
] as const)("%s cannot %s %s", async (user, act, subject) => {
  expect(await may(user, act, subject)).toBe(false);
});

test("the functions' user can connect by WebSocket only, and no user without a password", async () => {
  const { connect: connectTcp } = await import("nats");
  const options = { servers: `127.0.0.1:${broker.port}`, reconnect: false };
  await expect(connectTcp({ ...options, user: "fn", pass: "fn" })).rejects.toThrow("Authorization Violation");
  await expect(connectTcp(options)).rejects.toThrow("Authorization Violation");
  const operator = await connectTcp({ ...options, user: "operator", pass: "operator" });
  await operator.close();
});
