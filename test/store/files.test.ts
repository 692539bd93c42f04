/** Files: how content is stored, which entry may have a file, what is removed, and what a crash leaves. */
import { createHash, randomBytes } from "node:crypto";
import { connect } from "nats";
import { expect, it, onTestFinished } from "vitest";
import { ContentFile } from "../../scripts/host/content/content-file.ts";
import type { Actor } from "../../shared/access/actor.ts";
import { publishSet } from "../../shared/changes/content/publish.ts";
import { releaseClosed } from "../../shared/changes/content/release.ts";
import { takeOut } from "../../shared/changes/content/take-out.ts";
import { writingInto } from "../../shared/changes/content/within.ts";
import { newSet, setMessage } from "../../shared/changes/record/record.ts";
import { closeSet } from "../../shared/changes/review/review.ts";
import { createEntry, deleteEntry, restoreEntry, updateEntry, writeBatch } from "../../shared/entry/index.ts";
import { contentOf, findFile } from "../../shared/files/download.ts";
import { CHUNK_BYTES, readInfo, removeObject } from "../../shared/files/object.ts";
import { readRecord } from "../../shared/files/record.ts";
import { releaseFiles } from "../../shared/files/release.ts";
import { sweepFiles } from "../../shared/files/sweep.ts";
import { type Upload, uploadFile } from "../../shared/files/upload.ts";
import { unavailable } from "../../shared/kernel/errors.ts";
import { fileBucket, fileStream, fileSubjects } from "../../shared/store/file-subjects.ts";
import { streams } from "../../shared/store/subjects.ts";
import type { Store } from "../../shared/store/types.ts";
import { albumWith, fileAlbum, partsOf, sha256 } from "../support/album.ts";
import { countingStore, Stopped, stoppingStore } from "../support/counting.ts";
import {
  admin,
  callerIn,
  failureOf,
  installOrb,
  NO_QUOTAS,
  type TestDeps,
  testDeps,
  user,
} from "../support/entries.ts";
import { until } from "../support/races.ts";

const fields = [
  { name: "title", type: "string" as const },
  { name: "image", type: "file" as const, accept: ["image/*"], maxSize: 1_000 },
  { name: "papers", type: "file" as const, list: true },
  { name: "shared", type: "file" as const, public: true },
  { name: "hidden", type: "file" as const, access: { read: ["admin"] } },
];
const { broker, store, deps, operator, live, ann, bob, sweepLater, subjects, chunks } =
  await fileAlbum(fields);
const anonymous: Actor = { kind: "anonymous" };
const PNG = Buffer.concat([Buffer.from("\x89PNG\r\n\x1a\n", "latin1"), randomBytes(40)]);

const randomPng = () => Buffer.concat([PNG, randomBytes(4)]);

const upload = (data: Uint8Array, actor: Actor = ann, more: Partial<Upload> = {}, by: TestDeps = deps) =>
  uploadFile(by, {
    orb: live.orb,
    body: partsOf(data),
    hash: sha256(),
    authority: async () => ({ actor, live }),
    ...more,
  });

const create = (values: unknown, actor: Actor = ann, by: TestDeps = deps, publish = false) =>
  createEntry(by, actor, { orbId: live.orb, orb: live, module: "pictures", values, publish });

async function content(id: string, actor: Actor = ann, range?: { start: number; end: number }) {
  const { record } = await findFile(deps, actor, live, id);
  const got: Uint8Array[] = [];
  for await (const part of contentOf(deps, live.orb, record, range ?? { start: 0, end: record.size }))
    got.push(part);
  return Buffer.concat(got);
}

const chunkSubjects = async () =>
  new Set(await chunks(fileStream(live.orb), `$O.${fileBucket(live.orb)}.C.>`));
const infoSubjects = async () =>
  new Set(await subjects(fileStream(live.orb), `$O.${fileBucket(live.orb)}.M.>`));
const expired = (id: string) => until(async () => (await readRecord(deps, live.orb, id)) === null);

