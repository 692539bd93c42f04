/** A page follows a public list with the browser's own EventSource, without a session. */
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, test } from "vitest";
import { adminToken, call } from "../support/auth.ts";
import { launchChromium } from "../support/browser.ts";
import { createOrb } from "../support/orbs.ts";
import { startPlatform } from "../support/platform.ts";

interface Followed {
  titles: Record<string, string>;
}

test("an EventSource of another origin keeps a filtered list, also across a restart of the broker", async () => {
  const pages = createServer((_request, response) => {
    response.writeHead(200, { "content-type": "text/html" }).end("<!doctype html><title>shop</title>");
  });
  pages.listen(0, "localhost").unref();
  await once(pages, "listening");
  const application = `http://localhost:${(pages.address() as AddressInfo).port}`;
  const platform = await startPlatform({ env: { ALLOWED_ORIGINS: application } });
  await using chromium = await launchChromium();
  try {
    const token = await adminToken(platform);
    await createOrb(platform, token, {
      id: "shop",
      modules: [
        {
          id: "catalog",
          type: "CONTENT",
          schemas: [
            {
              id: "product",
              access: { read: "public", write: "admin" },
              fields: [
                { name: "title", type: "string" },
                { name: "condition", type: "string", enum: ["new", "used"] },
              ],
            },
          ],
        },
      ],
    });
    const write = async (title: string, condition: string) => {
      const body = { values: { title, condition } };
      const made = await call(platform, "POST", "/api/shop/catalog/product?publish=true", { token, body });
      expect(made.status).toBe(201);
      return made.body.id as string;
    };
    const first = await write("lamp", "new");
    await write("desk", "used");
    const { page } = await chromium.page({ authenticator: false });
    await page.goto(application);
    await page.evaluate((url) => {
      const kept = globalThis as unknown as Followed;
      kept.titles = {};
      const list = new EventSource(url);
      list.addEventListener("reset", () => {
        kept.titles = {};
      });
      list.addEventListener("upsert", ({ data }) => {
        const entry = JSON.parse(data) as { id: string; values: { title: string } };
        kept.titles[entry.id] = entry.values.title;
      });
      list.addEventListener("leave", ({ data }) => {
        delete kept.titles[(JSON.parse(data) as { id: string }).id];
      });
    }, `${platform.origin}/api/shop/catalog/product?filter[condition]=new&live=sse`);
    const titles = () =>
      page.evaluate(() => Object.values((globalThis as unknown as Followed).titles).sort());
    await expect.poll(titles).toEqual(["lamp"]);
    await write("chair", "new");
    await expect.poll(titles).toEqual(["chair", "lamp"]);
    await platform.broker?.kill();
    await platform.broker?.ready();
    const path = `/api/shop/catalog/product/${first}`;
    const used = { values: { title: "lamp", condition: "used" } };
    await expect
      .poll(async () => (await call(platform, "PUT", `${path}?publish=true`, { token, body: used })).status)
      .toBe(200);
    await write("shelf", "new");
    await expect.poll(titles).toEqual(["chair", "shelf"]);
  } finally {
    await platform.stop();
    pages.close();
  }
});
