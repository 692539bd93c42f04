import { afterAll, beforeAll, expect, test } from "vitest";
import type { NodeFunctions } from "../../scripts/host/node.ts";
import { call } from "../support/auth.ts";
import { type Near, startNear } from "../support/near.ts";
import { startPlatform, type TestPlatform } from "../support/platform.ts";

/** The functions in workerd write, without a cache. The Node host caches responses and writes too. */
let platform: TestPlatform;
let served: Near;
let host: NodeFunctions;
/** The same platform, addressed through the host. */
let near: TestPlatform;
let token: string;

const document = (id: string, more: object[] = []) => ({
  id,
  languages: ["en", "de"],
  uses: [],
  modules: [
    {
      id: "catalog",
      type: "CONTENT",
      schemas: [
        {
          id: "product",
          access: { read: "public", write: "admin" },
          fields: [
            { name: "title", type: "string", translatable: true },
            { name: "kind", type: "string", enum: ["a", "b"] },
            { name: "size", type: "integer" },
            { name: "body", type: "text" },
            ...more,
          ],
        },
        { id: "note", access: { read: "user", write: "admin" }, fields: [{ name: "text", type: "string" }] },
      ],
    },
  ],
});

const path = (orb: string, rest = "") => `/api/${orb}/catalog/product${rest}`;

const published = (orb: string, values: object, more?: object) => served.published(path(orb), values, more);
const orbOf = (id: string) => served.orb(document(id));
const warm: Near["warm"] = (address, headers) => served.warm(address, headers);
const soon: Near["soon"] = (address, fits) => served.soon(address, fits);

beforeAll(async () => {
  // With several brokers the host does not cache the order of lists. answer-same.test.ts covers the rest with several
  // brokers.
  platform = await startPlatform({ env: { NATS_BROKERS: "1" } });
  served = await startNear(platform);
  ({ host, token, platform: near } = served);
});
afterAll(async () => {
  await host?.stop();
  await platform?.stop();
});

test("repeats a cached response with a new request id", async () => {
  const orb = await orbOf("again");
  const id = await published(orb, { title: { en: "Lamp", de: "Lampe" }, kind: "a", size: 1 });
  for (const address of [
    path(orb, `/${id}`),
    path(orb, `/${id}?fields=title`),
    path(orb),
    path(orb, "?sort=-createdAt&limit=1"),
    path(orb, "?filter[kind]=a"),
    path(orb, "?sort=size"),
    path(orb, "?count=true"),
  ]) {
    const first = await call(near, "GET", address, { headers: { "accept-language": "de" } });
    const again = await warm(address, { "accept-language": "de" });
    expect(again.status).toBe(200);
    expect(again.body).toEqual(first.body);
    const plain = (headers: Headers) =>
      Object.fromEntries(
        [...headers].filter(([name]) => !["x-request-id", "traceparent", "date"].includes(name)),
      );
    expect(plain(again.headers)).toEqual(plain(first.headers));
    expect(again.headers.get("x-request-id")).not.toBe(first.headers.get("x-request-id"));
    const other = await call(near, "GET", address, { headers: { "accept-language": "en" } });
    expect(JSON.stringify(other.body)).not.toContain("Lampe");
  }
  const address = path(orb, `/${id}`);
  const known = await warm(address);
  const tag = known.headers.get("etag") ?? "";
  const same = await call(near, "GET", address, {
    headers: { "if-none-match": tag, "x-request-id": "mine" },
  });
  expect([same.status, same.body, same.headers.get("etag")]).toEqual([304, "", tag]);
  expect(same.headers.get("x-request-id")).toBe("mine");
  expect(same.headers.get("content-type")).toBeNull();
});

