import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Streams, serveStreams } from "../../scripts/host/streams.ts";
import { freePort } from "../../scripts/ports.ts";
import { launchChromium, type TestBrowser } from "../support/browser.ts";
import { startPlatform, type TestPlatform } from "../support/platform.ts";
import { type Publisher, publisher, signIn } from "../support/streams.ts";

let platform: TestPlatform;
let streams: Streams;
let broker: Publisher;
let chromium: TestBrowser;

beforeAll(async () => {
  platform = await startPlatform();
  const port = await freePort();
  // Answers that end soon: the browser has to come back, and to say how far it got.
  const env = { ...platform.bindings, STREAMS_ROTATE_MS: "1000" };
  streams = await serveStreams({ host: "127.0.0.1", port, env, log: () => undefined });
  broker = await publisher(platform);
  const manager = await broker.connection.jetstreamManager();
  await manager.streams.add({ name: "news", subjects: ["news.>"], allow_direct: true });
  const mapping = { v: 1, stream: "news", subjectFilter: "news.{userID}.*", description: "" };
  await platform.store().kvPut("stream_mappings", "news", JSON.stringify(mapping));
  chromium = await launchChromium();
});
afterAll(async () => {
  await chromium?.[Symbol.asyncDispose]();
  await broker?.[Symbol.asyncDispose]();
  await streams?.stop();
  await platform?.stop();
});

declare global {
  interface Window {
    seen: number[];
  }
}

describe.each(["functions", "process"])("an EventSource with the session's cookie, at the %s", (host) => {
  test("gets what is its user's, once, however often its answers end", async () => {
    const sub = `u${host}`;
    const token = await signIn(platform, { realm: "auth", sub });
    const { page } = await chromium.page({ authenticator: false });
    const { port } = new URL(streams.url);
    const base = host === "functions" ? platform.origin : `http://localhost:${port}`;
    await page
      .context()
      .addCookies([
        { name: "session_auth", value: token, url: platform.origin, httpOnly: true, sameSite: "Lax" },
      ]);
    // A page of the platform's origin, as an application's would be.
    await page.route(`${platform.origin}/page`, (route) =>
      route.fulfill({ contentType: "text/html", body: "<!doctype html><title>news</title>" }),
    );
    await page.goto(`${platform.origin}/page`);
    const total = 40;
    for (let n = 0; n < 5; n++) await broker.js.publish(`news.${sub}.a`, String(n));
    await broker.js.publish("news.another.a", "-1");
    await page.evaluate((url) => {
      window.seen = [];
      const source = new EventSource(url, { withCredentials: true });
      source.addEventListener("data", (event) =>
        window.seen.push(JSON.parse((event as MessageEvent<string>).data)),
      );
    }, `${base}/api/streams/news`);
    for (let n = 5; n < total; n++) {
      await broker.js.publish(`news.${sub}.a`, String(n));
      // The functions' answers last a minute; there it is the broker that goes away.
      if (n === 20 && host === "functions") await platform.broker?.kill();
      if (n === 20) await platform.broker?.ready();
      await new Promise((resolve) => setTimeout(resolve, 80));
    }
    const wanted = Array.from({ length: total }, (_, n) => n);
    await expect.poll(() => page.evaluate(() => window.seen), { timeout: 15_000 }).toEqual(wanted);
  });
});
