import { expect, test } from "vitest";
import { startPlatform } from "../support/platform.ts";
import { publisher, sentEvents, signIn } from "../support/streams.ts";

const TOTAL = 2000;
const WANTED = Array.from({ length: TOTAL }, (_, n) => n);

test("on three brokers with lagging replicas, readers get each message once and in order", async () => {
  await using platform = await startPlatform({
    streams: true,
    env: { NATS_BROKERS: "3", STREAMS_LONG_POLL_MS: "500" },
  });
  const token = await signIn(platform);
  await using broker = await publisher(platform);
  const manager = await broker.connection.jetstreamManager();
  await manager.streams.add({ name: "three", subjects: ["three.>"], allow_direct: true, num_replicas: 3 });
  const mapping = { v: 1, stream: "three", subjectFilter: "three.a", description: "" };
  await platform.operatorStore().kvPut("stream_mappings", "three", JSON.stringify(mapping));
  const get = (base: string, query: string) =>
    fetch(`${base}/api/streams/three${query}`, { headers: { authorization: `Bearer ${token}` } });

  async function live(base: string): Promise<number[]> {
    const seen: number[] = [];
    for await (const { type, data } of sentEvents(await get(base, "?offset=-1&live=sse"))) {
      if (type === "data") seen.push(...(JSON.parse(data) as number[]));
      if (seen.length >= TOTAL) break;
    }
    return seen;
  }
  async function pages(base: string, live: string): Promise<number[]> {
    const seen: number[] = [];
    for (let offset = "-1"; seen.at(-1) !== TOTAL - 1; ) {
      const page = await get(base, `?offset=${offset}${live}`);
      expect([200, 204]).toContain(page.status);
      if (page.status === 200) seen.push(...((await page.json()) as number[]));
      offset = page.headers.get("stream-next-offset") ?? "";
    }
    return seen;
  }
  const readers = [platform.origin, platform.streamsUrl ?? ""].flatMap((base) => [
    live(base),
    pages(base, ""),
    pages(base, "&live=long-poll"),
  ]);
  for (let n = 0; n < TOTAL; n += 10) {
    const some = WANTED.slice(n, n + 10).map((m) => broker.js.publish("three.a", String(m)));
    await Promise.all([...some, broker.js.publish("three.other", "x")]);
  }
  for (const reader of readers) expect(await reader).toEqual(WANTED);
});