test("shows a change at once to the process that made it, and soon to other processes", async () => {
  const orb = await orbOf("changes");
  const id = await published(orb, { title: { en: "One" }, kind: "a", size: 1 });
  const one = path(orb, `/${id}`);
  const lists = ["", "?filter[kind]=a", "?sort=-createdAt", "?sort=size&count=true", "?filter[size][gt]=0"];
  const addresses = [one, ...lists.map((query) => path(orb, query))];
  const all = async () => {
    for (const address of addresses) await warm(address);
  };
  const titles = async (address: string) => {
    const { body } = await call(near, "GET", address);
    return (body.items ?? [body]).map(({ values }: { values?: { title: string } }) => values?.title);
  };

  await all();
  const change = { token, body: { values: { title: { en: "Two" }, kind: "a", size: 2 } } };
  // A draft changes no visible value.
  expect((await call(near, "PUT", one, change)).status).toBe(200);
  for (const address of addresses) expect(await titles(address)).toEqual(["One"]);
  await all();
  expect((await call(near, "POST", `${one}/publish`, { token })).status).toBe(200);
  for (const address of addresses) expect(await titles(address)).toEqual(["Two"]);

  await all();
  const second = await published(orb, { title: { en: "Three" }, kind: "a", size: 3 });
  expect(await titles(path(orb))).toEqual(["Two", "Three"]);
  expect(await titles(path(orb, "?sort=-createdAt"))).toEqual(["Three", "Two"]);
  expect(await titles(path(orb, "?filter[kind]=a"))).toEqual(["Two", "Three"]);

  // An entry that gets the filtered value after its creation.
  const late = await published(orb, { title: { en: "Four" }, kind: "b", size: 4 });
  await warm(path(orb, "?filter[kind]=a"));
  await call(near, "PUT", path(orb, `/${late}?publish=true`), {
    token,
    body: { values: { title: { en: "Four" }, kind: "a", size: 4 } },
  });
  expect(await titles(path(orb, "?filter[kind]=a"))).toEqual(["Two", "Three", "Four"]);

  await all();
  expect((await call(near, "DELETE", path(orb, `/${second}`), { token })).status).toBe(204);
  expect(await titles(path(orb))).toEqual(["Two", "Four"]);

  await all();
  expect((await call(near, "POST", `${one}/unpublish`, { token })).status).toBe(200);
  expect((await call(near, "GET", one)).status).toBe(404);
  expect(await titles(path(orb))).toEqual(["Four"]);

  // Another process writes.
  const far = path(orb, `/${late}`);
  await warm(far);
  await warm(path(orb));
  await call(platform, "PUT", `${far}?publish=true`, {
    token,
    body: { values: { title: { en: "Five" }, kind: "a" } },
  });
  await soon(far, ({ body }) => body.values?.title === "Five");
  await soon(path(orb), ({ body }) => body.items?.[0]?.values.title === "Five");

  // The definition changes which fields are shown, and who can see the entry.
  await warm(far);
  const open = document(orb, [{ name: "extra", type: "string", default: "x" }]);
  await call(platform, "PUT", `/api/admin/orbs/${orb}?publish=true`, { token, body: open });
  await soon(far, ({ headers }) => headers.get("etag") !== null);
  const closed = document(orb);
  const [schema] = closed.modules[0]?.schemas ?? [];
  if (schema !== undefined) schema.access.read = "user";
  await warm(far);
  expect(
    (await call(platform, "PUT", `/api/admin/orbs/${orb}?publish=true&force=true`, { token, body: closed }))
      .status,
  ).toBe(200);
  await soon(far, ({ status }) => status === 401);
  await call(near, "DELETE", `/api/admin/orbs/${orb}`, { token });
  expect((await call(near, "GET", far)).status).toBe(404);
});

test("respects validFrom and validTo while responses are cached", async () => {
  const orb = await orbOf("windows");
  const stays = await published(orb, { title: { en: "Stays" } });
  const now = Date.now();
  const id = await published(
    orb,
    { title: { en: "Passing" } },
    { validFrom: new Date(now + 1_200).toISOString(), validTo: new Date(now + 2_400).toISOString() },
  );
  const ids = async () =>
    (await warm(path(orb))).body.items.map((item: { id: string }) => item.id) as string[];
  expect(await ids()).toEqual([stays]);
  await new Promise((resolve) => setTimeout(resolve, now + 1_205 - Date.now()));
  expect((await call(near, "GET", path(orb))).body.items).toHaveLength(2);
  expect((await call(near, "GET", path(orb, `/${id}`))).status).toBe(200);
  await new Promise((resolve) => setTimeout(resolve, now + 2_405 - Date.now()));
  expect((await call(near, "GET", path(orb))).body.items).toHaveLength(1);
  expect((await call(near, "GET", path(orb, `/${id}`))).status).toBe(404);
  expect(await ids()).toEqual([stays]);
});

test("neither caches responses to authenticated requests nor answers such requests from the cache", async () => {
  const orb = await orbOf("private");
  const id = await published(orb, { title: { en: "Public" } });
  const note = await call(near, "POST", `/api/${orb}/catalog/note?publish=true`, {
    token,
    body: { values: { text: "for users" } },
  });
  const notes = `/api/${orb}/catalog/note/${note.body.id}`;
  const before = host.answers();
  for (let i = 0; i < 5; i++) {
    expect((await call(near, "GET", notes, { token })).status).toBe(200);
    expect((await call(near, "GET", notes)).status).toBe(401);
    expect((await call(near, "GET", path(orb, `/${id}?revision=latest`), { token })).status).toBe(200);
    expect((await call(near, "GET", path(orb, `/${id}?revision=latest`))).status).toBe(401);
    expect((await call(near, "GET", path(orb, "/0nothing"))).status).toBe(404);
    expect((await call(near, "GET", path(orb, "?nonsense=1"))).status).toBe(400);
  }
  expect(host.answers()).toEqual(before);
  await warm(path(orb, `/${id}`));
  const { given } = host.answers();
  // A request with credentials is always authenticated, even if the credentials are invalid.
  const stranger = await call(near, "GET", path(orb, `/${id}`), {
    headers: { authorization: "Bearer nope" },
  });
  expect(stranger.status).toBe(401);
  expect((await call(near, "GET", path(orb, `/${id}`), { headers: { cookie: "a=b" } })).status).toBe(200);
  expect((await call(near, "HEAD", path(orb, `/${id}`))).status).toBe(200);
  expect(host.answers().given).toBe(given);
});

