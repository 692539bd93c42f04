/**
 * Request bodies that arrive slowly or not at all: the client gets a response, and the request holds its broker
 * connection no longer. Uploads are read line by line: they may be slow, but not stall. The tests wait for a minute in
 * real time, all of them at once.
 */
import { connect } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { serveFunctions } from "../../scripts/host/functions.ts";
import { serveProcess } from "../../scripts/host/process.ts";
import { adminToken, call } from "../support/auth.ts";
import { startPlatform, type TestPlatform } from "../support/platform.ts";
import { connectionsTo } from "../support/sockets.ts";

interface Answer {
  status: number;
  code: string | undefined;
  /** Milliseconds from the end of the request head to the response. */
  afterMs: number;
}

/** The speed at which a body is sent. */
interface Pace {
  bytes: number;
  everyMs: number;
}

const BODY_BYTES = 5_000;

/**
 * Announces a body of {@link BODY_BYTES} and sends it at the given pace.
 * @returns undefined without a response within the time
 */
async function trickle(
  platform: TestPlatform,
  path: string,
  { bytes, everyMs }: Pace,
  withinMs: number,
): Promise<Answer | undefined> {
  const socket = connect(Number(new URL(platform.origin).port), "127.0.0.1");
  socket.on("error", () => undefined);
  socket.setEncoding("latin1");
  let got = "";
  const began = performance.now();
  const answered = new Promise<void>((resolve) => {
    socket.on("data", (text: string) => {
      got += text;
      if (/\r\n\r\n.*\}/s.test(got)) resolve();
    });
    socket.once("close", () => resolve());
    setTimeout(resolve, withinMs);
  });
  const head = [`POST ${path} HTTP/1.1`, "Host: localhost", `Content-Length: ${BODY_BYTES}`];
  socket.write(`${head.join("\r\n")}\r\nContent-Type: application/json\r\n\r\n`);
  // Bytes after the body would be another request. The server may refuse that before it answers the first.
  let rest = BODY_BYTES;
  const drip = setInterval(() => {
    const next = Math.min(bytes, rest);
    rest -= next;
    socket.write(" ".repeat(next));
  }, everyMs);
  await answered;
  const afterMs = performance.now() - began;
  clearInterval(drip);
  socket.destroy();
  if (got === "") return undefined;
  return { status: Number(got.split(" ")[1]), code: /"code":"(\w+)"/.exec(got)?.[1], afterMs };
}

const PATH = "/api/_auth/passkey/begin";

/** Time by which each response has come. The limits are 5 and 15 s, but the machine of the tests may be busy. */
const ANSWERED_MS = 50_000;

async function slowBodies(platform: TestPlatform): Promise<void> {
  const refused = { status: 400, code: "body_incomplete" };
  const [silent, dripping, patient] = await Promise.all([
    trickle(platform, PATH, { bytes: 0, everyMs: 1_000 }, ANSWERED_MS),
    trickle(platform, PATH, { bytes: 1, everyMs: 2_000 }, ANSWERED_MS),
    trickle(platform, PATH, { bytes: 100, everyMs: 100 }, ANSWERED_MS),
  ]);
  expect(silent).toMatchObject(refused);
  expect(silent?.afterMs).toBeGreaterThan(4_500);
  expect(dripping).toMatchObject(refused);
  expect(dripping?.afterMs).toBeGreaterThan(14_500);
  // Slow, but within the time limit: 5,000 spaces are not JSON.
  expect(patient).toMatchObject({ status: 400, code: "malformed_json" });
}

/** The early response to a request whose body keeps arriving one byte at a time. */
async function slowRest(platform: TestPlatform): Promise<void> {
  const pace = { bytes: 1, everyMs: 300 };
  const answers = Promise.all([
    trickle(platform, "/api/admin/orbs", pace, ANSWERED_MS),
    trickle(platform, "/api/_auth/nothing", pace, ANSWERED_MS),
  ]);
  for (const [index, status] of [401, 404].entries()) {
    const answer = (await answers)[index];
    expect(answer).toMatchObject({ status });
  }
}

const LINE = `${JSON.stringify({ module: "notes", values: { text: "x" } })}\n`;

interface Upload {
  path: string;
  token: string;
  parts: string[];
  /** Milliseconds after each part. */
  everyMs: number;
  /** Whether the body never ends. */
  stalls?: boolean;
}

/**
 * Sends a body in parts.
 * @returns the lines of the response body after the response is complete or the connection closed
 */