it("stores content as an object that other clients of the broker can read, once for all uploads", async () => {
  const data = randomBytes(5 * CHUNK_BYTES + 17);
  const [first, second] = await Promise.all([upload(data), upload(data, bob)]);
  expect(first.id).not.toBe(second.id);
  expect([first.sha256, first.size, first.type]).toEqual([
    second.sha256,
    data.length,
    "application/octet-stream",
  ]);
  await deps.settled();
  expect((await chunkSubjects()).size).toBe(1);
  const connection = await connect({
    servers: `127.0.0.1:${broker.port}`,
    user: "operator",
    pass: "operator",
  });
  const objects = await connection.jetstream().views.os(fileBucket(live.orb));
  expect(Buffer.from((await objects.getBlob(first.sha256)) ?? []).equals(data)).toBe(true);
  await connection.close();
  expect((await content(first.id)).equals(data)).toBe(true);
});

it("gives files ids that commands do not take for options", async () => {
  const tokens = ["-first", "second"];
  const by = { ...deps, randomToken: (bytes: number) => tokens.shift() ?? deps.randomToken(bytes) };
  expect((await upload(PNG, ann, {}, by)).id).toBe("second");
});

it("does not tell an uploader that another account has the same content", async () => {
  const [known, unknown] = [randomBytes(60_000), randomBytes(60_000)];
  await upload(known);
  const calls = async (data: Uint8Array) => {
    const counted = countingStore(store);
    await upload(data, bob, {}, testDeps(counted.store));
    return counted.calls;
  };
  const sent = (names: string[]) => names.filter((name) => name !== "purge").sort();
  expect(sent(await calls(known))).toEqual(sent(await calls(unknown)));
  const quotas = { ...NO_QUOTAS, windowSeconds: 60, longWindowSeconds: 86_400, accountBytes: 50_000 };
  for (const data of [known, randomBytes(60_000)])
    expect(await failureOf(upload(data, user("carl"), {}, testDeps(store, { quotas })))).toMatchObject({
      code: "too_many_bytes",
    });
});

it("reads the chunks of a range only", async () => {
  const data = randomBytes(9 * CHUNK_BYTES);
  // Other uploads put their chunks between those of this one.
  const [file] = await Promise.all([upload(data), upload(randomBytes(9 * CHUNK_BYTES)), upload(PNG)]);
  for (const [start, end] of [
    [0, 1],
    [CHUNK_BYTES - 1, CHUNK_BYTES + 1],
    [5, data.length],
    [7 * CHUNK_BYTES, 8 * CHUNK_BYTES],
  ] as const)
    expect((await content(file.id, ann, { start, end })).equals(data.subarray(start, end))).toBe(true);
  const counted = countingStore(store);
  const { record } = await findFile(deps, ann, live, file.id);
  for await (const part of contentOf({ ...deps, store: counted.store }, live.orb, record, {
    start: 4 * CHUNK_BYTES,
    end: 4 * CHUNK_BYTES + 9,
  }))
    expect(part).toHaveLength(9);
  expect(counted.calls.filter((name) => name !== "get")).toEqual(["getSeq"]);
});

it("reads the content of a small file once in a long-lived process, and checks the rights each time", async () => {
  const data = randomBytes(2 * CHUNK_BYTES + 5);
  const { id } = await upload(data);
  const counted = countingStore(store);
  const host: TestDeps = {
    ...deps,
    config: { ...deps.config },
    store: { ...counted.store, isCached: true } as TestDeps["store"],
  };
  const read = async () => {
    counted.reset();
    const { record } = await findFile(host, ann, live, id);
    const got: Uint8Array[] = [];
    for await (const part of contentOf(host, live.orb, record, { start: 3, end: record.size }))
      got.push(part);
    expect(Buffer.concat(got).equals(data.subarray(3))).toBe(true);
    return counted.calls;
  };
  expect([await read(), await read()]).toEqual([["get", "scan"], ["get"]]);
  expect((await failureOf(findFile(host, bob, live, id))).code).toBe("file_not_found");
});

