/** Files over HTTP: upload, download, ranges, headers, rights, signed links and hostile requests. */
import { createHash, randomBytes } from "node:crypto";
import { once } from "node:events";
import { connect } from "node:net";
import { beforeAll, expect, test } from "vitest";
import { user } from "../support/auth.ts";
import { fileAdmin } from "../support/file-admin.ts";

const { platform, token, as } = await fileAdmin();
const ORB = "file-gallery";
const base = `/api/${ORB}/files`;
const PNG = Buffer.concat([Buffer.from("\x89PNG\r\n\x1a\n", "latin1"), randomBytes(1_000)]);
const LONG = randomBytes(3_000_000);
const HTML = Buffer.from("<!doctype html><script>alert(1)</script>");
let member: string;
let other: string;

beforeAll(async () => {
  const fields = [
    { name: "image", type: "file", accept: ["image/*"] },
    { name: "papers", type: "file", list: true },
    { name: "shared", type: "file", public: true },
  ];
  const schemas = [{ id: "picture", access: { read: "user", write: "user" }, fields }];
  const made = await as("POST", "/api/admin/orbs?publish=true", {
    id: ORB,
    modules: [{ id: "pictures", type: "CONTENT", schemas }],
  });
  expect(made.status, JSON.stringify(made.body)).toBe(201);
  [member, other] = [(await user(platform)).token, (await user(platform)).token];
});

interface Sent {
  by?: string | undefined;
  headers?: Record<string, string>;
  method?: string;
  body?: BodyInit;
}
const send = (path: string, { by = member, headers = {}, ...rest }: Sent = {}) =>
  fetch(platform.origin + path, {
    ...rest,
    headers: { ...(by === "" ? {} : { authorization: `Bearer ${by}` }), ...headers },
  });

async function upload(body: Uint8Array<ArrayBuffer> | ReadableStream, query = "", headers = {}) {
  const duplex = body instanceof ReadableStream ? { duplex: "half" } : {};
  const answer = await send(base + query, { method: "POST", body, headers, ...duplex });
  return { status: answer.status, location: answer.headers.get("location"), body: await answer.json() };
}

const create = (values: unknown, by = member) =>
  as("POST", `/api/${ORB}/pictures?publish=true`, { values }, by);

test("stores an upload, and serves it with the type of its content", async () => {
  const { status, location, body } = await upload(PNG, "?name=sun%20set.png", {
    "content-type": "text/html",
  });
  const sha256 = createHash("sha256").update(PNG).digest("hex");
  expect([status, body]).toEqual([
    201,
    { id: expect.any(String), size: PNG.length, type: "image/png", sha256, name: "sun set.png" },
  ]);
  expect(location).toBe(`${base}/${body.id}/sun%20set.png`);
  const got = await send(`${base}/${body.id}`);
  expect(Buffer.from(await got.arrayBuffer())).toEqual(PNG);
  expect(Object.fromEntries(got.headers)).toMatchObject({
    "content-type": "image/png",
    "content-length": String(PNG.length),
    "content-disposition": `inline; filename="sun set.png"; filename*=UTF-8''sun%20set.png`,
    etag: `"${sha256}"`,
    "accept-ranges": "bytes",
    "x-content-type-options": "nosniff",
    "content-security-policy": expect.stringContaining("sandbox"),
    "cache-control": "private, no-cache",
  });
  const head = await send(location ?? "", { method: "HEAD" });
  expect([head.status, head.headers.get("content-length"), (await head.arrayBuffer()).byteLength]).toEqual([
    200,
    String(PNG.length),
    0,
  ]);
  const known = await send(`${base}/${body.id}`, { headers: { "if-none-match": `"${sha256}"` } });
  expect([known.status, (await known.arrayBuffer()).byteLength]).toEqual([304, 0]);
});

