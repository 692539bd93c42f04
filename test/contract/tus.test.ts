/** Resumable uploads: the client tus-js-client, and what the protocol tus 1.0 demands of a server. */
import { createHash, randomBytes } from "node:crypto";
import { connect } from "node:net";
import { Upload } from "tus-js-client";
import { beforeAll, describe, expect, test } from "vitest";
import { user } from "../support/auth.ts";
import { fileAdmin } from "../support/file-admin.ts";
import { until } from "../support/races.ts";

const { platform, as } = await fileAdmin();
const path = "/api/tus-gallery/files/uploads";
const PART = "application/offset+octet-stream";
const sha256 = (data: Uint8Array) => createHash("sha256").update(data).digest("hex");
let token: string;

beforeAll(async () => {
  const fields = [{ name: "image", type: "file" }];
  const schemas = [{ id: "picture", access: { read: "public", write: "user" }, fields }];
  const modules = [{ id: "pictures", type: "CONTENT", schemas }];
  expect((await as("POST", "/api/admin/orbs?publish=true", { id: "tus-gallery", modules })).status).toBe(201);
  token = (await user(platform)).token;
});

const send = (method: string, address: string, headers: Record<string, string> = {}, body?: BodyInit) =>
  fetch(new URL(address, platform.origin), {
    method,
    headers: { authorization: `Bearer ${token}`, "tus-resumable": "1.0.0", ...headers },
    ...(body === undefined ? {} : { body }),
  });

async function begin(size: number, headers: Record<string, string> = {}): Promise<string> {
  const begun = await send("POST", path, { "upload-length": String(size), ...headers });
  expect(begun.status, await begun.text()).toBe(201);
  return begun.headers.get("location") ?? "";
}

const part = (address: string, offset: number, body: BodyInit, headers = {}) =>
  send("PATCH", address, { "content-type": PART, "upload-offset": String(offset), ...headers }, body);

const offsetOf = async (address: string) =>
  Number((await send("HEAD", address)).headers.get("upload-offset") ?? Number.NaN);

async function download(address: string): Promise<Buffer> {
  const answer = await send("GET", address.replace("/uploads/", "/"));
  expect(answer.status).toBe(200);
  return Buffer.from(await answer.arrayBuffer());
}

describe("tus-js-client", () => {
  const data = randomBytes(3_000_000);
  const run = (options: ConstructorParameters<typeof Upload>[1], act?: (upload: Upload) => void) =>
    new Promise<Upload>((resolve, reject) => {
      const upload = new Upload(data, {
        endpoint: platform.origin + path,
        headers: { authorization: `Bearer ${token}` },
        metadata: { filename: "sun set.bin", filetype: "text/csv" },
        onError: reject,
        onSuccess: () => resolve(upload),
        ...options,
      });
      act?.(upload);
      upload.start();
    });

  test.each([
    ["in one part", {}],
    ["in parts of an odd size", { chunkSize: 700_001 }],
    ["with the first part in the request that begins it", { uploadDataDuringCreation: true }],
    ["with POST for every method", { overridePatchMethod: true }],
  ])("uploads a file %s", async (_how, options) => {
    const address = (await run(options)).url ?? "";
    expect((await download(address)).equals(data)).toBe(true);
    const head = await send("HEAD", address.replace("/uploads/", "/"));
    expect(head.headers.get("etag")).toBe(`"${sha256(data)}"`);
    expect(head.headers.get("content-disposition")).toContain('filename="sun set.bin"');
    const id = address.split("/").at(-1);
    const values = { image: { file: id } };
    const made = await as("POST", "/api/tus-gallery/pictures?publish=true", { values }, token);
    expect([made.status, made.body.values.image.size]).toEqual([201, data.length]);
  });

  test("goes on after an interruption", async () => {
    let address: string | null = null;
    await new Promise<void>((resolve) => {
      void run({ chunkSize: 1_000_000 }, (upload) => {
        upload.options.onChunkComplete = () => {
          address = upload.url;
          void upload.abort().then(resolve);
        };
      });
    });
    expect(await offsetOf(address ?? "")).toBeGreaterThanOrEqual(1_000_000);
    const resumed = await run({ uploadUrl: address });
    expect((await download(resumed.url ?? "")).equals(data)).toBe(true);
  });

  test("ends an upload", async () => {
    const address = await begin(data.length);
    expect((await part(address, 0, data.subarray(0, 500_000))).status).toBe(204);
    await Upload.terminate(platform.origin + address, { headers: { authorization: `Bearer ${token}` } });
    expect((await send("HEAD", address)).status).toBe(404);
  });
});