test("sends the same CORS headers with a cached response", async () => {
  const orb = await orbOf("origins");
  const id = await published(orb, { title: { en: "Public" } });
  const address = path(orb, `/${id}`);
  const plain = await warm(address);
  expect(plain.headers.get("access-control-allow-origin")).toBeNull();
  const own = await warm(address, { origin: platform.settings.publicUrl });
  expect(own.headers.get("access-control-allow-origin")).toBe(platform.settings.publicUrl);
  const foreign = await warm(address, { origin: "https://elsewhere.example" });
  expect(foreign.headers.get("access-control-allow-origin")).toBeNull();
});

test("never returns a value older than an acknowledged write", async () => {
  const orb = await orbOf("races");
  const id = await published(orb, { title: { en: "0" }, size: 0 });
  const one = path(orb, `/${id}`);
  let acknowledged = 0;
  let writing = true;
  const { given } = host.answers();
  const writer = (async () => {
    for (let n = 1; n <= 25; n++) {
      const body = { values: { title: { en: String(n) }, size: n } };
      expect((await call(near, "PUT", `${one}?publish=true`, { token, body })).status).toBe(200);
      acknowledged = n;
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    writing = false;
  })();
  const reader = async (address: string) => {
    while (writing) {
      const least = acknowledged;
      const { body } = await call(near, "GET", address);
      expect((body.items?.[0] ?? body).values.size).toBeGreaterThanOrEqual(least);
    }
  };
  await Promise.all([
    writer,
    reader(one),
    reader(one),
    reader(path(orb)),
    reader(path(orb, "?sort=-createdAt")),
  ]);
  expect(host.answers().given).toBeGreaterThan(given);
});

test("shares one computation among parallel requests, unless a write changes the data meanwhile", async () => {
  const orb = await orbOf("herd");
  const id = await published(orb, { title: { en: "0" }, size: 0 });
  await warm(path(orb));
  for (let n = 1; n <= 10; n++) {
    const address = path(orb, `?sort=size&limit=${n}`);
    const { given } = host.answers();
    const together = (count: number) =>
      Promise.all(Array.from({ length: count }, () => call(near, "GET", address)));
    const answers = await together(20);
    expect(new Set(answers.map(({ status, body }) => `${status} ${JSON.stringify(body)}`)).size).toBe(1);
    expect(host.answers().given - given).toBeGreaterThanOrEqual(15);
    // Other requests are in progress during the write. Requests sent after its acknowledgement must see it.
    const early = together(5);
    const body = { values: { title: { en: String(n) }, size: n } };
    expect((await call(near, "PUT", path(orb, `/${id}?publish=true`), { token, body })).status).toBe(200);
    for (const { body: late } of await together(5)) expect(late.items[0].values.size).toBe(n);
    await early;
  }
  // Responses that are not cached, such as 404, are computed for each request.
  const missing = await Promise.all(
    Array.from({ length: 20 }, () => call(near, "GET", path(orb, "/0nothing"))),
  );
  expect(new Set(missing.map(({ status }) => status))).toEqual(new Set([404]));
});

test("answers 503 instead of cached responses while the broker is unavailable", async () => {
  const orb = await orbOf("away");
  const id = await published(orb, { title: { en: "Here" } });
  await warm(path(orb, `/${id}`));
  await platform.broker?.pause();
  for (const deadline = Date.now() + 30_000; (await call(near, "GET", path(orb, `/${id}`))).status !== 503; )
    expect(Date.now()).toBeLessThan(deadline);
  await platform.broker?.resume();
  // Wait for both hosts, because the tests after this one write through the other.
  for (const one of [near, platform]) {
    for (
      const deadline = Date.now() + 30_000;
      (await call(one, "GET", path(orb, `/${id}`))).status !== 200;
    ) {
      expect(Date.now()).toBeLessThan(deadline);
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }
  await warm(path(orb, `/${id}`));
});

test("keeps the memory cache within its limit", async () => {
  const orb = await orbOf("bounded");
  const ids: string[] = [];
  for (let i = 0; i < 60; i++) ids.push(await published(orb, { body: `${i} ${"x".repeat(40_000)}` }));
  await using without = await startNear(platform, { HOST_CACHE_MIB: "8" });
  let most = 0;
  for (let variant = 0; variant < 5; variant++) {
    for (let round = 0; round < 3; round++) {
      const headers = { "accept-language": `en;q=0.${variant + 1}` };
      await Promise.all(ids.map((id) => call(without.platform, "GET", path(orb, `/${id}`), { headers })));
      most = Math.max(most, without.host.answers().bytes);
    }
  }
  expect(most).toBeGreaterThan(1024 * 1024);
  expect(most).toBeLessThanOrEqual(2 * 1024 * 1024);
});
