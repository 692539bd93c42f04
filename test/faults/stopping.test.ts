/**
 * A broker that stops in order closes its streams before its connections. Reads then must not return "not found".
 * Also, a platform stops all of its parts.
 */
import { expect, test } from "vitest";
import { readRunning } from "../../scripts/config/data-dir.ts";
import { serveNode } from "../../scripts/host/node.ts";
import { AppError } from "../../shared/kernel/errors.ts";
import { orbStreamConfig } from "../../shared/store/broker/provision.ts";
import { StreamMissing } from "../../shared/store/types.ts";
import { startBroker } from "../support/broker.ts";
import { startPlatform } from "../support/platform.ts";

test("requests to a stopping broker fail as unavailable, and requests for a missing stream as StreamMissing", async () => {
  for (let round = 0; round < 5; round++) {
    await using broker = await startBroker();
    const store = broker.store("operator");
    const subject = "shop.content.owner.s.1";
    await store.createStream(orbStreamConfig("shop", 1));
    await store.append("øshop", { subject, data: "x" });
    const wrong: unknown[] = [];
    let over = false;
    const ask = async (act: (one: typeof store) => Promise<unknown>) => {
      const own = broker.store("operator", { reconnect: true });
      while (!over) {
        try {
          if ((await act(own)) === null) wrong.push("nothing");
        } catch (error) {
          if (!(error instanceof AppError)) wrong.push(error);
          await new Promise((resolve) => setTimeout(resolve, 5));
        }
      }
    };
    const asking = [
      ask((own) => own.get("øshop", subject)),
      ask((own) => own.getSeq("øshop", 1)),
      ask(async (own) => (await own.getMany("øshop", [subject])).get(subject) ?? null),
      ask(async (own) => (await own.scan("øshop", "shop.>", { fromSeq: 1, limit: 1 })).messages[0] ?? null),
      ask((own) => own.append("øshop", { subject: "shop._ix.content.s.1", data: "{}" })),
    ];
    await expect(store.get("øother", "other.x")).rejects.toBeInstanceOf(StreamMissing);
    await expect(store.append("øother", { subject: "other.x", data: "" })).rejects.toBeInstanceOf(
      StreamMissing,
    );
    await broker.pause("SIGTERM");
    over = true;
    await Promise.all(asking);
    expect(wrong).toEqual([]);
  }
});

test("stops all other parts and releases the data folder if one part fails to stop", async () => {
  const platform = await startPlatform({
    serve: async (options) => {
      const functions = await serveNode(options);
      const stop = async () => {
        await functions.stop();
        throw new Error("it did not stop");
      };
      return { ...functions, stop };
    },
  });
  const { dataDir } = platform.settings;
  expect(readRunning(dataDir)?.pid).toBe(process.pid);
  await expect(platform.stop()).rejects.toThrow("it did not stop");
  for (const { pid } of platform.brokers) expect(pid).toBeUndefined();
  expect(readRunning(dataDir)).toBeUndefined();
});
