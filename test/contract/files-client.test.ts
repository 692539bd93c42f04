/** Files with the client and the command `orb`, over a connection that fails. */
import { execFile } from "node:child_process";
import { createHash, randomBytes } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createClient } from "../../shared/client/index.ts";
import { fileAdmin } from "../support/file-admin.ts";
import { orbProgram } from "../support/orb-command.ts";

const { platform, token, as } = await fileAdmin();
const folder = mkdtempSync(join(tmpdir(), "files-client-"));
const LARGE = randomBytes(9_000_000);
const hashOf = (data: Uint8Array) => createHash("sha256").update(data).digest("hex");
const described = (data: Uint8Array, name: string, type: string) => ({
  id: expect.any(String),
  size: data.length,
  type,
  sha256: hashOf(data),
  name,
});

beforeAll(async () => {
  const fields = [{ name: "image", type: "file" }];
  const schemas = [{ id: "picture", access: { read: "public", write: "user" }, fields }];
  const modules = [{ id: "pictures", type: "CONTENT", schemas }];
  expect((await as("POST", "/api/admin/orbs?publish=true", { id: "album", modules })).status).toBe(201);
});
afterAll(() => rmSync(folder, { recursive: true }));

/** A client whose requests fail as `failing` decides. */
const filesWith = (failing: (url: string, init: RequestInit | undefined) => Promise<void> | void) =>
  createClient({
    url: platform.origin,
    token,
    fetch: async (input, init) => {
      await failing(String(input), init);
      return fetch(input, init);
    },
  }).files("album");
const files = filesWith(() => undefined);

test("uploads a small file in one request, and downloads a part of it", async () => {
  const methods: unknown[] = [];
  const counted = filesWith((_url, init) => void methods.push(init?.method));
  const shares: number[] = [];
  const data = new TextEncoder().encode("a picture in words");
  const file = await counted.upload(new File([data], "sun ☀.txt", { type: "text/plain" }), {
    onProgress: (share) => shares.push(share),
  });
  expect(file).toEqual(described(data, "sun ☀.txt", "text/plain"));
  expect([methods, shares]).toEqual([["POST"], [1]]);
  const part = await files.download(file.id, { range: { start: 2, end: 9 } });
  expect([part.status, await part.text()]).toEqual([206, "picture"]);
  const { url } = await files.link({ file: file.id }, { seconds: 60 });
  expect((await fetch(platform.origin + url)).status).toBe(200);
});

test("resumes the upload of a large file after failures, and reports the progress", async () => {
  let parts = 0;
  const flaky = filesWith(async (_url, init) => {
    if (init?.method !== "PATCH") return;
    parts++;
    // The platform stores the second part, but its answer is lost. The third one never arrives.
    if (parts === 2) await fetch(_url, init);
    if (parts === 2 || parts === 3) throw new TypeError("the connection broke off");
  });
  const shares: number[] = [];
  const file = await flaky.upload(new Blob([LARGE]), {
    name: "large ☀.bin",
    onProgress: (share) => shares.push(share),
  });
  expect(file).toEqual(described(LARGE, "large ☀.bin", "application/octet-stream"));
  expect(shares).toEqual([...shares].sort((a, b) => a - b));
  expect(shares.at(-1)).toBe(1);
  expect(Buffer.from(await (await files.download(file.id)).arrayBuffer())).toEqual(LARGE);
});

test("uploads a stream whose size is known in parts", async () => {
  let failed = false;
  const flaky = filesWith((_url, init) => {
    if (init?.method !== "PATCH" || failed) return;
    failed = true;
    throw new TypeError("the connection broke off");
  });
  const file = await flaky.upload(new Blob([LARGE]).stream(), { size: LARGE.length });
  expect([file.sha256, file.name]).toEqual([hashOf(LARGE), "file"]);
  const short = files.upload(new Blob([LARGE]).stream(), { size: LARGE.length + 1 });
  await expect(short).rejects.toThrow("The stream has ended after 9000000 of 9000001 bytes.");
  const whole = await files.upload(new Blob(["abc"]).stream());
  expect(whole.size).toBe(3);
});

