import { once } from "node:events";
import { type IncomingMessage, request } from "node:http";
import { expect, test } from "vitest";
import { childrenOf } from "../../scripts/bench/measure.ts";
import { serveNode } from "../../scripts/host/node.ts";
import { serveProcess } from "../../scripts/host/process.ts";
import { freePort } from "../../scripts/ports.ts";
import { startPlatform } from "../support/platform.ts";

test("the same app in Node: health, errors, headers; away and back with the broker; a stop that lets requests end", async () => {
  await using platform = await startPlatform();
  const log: string[] = [];
  const port = await freePort();
  const { CLIENT_ADDRESS: _, ...bindings } = platform.bindings;
  const host = await serveNode({ host: "127.0.0.1", port, bindings, log: (line) => log.push(line) });
  const both = async (path: string, init?: RequestInit) => {
    const shape = async (origin: string) => {
      const answer = await fetch(`${origin}${path}`, init);
      const names = [...answer.headers.keys()].filter(
        (name) =>
          ![
            "connection",
            "keep-alive",
            "date",
            "transfer-encoding",
            "content-length",
            "content-encoding",
          ].includes(name),
      );
      return { status: answer.status, type: answer.headers.get("content-type"), names: names.sort() };
    };
    const [mine, theirs] = await Promise.all([shape(host.url), shape(platform.url)]);
    expect(mine).toEqual(theirs);
    return mine.status;
  };
  expect(await both("/api/health")).toBe(200);
  expect(await both("/api/nowhere/at/all")).toBe(404);
  expect(await both("/api/health", { method: "DELETE" })).toBe(405);
  expect(await both("/api/_auth/invitations")).toBe(200);
  expect(
    await both("/api/_auth/passkey/begin", {
      method: "POST",
      body: "{",
      headers: { "content-type": "application/json" },
    }),
  ).toBe(400);

  await Promise.all(platform.brokers.map((broker) => broker.pause()));
  const began = Date.now();
  const away = await fetch(`${host.url}/api/health`);
  expect([away.status, away.headers.get("retry-after")]).toEqual([503, "1"]);
  expect(Date.now() - began).toBeLessThan(3000);
  await Promise.all(platform.brokers.map((broker) => broker.resume()));
  // Several brokers elect their leaders first.
  const reads = async () => (await fetch(`${host.url}/api/_auth/invitations`)).status;
  await expect.poll(reads, { timeout: 20_000 }).toBe(200);

  // A request whose body is still under way when the stop begins is answered.
  const late = request(`${host.url}/api/_auth/passkey/begin`, {
    method: "POST",
    headers: { "content-type": "application/json" },
  });
  const answered = once(late, "response") as Promise<[IncomingMessage]>;
  late.write("{");
  await new Promise((resolve) => setTimeout(resolve, 50));
  const stopped = host.stop();
  late.end("}");
  const [answer] = await answered;
  answer.resume();
  expect(answer.statusCode).toBe(200);
  await stopped;
  await expect(fetch(`${host.url}/api/health`)).rejects.toThrow();
  const requests = log
    .map((line) => JSON.parse(line) as Record<string, unknown>)
    .filter((line) => line.message === "request");
  expect(requests[0]).toMatchObject({ level: "info", route: "/api/health", status: 200, method: "GET" });
});

test("its process is small, comes back when it dies, and ends when it is stopped", async () => {
  await using platform = await startPlatform();
  const log: string[] = [];
  const port = await freePort();
  const { CLIENT_ADDRESS: _, ...bindings } = platform.bindings;
  const host = await serveProcess({ host: "127.0.0.1", port, bindings, log: (line) => log.push(line) });
  const health = () =>
    fetch(`${host.url}/api/health`).then(
      (answer) => answer.status,
      () => 0,
    );
  expect(await health()).toBe(200);
  const [pid] = childrenOf(process.pid, /platform-host\.mjs/);
  if (pid === undefined) throw new Error("no process");
  process.kill(pid, "SIGKILL");
  for (const deadline = Date.now() + 10_000; ; await new Promise((resolve) => setTimeout(resolve, 50))) {
    const [next] = childrenOf(process.pid, /platform-host\.mjs/);
    if (next !== undefined && next !== pid && (await health()) === 200) break;
    expect(Date.now()).toBeLessThan(deadline);
  }
  await host.stop();
  expect(await health()).toBe(0);
  expect(childrenOf(process.pid, /platform-host\.mjs/)).toEqual([]);
  expect(log.some((line) => line.includes("starting it again"))).toBe(true);
});