it("reads a large file from the broker once for all downloads of a host, and then from the host's disk", async () => {
  const data = randomBytes(40 * CHUNK_BYTES + 77);
  const { id } = await upload(data);
  const disk = new ContentFile(16 * 1024 * 1024, CHUNK_BYTES, (error) => expect.fail(String(error)));
  onTestFinished(() => disk.close());
  const counted = countingStore(store);
  const host = { ...deps, store: counted.store };
  const { record } = await findFile(host, ann, live, id);
  const read = async (start = 0, end = record.size) => {
    const got: Uint8Array[] = [];
    for await (const part of contentOf(host, live.orb, record, { start, end }, disk)) got.push(part.slice());
    expect(Buffer.concat(got).equals(data.subarray(start, end))).toBe(true);
  };
  counted.reset();
  await Promise.all([read(), read(), read()]);
  // One read takes three chunks.
  expect(counted.calls.length).toBeLessThanOrEqual(20);
  await until(async () => {
    counted.reset();
    await Promise.all([read(), read(5, 700_000), read(3 * CHUNK_BYTES - 1, 3 * CHUNK_BYTES + 1)]);
    return counted.calls.length === 0;
  });
});

it("waits for an object store that another upload is creating", async () => {
  let failures = 2;
  const starting = countingStore(store, (call) => {
    if (call === "get" && failures-- > 0) throw unavailable("the stream does not respond");
  });
  const { size } = await upload(PNG, ann, {}, testDeps(starting.store));
  expect([size, failures]).toEqual([PNG.length, -1]);
});

it("stores an empty file", async () => {
  const { id, size, type } = await upload(new Uint8Array(0));
  expect([size, type, (await content(id)).length]).toEqual([0, "text/plain", 0]);
});

it("rejects a body that is too large, has another digest or breaks off, and leaves nothing of it", async () => {
  const before = await chunkSubjects();
  const small = testDeps(store, { fileBytes: 6 * CHUNK_BYTES });
  const large = () => upload(randomBytes(8 * CHUNK_BYTES), ann, {}, small);
  expect((await failureOf(large())).code).toBe("file_too_large");
  expect((await failureOf(upload(PNG, ann, { length: 1e12 }, small))).code).toBe("file_too_large");
  const wrong = await failureOf(upload(randomBytes(8 * CHUNK_BYTES), ann, { sha256: "0".repeat(64) }));
  expect(wrong.errors?.[0]).toMatchObject({ code: "digest_mismatch" });
  async function* broken() {
    yield* partsOf(randomBytes(7 * CHUNK_BYTES));
    throw new Error("cut");
  }
  await expect(upload(PNG, ann, { body: broken() })).rejects.toThrow("cut");
  await Promise.all([small.settled(), deps.settled()]);
  expect(await chunkSubjects()).toEqual(before);
});

it("ends a long upload whose caller lost the right to write", async () => {
  let asked = 0;
  const authority = async () => ({ actor: asked++ === 0 ? ann : anonymous, live });
  expect((await failureOf(upload(randomBytes(6 * CHUNK_BYTES), ann, { authority }))).code).toBe(
    "authentication_required",
  );
  expect((await failureOf(upload(PNG, anonymous))).code).toBe("authentication_required");
});

it("attaches a file to an entry, and returns its properties", async () => {
  const file = await upload(PNG, ann, { name: "../a/\u202esun \u0000\r\nset.png" });
  const made = await create({
    image: { file: file.id },
    papers: [{ file: (await upload(Buffer.from("hello"))).id }],
  });
  expect(made.snapshot.values.image).toEqual({
    file: file.id,
    url: `/api/album/files/${file.id}/sun%20set.png`,
    type: "image/png",
    size: PNG.length,
    name: "sun set.png",
    sha256: createHash("sha256").update(PNG).digest("hex"),
  });
  // A client may send back the value that it read.
  const target = { orbId: live.orb, orb: live, id: made.snapshot.id };
  const again = await updateEntry(deps, ann, {
    ...target,
    values: { ...made.snapshot.values, title: "Sun" },
  });
  expect(again.snapshot.values).toEqual({ ...made.snapshot.values, title: "Sun" });
});