test("removes what is stored of an upload that the caller aborts", async () => {
  const stop = new AbortController();
  const paths: string[] = [];
  const watched = filesWith((url, init) => {
    if (init?.method === "PATCH") paths.push(url);
  });
  const upload = watched.upload(new Blob([LARGE]), { signal: stop.signal, onProgress: () => stop.abort() });
  await expect(upload).rejects.toThrow("aborted");
  const headers = { authorization: `Bearer ${token}`, "tus-resumable": "1.0.0" };
  await expect.poll(async () => (await fetch(paths[0] ?? "", { method: "HEAD", headers })).status).toBe(404);
});

/** Runs the command `orb`, and returns what it prints. */
async function orb(...args: string[]): Promise<string> {
  const env = { ...process.env, ORB_TOKEN: token, ORB_URL: platform.origin };
  const { stdout } = await promisify(execFile)(process.execPath, [await orbProgram(), ...args], { env });
  return stdout.trim();
}

test("uploads, shares and downloads with the command", async () => {
  const path = join(folder, "large.bin");
  writeFileSync(path, LARGE);
  const id = await orb("files", "upload", "album", path);
  await orb("files", "download", "album", id, "--out", join(folder, "back.bin"));
  expect(hashOf(readFileSync(join(folder, "back.bin")))).toBe(hashOf(LARGE));
  const link = await fetch(await orb("files", "link", "album", id, "--seconds", "60"));
  expect(link.headers.get("content-disposition")).toContain("large.bin");
  await link.body?.cancel();
});

test("lists, describes, tags, replaces and deletes files with the command", async () => {
  const upload = async (text: string, name: string) => (await files.upload(new Blob([text]), { name })).id;
  const [old, spare] = [await upload("old words", "old.txt"), await upload("spare words", "spare.txt")];
  const json = async (...args: string[]) => JSON.parse(await orb("files", ...args, "--json"));
  const texts = ["--alt", "en=Two = words", "--caption", "en=A text"];
  expect(await json("describe", "album", old, ...texts, "--name", "words.txt")).toMatchObject({
    ...{ name: "words.txt", alt: { en: "Two = words" }, caption: { en: "A text" } },
  });
  expect(await json("describe", "album", old, "--alt", "en=")).toMatchObject({ alt: {}, revision: 3 });
  await expect(orb("files", "describe", "album", old, "--focal", "1")).rejects.toThrow("--focal must be");
  await expect(orb("files", "list", "album", "--tag", "a", "--tag", "b")).rejects.toThrow("given only once");
  const both = await json("tag", "album", old, spare, "--add", "paper", "--add", "old");
  expect(both).toMatchObject([{ tags: ["paper", "old"] }, { tags: ["paper", "old"] }]);
  expect(await json("rename-tag", "album", "old", "very old")).toContain("very old");
  expect(await json("remove-tag", "album", "very old")).toEqual(["paper"]);
  expect(await json("tags", "album")).toEqual(["paper"]);
  const listed = await json("list", "album", "--tag", "paper", "--search", "words");
  expect(listed).toMatchObject([{ id: old, tags: ["paper"] }]);

  const made = await as("POST", "/api/album/pictures/picture", { values: { image: { file: old } } });
  expect(made.status).toBe(201);
  const path = join(folder, "new.txt");
  writeFileSync(path, "new words");
  const replaced = await json("replace", "album", old, "--file", path);
  expect(replaced).toMatchObject({ file: { name: "new.txt", uses: 1 }, changed: [{ id: made.body.id }] });
  expect(await orb("files", "delete", "album", "--unused")).toContain(spare);
  expect((await files.get(spare)).id).toBe(spare);
  expect(await json("delete", "album", "--unused", "--yes")).toContain(spare);
  await expect(files.get(spare)).rejects.toThrow();
  await expect(orb("files", "delete", "album", replaced.file.id)).rejects.toThrow("file_in_use");
});
