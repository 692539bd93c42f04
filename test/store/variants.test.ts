/** Variants of images in the broker: made once, removed with their image, whatever stops in between. */
import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, it } from "vitest";
import { programsIn } from "../../scripts/bundle/layout.ts";
import { openImages } from "../../scripts/images/pool.ts";
import { contentOf } from "../../shared/files/download.ts";
import { type FileRecord, readRecord } from "../../shared/files/record.ts";
import { uploadFile } from "../../shared/files/upload.ts";
import { variantFile } from "../../shared/files/variants.ts";
import { headerOf } from "../../shared/images/header.ts";
import { variantKey, variantOf } from "../../shared/images/variant.ts";
import { fileStream, fileSubjects } from "../../shared/store/file-subjects.ts";
import { streams } from "../../shared/store/subjects.ts";
import { fileAlbum, partsOf, sha256 } from "../support/album.ts";
import { Stopped, stoppingStore } from "../support/counting.ts";
import { failureOf, type TestDeps, testDeps } from "../support/entries.ts";
import { BLUE, picture, png, RED } from "../support/images.ts";
import { testPrograms } from "../support/programs.ts";
import { until } from "../support/races.ts";

const album = await fileAlbum([{ name: "image", type: "file" }]);
const { store, operator, live, ann, sweepLater } = album;
const { imageThread, images: codecs } = programsIn(testPrograms());
const images = openImages(imageThread, codecs);
afterAll(() => images.stop());
const deps: TestDeps = { ...testDeps(store), images: images.make };
const small = variantOf({ w: 20, h: 20, fit: "cover" });
const large = variantOf({ w: 50 });

async function upload(width: number, lifetime = 3_600): Promise<FileRecord> {
  const { id } = await uploadFile(deps, {
    orb: live.orb,
    body: partsOf(await png(picture(width, 40, RED, BLUE))),
    hash: sha256(),
    authority: async () => ({ actor: ann, live }),
    lifetime,
  });
  const found = await readRecord(deps, live.orb, id);
  if (found === null) throw new Error("no record");
  return found.record;
}

const variant = (file: FileRecord, wanted = small, by: TestDeps = deps) =>
  variantFile(by, live, file, wanted);
const gone = (id: string) => until(async () => (await readRecord(deps, live.orb, id)) === null);

const subjects = async (stream: string, filter: string) => (await album.subjects(stream, filter)).sort();
const content = () => subjects(fileStream(live.orb), "$O.>");
const ofVariants = () => subjects(streams.orb(live.orb), `${live.orb}._variant.>`);

async function bytesOf(file: FileRecord): Promise<Uint8Array> {
  const parts: Uint8Array[] = [];
  for await (const part of contentOf(deps, live.orb, file, { start: 0, end: file.size })) parts.push(part);
  return Buffer.concat(parts);
}

it("makes a variant once, and finds it again without the image worker", async () => {
  const file = await upload(101);
  const [one, two] = await Promise.all([variant(file), variant(file)]);
  expect(one).toEqual(two);
  expect(headerOf(await bytesOf(one))).toMatchObject({ format: "webp", width: 20, height: 20 });
  const without = testDeps(store);
  expect(await variant(file, small, without)).toEqual(one);
  expect(await failureOf(variant(file, large, without))).toMatchObject({
    kind: "unavailable",
    code: "images_not_deployed",
  });
});

it("removes the variants of an image with its content, and keeps those of another one", async () => {
  await sweepLater();
  const kept = await variant(await upload(102));
  const before = [await content(), await ofVariants()];
  const file = await upload(103, 2);
  await variant(file);
  await variant(file, large);
  expect((await ofVariants()).length).toBe((before[1]?.length ?? 0) + 2);
  await gone(file.id);
  await sweepLater();
  expect([await content(), await ofVariants()]).toEqual(before);
  expect((await bytesOf(kept)).length).toBe(kept.size);
});

it("the sweep removes all leftovers, wherever the making of a variant stops", async () => {
  await sweepLater();
  const before = [await content(), await ofVariants()];
  const files: FileRecord[] = [];
  for (let after = 0, stopped = true; stopped; after++) {
    const file = await upload(200 + after, 2);
    files.push(file);
    const crashing = { ...testDeps(stoppingStore(store, after)), images: images.make };
    stopped = await variant(file, small, crashing).then(
      () => false,
      (error: unknown) => error instanceof Stopped,
    );
    if (!stopped) break;
    // The claim of the stopped process expires.
    const message = fileSubjects.variant(live.orb, file.sha256, variantKey(small));
    const claim = await operator.get(streams.orb(live.orb), message);
    if (claim?.json<{ made?: unknown }>().made === undefined)
      await operator.purge(streams.orb(live.orb), message);
    expect(headerOf(await bytesOf(await variant(file)))).toMatchObject({ width: 20, height: 20 });
  }
  await Promise.all(files.map(({ id }) => gone(id)));
  await sweepLater();
  expect([await content(), await ofVariants()]).toEqual(before);
});

it("does not decode an image at once again that ended the image worker", async () => {
  const script = join(mkdtempSync(join(tmpdir(), "images-")), "dies.mjs");
  writeFileSync(
    script,
    'import { parentPort } from "node:worker_threads"; parentPort.on("message", () => process.exit(1));',
  );
  const dying = openImages(script, codecs);
  const file = await upload(105);
  const failing = { ...deps, images: dying.make };
  expect((await failureOf(variant(file, small, failing))).code).toBe("images_failed");
  const [claim = ""] = await subjects(streams.orb(live.orb), fileSubjects.variantsOf(live.orb, file.sha256));
  expect(claim).toContain(variantKey(small));
  // Another variant is not affected.
  expect((await variant(file, large)).type).toBe("image/webp");
  await dying.stop();
});
