/** The OpenAPI document and the discovery document. */
import { beforeAll, expect, test } from "vitest";
import type { ApiDocument } from "../../functions/discovery/document.ts";
import { kvSubject } from "../../shared/store/subjects.ts";
import { adminToken, call, user } from "../support/auth.ts";
import { createOrb, shop, small } from "../support/orbs.ts";
import { sharedPlatform, type TestPlatform } from "../support/platform.ts";

let platform: TestPlatform;
let token: string;

const create = (document: unknown, publish?: boolean) => createOrb(platform, token, document, publish);

beforeAll(async () => {
  platform = await sharedPlatform({ link: true });
  token = await adminToken(platform);
  await create(shop);
  await create(small("not-published-yet"), false);
});

test("the OpenAPI and discovery documents contain no unpublished orbs and no secrets", async () => {
  const texts = await Promise.all(
    ["/api/openapi", "/api/discovery"].map(async (path) =>
      JSON.stringify((await call(platform, "GET", path)).body),
    ),
  );
  for (const text of texts) {
    expect(text).not.toContain("not-published-yet");
    expect(text).not.toContain(`127.0.0.1:${platform.broker?.port}`);
    for (const secret of [platform.bindings.CLAIM_KEY, platform.bindings.NATS_PASS]) {
      expect(text).not.toContain(secret);
    }
  }
  expect((await call(platform, "GET", "/api/openapi?orb=not-published-yet")).status).toBe(404);
  expect((await call(platform, "GET", "/api/discovery?orb=not-published-yet")).status).toBe(404);
});

test.each(["/api/openapi", "/api/discovery"])(
  "%s supports ETags and HEAD, and answers 404 for an unknown orb",
  async (path) => {
    const first = await fetch(platform.url + path);
    const tag = first.headers.get("etag") ?? "";
    const text = await first.text();
    const again = await fetch(platform.url + path, { headers: { "if-none-match": tag } });
    expect([again.status, await again.text()]).toEqual([304, ""]);
    const head = await fetch(platform.url + path, { method: "HEAD" });
    expect([head.status, head.headers.get("etag"), await head.text()]).toEqual([200, tag, ""]);
    const unknown = await call(platform, "GET", `${path}?orb=nobody`);
    expect([unknown.status, (unknown.body as { code: string }).code]).toEqual([404, "orb_not_found"]);
    // These values are not aliases of the whole document, even after other requests.
    for (const orb of ["", "*", "undefined"]) {
      expect((await call(platform, "GET", `${path}?orb=${encodeURIComponent(orb)}`)).status).toBe(404);
    }
    expect((await call(platform, "GET", `${path}?orbs=shop`)).status).toBe(400);
    expect((await call(platform, "POST", path)).status).toBe(405);

    await create(small(`late-${path.length}`));
    const changed = await fetch(platform.url + path, { headers: { "if-none-match": tag } });
    expect(changed.status).toBe(200);
    expect(changed.headers.get("etag")).not.toBe(tag);
    expect(await changed.text()).not.toBe(text);
  },
);

test("discovery lists the fields, references and links that a form needs", async () => {
  const { body } = await call(platform, "GET", "/api/discovery?orb=shop");
  const [orb] = (body as { orbs: { modules: { id: string; schemas: Record<string, unknown>[] }[] }[] }).orbs;
  expect(orb).toMatchObject({
    id: "shop",
    languages: ["en", "de"],
    markets: ["US", "EU"],
    realm: "shop",
    links: { signin: "/api/shop/signin" },
  });
  const product = orb?.modules.find(({ id }) => id === "catalog")?.schemas.find(({ id }) => id === "product");
  expect(product).toMatchObject({
    href: "/api/shop/catalog/product",
    access: { read: "public", write: "admin" },
  });
  expect(product?.fields).toEqual(
    expect.arrayContaining([
      expect.objectContaining({
        name: "category",
        type: "reference",
        ref: "shop/catalog/category",
        options: "/api/shop/catalog/category",
      }),
    ]),
  );
});

test("reports a damaged definition to platform admins and still describes the other orbs", async () => {
  await create(small("broken"));
  const store = platform.operatorStore();
  for (const [body, code] of [
    ["{ not json", "not_json"],
    [JSON.stringify({ v: 1, orb: "broken", revision: 2, document: { id: "broken" } }), "not_a_definition"],
  ] as const) {
    await store.append("KV_orbs", { subject: kvSubject("orbs", "broken"), data: body });
    const described = await call(platform, "GET", "/api/openapi");
    expect(described.status).toBe(200);
    const listed = (described.body as ApiDocument)["x-orbs"]?.map(({ id }) => id);
    expect(listed).toContain("shop");
    expect(listed).not.toContain("broken");
    expect((await call(platform, "GET", "/api/discovery?orb=shop")).status).toBe(200);
    const runtime = await call(platform, "GET", "/api/broken/news");
    expect([runtime.status, (runtime.body as { code: string }).code]).toEqual([503, "definition_damaged"]);
    const faults = await call(platform, "GET", "/api/admin/faults", { token });
    expect(faults.body).toEqual([expect.objectContaining({ kind: "orb", id: "broken", codes: [code] })]);
    expect((await call(platform, "GET", "/api/admin/routes", { token })).status).toBe(200);
    const metrics = await fetch(`${platform.url}/api/metrics`, {
      headers: { authorization: `Bearer ${token}` },
    });
    expect(await metrics.text()).toContain(`platform_orb_damaged{orb="broken",reason="${code}"} 1`);
    // The suggested repair works.
    expect((await call(platform, "GET", "/api/admin/orbs/broken", { token })).status).toBe(200);
    expect((await call(platform, "GET", "/api/broken/news")).status).toBe(200);
    expect((await call(platform, "GET", "/api/admin/faults", { token })).body).toEqual([]);
  }
  expect(platform.logs.some((line) => line.includes("stored definition is damaged"))).toBe(true);
});