it("rejects files that are missing, of another type, too large or of another caller", async () => {
  const faultOf = async (values: unknown, actor: Actor = ann) =>
    (await failureOf(create(values, actor))).errors?.map(({ path, code }) => `${path} ${code}`);
  const mine = await upload(PNG);
  const text = await upload(Buffer.from("just text"), ann, { type: "image/png" });
  const big = await upload(Buffer.concat([PNG, randomBytes(1_000)]));
  expect(await faultOf({ image: { file: "unknown" } })).toEqual(["/values/image unknown_file"]);
  expect(await faultOf({ image: { file: "a.*" } })).toEqual(["/values/image/file format"]);
  expect(await faultOf({ image: mine.id })).toEqual(["/values/image type"]);
  expect(await faultOf({ image: { file: mine.id } }, bob)).toEqual(["/values/image unknown_file"]);
  expect(await faultOf({ image: { file: text.id } })).toEqual(["/values/image file_type"]);
  expect(await faultOf({ image: { file: big.id } })).toEqual(["/values/image too_big"]);
  expect(await faultOf({ papers: [{ file: mine.id }, { file: "x" }] })).toEqual([
    "/values/papers/1 unknown_file",
  ]);
  // A caller who knows the hash of a file that another account uploaded cannot get the content.
  expect(await faultOf({ image: { file: mine.sha256 } }, bob)).toEqual(["/values/image unknown_file"]);
});

it("lets callers read a file as the entries and fields that have it", async () => {
  const codeOf = async (id: string, actor: Actor) =>
    findFile(deps, actor, live, id).then(
      ({ reading }) => reading,
      ({ code }) => code,
    );
  const image = await upload(PNG);
  expect([
    await codeOf(image.id, ann),
    await codeOf(image.id, bob),
    await codeOf(image.id, anonymous),
  ]).toEqual(["private", "file_not_found", "authentication_required"]);
  const [shared, hidden] = [await upload(Buffer.from("shared")), await upload(Buffer.from("hidden"), admin)];
  const values = { image: { file: image.id }, shared: { file: shared.id } };
  const { snapshot } = await create(values);
  expect([await codeOf(image.id, anonymous), await codeOf(shared.id, anonymous)]).toEqual([
    "authentication_required",
    "public",
  ]);
  const target = { orbId: live.orb, orb: live, id: snapshot.id };
  await updateEntry(deps, admin, {
    ...target,
    values: { ...snapshot.values, hidden: { file: hidden.id } },
    publish: true,
  });
  expect([
    await codeOf(image.id, anonymous),
    await codeOf(hidden.id, ann),
    await codeOf(hidden.id, admin),
  ]).toEqual(["open", "file_not_found", "private"]);
  // The newest draft no longer has the image, but the published revision does.
  await updateEntry(deps, admin, { ...target, values: { title: "none" } });
  expect([await codeOf(image.id, anonymous), await codeOf(hidden.id, admin)]).toEqual(["open", "private"]);
  // The reading of a file that everyone may read is the same for each caller.
  expect([await codeOf(image.id, ann), await codeOf(image.id, admin)]).toEqual(["open", "open"]);
  await updateEntry(deps, admin, { ...target, values: { title: "none" }, publish: true });
  expect([
    await codeOf(image.id, anonymous),
    await codeOf(image.id, admin),
    await codeOf(shared.id, anonymous),
  ]).toEqual(["authentication_required", "private", "authentication_required"]);
});

