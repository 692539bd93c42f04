import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { kvSubject } from "../../shared/store/subjects.ts";
import { adminToken, call, user } from "../support/auth.ts";
import { serveBeside } from "../support/near.ts";
import { sharedPlatform } from "../support/platform.ts";

const shop = JSON.parse(readFileSync(new URL("../../scripts/examples/shop.json", import.meta.url), "utf8"));
const SCRAPE = "a-token-for-scraping";
const platform = await sharedPlatform({ env: { METRICS_TOKEN: SCRAPE } });
const LINE = /^(# (HELP|TYPE) [a-z_]+ .+|[a-z_]+(\{[a-z_]+="[^"]*"(,[a-z_]+="[^"]*")*\})? [0-9.e+-]+)$/;

test("serves metrics to platform admins and the scrape token, and logs requests without values or tokens", async () => {
  const token = await adminToken(platform);
  await call(platform, "POST", "/api/admin/orbs?publish=true", { token, body: shop });
  for (const slug of ["chairs", "tables"]) {
    const body = { values: { title: { en: `Never ${slug} in a log` }, slug } };
    const made = await call(platform, "POST", "/api/shop/catalog/category?publish=true", { token, body });
    expect(made.status).toBe(201);
  }
  const scrape = async (origin: string, bearer?: string) => {
    const headers: Record<string, string> = bearer === undefined ? {} : { authorization: `Bearer ${bearer}` };
    const answer = await fetch(`${origin}/api/metrics`, { headers });
    return { status: answer.status, type: answer.headers.get("content-type"), text: await answer.text() };
  };

  expect((await scrape(platform.url)).status).toBe(401);
  expect((await scrape(platform.url, `${SCRAPE}x`)).status).toBe(401);
  expect((await scrape(platform.url, (await user(platform, "shop", "owner")).token)).status).toBe(403);
  for (const bearer of [SCRAPE, token]) {
    const { status, type, text } = await scrape(platform.url, bearer);
    expect([status, type]).toEqual([200, "text/plain; version=0.0.4; charset=utf-8"]);
    expect(
      text
        .trimEnd()
        .split("\n")
        .filter((line) => !LINE.test(line)),
    ).toEqual([]);
    expect(text).toContain('platform_orb_entries{orb="shop"} 2');
    expect(text).toMatch(/platform_orb_bytes\{orb="shop"\} [1-9]/);
    expect(text).toContain("platform_orbs_published 1");
    expect(text).not.toContain("platform_hook");
    expect(text).toMatch(
      /platform_sessions Sessions, including those that ended within the last minute\.\n(?:#.*\n)*platform_sessions [1-9]/,
    );
    // At the edge no process lives long enough to count requests.
    expect(text.includes("http_requests_total")).toBe(process.env.TEST_HOST === "node");
  }

  const hooked = {
    id: "hooked",
    modules: [{ id: "news", type: "CONTENT", schemas: [{ id: "article", fields: [] }] }],
    hooks: [{ id: "notify", on: ["entry.created"], url: "https://example.org/hook" }],
  };
  expect((await call(platform, "POST", "/api/admin/orbs?publish=true", { token, body: hooked })).status).toBe(
    201,
  );
  const { text: hooks } = await scrape(platform.url, SCRAPE);
  expect(
    hooks
      .trimEnd()
      .split("\n")
      .filter((line) => !LINE.test(line)),
  ).toEqual([]);
  for (const line of [
    "platform_hooks_running 0",
    'platform_hook_deliveries_total{orb="hooked",hook="notify",outcome="delivered"} 0',
    'platform_hook_waiting{orb="hooked",hook="notify"} 0',
    'platform_hook_unread{orb="hooked",hook="notify"} 0',
    'platform_hook_oldest_seconds{orb="hooked",hook="notify"} 0',
    'platform_hook_dead_letters{orb="hooked"} 0',
  ]) {
    expect(hooks.split("\n")).toContain(line);
  }
  // No process delivers here, so the hook stays behind.
  const entry = { module: "news", schema: "article", values: {} };
  expect(
    (await call(platform, "POST", "/api/admin/orbs/hooked/entries", { token, body: entry })).status,
  ).toBe(201);
  const behind = (await scrape(platform.url, SCRAPE)).text.split("\n");
  expect(behind).toContain('platform_hook_unread{orb="hooked",hook="notify"} 1');
  expect(behind.some((line) => /^platform_hook_oldest_seconds\{.*"notify"\} [\d.]*[1-9]/.test(line))).toBe(
    true,
  );

  const log: string[] = [];
  await using host = await serveBeside(platform, {}, (line) => log.push(line));
  const trace = "4bf92f3577b34da6a3ce929d0e0e4736";
  const sent = {
    traceparent: `00-${trace}-00f067aa0ba902b7-01`,
    "x-request-id": "mine-1",
    authorization: `Bearer ${token}`,
  };
  const read = await fetch(`${host.url}/api/shop/catalog/category`, { headers: sent });
  expect([read.status, read.headers.get("x-request-id")]).toEqual([200, "mine-1"]);
  expect(read.headers.get("traceparent")).toMatch(
    new RegExp(`^00-${trace}-(?!00f067aa0ba902b7)[0-9a-f]{16}-01$`),
  );
  await read.text();
  await fetch(`${host.url}/api/nowhere/at/all`);
  const { text } = await scrape(host.url, SCRAPE);
  const route = "/api/{orbId}/{moduleId}/{schemaId}";
  expect(text).toContain(`http_requests_total{method="GET",route="${route}",status="200"} 1`);
  expect(text).toContain(`http_request_duration_seconds_count{method="GET",route="${route}"} 1`);
  expect(text).toContain(`http_request_duration_seconds_bucket{method="GET",route="${route}",le="+Inf"} 1`);
  expect(text).toMatch(/process_resident_memory_bytes [1-9]/);

  // Both hosts serve the files of the documentation page with ETags.
  for (const origin of [platform.url, host.url]) {
    for (const [file, type] of [
      ["swagger-ui.css", "text/css"],
      ["swagger-ui-bundle.js", "text/javascript"],
    ]) {
      const first = await fetch(`${origin}/api/_docs/${file}`);
      expect([first.status, first.headers.get("content-type")]).toEqual([200, `${type}; charset=utf-8`]);
      expect((await first.text()).length).toBeGreaterThan(100_000);
      const headers = { "if-none-match": first.headers.get("etag") ?? "" };
      expect((await fetch(`${origin}/api/_docs/${file}`, { headers })).status).toBe(304);
    }
    expect((await fetch(`${origin}/api/_docs/package.json`)).status).toBe(404);
  }

  const lines = log.map((line) => JSON.parse(line) as Record<string, unknown>);
  const { sub } = JSON.parse(atob(token.split(".")[1] ?? "")) as { sub: string };
  expect(lines.find(({ requestId }) => requestId === "mine-1")).toMatchObject({
    level: "info",
    message: "request",
    trace,
    method: "GET",
    route,
    status: 200,
    durationMs: expect.any(Number),
    orb: "shop",
    caller: sub,
  });
  for (const line of [...platform.logs, ...log]) {
    expect(line).not.toContain("in a log");
    expect(line).not.toContain(SCRAPE);
    expect(line).not.toContain(token.split(".")[2]);
  }
});

test("health reports versions, and its live probe answers without the broker", async () => {
  const ready = await call(platform, "GET", "/api/health");
  expect([ready.status, ready.body]).toEqual([
    200,
    {
      status: "ok",
      version: expect.stringMatching(/^\d+\.\d+\.\d+/),
      time: expect.stringMatching(/^\d{4}-\d\d-\d\dT.*Z$/),
      broker: { version: expect.stringMatching(/^2\./), roundTripMs: expect.any(Number) },
    },
  ]);
  await Promise.all(platform.brokers.map((broker) => broker.pause()));
  expect((await call(platform, "GET", "/api/health?probe=live")).status).toBe(200);
  const away = await call(platform, "GET", "/api/openapi");
  expect(away.status).toBe(503);
  await Promise.all(platform.brokers.map((broker) => broker.resume()));
  const back = async () => (await call(platform, "GET", "/api/openapi")).status;
  await expect.poll(back).toBe(200);
});

test("lists at most 1,000 damaged definitions in the metrics", async () => {
  const store = platform.operatorStore();
  const damaged = Array.from({ length: 1_010 }, (_, i) => ({
    subject: kvSubject("orbs", `damaged-${i}`),
    data: "{ not json",
  }));
  await store.pipeline("KV_orbs", damaged);
  const answer = await fetch(`${platform.url}/api/metrics`, {
    headers: { authorization: `Bearer ${SCRAPE}` },
  });
  const lines = (await answer.text()).split("\n");
  expect(lines.filter((line) => line.startsWith("platform_orb_damaged{"))).toHaveLength(1_000);
});
