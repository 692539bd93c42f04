/** What an older version stored is read, shown and written on. */
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { adminToken } from "../../scripts/bench/seed.ts";
import { scriptDeps } from "../../scripts/deps.ts";
import { call } from "../support/auth.ts";
import { startBroker } from "../support/broker.ts";
import { startPlatform } from "../support/platform.ts";
import { FIXTURE_KEYS, type Stored, writeStored } from "../support/stored.ts";

const stored = (version: number): Stored =>
  JSON.parse(readFileSync(new URL(`../fixtures/stored-v${version}.json`, import.meta.url), "utf8"));

test("version 1: orbs, entries, accounts, invitations, mappings and handlers", async () => {
  await using broker = await startBroker();
  await writeStored(broker.store("operator"), stored(1));
  await using platform = await startPlatform({
    env: {
      ...FIXTURE_KEYS,
      NATS_URL: broker.wsUrl,
      NATS_USER: "operator",
      NATS_PASS: "operator",
    },
  });
  const token = await adminToken(scriptDeps(broker.store("operator"), platform.bindings));
  const as = (method: string, path: string, body?: unknown, headers: Record<string, string> = {}) =>
    call(platform, method, path, { token, headers, ...(body === undefined ? {} : { body }) });
  const read = async (path: string) => {
    const { status, body } = await as("GET", path);
    expect(status, `${path} ${JSON.stringify(body)}`).toBe(200);
    return body;
  };

  // There is an operator: the platform does not fall back to bootstrap mode.
  expect((await call(platform, "GET", "/api/_auth/invitations")).status).toBe(401);
  expect(await read("/api/admin/orbs/shop")).toMatchObject({
    id: "shop",
    status: "PUBLISHED",
    publishedRevision: 1,
  });
  expect((await read("/api/admin/orbs/shop/revisions")).items.length).toBeGreaterThan(0);

  const live = await call(platform, "GET", "/api/shop/catalog/product?expand=category");
  expect(live.body.items).toMatchObject([{ revision: 1, values: { title: "Desk lamp", sku: "AB-0001" } }]);
  const [{ id }] = live.body.items;
  const at = `/api/admin/orbs/shop/entries/${id}`;
  expect(await read(`${at}?reveal=true`)).toMatchObject({
    revision: 2,
    publishedRevision: 1,
    values: { title: { en: "Desk lamp, new" }, supplierNote: "half the price" },
  });
  const { items: revisions } = await read(`${at}/revisions?sort=revision`);
  expect(revisions.map((one: { operation: string }) => one.operation)).toEqual(["create", "update"]);
  const { items: entries } = await read("/api/admin/orbs/shop/entries?module=catalog&schema=product");
  expect(entries).toHaveLength(2);
  // Deleted is gone, and what opens in 2090 is not visible yet.
  expect((await call(platform, "GET", "/api/shop/news")).body.items).toEqual([]);
  expect((await read("/api/admin/orbs/shop/entries?module=news")).items).toHaveLength(1);

  expect((await read("/api/shop/users")).items).toHaveLength(1);
  expect(JSON.stringify(await read("/api/shop/invitations"))).toContain("active");
  expect((await read("/api/admin/streams/orders")).subjectFilter).toBe("wallet.{userID}.>");
  expect(JSON.stringify(await read("/api/admin/registry/pricing"))).toContain("pricing.quote");
  expect((await read("/api/admin/audit?limit=5")).items.length).toBeGreaterThan(0);

  // Writing goes on on top of it, and unique values are still held.
  const values = { title: { en: "Another" }, sku: "AB-0001", price: { US: 1 } };
  expect((await as("POST", "/api/shop/catalog/product", { values })).status).toBe(409);
  const published = await as("POST", `/api/shop/catalog/product/${id}/publish`, undefined, {
    "if-match": '"2"',
  });
  expect(published.status, JSON.stringify(published.body)).toBe(200);
  expect((await call(platform, "GET", `/api/shop/catalog/product/${id}`)).body.values.title).toBe(
    "Desk lamp, new",
  );
}, 30_000);
