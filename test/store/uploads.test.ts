/** Resumable uploads: parts of any size, requests at the same time, bodies that break off, and crashes at every step. */
import { createHash, randomBytes } from "node:crypto";
import { expect, it } from "vitest";
import { type Actor, anonymous } from "../../shared/access/actor.ts";
import { createEntry } from "../../shared/entry/index.ts";
import { contentOf, findFile } from "../../shared/files/download.ts";
import { CHUNK_BYTES } from "../../shared/files/object.ts";
import { readRecord } from "../../shared/files/record.ts";
import { appendUpload, beginUpload, endUpload, uploadState } from "../../shared/files/resumable.ts";
import { uploadFile } from "../../shared/files/upload.ts";
import { fileBucket, fileStream, fileSubjects } from "../../shared/store/file-subjects.ts";
import { fileAlbum, partsOf, sha256 } from "../support/album.ts";
import { countingStore, Stopped, stoppingStore } from "../support/counting.ts";
import { failureOf, NO_QUOTAS, type TestDeps, testDeps, user } from "../support/entries.ts";
import { until } from "../support/races.ts";

const DAY_MS = 86_400_000;
const { store, deps, operator, live, orb, ann, bob, sweepLater, subjects, chunks } = await fileAlbum([
  { name: "paper", type: "file" },
]);
const at = (actor: Actor = ann) => ({ orb, authority: async () => ({ actor, live }) });

const begin = (size: number, by: TestDeps = deps, actor: Actor = ann) =>
  beginUpload(by, { ...at(actor), size, name: "a.bin" });
const send = (id: string, offset: number, data: Uint8Array, by: TestDeps = deps, actor: Actor = ann) =>
  appendUpload(by, { ...at(actor), id, offset, body: partsOf(data) });

async function content(id: string): Promise<Buffer> {
  const { record } = await findFile(deps, ann, live, id);
  const got: Uint8Array[] = [];
  for await (const part of contentOf(deps, orb, record, { start: 0, end: record.size })) got.push(part);
  return Buffer.concat(got);
}

const stored = (space: string) =>
  (space === "C" ? chunks : subjects)(fileStream(orb), `$O.${fileBucket(orb)}.${space}.>`);

it("authenticates the caller of a slow body before the body has arrived", async () => {
  let now = Date.now();
  async function* slow(parts: number) {
    for (let i = 0; i < parts; i++) {
      now += 5_000;
      yield Uint8Array.of(i);
    }
  }
  const by: TestDeps = { ...deps, clock: { now: () => now } };
  const upload = (actor: Actor, parts: number) =>
    uploadFile(by, { ...at(actor), body: slow(parts), hash: sha256() });
  const endless = Number.POSITIVE_INFINITY;
  const { id } = await begin(100);
  const part = { ...at(anonymous), id, offset: 0, body: slow(endless) };
  for (const refused of [upload(anonymous, endless), appendUpload(by, part)])
    expect(await failureOf(refused)).toMatchObject({ kind: "unauthenticated" });
  const file = await upload(ann, 6);
  expect(await content(file.id)).toEqual(Buffer.from([0, 1, 2, 3, 4, 5]));
});

it("counts the bytes that tiny parts make the broker write again", async () => {
  const quotas = { ...NO_QUOTAS, windowSeconds: 60, longWindowSeconds: 86_400, accountBytes: 1_000_000 };
  const limited = testDeps(store, { quotas });
  const carl = user("carl");
  const { id } = await begin(CHUNK_BYTES, limited, carl);
  await send(id, 0, randomBytes(100_000), limited, carl);
  const many = async () => {
    for (let at = 100_000; at < 100_020; at++) await send(id, at, Uint8Array.of(1), limited, carl);
  };
  expect(await failureOf(many())).toMatchObject({ code: "too_many_bytes" });
});

