import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { createServer as createHttpServer } from "node:http";
import { createServer } from "node:net";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { expect, test } from "vitest";
import { generateKeys } from "../../scripts/config/secrets.ts";
import { serveFunctions } from "../../scripts/host/functions.ts";
import { serveStreams } from "../../scripts/host/streams.ts";
import type { Failure } from "../../scripts/process/failure.ts";
import { freePort } from "../../scripts/process/ports.ts";
import { testPrograms } from "../support/programs.ts";
import { failure, runStart, settings } from "../support/start.ts";

test("reports two settings with the same port in one line, and the broker gives up a port that a setting uses now", async () => {
  const env = await settings();
  const said = await failure({ ...env, NATS_PORT: String(env.PORT) });
  expect(said).toBe(`PORT and NATS_PORT are both ${env.PORT}. Choose another port for one of them.`);
  const broker = join(String(env.DATA_DIR), "broker");
  mkdirSync(broker, { recursive: true });
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

test("reports a port that is taken while the functions start in one line", async () => {
  const server = createServer();
  const port = await freePort();
  await new Promise<void>((resolve) => server.listen(port, "127.0.0.1", resolve));
  const logged: string[] = [];
  try {
    await expect(
      serveFunctions({
        programs: testPrograms(),
        host: "127.0.0.1",
        port,
        bindings: {},
        log: (line) => logged.push(line),
        bundle: "export default {}",
      }),
    ).rejects.toThrow(
      `Port ${port} is already in use. Stop the other program, or choose another port with PORT=….`,
    );
    expect(logged).toEqual([]);
  } finally {
    server.close();
  }
});

/** Starts the streams process alone. It listens even without a broker. */
async function streamsOn(port: number, log: (line: string) => void, givenUp?: (failure: Failure) => void) {
  const env = {
    NATS_URL: `ws://127.0.0.1:${await freePort()}`,
    PUBLIC_URL: "http://localhost",
    ...(await generateKeys()),
  };
  return serveStreams({ programs: testPrograms(), host: "127.0.0.1", port, env, log, givenUp });
}

/** Starts another server that answers every request. */
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

test("the streams process fails to start if another server answers on its port", async () => {
  const port = await freePort();
  const logged: string[] = [];
  await using _other = await somethingElse(port);
  await expect(streamsOn(port, (line) => logged.push(line))).rejects.toThrow(
    `The streams process does not start: Port ${port} is already in use. Stop the other program, or choose another port with STREAMS_PORT=….`,
  );
  expect(logged.filter((line) => line.includes("EADDRINUSE") || line.includes("    at "))).toEqual([]);
});

test("a streams process whose port was taken is given up with one line", async () => {
  const port = await freePort();
  const logged: string[] = [];
  const given: string[] = [];
  const givenUp = ({ message }: Failure) => given.push(message);
  await using streams = await streamsOn(port, (line) => logged.push(line), givenUp);
  streams.kill();
  const again = () => logged.some((line) => line.includes("starting it again"));
  await expect.poll(again).toBe(true);
  await using _other = await somethingElse(port);
  await expect.poll(() => given, { timeout: 90_000 }).toHaveLength(1);
  expect(given[0]).toContain(`Port ${port} is already in use`);
  const lines = logged.length;
  await delay(3_000);
  expect(logged).toHaveLength(lines);
}, 120_000);
