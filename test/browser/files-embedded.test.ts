/** Pages of other origins and sites embed files that anyone may read, and no other files. */
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import type { Page } from "playwright-core";
import { beforeAll, expect, test } from "vitest";
import { launchChromium } from "../support/browser.ts";
import { fileAdmin } from "../support/file-admin.ts";
import { picture, png } from "../support/images.ts";

const { platform, as, token } = await fileAdmin();
const ORB = "embedded";
const base = `/api/${ORB}/files`;

beforeAll(async () => {
  const image = { name: "image", type: "file", variants: [{ w: 20 }] };
  const schema = (id: string, read: string) => ({ id, access: { read, write: "admin" }, fields: [image] });
  const made = await as("POST", "/api/admin/orbs?publish=true", {
    id: ORB,
    modules: [
      { id: "pictures", type: "CONTENT", schemas: [schema("shown", "public"), schema("inner", "user")] },
    ],
  });
  expect(made.status, JSON.stringify(made.body)).toBe(201);
});

let size = 30;

/** Uploads an image, and creates an entry with it. Returns the entry's path and the file's address. */
async function entryWithImage(schema: string, query = "?publish=true") {
  size++;
  const sent = await fetch(platform.origin + base, {
    method: "POST",
    headers: { authorization: `Bearer ${token}` },
    body: await png(picture(size, size)),
  });
  const { id } = (await sent.json()) as { id: string };
  const path = `/api/${ORB}/pictures/${schema}`;
  const made = await as("POST", path + query, { values: { image: { file: id } } });
  expect(made.status, JSON.stringify(made.body)).toBe(201);
  return { entry: `${path}/${String(made.body.id)}`, file: `${base}/${id}`, width: size };
}

/** The part of an image element that the tests use. */
interface Picture {
  naturalWidth: number;
  src: string;
  onload: () => void;
  onerror: () => void;
}

/** Shows an image in a page. Returns its width, or 0 if the browser does not show it. */
const widthIn = (page: Page, path: string) =>
  page.evaluate(
    (url) =>
      new Promise<number>((resolve) => {
        const { Image } = globalThis as unknown as { Image: new () => Picture };
        const image = new Image();
        image.onload = () => resolve(image.naturalWidth);
        image.onerror = () => resolve(0);
        image.src = url;
      }),
    platform.origin + path,
  );

test("a page of another site shows the files that anyone may read", async () => {
  const pages = createServer((_request, response) => {
    response.writeHead(200, { "content-type": "text/html" }).end("<!doctype html><title>site</title>");
  });
  pages.listen(0).unref();
  await once(pages, "listening");
  const { port } = pages.address() as AddressInfo;
  await using chromium = await launchChromium();
  const shown = await entryWithImage("shown");
  const draft = await entryWithImage("shown", "");
  const inner = await entryWithImage("inner");
  // Another port is another origin of the same site, another name is another site.
  for (const origin of [`http://localhost:${port}`, `http://127.0.0.1:${port}`]) {
    const { page } = await chromium.page({ authenticator: false });
    await page.goto(origin);
    expect(await widthIn(page, shown.file)).toBe(shown.width);
    expect(await widthIn(page, `${shown.file}?w=20`)).toBe(20);
    expect(await widthIn(page, draft.file)).toBe(0);
    expect(await widthIn(page, inner.file)).toBe(0);
    const { body } = await as("POST", `${inner.file}/links`, {});
    expect(await widthIn(page, String(body.url))).toBe(inner.width);
  }
  // The browser has the image in its cache, and must ask again.
  const { page } = await chromium.page({ authenticator: false });
  await page.goto(`http://127.0.0.1:${port}`);
  const next = await entryWithImage("shown");
  expect(await widthIn(page, next.file)).toBe(next.width);
  const { status } = await as("POST", `${next.entry}/unpublish`);
  expect(status).toBe(200);
  await page.reload();
  expect(await widthIn(page, next.file)).toBe(0);
  pages.close();
});

test("headers of a file say who may embed and keep it", async () => {
  const { entry, file } = await entryWithImage("shown");
  const inner = await entryWithImage("inner");
  const headersOf = async (path: string, init: RequestInit = {}) => {
    const { status, headers } = await fetch(platform.origin + path, init);
    const said = ["cache-control", "cross-origin-resource-policy", "vary"].map((name) => headers.get(name));
    return [status, ...said];
  };
  const signed = { headers: { authorization: `Bearer ${token}` } };
  // The same for each caller, and for requests that a cache answers.
  for (let round = 0; round < 4; round++) {
    const open = [200, "public, no-cache", "cross-origin", null];
    expect(await headersOf(file)).toEqual(open);
    expect(await headersOf(file, signed)).toEqual(open);
    expect(await headersOf(`${file}?w=20`)).toEqual(open);
    const closed = [200, "private, no-cache", "same-origin", "Authorization, Cookie"];
    expect(await headersOf(inner.file, signed)).toEqual(closed);
  }
  const { headers } = await fetch(platform.origin + file);
  const etag = { headers: { "if-none-match": headers.get("etag") ?? "" } };
  expect((await headersOf(file, etag))[0]).toBe(304);
  expect((await as("POST", `${entry}/unpublish`)).status).toBe(200);
  expect((await headersOf(file, etag))[0]).toBe(401);
  expect((await headersOf(`${file}?w=20`))[0]).toBe(401);
});
