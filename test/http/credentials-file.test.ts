/** The functions sign in to a broker with a credentials file (`NATS_CREDS`). */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { nkeys } from "nats";
import { expect, test } from "vitest";
import { lastingBroker } from "../../scripts/platform/platform.ts";
import { freePort } from "../../scripts/process/ports.ts";
import { adminToken, call } from "../support/auth.ts";
import { tempDir } from "../support/broker.ts";
import { startPlatform } from "../support/platform.ts";

test("serves requests with the credentials of a file, and none with those of another user", async () => {
  const dir = tempDir("creds");
  const user = nkeys.createUser();
  const [port, ws] = [await freePort(), await freePort()];
  const config = join(dir, "broker.conf");
  writeFileSync(
    config,
    `listen: "127.0.0.1:${port}"
jetstream { store_dir: ${JSON.stringify(join(dir, "data"))} }
websocket { listen: "127.0.0.1:${ws}", no_tls: true }
authorization { users: [{ nkey: ${user.getPublicKey()} }] }
`,
  );
  const text = (seed: Uint8Array) => `-----BEGIN NATS USER JWT-----
eyJ0eXAiOiJKV1QifQ.e30.x
------END NATS USER JWT------

-----BEGIN USER NKEY SEED-----
${new TextDecoder().decode(seed)}
------END USER NKEY SEED------

*************************************************************
`;
  const broker = spawn(lastingBroker(), ["-c", config], { stdio: "ignore" });
  try {
    const env = { NATS_URL: `ws://127.0.0.1:${ws}`, NATS_CREDS: text(user.getSeed()) };
    await using platform = await startPlatform({ env });
    const token = await adminToken(platform);
    const list = await call(platform, "GET", "/api/admin/orbs", { token });
    expect(list).toMatchObject({ status: 200, body: { items: [] } });
    const other = { ...env, NATS_CREDS: text(nkeys.createUser().getSeed()) };
    await expect(startPlatform({ env: other })).rejects.toThrow("rejects the credentials");
  } finally {
    broker.kill();
    await once(broker, "exit");
  }
});
