import { afterAll, beforeAll, expect, test } from "vitest";
import { call } from "../support/auth.ts";
import { catalogOf, type Near, startNear } from "../support/near.ts";
import { startPlatform, type TestPlatform } from "../support/platform.ts";

/** More entries than fit in memory, so that most are known only from the cache file. */
const MANY = 600;
const PATH = "/api/shelf/catalog/product";
const OTHER = "/api/other/catalog/product";

let platform: TestPlatform;
let near: Near;
let ids: string[];

const document = (id: string, more: object[] = []) =>
  catalogOf(id, [{ name: "title", type: "string" }, { name: "body", type: "text" }, ...more]);

/**
 * Creates an orb with MANY entries.
 * @param size length of each entry's body, in characters
 * @returns the ids of the entries
 */
async function filled(orb: string, size: number): Promise<string[]> {
  await near.orb(document(orb));
  const values = (n: number) => ({ title: `T${n}`, body: "x".repeat(size) });
  const response = await fetch(`${platform.origin}/api/admin/orbs/${orb}/entries/bulk?publish=true`, {
    method: "POST",
    headers: { authorization: `Bearer ${near.token}`, "content-type": "application/x-ndjson" },
    body: Array.from({ length: MANY }, (_, n) =>
      JSON.stringify({ module: "catalog", schema: "product", values: values(n) }),
    ).join("\n"),
  });
  const lines = (await response.text()).trim().split("\n").slice(0, MANY);
  return lines.map((line) => (JSON.parse(line) as { id: string }).id);
}

/** Reads all entries through the host. Returns their titles and the number of responses from the cache. */
async function readAll(of = ids): Promise<{ titles: (string | undefined)[]; given: number }> {
  const before = near.host.answers().given;
  const titles: (string | undefined)[] = [];
  let next = 0;
  const one = async () => {
    while (next < of.length) {
      const n = next++;
      const { status, body } = await call(near.platform, "GET", `${PATH}/${of[n]}`);
      titles[n] = status === 200 ? body.values.title : undefined;
    }
  };
  await Promise.all(Array.from({ length: 8 }, one));
  return { titles, given: near.host.answers().given - before };
}

/**
 * Reads all entries until at least `least` responses come from the cache. A stalled machine makes the host clear its
 * cache, hence the retries.
 */
async function givenAgain(least: number): Promise<(string | undefined)[]> {
  for (let tries = 0; tries < 5; tries++) {
    const { titles, given } = await readAll();
    if (given >= least) return titles;
  }
  throw new Error(`fewer than ${least} responses came from the cache`);
}

beforeAll(async () => {
  // One broker, because it can be paused. answer-same.test.ts covers the cache with several brokers.
  platform = await startPlatform({ env: { NATS_BROKERS: "1" } });
  near = await startNear(platform, { HOST_CACHE_MIB: "1", HOST_CACHE_FILE_MIB: "16" });
  ids = await filled("shelf", 2_000);
});
afterAll(async () => {
  await near?.host.stop();
  await platform?.stop();
});

test("answers every entry from the cache file after the first read", async () => {
  const wanted = ids.map((_, n) => `T${n}`);
  await near.warm(`${PATH}/${ids[0]}`);
  expect((await readAll()).titles).toEqual(wanted);
  const { filed, answers } = near.host.answers();
  expect([filed, answers]).toEqual([MANY, 0]);
  expect(near.host.stats().subjects).toBeLessThan(MANY);
  expect(await givenAgain(MANY)).toEqual(wanted);
});

test("caches one response for all languages if no field is translated", async () => {
  const address = `${PATH}/${ids[2]}`;
  await near.warm(address);
  const { given, filed } = near.host.answers();
  for (const language of ["de", "en;q=0.3", "fr-CH, fr;q=0.9, *;q=0.1"])
    expect(
      (await call(near.platform, "GET", address, { headers: { "accept-language": language } })).status,
    ).toBe(200);
  expect(near.host.answers()).toMatchObject({ given: given + 3, filed });
});