test("streams a long upload of unknown length, and sends its ranges", async () => {
  const parts = [LONG.subarray(0, 1_000_001), LONG.subarray(1_000_001)];
  const stream = new ReadableStream({
    pull(controller) {
      const part = parts.shift();
      if (part === undefined) controller.close();
      else controller.enqueue(part);
    },
  });
  const { status, body } = await upload(stream);
  expect([status, body.size, body.type]).toEqual([201, LONG.length, "application/octet-stream"]);
  const range = async (text: string, more = {}) => {
    const got = await send(`${base}/${body.id}`, { headers: { range: text, ...more } });
    return {
      status: got.status,
      range: got.headers.get("content-range"),
      data: Buffer.from(await got.arrayBuffer()),
    };
  };
  const size = LONG.length;
  expect(await range("bytes=0-0")).toEqual({
    status: 206,
    range: `bytes 0-0/${size}`,
    data: LONG.subarray(0, 1),
  });
  expect(await range("bytes=131070-131075")).toEqual({
    status: 206,
    range: `bytes 131070-131075/${size}`,
    data: LONG.subarray(131_070, 131_076),
  });
  expect(await range("bytes=-10")).toMatchObject({ status: 206, data: LONG.subarray(size - 10) });
  expect(await range("bytes=2999990-9999999")).toMatchObject({ status: 206, data: LONG.subarray(2_999_990) });
  for (const whole of ["bytes=5-1", "bytes=0-1,4-5", "lines=0-1", "bytes=-"])
    expect((await range(whole)).status).toBe(200);
  expect(await range(`bytes=${size}-`)).toMatchObject({ status: 416, range: `bytes */${size}` });
  expect((await range("bytes=0-1", { "if-range": '"other"' })).data.equals(LONG)).toBe(true);
  expect((await range("bytes=0-1", { "if-range": `"${body.sha256}"` })).status).toBe(206);
});

test("sends a large public file to several readers at once and again, and its ranges", async () => {
  const data = randomBytes(5_000_000);
  const { id } = (await upload(data)).body;
  expect((await create({ shared: { file: id } })).status).toBe(201);
  const read = async (range?: string) => {
    const got = await send(`${base}/${id}`, { by: "", headers: range === undefined ? {} : { range } });
    return Buffer.from(await got.arrayBuffer());
  };
  for (let round = 0; round < 2; round++) {
    for (const whole of await Promise.all([read(), read(), read()])) expect(whole.equals(data)).toBe(true);
    expect((await read("bytes=1000000-2999999")).equals(data.subarray(1_000_000, 3_000_000))).toBe(true);
  }
});

test("lets callers download a file as its entry and its field allow", async () => {
  const [image, shared] = [(await upload(PNG)).body, (await upload(Buffer.from("for all"))).body];
  const statuses = (id: string) =>
    Promise.all([member, other, ""].map(async (by) => (await send(`${base}/${id}`, { by })).status));
  expect(await statuses(image.id)).toEqual([200, 404, 401]);
  expect((await create({ image: { file: image.id } }, other)).status).toBe(422);
  const made = await create({ image: { file: image.id }, shared: { file: shared.id } });
  expect(made.status).toBe(201);
  expect(await statuses(image.id)).toEqual([200, 200, 401]);
  expect(await statuses(shared.id)).toEqual([200, 200, 200]);
  const { url } = made.body.values.shared;
  expect((await send(url, { by: "" })).headers.get("cache-control")).toBe("public, max-age=300");
  await as("DELETE", `/api/${ORB}/pictures/${made.body.id}`, undefined, member);
  expect(await statuses(shared.id)).toEqual([404, 404, 401]);
});

test("signs links that expire", async () => {
  const { id } = (await upload(PNG)).body;
  const made = await as("POST", `${base}/${id}/links`, { seconds: 60 }, member);
  expect(made.status).toBe(201);
  expect((await send(made.body.url, { by: "" })).status).toBe(200);
  const changed = made.body.url.replace(/expires=\d+/, "expires=9999999999");
  for (const path of [changed, `${base}/${id}?expires=1&signature=x`, `${base}/${id}?signature=`])
    expect((await send(path, { by: "" })).status).toBe(403);
  expect((await as("POST", `${base}/${id}/links`, { seconds: 1e9 }, member)).status).toBe(422);
  expect((await as("POST", `${base}/${id}/links`, {}, other)).status).toBe(404);
});