it("lets callers read a file of a change set, and frees it when its new entry leaves the set", async () => {
  const inSet = async (image: string) => {
    const set = newSet(deps, ann, { title: "Pictures" });
    await store.append(streams.orb(live.orb), setMessage(live.orb, set, 0));
    const { deps: within, into } = await writingInto(deps, callerIn(ann, live), live, set.id);
    const values = { image: { file: image } };
    const input = { orbId: live.orb, orb: live, module: "pictures", values, into };
    const { snapshot } = await createEntry(within, ann, input);
    return { set: set.id, id: snapshot.id };
  };
  const [taken, deleted, closed, kept] = [
    await upload(randomPng()),
    await upload(randomPng()),
    await upload(randomPng()),
    await upload(randomPng()),
  ];
  const first = await inSet(taken.id);
  expect((await findFile(deps, ann, live, taken.id)).reading).toBe("private");
  expect((await findFile(deps, admin, live, taken.id)).reading).toBe("private");
  expect((await failureOf(findFile(deps, bob, live, taken.id))).code).toBe("file_not_found");
  expect((await failureOf(findFile(deps, anonymous, live, taken.id))).code).toBe("authentication_required");
  await takeOut(deps, callerIn(ann, live), live, { set: first.set, entry: first.id });
  const second = await inSet(deleted.id);
  const { deps: within, into } = await writingInto(deps, callerIn(ann, live), live, second.set);
  await deleteEntry(within, ann, { orbId: live.orb, orb: live, id: second.id, into });
  const third = await inSet(closed.id);
  await closeSet(deps, ann, { orbId: live.orb, orb: live, set: third.set });
  await releaseClosed(deps, live, third.set);
  for (const { id } of [taken, deleted, closed]) {
    expect((await readRecord(deps, live.orb, id))?.record.entries).toEqual([]);
    expect((await failureOf(findFile(deps, bob, live, id))).code).toBe("file_not_found");
    // The uploader may use it again.
    await create({ image: { file: id } });
  }
  const last = await inSet(kept.id);
  await publishSet(deps, ann, { orbId: live.orb, orb: live, set: last.set });
  expect((await findFile(deps, anonymous, live, kept.id)).reading).toBe("open");
});

it("sends no request for files when a write has none", async () => {
  const counted = countingStore(store, undefined, 5);
  await create({ title: "plain" }, ann, { ...deps, store: counted.store as TestDeps["store"] });
  expect([counted.trips, counted.calls]).toEqual([1, ["pipeline"]]);
});

it("gives a file to an entry only if the file has not expired", async () => {
  const { id } = await upload(PNG, ann, { lifetime: 1 });
  const late: Store["batch"] = async (stream, messages) => {
    await expired(id);
    return store.batch(stream, messages);
  };
  const slow = { ...deps, store: { ...store, batch: late } } as TestDeps;
  expect((await failureOf(create({ image: { file: id } }, ann, slow))).errors?.[0]).toMatchObject({
    code: "unknown_file",
  });
  const kept = await upload(PNG, ann, { lifetime: 1 });
  const other = await upload(PNG, ann, { lifetime: 1 });
  await create({ image: { file: kept.id } });
  await expired(other.id);
  expect((await readRecord(deps, live.orb, kept.id))?.record.entries).toHaveLength(1);
});

it("gives one file to several entries at the same time", async () => {
  const file = await upload(PNG);
  await Promise.all(Array.from({ length: 5 }, () => create({ image: { file: file.id } })));
  expect((await readRecord(deps, live.orb, file.id))?.record.entries).toHaveLength(5);
});

it("limits the entries that have a file, and leaves half of them to the uploader", async () => {
  const { id } = await upload(PNG);
  const use = (actor: Actor) => create({ shared: { file: id } }, actor, deps, true);
  const refused = async (actor: Actor) => (await failureOf(use(actor))).errors?.map(({ message }) => message);
  await use(ann);
  for (let n = 0; n < 49; n++) await use(bob);
  const full = (entries: number) => [
    `must not be a file that ${entries} entries have already. Upload the content again.`,
  ];
  expect(await refused(bob)).toEqual(full(50));
  for (let n = 0; n < 50; n++) await use(ann);
  expect(await refused(ann)).toEqual(full(100));
});