test("shows the writes of another process to entries that are only in the cache file", async () => {
  await readAll();
  for (const n of [0, 300, MANY - 1]) {
    const address = `${PATH}/${ids[n]}`;
    await near.warm(address);
    const body = { values: { title: `U${n}` } };
    const { token } = near;
    expect((await call(platform, "PUT", `${address}?publish=true`, { token, body })).status).toBe(200);
    await near.soon(address, (answer) => answer.body.values.title === `U${n}`);
  }
  const gone = `${PATH}/${ids[5]}`;
  expect((await call(platform, "DELETE", gone, { token: near.token })).status).toBe(204);
  await near.soon(gone, ({ status }) => status === 404);
  // All other entries are unchanged and still come from the cache file.
  const { titles, given } = await readAll();
  expect(given).toBeGreaterThanOrEqual(MANY - 4);
  for (const [n, title] of titles.entries())
    expect(title).toBe(n === 5 ? undefined : [0, 300, MANY - 1].includes(n) ? `U${n}` : `T${n}`);
});

test("shows its own write to the next request", async () => {
  await readAll();
  for (let n = 10; n < 60; n++) {
    const address = `${PATH}/${ids[n]}`;
    const body = { values: { title: `V${n}` } };
    const { token } = near;
    expect((await call(near.platform, "PUT", `${address}?publish=true`, { token, body })).status).toBe(200);
    expect((await call(near.platform, "GET", address)).body.values.title).toBe(`V${n}`);
  }
});

test("keeps cached responses when the definition is reloaded unchanged, and drops them when it changed", async () => {
  await readAll();
  // Reads of another orb's entries evict the definition from memory. Each entry is read twice with a Range header,
  // which is never cached as a whole response.
  for (const id of (await filled("other", 4_000)).slice(0, 500).flatMap((id) => [id, id]))
    await call(near.platform, "GET", `${OTHER}/${id}`, { headers: { range: "bytes=0-" } });
  expect((await readAll(ids.slice(0, 1))).given).toBe(0);
  await call(near.platform, "GET", `${PATH}/${ids[1]}?fields=title`);
  expect((await readAll()).given).toBeGreaterThan(MANY * 0.9);

  const changed = document("shelf", [{ name: "more", type: "string", default: "yes" }]);
  const { token } = near;
  expect(
    (await call(platform, "PUT", "/api/admin/orbs/shelf?publish=true", { token, body: changed })).status,
  ).toBe(200);
  const tag = (await call(near.platform, "GET", `${PATH}/${ids[1]}`)).headers.get("etag");
  await expect
    .poll(async () => (await call(near.platform, "GET", `${PATH}/${ids[1]}`)).headers.get("etag"))
    .toBe((await call(platform, "GET", `${PATH}/${ids[1]}`)).headers.get("etag"));
  expect(tag).not.toBeNull();
  expect((await readAll()).given).toBeLessThan(MANY * 0.1);
  await givenAgain(MANY * 0.9);
});

test("answers nothing from the cache file while the broker is unavailable, and drops the file's entries afterwards", async () => {
  await readAll();
  await platform.broker?.pause();
  for (const deadline = Date.now() + 30_000; ; ) {
    if ((await call(near.platform, "GET", `${PATH}/${ids[3]}`)).status === 503) break;
    expect(Date.now()).toBeLessThan(deadline);
  }
  await platform.broker?.resume();
  for (const deadline = Date.now() + 30_000; ; ) {
    if ((await call(near.platform, "GET", `${PATH}/${ids[3]}`)).status === 200) break;
    expect(Date.now()).toBeLessThan(deadline);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  await near.warm(`${PATH}/${ids[3]}`);
  expect((await readAll()).given).toBeLessThan(10);
  await givenAgain(MANY * 0.9);
});