it("stores parts of any size as one file, with the hash of the whole", async () => {
  const data = randomBytes(19 * CHUNK_BYTES + 77);
  const { id } = await begin(data.length);
  const sizes = [1, 100_000, CHUNK_BYTES, 0, 9 * CHUNK_BYTES, 5, data.length];
  let { offset } = await uploadState(deps, at(), id);
  for (const size of sizes) {
    const state = await send(id, offset, data.subarray(offset, offset + size));
    expect(state.offset).toBe(Math.min(data.length, offset + size));
    offset = state.offset;
  }
  const { record } = await findFile(deps, ann, live, id);
  expect(record).toMatchObject({
    sha256: createHash("sha256").update(data).digest("hex"),
    size: data.length,
    name: "a.bin",
  });
  expect((await content(id)).equals(data)).toBe(true);
});

it("stores an empty file at once", async () => {
  const { id, done } = await begin(0);
  expect([done, await content(id)]).toEqual([true, Buffer.alloc(0)]);
});

it("sends one request to the broker for each MiB", async () => {
  const data = randomBytes(24 * CHUNK_BYTES);
  const { id } = await begin(data.length);
  const counted = countingStore(store);
  await send(id, 0, data.subarray(0, 16 * CHUNK_BYTES), { ...deps, store: counted.store } as TestDeps);
  expect(counted.calls.filter((call) => call === "batch")).toHaveLength(2);
});

it("lets only one of two simultaneous requests continue, and never mixes their bytes", async () => {
  const data = randomBytes(20 * CHUNK_BYTES);
  const { id } = await begin(data.length);
  const both = await Promise.allSettled([send(id, 0, data), send(id, 0, data)]);
  const refused = both.flatMap((one) => (one.status === "rejected" ? [one.reason.code] : []));
  expect(refused).toEqual([expect.stringMatching(/^upload_(busy|offset)$/)]);
  expect((await content(id)).equals(data)).toBe(true);
  const chunks = await operator.scan(fileStream(orb), fileSubjects.chunks(orb, id), {
    fromSeq: 1,
    limit: 100,
    maxBytes: 32e6,
  });
  expect(chunks.messages).toHaveLength(20);
});

it("stores what arrives before a body breaks off", async () => {
  const data = randomBytes(11 * CHUNK_BYTES + 9);
  for (const arrived of [70_000, 10 * CHUNK_BYTES + 5]) {
    const { id } = await begin(data.length);
    async function* broken() {
      yield* partsOf(data.subarray(0, arrived));
      throw new Error("cut");
    }
    await expect(appendUpload(deps, { ...at(), id, offset: 0, body: broken() })).rejects.toThrow("cut");
    const { offset } = await uploadState(deps, at(), id);
    expect(offset).toBe(arrived);
    await send(id, offset, data.subarray(offset));
    expect((await content(id)).equals(data)).toBe(true);
  }
});

it("refuses a wrong offset, too many bytes, other callers and too large files", async () => {
  const { id } = await begin(10);
  expect(await failureOf(send(id, 3, randomBytes(2)))).toMatchObject({
    code: "upload_offset",
    data: { offset: 0 },
  });
  expect((await failureOf(send(id, 0, randomBytes(11)))).code).toBe("upload_too_long");
  expect((await failureOf(send(id, 0, randomBytes(2), deps, bob))).code).toBe("upload_not_found");
  expect((await failureOf(uploadState(deps, at(bob), id))).code).toBe("upload_not_found");
  expect((await failureOf(endUpload(deps, at(bob), id))).code).toBe("upload_not_found");
  expect((await failureOf(send(id, 0, randomBytes(2), deps, anonymous))).code).toBe(
    "authentication_required",
  );
  expect((await failureOf(begin(10, testDeps(store, { fileBytes: 9 })))).code).toBe("file_too_large");
  expect((await uploadState(deps, at(), id)).offset).toBe(0);
});

