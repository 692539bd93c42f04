/** Images over HTTP: size and colour, variants, rights, and images that cannot be used. */
import { beforeAll, expect, test } from "vitest";
import { serveProcess } from "../../scripts/host/process.ts";
import { freePort } from "../../scripts/process/ports.ts";
import { headerOf } from "../../shared/images/header.ts";
import { fileStream } from "../../shared/store/file-subjects.ts";
import { user } from "../support/auth.ts";
import { fileAdmin } from "../support/file-admin.ts";
import { BLUE, exif, jpeg, picture, png, RED, withExif } from "../support/images.ts";
import { testPrograms } from "../support/programs.ts";

const { platform, token, store, as } = await fileAdmin();
const ORB = "photos";
const base = `/api/${ORB}/files`;
const THUMB = "w=40&h=40&fit=cover&format=webp";
let member: string;

beforeAll(async () => {
  const variants = [
    { w: 40, h: 40, fit: "cover" },
    { w: 60, format: "jpeg" },
    { h: 30, format: "png" },
  ];
  const fields = [
    { name: "image", type: "file", variants },
    { name: "paper", type: "file" },
  ];
  const made = await as("POST", "/api/admin/orbs?publish=true", {
    id: ORB,
    modules: [
      {
        id: "pictures",
        type: "CONTENT",
        schemas: [
          { id: "picture", access: { read: "user", write: "user" }, fields },
          { id: "note", access: { read: "user", write: "user" }, fields: [{ name: "paper", type: "file" }] },
        ],
      },
    ],
  });
  expect(made.status, JSON.stringify(made.body)).toBe(201);
  member = (await user(platform)).token;
});

const send = (path: string, by: string | undefined = member, init: RequestInit = {}) =>
  fetch(platform.origin + path, {
    ...init,
    headers: { ...(by === "" ? {} : { authorization: `Bearer ${by}` }), ...init.headers },
  });

async function upload(body: Uint8Array<ArrayBuffer>, name = "sun.jpg") {
  const answer = await send(`${base}?name=${name}`, member, { method: "POST", body });
  return (await answer.json()) as { id: string; width?: number; height?: number; color?: string };
}

const attach = (values: unknown, schema = "picture") =>
  as("POST", `/api/${ORB}/pictures/${schema}?publish=true`, { values }, member);

const variantAt = async (id: string, query = THUMB, by?: string) => {
  const answer = await send(`${base}/${id}?${query}`, by);
  const bytes = new Uint8Array(await answer.arrayBuffer());
  return { status: answer.status, headers: answer.headers, bytes, text: Buffer.from(bytes).toString() };
};

const objects = async () =>
  (await store.scan(fileStream(ORB), `$O.files_${ORB}.M.>`, { fromSeq: 1, limit: 1_000, maxBytes: 8e6 }))
    .messages.length;

test("adds an image's displayed size and main colour to the value of the entry", async () => {
  const image = withExif(await jpeg(picture(90, 60, RED)), exif(6));
  const file = await upload(image);
  expect(file).toMatchObject({ width: 60, height: 90, color: "#dc1414" });
  const { status, body } = await attach({ image: { file: file.id } });
  expect(status).toBe(201);
  expect(body.values.image).toMatchObject({ file: file.id, width: 60, height: 90, color: "#dc1414" });
  // The value can be sent back.
  const again = await as("PUT", `/api/${ORB}/pictures/picture/${body.id}`, { values: body.values }, member);
  expect([again.status, again.body.values]).toEqual([200, body.values]);
});

test("adds the size and main colour of an image that was uploaded in parts", async () => {
  const image = withExif(await jpeg(picture(90, 60, RED)), exif(6));
  const half = image.length >> 1;
  const tus = { "tus-resumable": "1.0.0", "content-type": "application/offset+octet-stream" };
  const first = { ...tus, "upload-length": String(image.length) };
  const begun = await send(`${base}/uploads`, member, {
    method: "POST",
    headers: first,
    body: image.slice(0, half),
  });
  const location = begun.headers.get("location") ?? "";
  const rest = {
    method: "PATCH",
    headers: { ...tus, "upload-offset": String(half) },
    body: image.slice(half),
  };
  expect([begun.status, (await send(location, member, rest)).status]).toEqual([201, 204]);
  const { body } = await attach({ image: { file: location.split("/").at(-1) } });
  expect(body.values.image).toMatchObject({ width: 60, height: 90, color: "#dc1414" });
});