it("removes content that no file uses, and keeps the files of entries", async () => {
  const kept = await upload(randomBytes(100));
  await create({ papers: [{ file: kept.id }] });
  const same = randomBytes(2 * CHUNK_BYTES);
  const dropped = await upload(same, ann, { lifetime: 1 });
  await expired(dropped.id);
  await sweepFiles(deps);
  expect(await subjects(fileStream(live.orb), fileSubjects.info(live.orb, dropped.sha256))).toHaveLength(1);
  await sweepLater();
  expect(await subjects(fileStream(live.orb), fileSubjects.info(live.orb, dropped.sha256))).toEqual([]);
  expect(await content(kept.id)).toHaveLength(100);
  // The same content can be uploaded again.
  expect(await content((await upload(same)).id)).toEqual(same);
});

it("removes the files of a purged entry, but not those of others", async () => {
  const own = await upload(randomBytes(200));
  const both = await upload(randomBytes(300));
  const { snapshot } = await create({ papers: [{ file: own.id }, { file: both.id }] });
  await create({ papers: [{ file: both.id }] });
  const at = { orbId: live.orb, orb: live, id: snapshot.id };
  await deleteEntry(deps, admin, { ...at, purge: true });
  expect(await readRecord(deps, live.orb, own.id)).toBeNull();
  expect((await failureOf(findFile(deps, ann, live, own.id, true))).code).toBe("file_not_found");
  expect((await readRecord(deps, live.orb, both.id))?.record.entries).toHaveLength(1);
  await until(
    async () => (await operator.get(streams.orb(live.orb), `${live.orb}._blob.${own.sha256}.*`)) === null,
  );
  await sweepLater();
  expect(await subjects(fileStream(live.orb), fileSubjects.info(live.orb, own.sha256))).toEqual([]);
  expect(await content(both.id)).toHaveLength(300);
});

it("keeps the files of an entry that is restored while it is purged, and restores none whose files are gone", async () => {
  const own = await upload(randomBytes(200));
  const { snapshot } = await create({ papers: [{ file: own.id }] });
  const at = { orbId: live.orb, orb: live, id: snapshot.id };
  await deleteEntry(deps, admin, at);
  let restored = false;
  const racing = countingStore(store, async (call) => {
    if (call !== "batch" || restored) return;
    restored = true;
    await restoreEntry(deps, admin, at);
  });
  const purge = deleteEntry(testDeps(racing.store), admin, { ...at, purge: true });
  expect((await failureOf(purge)).code).toBe("wrong_state");
  expect((await readRecord(deps, live.orb, own.id))?.record.entries).toHaveLength(1);
  // A purge that is interrupted has released the files, and the history is still there.
  await deleteEntry(deps, admin, at);
  await releaseFiles(deps, live.orb, snapshot.id);
  expect(await failureOf(restoreEntry(deps, admin, at))).toMatchObject({
    errors: [{ path: "/values/papers/0", code: "unknown_file" }],
  });
});

it("removes the content of a purged entry at once, if it was stored a day ago and no other file has it", async () => {
  const [own, both] = [randomBytes(200), randomBytes(2 * CHUNK_BYTES)];
  const [first, second, third] = [await upload(own), await upload(both), await upload(both)];
  const { snapshot } = await create({ papers: [{ file: first.id }, { file: second.id }] });
  await create({ papers: [{ file: third.id }] });
  const at = { orbId: live.orb, orb: live, id: snapshot.id, purge: true } as const;
  const later: TestDeps = { ...deps, clock: { now: () => Date.now() + 2 * 86_400_000 } };
  await deleteEntry(later, admin, at);
  await deps.settled();
  const infos = (file: { sha256: string }) =>
    subjects(fileStream(live.orb), fileSubjects.info(live.orb, file.sha256));
  expect([await infos(first), (await infos(second)).length]).toEqual([[], 1]);
  expect(await content(third.id)).toEqual(both);
});

it("keeps the content of a purged entry while an upload of the same content is under way", async () => {
  const data = randomBytes(400);
  const old = await upload(data);
  const { snapshot } = await create({ papers: [{ file: old.id }] });
  const at = { orbId: live.orb, orb: live, id: snapshot.id, purge: true } as const;
  // The purge comes between the last two steps of the upload: its content is stored, but not its record.
  const between: TestDeps = {
    ...deps,
    store: {
      ...store,
      async pipeline(stream, messages) {
        await deleteEntry(deps, admin, at);
        await deps.settled();
        return store.pipeline(stream, messages);
      },
    },
  };
  const again = await upload(data, ann, {}, between);
  expect((await content(again.id)).equals(data)).toBe(true);
});