it("stores the last bytes of a long part only if its caller may still write", async () => {
  const data = randomBytes(12 * CHUNK_BYTES);
  const { id } = await begin(data.length);
  let asked = 0;
  const authority = async () => ({ actor: asked++ === 0 ? ann : anonymous, live });
  const part = { orb, authority, id, offset: 0, body: partsOf(data) };
  expect((await failureOf(appendUpload(deps, part))).code).toBe("authentication_required");
  expect((await uploadState(deps, at(), id)).sha256).toBeUndefined();
});

it("ends an upload, and removes what is stored of it", async () => {
  const data = randomBytes(12 * CHUNK_BYTES);
  const { id } = await begin(data.length);
  await send(id, 0, data.subarray(0, 9 * CHUNK_BYTES));
  await endUpload(deps, at(), id);
  expect((await failureOf(uploadState(deps, at(), id))).code).toBe("upload_not_found");
  expect((await failureOf(send(id, 9 * CHUNK_BYTES, data))).code).toBe("upload_not_found");
  expect(await stored("C")).not.toContain(fileSubjects.chunks(orb, id));
});

it("forgets an upload after a day", async () => {
  const { id } = await begin(10 * CHUNK_BYTES);
  await send(id, 0, randomBytes(9 * CHUNK_BYTES));
  const tomorrow = { ...deps, clock: { now: () => Date.now() + DAY_MS } };
  expect((await failureOf(uploadState(tomorrow, at(), id))).code).toBe("upload_not_found");
  const message = await operator.get(fileStream(orb), fileSubjects.upload(orb, id));
  expect(message?.header("Nats-TTL")).toMatch(/^86(400|39\d)s$/);
  await sweepLater();
  expect(await stored("C")).not.toContain(fileSubjects.chunks(orb, id));
});

it("keeps an entry's file when a late request completes the upload again", async () => {
  const data = randomBytes(3 * CHUNK_BYTES);
  const { id } = await begin(data.length);
  // The process dies before it marks the upload as complete.
  const dying = (after: number) => testDeps(stoppingStore(store, after));
  await send(id, 0, data, dying(2)).catch(() => undefined);
  for (let after = 1; (await readRecord(deps, orb, id)) === null; after++)
    await uploadState(dying(after), at(), id).catch(() => undefined);
  const values = { paper: { file: id } };
  await createEntry(deps, ann, { orbId: orb, orb: live, module: "pictures", values, publish: false });
  await Promise.all([uploadState(deps, at(), id), uploadState(deps, at(), id)]);
  expect((await readRecord(deps, orb, id))?.record.entries).toHaveLength(1);
  await sweepLater();
  expect((await content(id)).equals(data)).toBe(true);
});

it("keeps acknowledged bytes and later removes all others, wherever an upload stops", async () => {
  const data = randomBytes(10 * CHUNK_BYTES + 40);
  const before = await stored("C");
  for (let after = 0; ; after++) {
    const crashing = testDeps(stoppingStore(store, after));
    let id: string | undefined;
    let acknowledged = 0;
    let isDone = false;
    try {
      id = (await begin(data.length, crashing)).id;
      for (const end of [70_000, 9 * CHUNK_BYTES, data.length])
        acknowledged = (await send(id, acknowledged, data.subarray(acknowledged, end), crashing)).offset;
      isDone = true;
    } catch (error) {
      if (!(error instanceof Stopped)) throw error;
    }
    if (id !== undefined) {
      const upload = id;
      // A batch that the crashed process sent can still arrive, so that the offset moves.
      await until(async () => {
        const { offset, done } = await uploadState(deps, at(), upload);
        expect(offset).toBeGreaterThanOrEqual(acknowledged);
        if (done === true) return true;
        const rest = await send(upload, offset, data.subarray(offset)).catch((error: { code?: string }) => {
          if (error.code?.startsWith("upload_") !== true) throw error;
        });
        return rest?.done === true;
      });
      expect((await content(upload)).equals(data)).toBe(true);
    }
    // All of these have the same content, which is stored once.
    expect((await stored("C")).length - before.length).toBeLessThanOrEqual(11);
    if (isDone) break;
  }
});
