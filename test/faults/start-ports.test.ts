import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { expect, test } from "vitest";
import { serveFunctions } from "../../scripts/host/functions.ts";
import { freePort } from "../../scripts/ports.ts";
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
