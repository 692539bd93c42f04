import { spawn } from "node:child_process";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { createServer, type IncomingMessage, request, type Server } from "node:http";
import { join } from "node:path";
import { expect, test } from "vitest";
import { childrenOf } from "../../scripts/bench/measure.ts";
import { serveProcess } from "../../scripts/host/process.ts";
import { serveStreams } from "../../scripts/host/streams.ts";
import { freePort } from "../../scripts/process/ports.ts";
import { streams } from "../../shared/store/subjects.ts";
import { call } from "../support/auth.ts";
import { tempDir } from "../support/broker.ts";
import { hostBindings, serveBeside, startNear } from "../support/near.ts";
import { sharedPlatform } from "../support/platform.ts";
import { testPrograms } from "../support/programs.ts";

const platform = await sharedPlatform({});

test("the Node host responds like workerd, recovers with the broker, and finishes pending requests before it stops", async () => {
  const log: string[] = [];
  const host = await serveBeside(platform, {}, (line) => log.push(line));
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
  const away = await fetch(`${host.url}/api/health`);
  expect([away.status, away.headers.get("retry-after")]).toEqual([503, "1"]);
  await Promise.all(platform.brokers.map((broker) => broker.resume()));
  // With several brokers, leader election takes a while.
  const reads = async () => (await fetch(`${host.url}/api/_auth/invitations`)).status;
  await expect.poll(reads).toBe(200);

  // A request whose body is still arriving when the host stops gets a response.
  const late = request(`${host.url}/api/_auth/passkey/begin`, {
    method: "POST",
    // The host answers 100 Continue when it has the headers.
    headers: { "content-type": "application/json", expect: "100-continue" },
  });
  const answered = once(late, "response") as Promise<[IncomingMessage]>;
  const begun = once(late, "continue");
  late.flushHeaders();
  await begun;
  late.write("{");
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

test("restarts the host process after a crash and ends it on stop", async () => {
  const log: string[] = [];
  const port = await freePort();
  const bindings = hostBindings(platform);
  const host = await serveProcess({
    programs: testPrograms(),
    host: "127.0.0.1",
    port,
    bindings,
    log: (line) => log.push(line),
  });
  const health = () =>
    fetch(`${host.url}/api/health`).then(
      (answer) => answer.status,
      () => 0,
    );
  expect(await health()).toBe(200);
  const [pid] = childrenOf(process.pid, /platform-host\.mjs/);
  if (pid === undefined) throw new Error("no process");
  process.kill(pid, "SIGKILL");
  for (const deadline = Date.now() + 30_000; ; await new Promise((resolve) => setTimeout(resolve, 50))) {
    const [next] = childrenOf(process.pid, /platform-host\.mjs/);
    if (next !== undefined && next !== pid && (await health()) === 200) break;
    expect(Date.now()).toBeLessThan(deadline);
  }
  await host.stop();
  expect(await health()).toBe(0);
  expect(childrenOf(process.pid, /platform-host\.mjs/)).toEqual([]);
  expect(log.some((line) => line.includes("starting it again"))).toBe(true);
});

/** Occupies a port as soon as it is free. */
async function take(port: number): Promise<Server> {
  for (;;) {
    const server = createServer();
    const taken = new Promise<boolean>((resolve) => {
      server.once("listening", () => resolve(true)).once("error", () => resolve(false));
    });
    server.listen(port, "127.0.0.1");
    if (await taken) return server;
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

test("exits or retries if the port is in use, and leaves no process behind", async () => {
  const bindings = hostBindings(platform);
  const port = await freePort();

  // Runs in a separate process, which must be able to exit by itself.
  const script = `import { serveNode } from ${JSON.stringify(new URL("../../scripts/host/node.ts", import.meta.url).href)};
    const { PORT, ...bindings } = process.env;
    await serveNode({ host: "127.0.0.1", port: Number(PORT), bindings, log: () => undefined, programs: ${JSON.stringify(testPrograms())} }).catch(() => undefined);`;
  const first = await take(port);
  const { PATH = "" } = process.env;
  const alone = spawn(process.execPath, ["--input-type=module", "-e", script], {
    env: { PATH, ...bindings, PORT: String(port) },
    stdio: "ignore",
  });
  const late = setTimeout(() => alone.kill("SIGKILL"), 20_000);
  expect(await once(alone, "exit")).toEqual([0, null]);
  clearTimeout(late);
  await new Promise((resolve) => first.close(resolve));

  const log: string[] = [];
  const host = await serveProcess({
    programs: testPrograms(),
    host: "127.0.0.1",
    port,
    bindings,
    log: (line) => log.push(line),
  });
  const processes = () => childrenOf(process.pid, /platform-host\.mjs/);
  process.kill(processes()[0] ?? 0, "SIGKILL");
  const second = await take(port);
  const refusals = () => log.filter((line) => line.includes(`Port ${port} is already in use`)).length;
  await expect.poll(refusals).toBeGreaterThan(2);
  expect(processes().length).toBeLessThan(2);
  await new Promise((resolve) => second.close(resolve));
  const health = () =>
    fetch(`${host.url}/api/health`).then(
      ({ status }) => status,
      () => 0,
    );
  await expect.poll(health).toBe(200);
  expect(processes().length).toBe(1);
  await host.stop();
  expect(processes()).toEqual([]);
}, 90_000);

test("reports a host process that cannot be started", async () => {
  const { execPath } = process;
  process.execPath = "/nowhere/node";
  try {
    const never = serveProcess({
      programs: testPrograms(),
      host: "127.0.0.1",
      port: await freePort(),
      bindings: {},
      log: () => undefined,
    });
    await expect(never).rejects.toThrow(/^The host did not start: .*ENOENT/);
  } finally {
    process.execPath = execPath;
  }
});

test("causes no unhandled rejection when a request is refused early", async () => {
  await using near = await startNear(platform);
  const left: unknown[] = [];
  const note = (reason: unknown) => left.push(reason);
  process.on("unhandledRejection", note);
  try {
    const { token } = near;
    const schema = { id: "b", fields: [{ name: "title", type: "string" }] } as const;
    const orb = { id: "early", modules: [{ id: "a", type: "CONTENT", schemas: [schema] }] };
    await near.orb(orb);
    const statusesOf = async (orb: string) => {
      const ask = async (
        method: string,
        path: string,
        headers: Record<string, string> = {},
        body?: object,
      ) => {
        const url = `/api/admin/orbs/${orb}/entries${path}`;
        return (await call(near.platform, method, url, { token, headers, body })).status;
      };
      return [
        await ask("GET", "/0abc/revisions/abc"),
        await ask("GET", "/0abc/revisions?cursor=zzz"),
        await ask("GET", "/0abc/revisions/1?against=x"),
        await ask("POST", "/0abc/revisions/abc/restore"),
        await ask("POST", "/0abc/publish", { "if-match": "x" }),
        await ask("POST", "", { "idempotency-key": "once" }, { module: "a", values: {} }),
        await ask("GET", "/0abc?at=x"),
      ];
    };
    expect(await statusesOf("nowhere")).toEqual([404, 404, 404, 404, 400, 404, 404]);
    expect(await statusesOf("early")).toEqual([404, 400, 404, 404, 400, 201, 400]);
    // By now, an unhandled rejection would have been reported.
    await new Promise((resolve) => setTimeout(resolve, 100));
    expect(left).toEqual([]);
  } finally {
    process.off("unhandledRejection", note);
  }
});

test("identifies clients behind a proxy by the last forwarded address, with or without a port", async () => {
  await using host = await serveBeside(platform, { TRUST_PROXY: "true" });
  const store = platform.operatorStore();
  await store.purge(streams.limits, "_limit.>");
  const counted = async () => {
    const page = await store.scan(streams.limits, "_limit.>", {
      fromSeq: 1,
      limit: 100,
    });
    return Map.groupBy(page.messages, ({ subject }) => subject).size;
  };
  const ask = async (forwarded: string) => {
    const headers = { "x-forwarded-for": `192.0.2.200, ${forwarded}` };
    expect((await fetch(`${host.url}/api/auth/invitations/nobody`, { headers })).status).toBe(404);
  };
  const v4 = ["203.0.113.7", "203.0.113.7:50001", "203.0.113.7:50002", "[::ffff:cb00:7107]:50003"];
  for (const address of v4) await ask(address);
  expect(await counted()).toBe(1);
  for (const address of ["2001:db8::1", "[2001:db8::1]:50001", "[2001:db8::2]"]) await ask(address);
  expect(await counted()).toBe(2);
  // An invalid address counts as the proxy's own.
  for (const address of ["unknown", "_hidden:1", "_hidden:2", ""]) await ask(address);
  expect(await counted()).toBe(3);
});

test("all addresses of an IPv6 network together may follow as many lists as one address", async () => {
  await using near = await startNear(platform, { TRUST_PROXY: "true", STREAMS_MAX_PER_USER: "3" });
  const field = { name: "title", type: "string" } as const;
  const schema = { id: "note", access: { read: "public" }, fields: [field] } as const;
  const orb = { id: "followers", modules: [{ id: "notes", type: "CONTENT", schemas: [schema] }] };
  await near.orb(orb);
  const ended = new AbortController();
  const follow = async (address: string) => {
    const headers = { "x-forwarded-for": address, accept: "text/event-stream" };
    const path = "/api/followers/notes?live=sse";
    return (await fetch(`${near.host.url}${path}`, { headers, signal: ended.signal })).status;
  };
  try {
    const statuses: number[] = [];
    for (let n = 1; n <= 5; n++) statuses.push(await follow(`2001:db8:7:7:${n}::${n}`));
    expect(statuses).toEqual([200, 200, 200, 429, 429]);
    expect(await follow("2001:db8:7:8::1")).toBe(200);
  } finally {
    ended.abort();
  }
});

/** Returns Node options that preload a module which causes an unhandled rejection at each SIGUSR2. */
function leavesPromises(): string {
  const file = join(tempDir("preload"), "preload.mjs");
  const fail = `Promise.reject(Object.assign(new Error("left behind"), { extra: "confidential" }))`;
  writeFileSync(file, `process.on("SIGUSR2", () => { ${fail}; });\n`);
  return `--import=${file}`;
}

test("the host and the streams process log an unhandled rejection and continue", async () => {
  const log: string[] = [];
  const bindings = hostBindings(platform);
  const env = { ...bindings, NODE_OPTIONS: leavesPromises() };
  const line = (text: string) => log.push(text);
  const port = await freePort();
  const host = await serveProcess({
    programs: testPrograms(),
    host: "127.0.0.1",
    port,
    bindings: env,
    log: line,
  });
  const streams = await serveStreams({
    programs: testPrograms(),
    host: "127.0.0.1",
    port: await freePort(),
    env,
    log: line,
  });
  try {
    for (const [url, name] of [
      [host.url, /platform-host\.mjs/],
      [streams.url, /platform-streams\.mjs/],
    ] as const) {
      log.length = 0;
      const [pid, ...others] = childrenOf(process.pid, name);
      if (pid === undefined || others.length > 0) throw new Error("not one process");
      process.kill(pid, "SIGUSR2");
      await expect
        .poll(() => log.filter((text) => text.includes("unhandled promise rejection")))
        .toHaveLength(1);
      expect(log.join()).toContain("left behind");
      expect(log.join()).not.toContain("confidential");
      expect((await fetch(`${url}/api/health`)).status).toBe(200);
      expect(childrenOf(process.pid, name)).toEqual([pid]);
    }
  } finally {
    await host.stop();
    await streams.stop();
  }
});