async function upload(
  platform: TestPlatform,
  { path, token, parts, everyMs, stalls }: Upload,
): Promise<unknown[]> {
  const socket = connect(Number(new URL(platform.origin).port), "127.0.0.1");
  socket.setEncoding("latin1");
  let got = "";
  const answered = new Promise<void>((resolve) => {
    socket.on("data", (text: string) => {
      got += text;
      if (/\r\n0\r\n\r\n$|"code":"\w+"\}$/.test(got)) resolve();
    });
    socket.on("error", () => undefined);
    socket.once("close", () => resolve());
  });
  const head = [`POST ${path} HTTP/1.1`, "Host: localhost", `Authorization: Bearer ${token}`];
  head.push("Content-Type: application/x-ndjson", "Transfer-Encoding: chunked");
  socket.write(`${head.join("\r\n")}\r\n\r\n`);
  for (const part of parts) {
    if (socket.destroyed) break;
    socket.write(`${part.length.toString(16)}\r\n${part}\r\n`);
    await delay(everyMs);
  }
  if (stalls !== true) socket.write("0\r\n\r\n");
  await answered;
  socket.destroy();
  const lines = got.slice(got.indexOf("\r\n\r\n")).split(/\r?\n/);
  return lines.filter((line) => line.startsWith("{")).map((line) => JSON.parse(line) as unknown);
}

/** Uploads for longer than a minute, and uploads that send nothing for a minute. */
async function slowUploads(platform: TestPlatform): Promise<void> {
  const token = await adminToken(platform);
  const schemas = [{ id: "note", fields: [{ name: "text", type: "string" }] }];
  const body = { id: "slow", modules: [{ id: "notes", type: "CONTENT", schemas }] };
  expect((await call(platform, "POST", "/api/admin/orbs?publish=true", { token, body })).status).toBe(201);
  const path = "/api/admin/orbs/slow/entries/bulk";
  const exported = await fetch(`${platform.origin}/api/admin/orbs/slow/export`, {
    headers: { authorization: `Bearer ${token}` },
  });
  const [first = ""] = (await exported.text()).split("\n");
  const [slow, stalled, imported] = await Promise.all([
    upload(platform, { path, token, parts: Array<string>(12).fill(LINE), everyMs: 5_500 }),
    upload(platform, { path, token, parts: [LINE, LINE, LINE.slice(0, 9)], everyMs: 500, stalls: true }),
    upload(platform, {
      path: "/api/admin/orbs/import",
      token,
      parts: [`${first.replaceAll("slow", "anew")}\n`],
      everyMs: 500,
      stalls: true,
    }),
  ]);
  expect(slow.at(-1)).toEqual({ done: true, total: 12, created: 12, failed: 0 });
  expect(stalled).toMatchObject([
    { line: 1, status: 201 },
    { line: 2, status: 201 },
    { done: false, total: 2, created: 2, failed: 0, status: 400, code: "body_incomplete" },
  ]);
  expect(imported).toMatchObject([{ status: 400, code: "body_incomplete" }]);
  expect(platform.logs.filter((line) => line.includes('"level":"error"'))).toEqual([]);
}

describe.concurrent.each([
  ["the functions", {}],
  ["the Node host", { serve: serveProcess }],
] as const)("%s", (_, options) => {
  let platform: TestPlatform;
  beforeAll(async () => {
    platform = await startPlatform(options);
  });
  afterAll(() => platform?.stop());

  test("answers slow bodies within the time limits", async () => {
    await slowRest(platform);
    await slowBodies(platform);
  });

  test("accepts a slow upload and ends a stalled one with body_incomplete", async () => {
    await slowUploads(platform);
  }, 150_000);
});

test.concurrent("holds no broker connection while a body is still arriving", async () => {
  // The functions open a connection for each request without the link.
  await using platform = await startPlatform({ serve: serveFunctions, env: { NATS_LINK: "none" } });
  const connections = () => connectionsTo(platform.broker?.wsPort ?? 0);
  const before = connections();
  const pace = { bytes: 1, everyMs: 300 };
  const paths = ["/api/nobody/things", "/api/auth/passkey/begin"];
  const begun = Array.from({ length: 20 }, (_, i) => trickle(platform, paths[i % 2] ?? "", pace, 3_000));
  let most = 0;
  const watch = setInterval(() => {
    most = Math.max(most, connections());
  }, 20);
  expect(await Promise.all(begun)).toEqual(begun.map(() => undefined));
  clearInterval(watch);
  // The platform's own probes may open one for a moment. The requests would hold 20, or 10 if one path were at fault.
  expect(most).toBeLessThan(before + 5);
});