it("removes the chunks of content marked as deleted before the same content is stored again", async () => {
  const data = randomBytes(60);
  const first = await upload(data, ann, { lifetime: 1 });
  await expired(first.id);
  const before = await chunkSubjects();
  const marked = await readInfo(deps, live.orb, first.sha256);
  if (marked === null) throw new Error("no information");
  // Stop the process of the sweep after it has written the mark.
  await expect(removeObject({ ...deps, store: stoppingStore(store, 1) }, live.orb, marked)).rejects.toThrow(
    Stopped,
  );
  const again = await upload(data);
  expect((await content(again.id)).equals(data)).toBe(true);
  expect((await chunkSubjects()).size).toBe(before.size);
});

it("removes all leftovers and keeps every acknowledged file, wherever an upload stops", async () => {
  await sweepLater();
  const data = randomBytes(6 * CHUNK_BYTES);
  for (const size of [40, data.length]) {
    for (let after = 0; ; after++) {
      const crashing = testDeps(stoppingStore(store, after));
      const before = [await chunkSubjects(), await infoSubjects()];
      const done = await upload(data.subarray(0, size), ann, { lifetime: 1 }, crashing).then(
        (file) => file,
        (error: unknown) => {
          if (!(error instanceof Stopped)) throw error;
        },
      );
      await crashing.settled().catch(() => undefined);
      if (done !== undefined) expect((await content(done.id)).length).toBe(size);
      await until(
        async () =>
          (await operator.get(
            streams.orb(live.orb),
            `${live.orb}._blob.${createHash("sha256").update(data.subarray(0, size)).digest("hex")}.*`,
          )) === null,
      );
      await sweepLater();
      expect([await chunkSubjects(), await infoSubjects()]).toEqual(before);
      if (done !== undefined) break;
    }
  }
  const checks = await operator.get(streams.orb(live.orb), fileSubjects.checks(live.orb));
  expect(checks).toBeNull();
});

it("removes the object store of an orb that is gone", async () => {
  const gone = await installOrb(operator, albumWith(fields, "gone"));
  await upload(PNG, ann, { orb: "gone", authority: async () => ({ actor: ann, live: gone }) });
  await operator.deleteStream(streams.orb("gone"));
  await operator.kvDelete("orbs", "gone");
  await sweepFiles(deps);
  expect(await operator.streamInfo(fileStream("gone"))).toBeNull();
});

it("gives one file to several entries of a batch", async () => {
  const { id } = await upload(randomBytes(100));
  const items = ["a", "b"].map((title) => ({
    create: "pictures",
    values: { title, papers: [{ file: id }] },
  }));
  const { items: made } = await writeBatch(deps, ann, { orbId: live.orb, orb: live, items, routed: true });
  const record = await readRecord(deps, live.orb, id);
  expect(record?.record.entries.map((use) => use.id)).toEqual(made.map((one) => one.id));
});

it("lets a batch use a file of an entry that it publishes beside a draft", async () => {
  const [published, drafted] = await Promise.all([upload(randomBytes(100)), upload(randomBytes(101))]);
  const target = { orbId: live.orb, orb: live };
  const papers = [{ file: published.id }];
  const { snapshot } = await createEntry(deps, ann, {
    ...target,
    module: "pictures",
    values: { title: "live", papers },
    publish: true,
  });
  const values = { title: "draft", papers: [...papers, { file: drafted.id }] };
  await updateEntry(deps, ann, { ...target, id: snapshot.id, values });
  const items = [
    { update: `pictures/picture/${snapshot.id}`, values: { papers }, publish: true },
    { create: "pictures", values: { title: "other", papers } },
  ];
  const { items: made } = await writeBatch(deps, ann, { ...target, items, routed: true });
  expect(made.map(({ revision }) => revision)).toEqual([4, 1]);
});
