import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { createServer as createHttpServer } from "node:http";
import { createServer } from "node:net";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { expect, test } from "vitest";
import { generateKeys } from "../../scripts/config/secrets.ts";
import { serveFunctions } from "../../scripts/host/functions.ts";
import { serveStreams } from "../../scripts/host/streams.ts";
import { freePort } from "../../scripts/process/ports.ts";
import { failure, runStart, settings } from "../support/start.ts";

test("a port that the broker had once is left to who is to have it now", async () => {
  const env = await settings();
  const broker = join(String(env.DATA_DIR), "broker");
  mkdirSync(broker);
  writeFileSync(
    join(broker, "ports.json"),
    JSON.stringify({ port: Number(env.PORT), wsPort: Number(env.STREAMS_PORT) }),
  );
  await using started = runStart(env);
  await started.printed(/ready at/);
  const { port, wsPort } = JSON.parse(readFileSync(join(broker, "ports.json"), "utf8")) as {
    port: number;
    wsPort: number;
  };
  for (const taken of [port, wsPort]) expect([env.PORT, env.STREAMS_PORT]).not.toContain(String(taken));
});

test("says in one line that two settings name one port, and forgets it", async () => {
  const env = await settings();
  const said = await failure({ ...env, NATS_PORT: String(env.PORT) });
  expect(said).toBe(`PORT and NATS_PORT are both ${env.PORT}: choose another for one of them.`);
  await using started = runStart(env);
  await started.printed(/ready at/);
});

test("a port that is taken while the functions start is told in the same line", async () => {
  const server = createServer();
  const port = await freePort();
  await new Promise<void>((resolve) => server.listen(port, "127.0.0.1", resolve));
  const logged: string[] = [];
  try {
    await expect(
      serveFunctions({
        host: "127.0.0.1",
        port,
        bindings: {},
        log: (line) => logged.push(line),
        bundle: "export default {}",
      }),
    ).rejects.toThrow(`Port ${port} is taken: stop what listens there, or choose another with PORT=….`);
    expect(logged).toEqual([]);
  } finally {
    server.close();
  }
});

/** The streams process alone, without a broker: it listens all the same. */
async function streamsOn(port: number, log: (line: string) => void) {
  const env = {
    NATS_URL: `ws://127.0.0.1:${await freePort()}`,
    PUBLIC_URL: "http://localhost",
    ...(await generateKeys()),
  };
  return serveStreams({ host: "127.0.0.1", port, env, log });
}

/** Something else that answers every request. */
async function somethingElse(port: number) {
  const server = createHttpServer((_, response) => response.end("hello"));
  await new Promise<void>((resolve) => server.listen(port, "127.0.0.1", resolve));
  return {
    [Symbol.asyncDispose]: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

test("what else answers on its port is not the streams process", async () => {
  const port = await freePort();
  const logged: string[] = [];
  await using _other = await somethingElse(port);
  await expect(streamsOn(port, (line) => logged.push(line))).rejects.toThrow(
    `The streams process does not start: Port ${port} is taken: stop what listens there, or choose another with STREAMS_PORT=….`,
  );
  expect(logged.filter((line) => line.includes("EADDRINUSE") || line.includes("    at "))).toEqual([]);
}, 60_000);

test("a streams process that cannot come back is given up in one line", async () => {
  const port = await freePort();
  const logged: string[] = [];
  await using streams = await streamsOn(port, (line) => logged.push(line));
  streams.kill();
  const again = () => logged.some((line) => line.includes("starting it again"));
  await expect.poll(again, { timeout: 10_000 }).toBe(true);
  await using _other = await somethingElse(port);
  const given = () => logged.filter((line) => line.includes("does not start"));
  await expect.poll(given, { timeout: 90_000 }).toHaveLength(1);
  expect(given()[0]).toContain(`Port ${port} is taken`);
  const lines = logged.length;
  await delay(3_000);
  expect(logged).toHaveLength(lines);
}, 120_000);
