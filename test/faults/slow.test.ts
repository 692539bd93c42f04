/**
 * Request bodies that arrive slowly or not at all: the client gets a response, and the request holds its broker
 * connection no longer.
 */
import { connect } from "node:net";
import { expect, test } from "vitest";
import { serveFunctions } from "../../scripts/host/functions.ts";
import { serveProcess } from "../../scripts/host/process.ts";
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

/**
 * Announces a body of 5,000 bytes and sends it at the given pace.
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
  const head = [`POST ${path} HTTP/1.1`, "Host: localhost", "Content-Length: 5000"];
  socket.write(`${head.join("\r\n")}\r\nContent-Type: application/json\r\n\r\n`);
  const drip = setInterval(() => socket.write(" ".repeat(bytes)), everyMs);
  await answered;
  const afterMs = performance.now() - began;
  clearInterval(drip);
  socket.destroy();
  if (got === "") return undefined;
  return { status: Number(got.split(" ")[1]), code: /"code":"(\w+)"/.exec(got)?.[1], afterMs };
}

const PATH = "/api/_auth/passkey/begin";

async function slowBodies(platform: TestPlatform): Promise<void> {
  const refused = { status: 400, code: "body_incomplete" };
  const [silent, dripping, patient] = await Promise.all([
    trickle(platform, PATH, { bytes: 0, everyMs: 1_000 }, 20_000),
    trickle(platform, PATH, { bytes: 1, everyMs: 2_000 }, 20_000),
    trickle(platform, PATH, { bytes: 100, everyMs: 100 }, 20_000),
  ]);
  expect(silent).toMatchObject(refused);
  expect(silent?.afterMs).toBeGreaterThan(4_500);
  expect(silent?.afterMs).toBeLessThan(8_000);
  expect(dripping).toMatchObject(refused);
  expect(dripping?.afterMs).toBeGreaterThan(14_500);
  expect(dripping?.afterMs).toBeLessThan(18_000);
  // Slow, but within the time limit: 5,000 spaces are not JSON.
  expect(patient).toMatchObject({ status: 400, code: "malformed_json" });
}

/** The early response to a request whose body keeps arriving one byte at a time. */
async function slowRest(platform: TestPlatform): Promise<void> {
  const pace = { bytes: 1, everyMs: 300 };
  const answers = Promise.all([
    trickle(platform, "/api/admin/orbs", pace, 10_000),
    trickle(platform, "/api/_auth/nothing", pace, 10_000),
  ]);
  for (const [index, status] of [401, 404].entries()) {
    const answer = (await answers)[index];
    expect(answer).toMatchObject({ status });
    expect(answer?.afterMs).toBeLessThan(5_000);
  }
}

test.concurrent("the functions answer slow bodies within the time limits", async () => {
  await using platform = await startPlatform();
  await slowRest(platform);
  await slowBodies(platform);
}, 60_000);

test.concurrent("the Node host answers slow bodies within the time limits", async () => {
  await using platform = await startPlatform({ serve: serveProcess });
  await slowRest(platform);
  await slowBodies(platform);
}, 60_000);

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
  expect(most).toBeLessThanOrEqual(before);
}, 60_000);