test("makes the variants that the field lists, in their formats, without metadata", async () => {
  const place = "51.5007,-0.1246";
  const { id } = await upload(withExif(await jpeg(picture(90, 60, RED, BLUE)), exif(6, place)));
  await attach({ image: { file: id } });
  const wanted = [
    [THUMB, "webp", 40, 40],
    ["w=40&h=40&fit=cover", "webp", 40, 40],
    ["w=60&format=jpeg", "jpeg", 60, 90],
    ["h=30&format=png&fit=contain", "png", 20, 30],
  ] as const;
  for (const [query, format, width, height] of wanted) {
    const { status, headers, bytes, text } = await variantAt(id, query);
    expect([status, headers.get("content-type")]).toEqual([200, `image/${format}`]);
    expect(headerOf(bytes)).toMatchObject({ format, width, height, orientation: 1 });
    expect(text).not.toContain(place);
  }
  const first = await variantAt(id);
  expect(first.headers.get("content-disposition")).toContain('inline; filename="sun.webp"');
  expect(first.headers.get("cache-control")).toBe("private, no-cache");
  const etag = first.headers.get("etag") ?? "";
  const same = await send(`${base}/${id}?${THUMB}`, member, { headers: { "if-none-match": etag } });
  expect([same.status, etag]).toEqual([304, expect.stringMatching(/^"[0-9a-f]{64}"$/)]);
  const range = await send(`${base}/${id}?${THUMB}`, member, { headers: { range: "bytes=0-3" } });
  expect([range.status, await range.text()]).toEqual([206, "RIFF"]);
});

test("makes a variant once for all who ask at the same time", async () => {
  const { id } = await upload(await png(picture(400, 300, BLUE, RED)), "sky.png");
  await attach({ image: { file: id } });
  const before = await objects();
  const all = await Promise.all(Array.from({ length: 12 }, () => variantAt(id)));
  expect(new Set(all.map(({ status, headers }) => `${status} ${headers.get("etag")}`)).size).toBe(1);
  expect(all[0]?.status).toBe(200);
  expect((await objects()) - before).toBe(1);
});

test("rejects variants that the field does not list, and names those that it lists", async () => {
  const { id } = await upload(await png(picture(31, 30)), "a.png");
  const note = await upload(await png(picture(32, 30)), "b.png");
  await attach({ image: { file: id } });
  await attach({ paper: { file: note.id } }, "note");
  for (const query of [
    "w=41&h=40&fit=cover",
    "w=40",
    "w=040&h=40&fit=cover",
    "format=gif",
    "w=",
    "w=60&w=60",
  ]) {
    const { status, text } = await variantAt(id, query);
    expect([query, status]).toEqual([query, 400]);
    if (!query.includes("&w"))
      expect(text).toContain("w=40&h=40&fit=cover&format=webp, w=60&fit=contain&format=jpeg");
  }
  const none = await variantAt(note.id);
  expect([none.status, none.text]).toEqual([400, expect.stringContaining("unknown_variant")]);
});

test("gives variants to callers who may read the image, and to holders of a link", async () => {
  const { id } = await upload(await png(picture(33, 30)), "c.png");
  await attach({ image: { file: id } });
  expect((await variantAt(id, THUMB, "")).status).toBe(401);
  const { body } = await as("POST", `${base}/${id}/links`, {}, member);
  const link = `${String(body.url)}&${THUMB}`;
  const answer = await send(link, "");
  expect([answer.status, answer.headers.get("content-type")]).toEqual([200, "image/webp"]);
  const own = await upload(await png(picture(34, 30)), "d.png");
  expect((await variantAt(own.id)).status).toBe(200);
  expect((await variantAt(own.id, THUMB, token)).status).toBe(404);
});

test("answers 422 for content that is no usable image, and decodes it only once", async () => {
  const whole = await png(picture(300, 300, RED, BLUE));
  const bomb = whole.slice();
  new DataView(bomb.buffer).setUint32(16, 50_000);
  new DataView(bomb.buffer).setUint32(20, 50_000);
  const wanted = [
    [whole.slice(0, whole.length / 2), "image_unreadable"],
    [bomb, "image_too_large"],
    [new Uint8Array(Buffer.from("GIF89a\x10\0\x10\0\0\0\0", "latin1")), "image_unsupported"],
    [new Uint8Array(Buffer.from("just text")), "image_unsupported"],
  ] as const;
  for (const [content, code] of wanted) {
    const { id } = await upload(content, "e.png");
    for (let round = 0; round < 2; round++) {
      const { status, text } = await variantAt(id);
      expect([status, JSON.parse(text).code]).toEqual([422, code]);
    }
    // The original can still be downloaded.
    expect((await send(`${base}/${id}`)).status).toBe(200);
  }
});

test("the Node host makes variants in threads, as it is started for production", async () => {
  const { id } = await upload(await jpeg(picture(120, 90, RED, BLUE)), "f.jpg");
  const { CLIENT_ADDRESS: _, ...bindings } = platform.bindings;
  const port = await freePort();
  await using _host = await serveProcess({
    programs: testPrograms(),
    host: "127.0.0.1",
    port,
    bindings,
    log: () => undefined,
  });
  const answer = await fetch(`http://127.0.0.1:${port}${base}/${id}?${THUMB}`, {
    headers: { authorization: `Bearer ${member}` },
  });
  expect([answer.status, answer.headers.get("content-type")]).toEqual([200, "image/webp"]);
});
