/** The path of a new user, as in the README's tour: from an empty platform to a live API, and on after a restart. */
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { admin, call } from "../support/auth.ts";
import { tempDir } from "../support/broker.ts";
import { startPlatform } from "../support/platform.ts";

const shop: unknown = JSON.parse(
  readFileSync(new URL("../../scripts/examples/shop.json", import.meta.url), "utf8"),
);

/** Reads an event stream up to its first data event and control event. */
async function firstEvents(url: string, token: string): Promise<string> {
  const gone = new AbortController();
  const response = await fetch(url, { headers: { authorization: `Bearer ${token}` }, signal: gone.signal });
  expect(response.status).toBe(200);
  expect(response.headers.get("content-type")).toBe("text/event-stream");
  let text = "";
  const decoder = new TextDecoder();
  for await (const part of response.body ?? []) {
    text += decoder.decode(part, { stream: true });
    if (/event: data[\s\S]*event: control[\s\S]*\n\n/.test(text)) break;
  }
  gone.abort();
  return text;
}

test("goes from an empty platform to a live API, and keeps everything across a restart", async () => {
  const dataDir = tempDir("tour");
  const env = { DATA_DIR: dataDir };
  let token = "";
  let id = "";
  let port = "";
  {
    await using platform = await startPlatform({ env, streams: true });
    port = String(platform.settings.port);
    ({ token } = await admin(platform));
    const as = (method: string, path: string, body?: unknown) =>
      call(platform, method, path, body === undefined ? { token } : { token, body });

    expect((await as("GET", "/api/admin/orbs")).body).toEqual({ items: [], nextCursor: null });
    expect((await call(platform, "GET", "/api/shop/catalog/product")).status).toBe(404);
    const created = await as("POST", "/api/admin/orbs", shop);
    expect(created.status, JSON.stringify(created.body)).toBe(201);
    expect(created.body).toMatchObject({ id: "shop", status: "SAVED", revision: 1, publishedRevision: null });
    expect((await call(platform, "GET", "/api/shop/catalog/product")).status).toBe(404);
    const live = await as("POST", "/api/admin/orbs/shop/publish");
    expect(live.body).toMatchObject({ status: "PUBLISHED" });

    const category = await as("POST", "/api/shop/catalog/category?publish=true", {
      values: { title: { en: "Lamps", de: "Lampen" }, slug: "lamps" },
    });
    expect(category.status, JSON.stringify(category.body)).toBe(201);
    const product = await as("POST", "/api/shop/catalog/product", {
      values: {
        title: { en: "Desk lamp", de: "Schreibtischlampe" },
        sku: "LA-0001",
        price: { US: 49, EU: 45 },
        category: category.body.id,
        supplierNote: "bought at half the price",
      },
    });
    expect(product.status, JSON.stringify(product.body)).toBe(201);
    id = product.body.id;
    expect((await call(platform, "GET", `/api/shop/catalog/product/${id}`)).status).toBe(404);
    expect((await as("POST", `/api/shop/catalog/product/${id}/publish`)).status).toBe(200);

    const read = await call(platform, "GET", `/api/shop/catalog/product/${id}?market=EU&expand=category`, {
      headers: { "accept-language": "de" },
    });
    expect(read.status).toBe(200);
    expect(read.headers.get("content-language")).toBe("de");
    expect(read.body.values).toMatchObject({ title: "Schreibtischlampe", price: 45, condition: "new" });
    expect(JSON.stringify(read.body)).toContain("Lampen");
    expect(JSON.stringify(read.body)).not.toContain("half the price");

    const list = await call(platform, "GET", "/api/shop/catalog/product?filter[condition]=new&count=true");
    expect(list.body).toMatchObject({ total: 1, nextCursor: null, items: [{ id }] });

    const article = await as("POST", "/api/shop/news?publish=true", {
      values: { headline: { en: "We are open" } },
    });
    expect(article.status, JSON.stringify(article.body)).toBe(201);
    expect((await call(platform, "GET", `/api/shop/news/${article.body.id}`)).body.values).toMatchObject({
      headline: "We are open",
    });
    expect((await call(platform, "GET", `/api/shop/news/article/${article.body.id}`)).status).toBe(200);

    const updated = await as("PUT", `/api/shop/news/${article.body.id}`, {
      values: { headline: { en: "We moved" } },
    });
    expect(updated.body).toMatchObject({ status: "PUBLISHED", revision: 2, publishedRevision: 1 });
    expect((await call(platform, "GET", `/api/shop/news/${article.body.id}`)).body.values.headline).toBe(
      "We are open",
    );
    expect((await as("POST", `/api/shop/news/${article.body.id}/archive`)).body).toMatchObject({
      status: "ARCHIVED",
    });
    expect((await call(platform, "GET", `/api/shop/news/${article.body.id}`)).status).toBe(404);
    expect((await as("DELETE", `/api/shop/news/${article.body.id}`)).status).toBe(204);

    for (const host of [platform.origin, platform.streamsUrl ?? "the streams process"]) {
      const events = await firstEvents(`${host}/api/streams/heartbeat`, token);
      expect(events).toMatch(/event: data\ndata:\s?\{"seq":\d+,"timestamp":"/);
      expect(events).toMatch(/event: control\ndata:\{"streamNextOffset":"\d{20}"/);
    }
  }
  await using again = await startPlatform({ env: { ...env, PORT: port } });
  const read = await call(again, "GET", `/api/shop/catalog/product/${id}`);
  expect(read.body).toMatchObject({ id, status: "PUBLISHED", values: { sku: "LA-0001" } });
  expect((await call(again, "GET", "/api/_auth/me", { token })).status).toBe(200);
  expect((await call(again, "GET", "/api/_auth/invitations")).status).toBe(401);
});
