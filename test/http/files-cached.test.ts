/** Downloads that the Node host answers from its cache. The functions in workerd, without a cache, give the reference. */
import { randomBytes } from "node:crypto";
import { setTimeout as pause } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import { call } from "../support/auth.ts";
import { catalogOf, type Near, startNear } from "../support/near.ts";
import { startPlatform, type TestPlatform } from "../support/platform.ts";
import { before } from "../support/races.ts";

const SMALL = randomBytes(10_000);
/** Maximum bytes of a file whose download is repeated from memory. */
const LARGEST = 128 * 1024;

let platform: TestPlatform;
let near: Near;

const FIELDS = [
  { name: "open", type: "file", public: true },
  { name: "closed", type: "file" },
  { name: "secret", type: "file", access: { read: ["admin"] } },
  { name: "many", type: "file", public: true, list: true },
];
const path = (orb: string, rest = "") => `/api/${orb}/catalog/product${rest}`;
const orbOf = (id: string) => near.orb(catalogOf(id, FIELDS));
const refer = (id: string, field = "open") => ({ [field]: { file: id } });

beforeAll(async () => {
  // One broker, because it can be paused.
  platform = await startPlatform({ env: { NATS_BROKERS: "1" } });
  near = await startNear(platform);
});
afterAll(async () => {
  await near?.host.stop();
  await platform?.stop();
});

/** Uploads a file. @returns its id and address */
async function upload(orb: string, content: Uint8Array<ArrayBuffer> = SMALL) {
  const sent = await fetch(`${platform.origin}/api/${orb}/files?name=a%20b.bin`, {
    method: "POST",
    headers: { authorization: `Bearer ${near.token}` },
    body: content,
  });
  expect(sent.status).toBe(201);
  const { id } = (await sent.json()) as { id: string };
  return { id, address: `/api/${orb}/files/${id}` };
}

/** Publishes an entry with a new file in the public field. */
async function shared(orb: string, more: object = {}, content?: Uint8Array<ArrayBuffer>) {
  const file = await upload(orb, content);
  return { ...file, entry: path(orb, `/${await near.published(path(orb), refer(file.id), more)}`) };
}

async function download(address: string, headers: Record<string, string> = {}, by = near.platform) {
  const got = await fetch(by.origin + address, { headers });
  const body = Buffer.from(await got.arrayBuffer());
  return { status: got.status, headers: Object.fromEntries(got.headers), body };
}

/** Repeats a download until the host answers it from its cache. */
async function repeated(address: string) {
  for (let i = 0; i < 50; i++) {
    const { given } = near.host.answers();
    const got = await download(address);
    if (near.host.answers().given > given) return got;
    await pause(20);
  }
  throw new Error(`${address} never comes from the cache`);
}

/** Returns the status of a download without credentials. */
const status = async (address: string, by = near.platform) => (await download(address, {}, by)).status;

/** Writes through the host. */
async function write(method: string, address: string, values?: object): Promise<void> {
  const body = values === undefined ? {} : { body: { values } };
  const answer = await call(near.platform, method, address, { token: near.token, ...body });
  expect(answer.status, JSON.stringify(answer.body)).toBeLessThan(300);
}

/** The parts of a response that do not differ from request to request. */
function lasting({ status, headers, body }: Awaited<ReturnType<typeof download>>) {
  const own = ["x-request-id", "traceparent", "date", "connection", "keep-alive", "transfer-encoding"];
  // A response without content may omit its type and length.
  if (body.length === 0) own.push("content-type", "content-length");
  return [status, Object.entries(headers).filter(([name]) => !own.includes(name)), body.toString("base64")];
}

