/** The broker loses the end of an orb's stream. The platform says so, and the orb is not written until it is decided. */
import { existsSync, readdirSync, statSync, truncateSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { loadSecrets } from "../../scripts/config/secrets.ts";
import { orbDocumentSchema } from "../../shared/definition/document/document.ts";
import { createOrb as createStoredOrb } from "../../shared/orb/create.ts";
import { adminToken, call } from "../support/auth.ts";
import { startBroker, tempDir } from "../support/broker.ts";
import { admin, testDeps } from "../support/entries.ts";
import { createOrb, small } from "../support/orbs.ts";
import { sharedPlatform, type TestPlatform } from "../support/platform.ts";
import { until } from "../support/races.ts";
import { runScript, settings } from "../support/start.ts";

/** An orb's stream is cut after its last block is truncated by this many bytes. */
const CUT_BYTES = 3_000;
const DETECTED_MS = 60_000;
const ORB = "lossy";
const STREAM = `ø${ORB}`;
const LIST = `/api/${ORB}/news`;

const codeOf = (body: unknown) => (body as { code?: string }).code;

async function headerOf(platform: TestPlatform, path: string, token: string): Promise<string | null> {
  const answer = await fetch(platform.url + path, { headers: { authorization: `Bearer ${token}` } });
  await answer.body?.cancel();
  expect(answer.status, path).toBe(200);
  return answer.headers.get("orb-damaged");
}

/**
 * Kills the broker, cuts the end of the orb's stream, and starts the broker again.
 * @param write writes to the stream, so that its record changes
 */
async function cutStream(platform: TestPlatform, write: () => Promise<unknown>): Promise<void> {
  const { dataDir } = platform.settings;
  const record = join(dataDir, "record");
  const ofStream = (end: string) =>
    readdirSync(record).some((name) => decodeURIComponent(name) === STREAM + end);
  await until(() => existsSync(record) && ofStream(".json") && ofStream(".log"));
  // The record is ten seconds behind at most.
  const times = () => readdirSync(record).map((name) => `${name} ${statSync(join(record, name)).mtimeMs}`);
  const before = times().join();
  await write();
  await until(() => times().join() !== before);
  const [broker] = platform.brokers;
  await broker?.pause("SIGKILL");
  const folder = join(dataDir, "broker", "jetstream");
  const block = readdirSync(folder, { recursive: true, encoding: "utf8" })
    .filter((name) => name.includes(STREAM) && name.endsWith(".blk"))
    .sort()
    .at(-1);
  const path = join(folder, block ?? "none");
  truncateSync(path, statSync(path).size - CUT_BYTES);
  await broker?.resume();
}

test.each(["host", "hooks/main"])(
  "%s keeps a record of a broker that it has not started",
  async (script) => {
    await using broker = await startBroker();
    const document = orbDocumentSchema.parse(small("shop"));
    await createStoredOrb(testDeps(broker.store("operator")), admin, { document, publish: true });
    const { JWT_SIGNING_KEYS, ENCRYPTION_KEYS, CLAIM_KEY } = await loadSecrets(tempDir("keys"));
    const { url, user = "", pass = "" } = broker.access("operator");
    const keys = script === "host" ? {} : { JWT_SIGNING_KEYS, ENCRYPTION_KEYS, CLAIM_KEY };
    const env = await settings({ NATS_URL: url, NATS_USER: user, NATS_PASS: pass, ...keys });
    await using run = runScript(script, { ...env, PUBLIC_URL: `http://localhost:${env.PORT}` });
    await until(() => existsSync(join(String(env.DATA_DIR), "record", encodeURIComponent("øshop.json"))));
    expect(run.output()).not.toContain("could not be compared");
  },
  90_000,
);

test.skipIf(process.env.TEST_BROKERS !== undefined)(
  "names an orb that has lost messages, serves reads, and refuses writes until the loss is accepted",
  async () => {
    const platform = await sharedPlatform({});
    const token = await adminToken(platform);
    await createOrb(platform, token, small(ORB));
    await createOrb(platform, token, small("other"));
    const create = (orb: string) =>
      call(platform, "POST", `/api/${orb}/news?publish=true`, { token, body: { values: { title: "T" } } });
    for (let count = 0; count < 40; count++) expect((await create(ORB)).status).toBe(201);
    expect(await headerOf(platform, LIST, token)).toBeNull();

    await cutStream(platform, () => create(ORB));
    const health = async () => (await call(platform, "GET", "/api/health")).body as Record<string, unknown>;
    await expect.poll(async () => (await health()).status, { timeout: DETECTED_MS }).toBe("damaged");
    expect((await health()).losses).toEqual([
      expect.objectContaining({
        stream: STREAM,
        orb: ORB,
        remedy: expect.stringContaining(`--accept-loss ${STREAM}`),
      }),
    ]);
    const refused = await create(ORB);
    expect([refused.status, codeOf(refused.body)]).toEqual([503, "orb_damaged"]);
    const published = await call(platform, "POST", `/api/admin/orbs/${ORB}/archive`, { token });
    expect([published.status, codeOf(published.body)]).toEqual([503, "orb_damaged"]);
    const bulk = await fetch(`${platform.url}/api/admin/orbs/${ORB}/entries/bulk`, {
      method: "POST",
      headers: { authorization: `Bearer ${token}`, "content-type": "application/x-ndjson" },
      body: `${JSON.stringify({ module: "news", values: { title: "B" } })}\n`,
    });
    expect(await bulk.text()).toContain("orb_damaged");
    expect((await create("other")).status).toBe(201);

    const paths = [LIST, `${LIST}?live=sse`, `/api/admin/orbs/${ORB}/entries`];
    for (const path of paths) {
      expect(await headerOf(platform, path, token), path).toMatch(/^from=\d+, to=\d+, since="20/);
    }
    expect(await headerOf(platform, "/api/other/news", token)).toBeNull();
    const faults = await call(platform, "GET", "/api/admin/faults", { token });
    expect(faults.body).toEqual([
      expect.objectContaining({ kind: "stream", id: STREAM, codes: ["messages_lost"] }),
    ]);
    const metrics = await fetch(`${platform.url}/api/metrics`, {
      headers: { authorization: `Bearer ${token}` },
    });
    expect(await metrics.text()).toContain(`platform_stream_loss{stream="${STREAM}",orb="${ORB}"} 1`);

    await using doctor = runScript(
      "doctor/doctor",
      { DATA_DIR: platform.settings.dataDir },
      "--accept-loss",
      STREAM,
    );
    expect(await doctor.exited(), doctor.output()).toBe(0);
    expect((await create(ORB)).status).toBe(201);
    expect(await headerOf(platform, LIST, token)).toBeNull();
    expect((await health()).status).toBe("ok");
    expect(platform.logs.join("\n")).toMatch(new RegExp(`DATA LOSS: ${STREAM}`));
  },
  240_000,
);
