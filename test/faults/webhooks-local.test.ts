/** Webhooks to the local machine while developing, and to receivers with a certificate of a private authority. */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, test } from "vitest";
import { networks } from "../../scripts/config/networks.ts";
import { poster } from "../../scripts/hooks/post.ts";
import { call, register } from "../support/auth.ts";
import { tempDir } from "../support/broker.ts";
import { certificates } from "../support/certificates.ts";
import { createOrb, small } from "../support/orbs.ts";
import { startReceiver } from "../support/receiver.ts";
import { failure, runScript, settings } from "../support/start.ts";

/** A receiver on the local machine, without TLS. */
async function plainReceiver() {
  const received: string[] = [];
  const server = createServer((request, response) => {
    received.push(String(request.headers["webhook-id"]));
    request.resume();
    response.writeHead(204).end();
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const stop = () => new Promise<void>((resolve) => server.close(() => resolve()));
  return { port, received, [Symbol.asyncDispose]: stop };
}

test("a development platform reaches local receivers, and receivers of a private authority", async () => {
  const files = certificates(tempDir("certificates"));
  await using secure = await startReceiver(files);
  await using plain = await plainReceiver();
  const env = await settings({ HOOKS_LOOPBACK: "true", NODE_EXTRA_CA_CERTS: files.ca, HOOKS_RETRY_MS: "50" });
  await using host = runScript("host", env);
  await host.printed(/ready at/);
  const at = { origin: `http://localhost:${env.PORT}` };
  const { body: invited } = await call(at, "GET", "/api/_auth/invitations");
  const { token } = await register(at, "/api/_auth", invited[0].token);
  const hooks = [
    { id: "plain", on: ["entry.created"], url: `http://localhost:${plain.port}/hook` },
    { id: "secure", on: ["entry.created"], url: secure.url },
  ];
  await createOrb(at, token, { ...small("hooked"), hooks });
  for (const { id } of hooks)
    expect((await call(at, "POST", `/api/admin/orbs/hooked/hooks/${id}/secret`, { token })).status).toBe(200);
  const made = await call(at, "POST", "/api/hooked/news/post", { token, body: { values: { title: "x" } } });
  expect(made.status, JSON.stringify(made.body)).toBe(201);
  await expect.poll(() => [plain.received.length, secure.received.length]).toEqual([1, 1]);
});

test("production refuses the setting, and a platform without it sends nothing to the local machine", async () => {
  expect(
    await failure(await settings({ HOOKS_LOOPBACK: "true", PUBLIC_URL: "https://platform.example" })),
  ).toMatch(/HOOKS_LOOPBACK is for development, so PUBLIC_URL must be on localhost/);
  await using plain = await plainReceiver();
  const url = `http://localhost:${plain.port}/hook`;
  const message = { url, headers: { "webhook-id": "x" }, body: "{}" };
  const loopbackAllowed = poster({ allowed: networks(["127.0.0.0/8", "10.0.0.0/8"]) });
  await expect(loopbackAllowed(message)).rejects.toThrow("HOOKS_LOOPBACK");
  // With the setting, http still reaches the local machine only, whatever a name resolves to.
  const resolve = (_: string, done: (error: null, found: { address: string; family: number }[]) => void) =>
    done(null, [{ address: "10.0.0.1", family: 4 }]);
  const development = poster({ allowed: networks(["10.0.0.0/8"]), loopback: true, resolve });
  await expect(development(message)).rejects.toThrow("The address 10.0.0.1 is not public");
  expect(plain.received).toEqual([]);
});
