import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Streams, serveStreams } from "../../scripts/host/streams.ts";
import { freePort } from "../../scripts/process/ports.ts";
import { launchChromium, type TestBrowser } from "../support/browser.ts";
import { startPlatform, type TestPlatform } from "../support/platform.ts";
import { testPrograms } from "../support/programs.ts";
import { type Publisher, publisher, signIn } from "../support/streams.ts";

let platform: TestPlatform;
let streams: Streams;
/** Functions that redirect to a streams process. */
let handing: TestPlatform;
let handed: Streams;
let broker: Publisher;
let chromium: TestBrowser;
let application: string;

beforeAll(async () => {
  // A web application of another origin that the platform trusts.
  const pages = createServer((_request, response) => {
    response.writeHead(200, { "content-type": "text/html" }).end("<!doctype html><title>news</title>");
  });
  pages.listen(0, "localhost").unref();
  await once(pages, "listening");
  application = `http://localhost:${(pages.address() as AddressInfo).port}`;
  platform = await startPlatform({ env: { ALLOWED_ORIGINS: application } });
  const port = await freePort();
  // With a short rotation the browser has to reconnect and report its position.
  const env = { ...platform.bindings, STREAMS_ROTATE_MS: "1000" };
  streams = await serveStreams({
    programs: testPrograms(),
    host: "127.0.0.1",
    port,
    env,
    log: () => undefined,
  });
  const next = await freePort();
  const settings = { ALLOWED_ORIGINS: application, STREAMS_URL: `http://localhost:${next}` };
  handing = await startPlatform({ env: settings });
  handed = await serveStreams({
    programs: testPrograms(),
    host: "127.0.0.1",
    port: next,
    env: handing.bindings,
    log: () => undefined,
  });
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
  await handed?.stop();
  await handing?.stop();
});

/** State of the page. */
interface Seen {
  seen: number[];
}

/** Publishes a message once, even while the broker restarts: it recognizes the id of a repeated message. */
async function publish(subject: string, body: string): Promise<void> {
  for (let tries = 0; tries < 50; tries++) {
    const done = await broker.js.publish(subject, body, { msgID: `${subject} ${body}`, timeout: 500 }).then(
      () => true,
      () => false,
    );
    if (done) return;
  }
  throw new Error("the broker acknowledged no publication");
}

describe.each(["functions", "process"])("EventSource with a session cookie, served by the %s", (host) => {
  test("gets its user's messages once across reconnects", async () => {
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
    await page.goto(application);
    const total = 40;
    for (let n = 0; n < 5; n++) await publish(`news.${sub}.a`, String(n));
    await publish("news.another.a", "-1");
    await page.evaluate((url) => {
      const kept = globalThis as unknown as Seen;
      kept.seen = [];
      const source = new EventSource(url, { withCredentials: true });
      source.onmessage = ({ data }: MessageEvent<string>) => {
        kept.seen.push(JSON.parse(data) as number);
      };
    }, `${base}/api/streams/news?event=message`);
    for (let n = 5; n < total; n++) {
      await publish(`news.${sub}.a`, String(n));
      // Responses of the functions last a minute, so there the broker is restarted.
      if (n === 20 && host === "functions") await platform.broker?.kill();
      if (n === 20) await platform.broker?.ready();
      await new Promise((resolve) => setTimeout(resolve, 80));
    }
    const wanted = Array.from({ length: total }, (_, n) => n);
    await expect.poll(() => page.evaluate(() => (globalThis as unknown as Seen).seen)).toEqual(wanted);
  });
});

describe.each(["functions", "process"])("browser shared by two users, served by the %s", (host) => {
  test.each(["a token", "a cookie"])("shows no cached message of the other user, with %s", async (means) => {
    const { page } = await chromium.page({ authenticator: false });
    const base = host === "functions" ? platform.origin : `http://localhost:${new URL(streams.url).port}`;
    await page.goto(application);
    const users = ["first", "second"].map((name) => `${name}${host}${means.replace(" ", "")}`);
    for (const [n, sub] of users.entries()) await publish(`news.${sub}.a`, String(n));
    const read = async (sub: string): Promise<unknown> => {
      const token = await signIn(platform, { realm: "auth", sub });
      const cookie = { name: "session_auth", value: token, url: base, httpOnly: true };
      if (means === "a cookie") await page.context().addCookies([{ ...cookie, sameSite: "Lax" }]);
      const headers: Record<string, string> = means === "a token" ? { authorization: `Bearer ${token}` } : {};
      return page.evaluate(
        async ([url, sent]) => (await fetch(url, { headers: sent, credentials: "include" })).json(),
        [`${base}/api/streams/news?offset=-1`, headers] as const,
      );
    };
    for (const sub of [...users, ...users]) expect(await read(sub)).toEqual([users.indexOf(sub)]);
  });
});

describe.each(["functions", "process", "functions, handing over"])(
  "page of another origin, served by the %s",
  (host) => {
    test.each(["a token", "a cookie"])("reads messages and the exposed headers, with %s", async (means) => {
      const { page } = await chromium.page({ authenticator: false });
      const held = host === "functions, handing over" ? handing : platform;
      const base = host === "process" ? `http://localhost:${new URL(streams.url).port}` : held.origin;
      const token = await signIn(held, { realm: "auth", sub: "reader" });
      await page.goto(application);
      const cookie = { name: "session_auth", value: token, url: base, httpOnly: true };
      if (means === "a cookie") await page.context().addCookies([{ ...cookie, sameSite: "Lax" }]);
      const headers: Record<string, string> = means === "a token" ? { authorization: `Bearer ${token}` } : {};
      const answer = await page.evaluate(
        async ([url, sent]) => {
          const response = await fetch(url, { headers: sent, credentials: "include" });
          const names = ["stream-next-offset", "stream-cursor", "stream-up-to-date", "etag", "x-request-id"];
          const told = names.map((name) => response.headers.get(name) ?? "");
          return { status: response.status, told, body: (await response.json()) as unknown };
        },
        [`${base}/api/streams/heartbeat?offset=-1`, headers] as const,
      );
      expect(answer).toEqual({
        status: 200,
        told: [
          expect.stringMatching(/^\d{20}$/),
          expect.stringMatching(/^\d+$/),
          "true",
          expect.stringMatching(/^"/),
          expect.any(String),
        ],
        body: expect.any(Array),
      });
      if (means === "a token") return;
      const control = page.evaluate(
        (url) =>
          new Promise<string>((resolve, reject) => {
            const source = new EventSource(url, { withCredentials: true });
            source.addEventListener("control", (event) => resolve((event as MessageEvent<string>).data));
            source.addEventListener("error", () => reject(new Error("refused")));
          }),
        `${base}/api/streams/heartbeat`,
      );
      expect(await control).toContain("streamNextOffset");
    });
  },
);