test("sends content that a browser could run as a download", async () => {
  const { body } = await upload(HTML, "?name=a.png", { "content-type": "image/png" });
  expect(body.type).toBe("text/html");
  const got = await send(`${base}/${body.id}`);
  expect(got.headers.get("content-disposition")).toMatch(/^attachment; /);
  expect(got.headers.get("content-security-policy")).toBe(
    "default-src 'none'; sandbox; frame-ancestors 'none'",
  );
  const saved = await send(`${base}/${(await upload(PNG)).body.id}?download=true`);
  expect(saved.headers.get("content-disposition")).toMatch(/^attachment; /);
});

test("never copies a file's name into a header unescaped", async () => {
  for (const name of [
    'a"\r\nset-cookie: x=1.png',
    "../../etc/passwd",
    "ünï\u0000cödé\u202e.png",
    "..",
    "x".repeat(900),
  ]) {
    const { status, body } = await upload(PNG, `?name=${encodeURIComponent(name)}`);
    expect([status, /[/\\\p{Cc}\u202e]/u.test(body.name), body.name.length <= 200]).toEqual([
      201,
      false,
      true,
    ]);
    const got = await send(`${base}/${body.id}`);
    expect(got.headers.get("set-cookie")).toBeNull();
    expect(got.headers.get("content-disposition")).toContain(
      `filename*=UTF-8''${encodeURIComponent(body.name).replaceAll("'", "%27")}`,
    );
  }
  const named = await upload(PNG, "", {
    "content-disposition": `attachment; filename="a.png"; filename*=UTF-8''b%20c.png`,
  });
  expect(named.body.name).toBe("b c.png");
});

test("refuses uploads with a wrong digest, type, path, method, caller or orb", async () => {
  const digest = `sha-256=:${createHash("sha256").update(PNG).digest("base64")}:`;
  expect((await upload(PNG, "", { "content-digest": digest })).status).toBe(201);
  const codes = async (...args: Parameters<typeof upload>) => (await upload(...args)).body.code;
  expect(await codes(HTML, "", { "content-digest": digest })).toBe("invalid_parameter");
  expect(await codes(PNG, "", { "content-digest": "md5=:AA==:" })).toBe("invalid_header");
  expect(await codes(PNG, "?type=image/png")).toBe("invalid_parameter");
  expect((await send(base, { method: "POST", body: PNG, by: "" })).status).toBe(401);
  expect((await send(base, { method: "POST", body: PNG, by: "nonsense" })).status).toBe(401);
  expect((await send("/api/nowhere/files", { method: "POST", body: PNG })).status).toBe(404);
  expect((await send(base)).status).toBe(403);
  expect((await send(base, { method: "PUT", body: PNG })).status).toBe(405);
  expect((await send(`${base}/x/y/z`)).status).toBe(404);
  expect((await send(`${base}/${"%2e%2e"}`)).status).toBeGreaterThanOrEqual(400);
  expect((await upload(new Uint8Array(0))).body).toMatchObject({ size: 0, name: "file" });
  // Another orb does not have the file.
  const { id } = (await upload(PNG)).body;
  await as("POST", "/api/admin/orbs?publish=true", { id: "fileless", modules: [] });
  expect((await send(`/api/fileless/files/${id}`, { by: token })).status).toBe(404);
  expect((await send("/api/fileless/files", { method: "POST", body: PNG, by: token })).status).toBe(404);
});

test("stores nothing of a body that breaks off or that lies about its length", async () => {
  for (const length of [2_000_000, 1e13]) {
    const socket = connect(Number(new URL(platform.origin).port), "127.0.0.1");
    socket.on("error", () => undefined);
    socket.write(
      `POST ${base} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${member}\r\nContent-Length: ${length}\r\n\r\n`,
    );
    socket.write(LONG.subarray(0, 900_000));
    if (length === 1e13) expect(String((await once(socket, "data"))[0])).toMatch(/^HTTP\/1.1 (400|413)/);
    socket.destroy();
  }
  expect((await upload(PNG)).status).toBe(201);
});