test("repeats the download of a small public file, for every kind of request", async () => {
  const orb = await orbOf("repeats");
  const { address } = await shared(orb);
  for (const url of [address, `${address}/a%20b.bin`, `${address}?download=true`]) {
    const [first, again] = [await repeated(url), await repeated(url)];
    expect(lasting(first)).toEqual(lasting(await download(url, {}, platform)));
    expect(first.body.equals(SMALL)).toBe(true);
    expect(first.headers).toMatchObject({
      "cache-control": "public, max-age=300",
      "content-length": String(SMALL.length),
      "content-disposition": `attachment; filename="a b.bin"; filename*=UTF-8''a%20b.bin`,
    });
    expect(again.headers["x-request-id"]).not.toBe(first.headers["x-request-id"]);
  }
  const { etag = "" } = (await download(address)).headers;
  const requests: Record<string, string>[] = [
    { "if-none-match": etag },
    { "if-none-match": '"other"' },
    { "if-none-match": "*" },
    { range: "bytes=100-199" },
    { range: "bytes=20000-" },
    { range: "bytes=0-9", "if-range": etag },
    { range: "bytes=0-9", "if-range": '"other"' },
    { origin: platform.settings.publicUrl },
    { origin: "https://elsewhere.example" },
    { cookie: "a=b" },
    { authorization: `Bearer ${near.token}` },
    { authorization: "Bearer nope" },
  ];
  for (const headers of requests)
    for (let round = 0; round < 3; round++) {
      const [mine, theirs] = [await download(address, headers), await download(address, headers, platform)];
      expect(mine.status).toBe(theirs.status);
      // The body of a refusal contains the request's id.
      if (mine.status !== 401) expect(lasting(mine), JSON.stringify(headers)).toEqual(lasting(theirs));
    }
  const head = await call(near.platform, "HEAD", address);
  expect([head.status, head.headers.get("content-length")]).toEqual([200, String(SMALL.length)]);
});

test("repeats a file that everyone may read through its entry, until the entry is unpublished", async () => {
  const orb = await orbOf("readable");
  const { id, address } = await upload(orb);
  const entry = path(orb, `/${await near.published(path(orb), refer(id, "closed"))}`);
  const got = await repeated(address);
  expect([got.status, got.headers["cache-control"]]).toEqual([200, "public, no-cache"]);
  expect(lasting(got)).toEqual(lasting(await download(address, {}, platform)));
  await write("POST", `${entry}/unpublish`);
  expect(await status(address)).toBe(401);
});

test("repeats neither private files, nor downloads with a signed link, nor larger files", async () => {
  const orb = await orbOf("unrepeated");
  const [secret, large] = [await upload(orb), await upload(orb, randomBytes(LARGEST + 1))];
  await near.published(path(orb), { ...refer(secret.id, "secret"), ...refer(large.id) });
  const { token } = near;
  const made = await call(platform, "POST", `${secret.address}/links`, { token, body: {} });
  const { given } = near.host.answers();
  for (let round = 0; round < 4; round++) {
    expect(await status(made.body.url)).toBe(200);
    expect((await download(secret.address, { authorization: `Bearer ${token}` })).status).toBe(200);
    expect(await status(secret.address)).toBe(401);
    expect((await download(large.address)).body.length).toBe(LARGEST + 1);
  }
  expect(near.host.answers().given).toBe(given);
});

test("answers a file as its entry says, at once after each write of this process", async () => {
  const orb = await orbOf("states");
  const { id, address, entry } = await shared(orb);
  const changes: [method: string, address: string, values?: object][] = [
    ["POST", `${entry}/unpublish`],
    ["POST", `${entry}/publish`],
    ["POST", `${entry}/archive`],
    ["POST", `${entry}/restore`],
    ["PUT", `${entry}?publish=true`, refer(id)],
    // The newest revision is a draft without the file. The live revision still has it.
    ["PUT", entry, {}],
    ["POST", `${entry}/publish`],
    ["PUT", `${entry}?publish=true`, refer(id)],
    ["PUT", `${entry}?publish=true`, refer(id, "closed")],
    ["PUT", `${entry}?publish=true`, refer(id)],
    ["DELETE", entry],
  ];
  const seen: number[] = [];
  for (const change of changes) {
    const isOnlyLive = change[1] === `${entry}/publish` && seen.length > 2;
    const { headers } = await download(address);
    if (headers["cache-control"]?.startsWith("public") && !isOnlyLive) await repeated(address);
    await write(...change);
    seen.push(await status(address));
    expect(seen.at(-1), change.join(" ")).toBe(await status(address, platform));
  }
  expect(seen).toEqual([200, 200, 200, 200, 200, 200, 401, 200, 200, 200, 401]);
});

test("ends with the purge of an entry, and goes on while another entry has the file", async () => {
  const orb = await orbOf("purged");
  const { id, address } = await upload(orb);
  const [one, other] = [
    await near.published(path(orb), refer(id)),
    await near.published(path(orb), refer(id)),
  ];
  const purge = (entry: string) => write("DELETE", `/api/admin/orbs/${orb}/entries/${entry}?purge=true`);
  await repeated(address);
  await purge(one);
  expect(await status(address)).toBe(200);
  await repeated(address);
  await purge(other);
  expect(await status(address)).toBe(404);
});

