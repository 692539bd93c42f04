import { createServer, connect as dial, type Server } from "node:net";
import { describe, expect, test } from "vitest";
import { AppError } from "../../shared/kernel/errors.ts";
import { openStore } from "../../shared/store/broker/store.ts";
import { startBroker } from "../support/broker.ts";

/** A relay in front of a broker that records who sends in which order: "cscs" is two turns of client and server. */
async function relay(port: number) {
  let turns = "";
  const speak = (who: "c" | "s") => {
    if (!turns.endsWith(who)) turns += who;
  };
  const server = createServer((client) => {
    const upstream = dial(port, "127.0.0.1");
    client.on("data", (data) => {
      speak("c");
      upstream.write(data);
    });
    upstream.on("data", (data) => {
      speak("s");
      client.write(data);
    });
    const end = () => {
      client.destroy();
      upstream.destroy();
    };
    client.on("close", end).on("error", end);
    upstream.on("close", end).on("error", end);
  });
  await listening(server);
  return {
    url: `ws://127.0.0.1:${portOf(server)}`,
    turns: () => turns,
    [Symbol.dispose]: () => server.close(),
  };
}

const listening = (server: Server) =>
  new Promise<void>((resolve) => server.listen(0, "127.0.0.1", () => resolve()));
const portOf = (server: Server) => (server.address() as { port: number }).port;

const code = (work: Promise<unknown>) =>
  work.then(
    () => "resolved",
    (error: unknown) => (error instanceof AppError ? error.kind : String(error)),
  );

describe("connection of a single request", () => {
  test("sends credentials, subscription and requests together, right after the upgrade", async () => {
    await using broker = await startBroker();
    const before = broker.store();
    await before.kvPut("orbs", "a", "1");
    await before.kvPut("orbs", "b", "2");
    using between = await relay(broker.wsPort);
    const store = openStore({ ...broker.access(), url: between.url });
    const found = await Promise.all([store.kvGet("orbs", "a"), store.kvGet("orbs", "b")]);
    expect(found.map((entry) => entry?.text())).toEqual(["1", "2"]);
    // The upgrade, its response with the broker's INFO, all of the client's messages, and the replies.
    expect(between.turns()).toBe("cscs");
    await store.close();
  });

  test("tries another server if one cannot be reached", async () => {
    await using broker = await startBroker();
    const dead = createServer();
    await listening(dead);
    const gone = portOf(dead);
    await new Promise((resolve) => dead.close(resolve));
    for (let i = 0; i < 6; i++) {
      const store = openStore({ ...broker.access(), url: `ws://127.0.0.1:${gone},${broker.wsUrl}` });
      expect(await store.kvGet("orbs", "none")).toBeNull();
      await store.close();
    }
    const store = openStore({ ...broker.access(), url: `ws://127.0.0.1:${gone}` });
    expect(await code(store.kvGet("orbs", "none"))).toBe("unavailable");
    await store.close();
  });

  test("fails as unavailable with wrong credentials and with a server that stays silent", async () => {
    await using broker = await startBroker();
    const wrong = openStore({ ...broker.access(), pass: "wrong" });
    expect(await code(wrong.kvGet("orbs", "none"))).toBe("unavailable");
    await wrong.close();
    const silent = createServer(() => undefined);
    await listening(silent);
    const store = openStore({
      ...broker.access(),
      url: `ws://127.0.0.1:${portOf(silent)}`,
      connectTimeoutMs: 200,
    });
    expect(await Promise.all([code(store.kvGet("orbs", "none")), code(store.server())])).toEqual([
      "unavailable",
      "unavailable",
    ]);
    await store.close();
    silent.close();
  });

  test("applies the broker's payload limit, even to the first write", async () => {
    await using broker = await startBroker();
    const fits = openStore(broker.access());
    await fits.kvPut("orbs", "large", "x".repeat(2_000_000));
    expect((await fits.kvGet("orbs", "large"))?.text().length).toBe(2_000_000);
    await fits.close();
    const over = openStore(broker.access());
    expect(await code(over.kvPut("orbs", "larger", "x".repeat(5_000_000)))).toBe("too_large");
    expect((await over.server()).maxPayload).toBe(4 * 1024 * 1024);
    expect((await over.server()).version).toMatch(/^2\.(1[4-9]|[2-9]\d)/);
    await over.close();
  });

  test("fails pending requests when the broker is lost, and cannot be used after close", async () => {
    await using broker = await startBroker();
    const store = openStore(broker.access());
    await store.kvGet("orbs", "none");
    await broker.pause();
    expect(await code(store.kvGet("orbs", "none"))).toBe("unavailable");
    await broker.resume();
    expect(await code(store.kvGet("orbs", "none"))).toBe("resolved");
    await store.close();
    expect(await code(store.kvGet("orbs", "none"))).toBe("unavailable");
  });
});
