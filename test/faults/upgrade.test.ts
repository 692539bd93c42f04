/** Two versions on one data folder: version 0.1.0, then this one, then back, then this one again. */
import { expect, test } from "vitest";
import { call, register, signIn } from "../support/auth.ts";
import { createOrb } from "../support/orbs.ts";
import { runScript, runScriptOf, type Started, settings } from "../support/start.ts";
import { checkOutEarlierVersion } from "../support/version.ts";

const document = {
  id: "shop",
  uses: [
    { service: "access", handlers: ["passkey", "invitations"] },
    { service: "transactions", handlers: ["record", "list"] },
    { service: "settings", handlers: ["get", "set"] },
  ],
  modules: [
    {
      id: "catalog",
      type: "CONTENT",
      schemas: [
        {
          id: "product",
          access: { read: "public", write: "admin" },
          fields: [
            { name: "sku", type: "string", required: true, unique: true },
            { name: "price", type: "number" },
            { name: "note", type: "text", sensitive: true },
            { name: "similar", type: "reference", ref: "shop/catalog/product" },
          ],
        },
      ],
    },
    {
      id: "orders",
      type: "TRANSACTIONS",
      schemas: [{ id: "order", fields: [{ name: "sku", type: "string", required: true }] }],
    },
  ],
};

test("keeps everything through an upgrade, a way back, and another upgrade", async () => {
  const earlier = checkOutEarlierVersion();
  const env = await settings();
  const at = { origin: `http://localhost:${env.PORT}` };
  const run = async (host: Started): Promise<Started> => {
    await host.printed(/ready at/);
    return host;
  };
  const stop = async (host: Started): Promise<void> => {
    host.child.kill("SIGTERM");
    expect(await host.exited(), host.output()).toBe(0);
  };
  const old = () => run(runScriptOf(earlier, "host", env));
  const current = () => run(runScript("host", env));

  const known = new Map<string, string>();
  let token = "";
  const entries = "/api/admin/orbs/shop/entries";
  const create = async (sku: string, more: object = {}) => {
    const body = { module: "catalog", schema: "product", values: { sku, price: 5, ...more } };
    return call(at, "POST", `${entries}?publish=true`, { token, body });
  };
  const store = async (...skus: string[]) => {
    for (const sku of skus) {
      const made = await create(sku, { note: `secret of ${sku}` });
      expect(made.status, JSON.stringify(made.body)).toBe(201);
      known.set(sku, made.body.id);
    }
  };
  /** Every entry is readable, findable, unique, and has its sensitive value and its history. */
  const check = async () => {
    for (const [sku, id] of known) {
      const shown = await call(at, "GET", `/api/shop/catalog/product/${id}`);
      expect([shown.status, shown.body.values?.sku], JSON.stringify(shown.body)).toEqual([200, sku]);
      const found = await call(at, "GET", `/api/shop/catalog/product?filter[sku]=${sku}`);
      expect(found.body.items?.map((item: { id: string }) => item.id)).toEqual([id]);
      expect((await create(sku)).body.code).toBe("unique_conflict");
      const revealed = await call(at, "GET", `${entries}/${id}?reveal=true`, { token });
      expect(revealed.body.values?.note).toBe(`secret of ${sku}`);
      const history = await call(at, "GET", `${entries}/${id}/revisions`, { token });
      expect(history.body.items.length).toBeGreaterThan(0);
    }
    const listed = await call(at, "GET", "/api/shop/catalog/product?count=true&limit=100");
    expect(listed.body.total).toBe(known.size);
  };
  const change = async (sku: string) => {
    const id = known.get(sku);
    const found = await call(at, "GET", `${entries}/${id}`, { token });
    const headers = { "if-match": found.headers.get("etag") ?? "" };
    const body = { values: { sku, price: 6, note: `secret of ${sku}` } };
    const changed = await call(at, "PUT", `${entries}/${id}?publish=true`, { token, headers, body });
    expect(changed.status, JSON.stringify(changed.body)).toBe(200);
  };

  let host = await old();
  const { body: invited } = await call(at, "GET", "/api/_auth/invitations");
  const admin = await register(at, "/api/_auth", invited[0].token);
  token = admin.token;
  await createOrb(at, token, document);
  await store("OLD-1", "OLD-2", "OLD-3");
  await check();
  await stop(host);

  host = await current();
  // The session and the passkey are those of the earlier version.
  await check();
  token = (await signIn(at, "/api/_auth", admin.authenticator)).token;
  await store("NEW-1", "NEW-2");
  await change("OLD-1");
  await check();
  await stop(host);

  host = await old();
  await check();
  await store("OLD-4");
  await change("NEW-1");
  await check();
  await stop(host);

  host = await current();
  await check();
  await store("NEW-3");
  await change("OLD-4");
  await check();
  await stop(host);
}, 180_000);