describe("the protocol", () => {
  test("names the version in every response, and refuses another one with 412", async () => {
    const address = await begin(4);
    const answers = [
      await send("HEAD", address),
      await part(address, 0, "ab"),
      await part(address, 0, "ab"),
      await send("POST", path),
      await send("DELETE", `${path}/unknown`),
    ];
    expect(answers.map(({ status }) => status)).toEqual([200, 204, 409, 400, 404]);
    expect(answers.map(({ headers }) => headers.get("tus-resumable"))).toEqual(Array(5).fill("1.0.0"));
    for (const version of ["0.2.2", ""]) {
      const refused = await part(address, 2, "cd", { "tus-resumable": version });
      expect([refused.status, refused.headers.get("tus-version")]).toEqual([412, "1.0.0"]);
    }
    expect(await offsetOf(address)).toBe(2);
  });

  test("tells with OPTIONS what it supports", async () => {
    const answer = await fetch(platform.origin + path, { method: "OPTIONS" });
    expect([answer.status, Object.fromEntries(answer.headers)]).toEqual([
      204,
      expect.objectContaining({
        "tus-version": "1.0.0",
        "tus-extension": "creation,creation-with-upload,termination,expiration",
        "tus-max-size": expect.stringMatching(/^\d+$/),
      }),
    ]);
  });

  test("answers HEAD with offset, length and metadata, and forbids to cache it", async () => {
    const metadata = "filename YS5iaW4=,empty";
    const address = await begin(10, { "upload-metadata": metadata });
    await part(address, 0, "abc");
    const answer = await send("HEAD", address);
    expect(Object.fromEntries(answer.headers)).toMatchObject({
      "upload-offset": "3",
      "upload-length": "10",
      "upload-metadata": metadata,
      "cache-control": "no-store",
      "upload-expires": expect.stringMatching(/ GMT$/),
    });
  });

  test.each([
    ["a wrong offset", 409, { "upload-offset": "1" }, "a"],
    ["no offset", 400, { "upload-offset": "" }, "a"],
    ["a negative offset", 400, { "upload-offset": "-1" }, "a"],
    ["another content type", 415, { "content-type": "text/plain" }, "a"],
    ["more bytes than the length says", 413, {}, "abcdefghijk"],
  ])("refuses a part with %s", async (_what, status, headers, body) => {
    const address = await begin(10);
    expect((await part(address, 0, body, headers)).status).toBe(status);
    expect(await offsetOf(address)).toBe(0);
  });

  test.each([
    ["no length", { "upload-length": "" }, 400],
    ["a deferred length", { "upload-defer-length": "1" }, 400],
    ["a length that is no number", { "upload-length": "1e3" }, 400],
    ["too large a length", { "upload-length": "99999999999999" }, 413],
    ["metadata that is not base64", { "upload-length": "1", "upload-metadata": "filename *" }, 400],
  ])("refuses to begin with %s", async (_what, headers, status) => {
    expect((await send("POST", path, headers)).status).toBe(status);
  });

  test("completes an empty file at once", async () => {
    expect(await download(await begin(0))).toEqual(Buffer.alloc(0));
  });

  test("hides an upload from other callers", async () => {
    const address = await begin(4);
    const other = { authorization: `Bearer ${(await user(platform)).token}` };
    expect((await send("HEAD", address, other)).status).toBe(404);
    expect((await part(address, 0, "abcd", other)).status).toBe(404);
    expect((await send("DELETE", address, other)).status).toBe(404);
    expect((await send("POST", path, { authorization: "", "upload-length": "1" })).status).toBe(401);
    expect((await send("GET", address)).status).toBe(405);
    expect(await offsetOf(address)).toBe(0);
  });

  test("stores what arrives of a part that breaks off", async () => {
    const data = randomBytes(2_500_000);
    const address = await begin(data.length);
    const socket = connect(Number(new URL(platform.origin).port), "127.0.0.1");
    socket.on("error", () => undefined);
    socket.write(
      `PATCH ${address} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${token}\r\nTus-Resumable: 1.0.0\r\nUpload-Offset: 0\r\nContent-Type: ${PART}\r\nContent-Length: ${data.length}\r\n\r\n`,
    );
    socket.write(data.subarray(0, 2_200_000));
    await until(async () => (await offsetOf(address)) >= 1_048_576);
    socket.destroy();
    // The interrupted request may still store its last bytes.
    await until(async () => {
      const offset = await offsetOf(address);
      return (await part(address, offset, data.subarray(offset))).status === 204;
    });
    expect((await download(address)).equals(data)).toBe(true);
  });
});
