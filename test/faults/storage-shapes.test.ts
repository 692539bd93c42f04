/** Data that older versions stored can be read, shown and changed. */
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { adminToken } from "../../scripts/bench/seed.ts";
import { scriptDeps } from "../../scripts/platform/deps.ts";
import { call } from "../support/auth.ts";
import { startBroker } from "../support/broker.ts";
import { startPlatform } from "../support/platform.ts";
import { FIXTURE_KEYS, type Stored, writeStored } from "../support/stored.ts";

const stored = (version: number | string): Stored =>
  JSON.parse(readFileSync(new URL(`../fixtures/stored-v${version}.json`, import.meta.url), "utf8"));

test("version 1: reads orbs, entries, accounts, invitations, mappings and handlers", async () => {
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

  // A platform admin exists, so the platform does not enter bootstrap mode.
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
  // The deleted entry is gone, and the one whose window opens in 2090 is not visible yet.
  expect((await call(platform, "GET", "/api/shop/news")).body.items).toEqual([]);
  expect((await read("/api/admin/orbs/shop/entries?module=news")).items).toHaveLength(1);

  expect((await read("/api/shop/users")).items).toHaveLength(1);
  // The stored invitations were for a week.
  const invitations: { status: string }[] = await read("/api/shop/invitations");
  expect(invitations.map(({ status }) => status)).toEqual(["used", "expired"]);
  expect((await read("/api/admin/streams/orders")).subjectFilter).toBe("wallet.{userID}.>");
  expect(JSON.stringify(await read("/api/admin/registry/pricing"))).toContain("pricing.quote");
  expect((await read("/api/admin/audit?limit=5")).items.length).toBeGreaterThan(0);

  // Writes continue, and unique values are still reserved.
  const values = { title: { en: "Another" }, sku: "AB-0001", price: { US: 1 } };
  expect((await as("POST", "/api/shop/catalog/product", { values })).status).toBe(409);
  const published = await as("POST", `/api/shop/catalog/product/${id}/publish`, undefined, {
    "if-match": '"2"',
  });
  expect(published.status, JSON.stringify(published.body)).toBe(200);
  expect((await call(platform, "GET", `/api/shop/catalog/product/${id}`)).body.values.title).toBe(
    "Desk lamp, new",
  );
});

test("version 1: reserves the normal form of unique values that were stored as written", async () => {
  await using broker = await startBroker();
  const store = broker.store("operator");
  await writeStored(store, stored("1-forms"));
  const env = { ...FIXTURE_KEYS, NATS_URL: broker.wsUrl, NATS_USER: "operator", NATS_PASS: "operator" };
  await using platform = await startPlatform({ env });
  const token = await adminToken(scriptDeps(store, platform.bindings));
  const as = (method: string, path: string, body?: unknown) =>
    call(platform, method, path, { token, ...(body === undefined ? {} : { body }) });
  const entries = "/api/admin/orbs/forms/entries";
  const make = (values: object) => as("POST", entries, { module: "news", values });
  const taken = async (values: object) => {
    const answer = await make(values);
    expect([JSON.stringify(values), answer.status, answer.body.code]).toEqual([
      JSON.stringify(values),
      409,
      "unique_conflict",
    ]);
  };
  const { items } = (await as("GET", entries)).body;
  const byNote = new Map(
    items.map((item: { id: string; values: { note: string } }) => [item.values.note, item.id]),
  );
  const at = (note: string) => `${entries}/${byNote.get(note)}`;

  // All values were stored in NFD, except "naïve" of the third entry and "doublé" of the sixth.
  await taken({ slug: "café" });
  await taken({ slug: "caf\u200be\u0301" });
  await taken({ label: { en: "café" } });
  expect((await make({ label: { de: "café" } })).status).toBe(201);
  await taken({ serial: "sérial" });
  // This value is published, beside a draft with another one.
  await taken({ slug: "rosé" });
  const found = await as("GET", `${entries}?module=news&schema=post&filter[slug]=café`);
  expect(found.body.items).toMatchObject([{ id: byNote.get("first"), values: { slug: "cafe\u0301" } }]);

  // The start reports values that two entries share, and both entries keep working until one of them changes.
  const { items: records } = (await as("GET", "/api/admin/audit?filter[realm]=forms&filter[action]=entry"))
    .body;
  const shared = records.filter((record: { detail: string }) => record.detail === "unique_value_shared");
  const fields = { third: "slug", fourth: "slug", fifth: "serial", sixth: "serial" };
  expect(shared.map((record: { target: string }) => record.target).sort()).toEqual(
    Object.entries(fields)
      .map(([note, field]) => `${byNote.get(note)}/${field}`)
      .sort(),
  );
  expect(platform.logs.join("\n")).toContain("the unique field slug in different forms");
  expect(platform.logs.join("\n")).not.toContain("naïve");
  for (const note of ["third", "fourth", "fifth", "sixth"]) {
    const { body } = await as("GET", at(note));
    const put = await as("PUT", `${at(note)}?publish=true`, {
      ...body,
      values: { ...body.values, note: "n" },
    });
    expect(put, JSON.stringify(put.body)).toMatchObject({ status: 200, body: { status: "PUBLISHED" } });
    expect((await as("PUT", at(note), body)).status).toBe(200);
    for (const move of ["publish", "unpublish", "archive", "restore"])
      expect((await as("POST", `${at(note)}/${move}`)).status).toBe(200);
  }
  const orb = (await as("GET", "/api/admin/orbs/forms")).body;
  orb.modules[0].schemas[0].fields.push({ name: "kind", type: "string", enum: ["a", "b"] });
  expect((await as("PUT", "/api/admin/orbs/forms?publish=true", orb)).status).toBe(200);
  await taken({ slug: "naïve" });
  await taken({ slug: "nai\u0308ve" });
  expect((await as("PUT", at("fourth"), { values: { slug: "nai\u0308\u200bve" } })).status).toBe(409);
  const again = (await as("POST", `${entries}/rekey`)).body;
  expect([...again.conflicts].sort()).toEqual(
    ["third", "fourth", "fifth", "sixth"].map((note) => byNote.get(note)).sort(),
  );

  // A change or a deletion releases the value in every form.
  expect((await as("PUT", at("fourth"), { values: { slug: "other" } })).status).toBe(200);
  await taken({ slug: "nai\u0308ve" });
  expect((await as("DELETE", at("third"))).status).toBe(204);
  expect((await make({ slug: "nai\u0308ve" })).status).toBe(201);
  expect((await as("PUT", `${at("first")}?publish=true`, { values: { note: "first" } })).status).toBe(200);
  expect((await make({ slug: "café", label: { en: "café" }, serial: "sérial" })).status).toBe(201);
  expect((await as("POST", `${at("second")}/publish`)).status).toBe(200);
  expect((await make({ slug: "rosé" })).status).toBe(201);
});