test("soon sees writes of other processes, and changes of the definition", async () => {
  const orb = await orbOf("others");
  const { id, address, entry } = await shared(orb);
  const { token } = near;
  const put = (field: string) =>
    call(platform, "PUT", `${entry}?publish=true`, { token, body: { values: refer(id, field) } });
  const define = (isPublic: boolean) => {
    const fields = FIELDS.map((field) => ({ ...field, public: isPublic && field.name === "open" }));
    const body = { ...catalogOf(orb, fields) };
    const [schema] = body.modules[0]?.schemas ?? [];
    if (schema !== undefined) schema.access.read = "user";
    return call(platform, "PUT", `/api/admin/orbs/${orb}?publish=true&force=true`, { token, body });
  };
  const soon = (wanted: number) => expect.poll(() => status(address)).toBe(wanted);
  expect((await define(true)).status).toBe(200);
  await soon(200);
  await repeated(address);
  expect((await define(false)).status).toBe(200);
  await soon(401);
  expect((await define(true)).status).toBe(200);
  await soon(200);
  await repeated(address);
  expect((await put("closed")).status).toBe(200);
  await soon(401);
  expect((await put("open")).status).toBe(200);
  await soon(200);
  await repeated(address);
  expect((await call(platform, "DELETE", entry, { token })).status).toBe(204);
  await soon(401);
});

test("ends at validTo if only the live revision has the file", async () => {
  const orb = await orbOf("window");
  const { address, validTo } = await before(8_000, async (end) => {
    const file = await shared(orb, { validTo: new Date(end).toISOString() });
    await write("PUT", file.entry, {});
    for (let i = 0; i < 3; i++) expect(await status(file.address)).toBe(200);
    return { address: file.address, validTo: end };
  });
  await pause(validTo + 5 - Date.now());
  expect(await status(address)).toBe(401);
});

test("never answers as before an acknowledged write", async () => {
  const orb = await orbOf("races");
  const { id, address, entry } = await shared(orb);
  const { given } = near.host.answers();
  /** The status that the newest acknowledged write leads to. Undefined while a write is under way. */
  let wanted: number | undefined = 200;
  let writes = 0;
  const writer = (async () => {
    for (; writes < 40; writes++) {
      const next: number = wanted === 200 ? 401 : 200;
      wanted = undefined;
      await write("PUT", `${entry}?publish=true`, next === 200 ? refer(id) : {});
      wanted = next;
      await pause(10);
    }
  })();
  const reader = async () => {
    while (writes < 40) {
      const [before, at] = [wanted, writes];
      const got = await status(address);
      if (before !== undefined && at === writes && wanted === before) expect(got).toBe(before);
    }
  };
  await Promise.all([writer, reader(), reader(), reader()]);
  expect(near.host.answers().given).toBeGreaterThan(given);
});

test("answers 503 instead of repeating a download while the broker is unavailable", async () => {
  const orb = await orbOf("away");
  const { address } = await shared(orb);
  await repeated(address);
  await platform.broker?.pause();
  await expect.poll(() => status(address)).toBe(503);
  await platform.broker?.resume();
  for (const by of [near.platform, platform]) await expect.poll(() => status(address, by)).toBe(200);
  await repeated(address);
});

test("sends the right content after newer content has replaced it in memory", async () => {
  const orb = await orbOf("many");
  const before = near.host.answers().bytes;
  const files: { id: string; address: string; content: Buffer }[] = [];
  for (let entry = 0; entry < 2; entry++) {
    const contents = Array.from({ length: 40 }, () => randomBytes(LARGEST));
    const sent = await Promise.all(
      contents.map(async (content) => ({ ...(await upload(orb, content)), content })),
    );
    await near.published(path(orb), { many: sent.map(({ id }) => ({ file: id })) });
    for (const { address } of sent) for (let round = 0; round < 2; round++) await download(address);
    files.push(...sent);
  }
  // The headers of all responses stay in memory, and the content does not count again.
  expect(near.host.answers().bytes - before).toBeLessThan(files.length * 1_000);
  for (const { address, content } of [...files.slice(0, 20), ...files.slice(-10)])
    for (let round = 0; round < 2; round++) expect((await download(address)).body.equals(content)).toBe(true);
});
