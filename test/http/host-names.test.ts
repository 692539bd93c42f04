/** Requests for host names that the platform does not have, and messages of foreign web pages. */
import { once } from "node:events";
import { get } from "node:http";
import { connect } from "node:net";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { serveStreams } from "../../scripts/host/streams.ts";
import { freePort } from "../../scripts/process/ports.ts";
import { adminToken, call } from "../support/auth.ts";
import { serveBeside } from "../support/near.ts";
import { createOrb, small } from "../support/orbs.ts";
import { startPlatform, type TestPlatform } from "../support/platform.ts";
import { testPrograms } from "../support/programs.ts";

let platform: TestPlatform;
const stack = new AsyncDisposableStack();
const urls: Record<string, string> = {};

beforeAll(async () => {
  platform = stack.use(await startPlatform({ env: { ALLOWED_HOSTS: "Other.example,second.example" } }));
  const token = await adminToken(platform);
  const post = { id: "post", access: { read: "public" }, fields: [{ name: "title", type: "string" }] };
  const modules = [{ id: "news", type: "CONTENT", schemas: [post] }];
  await createOrb(platform, token, { ...small("open"), modules });
  urls.functions = platform.url;
  urls.host = stack.use(await serveBeside(platform)).url;
  const { bindings: env } = platform;
  const port = await freePort();
  const streams = { host: "127.0.0.1", port, env, log: () => undefined, programs: testPrograms() };
  urls.streams = stack.use(await serveStreams(streams)).url;
});
afterAll(() => stack.disposeAsync());

/** Sends a GET request with a `Host` of its own. */
async function ask(server: string, path: string, host: string): Promise<{ status: number; body: string }> {
  const { port } = new URL(urls[server] ?? "");
  const request = get({ host: "127.0.0.1", port, path, headers: { host } });
  const [response] = (await once(request, "response")) as [import("node:http").IncomingMessage];
  let body = "";
  for await (const part of response) body += String(part);
  return { status: response.statusCode ?? 0, body };
}

describe.each(["functions", "host", "streams"])("the %s", (server) => {
  const path = server === "streams" ? "/api/streams/" : "/api/discovery";
  const known = server === "streams" ? 401 : 200;

  it.each([
    "evil.example",
    "evil.example:8787",
    "localhost.evil.example",
    "xlocalhost",
    "127.0.0.1.evil.example",
  ])("refuses a request for %s", async (host) => {
    // The second request would be answered from a cache.
    for (const wanted of [
      path,
      path,
      ...(server === "streams" ? [] : ["/console", "/api/_auth/invitations"]),
    ]) {
      const { status, body } = await ask(server, wanted, host);
      expect([status, body]).toEqual([403, expect.stringContaining('"host_not_allowed"')]);
    }
  });

  it.each([
    "localhost",
    "localhost:1234",
    "app.localhost",
    "127.0.0.1:80",
    "10.1.2.3",
    "[::1]:80",
    "OTHER.example",
    "second.example:443",
  ])("answers a request for %s", async (host) => {
    expect((await ask(server, path, host)).status).toBe(known);
  });

  it("answers probes under any name", async () => {
    expect((await ask(server, "/api/health?probe=live", "host1:8787")).status).toBe(200);
  });
});

describe.each(["functions", "host"])("tools for agents on the %s", (server) => {
  const message = { jsonrpc: "2.0", id: 1, method: "ping" };
  const send = (origin: string | undefined) =>
    fetch(`${urls[server]}/api/mcp`, {
      method: "POST",
      headers: { "content-type": "application/json", ...(origin === undefined ? {} : { origin }) },
      body: JSON.stringify(message),
    });

  it("refuses a message of a foreign page, and accepts those of programs and own pages", async () => {
    expect((await send("https://evil.example")).status).toBe(403);
    expect((await send("null")).status).toBe(403);
    expect((await send(undefined)).status).not.toBe(403);
    expect((await send(platform.settings.publicUrl)).status).not.toBe(403);
    const own = await fetch(`${urls[server]}/api/open/mcp`, {
      method: "POST",
      headers: { "content-type": "application/json", origin: "https://evil.example" },
      body: JSON.stringify(message),
    });
    expect(own.status).toBe(403);
  });
});

it("the Node host ends a connection whose client never reads, and no other", async () => {
  const { port } = new URL(urls.host ?? "");
  const request = (path: string) => `GET ${path} HTTP/1.1\r\nHost: localhost\r\n\r\n`;
  const deaf = connect(Number(port), "127.0.0.1");
  deaf.on("error", () => undefined);
  deaf.pause();
  // More than the buffers of both systems take.
  deaf.write(request("/api/_docs/swagger-ui-bundle.js").repeat(20));
  // A live list without changes has nothing to send.
  const live = new AbortController();
  const list = await fetch(`${urls.host}/api/open/news/post?live=sse`, { signal: live.signal });
  expect(list.status).toBe(200);
  const reader = list.body?.getReader();
  let ended = false;
  void (async () => {
    while (reader !== undefined && !(await reader.read().catch(() => ({ done: true }))).done);
    ended = true;
  })();
  await expect
    .poll(
      () => {
        // A client that does not read learns of the end only when it writes.
        if (!deaf.destroyed) deaf.write(" ");
        return deaf.destroyed;
      },
      { timeout: 150_000 },
    )
    .toBe(true);
  expect(ended).toBe(false);
  live.abort();
  deaf.destroy();
  expect((await call(platform, "GET", "/api/health")).status).toBe(200);
}, 180_000);