test("names an orb whose definition a newer version stored, and serves all others", async () => {
  await create(small("future"));
  const store = platform.operatorStore();
  const live = await store.kvGet("orbs", "future");
  const record = live?.json<{ document: object }>();
  const document = { ...record?.document, replicas: ["eu"] };
  await store.append("KV_orbs", {
    subject: kvSubject("orbs", "future"),
    data: JSON.stringify({ ...record, document }),
  });
  const unreadable = { code: "definition_unreadable", at: "/replicas" };
  for (const path of ["/api/future/news", "/api/openapi?orb=future", "/api/discovery?orb=future"])
    expect(await call(platform, "GET", path)).toMatchObject({ status: 503, body: unreadable });
  const write = await call(platform, "PATCH", "/api/admin/orbs/future", { token, body: { name: "x" } });
  expect(write).toMatchObject({ status: 503, body: unreadable });
  const named = { id: "future", reason: "newer_version" };
  let pages = await call(platform, "GET", "/api/discovery?limit=100");
  const unusable = [];
  for (;;) {
    const { unusableOrbs = [], nextCursor } = pages.body as {
      unusableOrbs?: object[];
      nextCursor: string | null;
    };
    unusable.push(...unusableOrbs);
    if (nextCursor === null) break;
    pages = await call(platform, "GET", `/api/discovery?limit=100&cursor=${nextCursor}`);
  }
  expect(unusable).toEqual([named]);
  // Each request for the health looks for more such orbs in the background.
  await expect
    .poll(async () => (await call(platform, "GET", "/api/health")).body)
    .toMatchObject({ status: "ok", unusableOrbs: [named] });
  const faults = await call(platform, "GET", "/api/admin/faults", { token });
  expect(faults.body).toEqual([
    expect.objectContaining({ kind: "orb", id: "future", codes: ["/replicas newer_version"] }),
  ]);
  expect(await call(platform, "GET", "/api/admin/orbs/future", { token })).toMatchObject({ status: 200 });
  expect((await call(platform, "DELETE", "/api/admin/orbs/future", { token })).status).toBe(204);
  expect((await call(platform, "GET", "/api/admin/faults", { token })).body).toEqual([]);
});

test.each(["/", "/api", "/api/"])(
  "%s redirects browsers to the console and answers programs with the addresses to start with",
  async (path) => {
    const ask = (method: string, accept: string) => call(platform, method, path, { headers: { accept } });
    const browser = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8";
    for (const method of ["GET", "HEAD"]) {
      const answer = await ask(method, browser);
      expect([answer.status, answer.headers.get("location")]).toEqual([302, "/console"]);
      expect(answer.headers.get("vary")).toContain("Accept");
    }
    for (const accept of ["*/*", "application/json"]) {
      const answer = await ask("GET", accept);
      expect(answer.status).toBe(200);
      expect(answer.headers.get("vary")).toContain("Accept");
      for (const link of Object.values((answer.body as { links: Record<string, string> }).links)) {
        expect([link, (await call(platform, "GET", link)).status]).toEqual([link, 200]);
      }
    }
    expect((await ask("HEAD", "*/*")).status).toBe(200);
    const posted = await ask("POST", browser);
    expect([posted.status, posted.headers.get("allow")]).toEqual([405, "GET, HEAD"]);
  },
);

test("returns the caller's account, and the caller's rights in an orb", async () => {
  const me = async (query: string, token?: string) => {
    const answer = await call(
      platform,
      "GET",
      `/api/discovery/me${query}`,
      token === undefined ? {} : { token },
    );
    expect(answer.status).toBe(200);
    return answer.body;
  };
  expect(await me("")).toEqual({ account: null, orb: null });
  const schemaIn = (body: Awaited<ReturnType<typeof me>>, module: string, schema: string) =>
    body.orb.modules
      .find(({ id }: { id: string }) => id === module)
      .schemas.find(({ id }: { id: string }) => id === schema);
  const stranger = await me("?orb=shop");
  expect([stranger.account, stranger.orb.role, stranger.orb.users]).toEqual([null, "public", "none"]);
  expect(schemaIn(stranger, "catalog", "product")).toEqual({ id: "product", can: ["read"], own: [] });

  const customer = await user(platform, "shop");
  const seen = await me("?orb=shop", customer.token);
  expect([seen.account.id, seen.account.realm, seen.account.role]).toEqual([customer.id, "shop", "user"]);
  expect(schemaIn(seen, "orders", "order").own).toContain("read");
  expect(schemaIn(seen, "discounts", "discount").can).toEqual([]);

  const admin = await me("?orb=shop", await adminToken(platform));
  expect([admin.account.realm, admin.orb.role, admin.orb.users]).toEqual(["platform", "owner", "write"]);
  expect(schemaIn(admin, "discounts", "discount").can).toEqual([
    "read",
    "create",
    "update",
    "publish",
    "delete",
  ]);
  // Missing and unpublished orbs answer alike.
  expect((await me("?orb=nowhere")).orb).toBeNull();
  expect((await me("?orb=not-published-yet", await adminToken(platform))).orb).toBeNull();
});
