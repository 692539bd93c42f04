/** The library of files in the broker: races of changes, deletions and entries, and what a list costs. */
import { expect, it } from "vitest";
import { createEntry } from "../../shared/entry/index.ts";
import { ASSET_LIMITS, readTags, tagsMessage } from "../../shared/files/assets/index.ts";
import { readRecord } from "../../shared/files/record.ts";
import { uploadFile } from "../../shared/files/upload.ts";
import { AppError } from "../../shared/kernel/errors.ts";
import { deleteFile, describeFile, updateFile } from "../../shared/media/describe.ts";
import { listFiles } from "../../shared/media/list.ts";
import { replaceFile } from "../../shared/media/replace.ts";
import { changeTag, listTags, tagFiles } from "../../shared/media/tags.ts";
import { fileSubjects } from "../../shared/store/file-subjects.ts";
import { streams } from "../../shared/store/subjects.ts";
import type { Store } from "../../shared/store/types.ts";
import { fileAlbum, partsOf, sha256 } from "../support/album.ts";
import { countingStore } from "../support/counting.ts";
import { failureOf, type TestDeps, testDeps, user } from "../support/entries.ts";
import { until } from "../support/races.ts";

const { store, deps, live, sweepLater, subjects } = await fileAlbum([
  { name: "title", type: "string" },
  { name: "paper", type: "file" },
]);

/** May change the entries of others. */
const ann = user("ann", "admin");

let number = 0;
async function upload(by: TestDeps = deps, lifetime = 3_600): Promise<string> {
  const { id } = await uploadFile(by, {
    orb: live.orb,
    body: partsOf(Buffer.from(`paper ${++number}`)),
    name: `paper-${number}.txt`,
    hash: sha256(),
    authority: async () => ({ actor: ann, live }),
    lifetime,
  });
  return id;
}

const attach = (id: string, by: TestDeps = deps) =>
  createEntry(by, ann, {
    ...{ orbId: live.orb, orb: live, module: "pictures" },
    values: { title: "one", paper: { file: id } },
  });

/** Returns dependencies whose first batch is sent only after something else has happened. */
function beforeBatch(act: () => Promise<unknown>): TestDeps {
  let acted = false;
  const held: Store = new Proxy(store, {
    get(target, name) {
      if (name !== "batch") return Reflect.get(target, name);
      return async (...args: Parameters<Store["batch"]>) => {
        if (!acted) {
          acted = true;
          await act();
        }
        return target.batch(...args);
      };
    },
  });
  return testDeps(held);
}

it("merges two changes of the same moment, and lets only one of two with If-Match through", async () => {
  const id = await upload();
  await Promise.all([
    updateFile(deps, ann, live, { id }, { tags: ["first"] }),
    updateFile(deps, ann, live, { id }, { alt: { en: "second" } }),
  ]);
  const both = await describeFile(deps, ann, live, id);
  expect(both).toMatchObject({ revision: 3, tags: ["first"], alt: { en: "second" } });
  const change = (tag: string) =>
    updateFile(deps, ann, live, { id, ifMatch: 3 }, { tags: [tag] }).catch((error: unknown) => error);
  const outcomes = await Promise.all([change("a"), change("b")]);
  const refused = outcomes.filter((one) => one instanceof AppError);
  expect(refused).toMatchObject([{ code: "revision_mismatch" }]);
  expect((await describeFile(deps, ann, live, id)).revision).toBe(4);
});

it("gives a new tag one id, and keeps all tags, although several changes bring new ones at once", async () => {
  const files = await Promise.all(Array.from({ length: 6 }, () => upload()));
  await Promise.all([
    ...files.map((id, at) => updateFile(deps, ann, live, { id }, { tags: ["race", `race-${at}`] })),
    tagFiles(deps, ann, live, { files: [await upload()], add: ["race", "race-several"], remove: [] }),
  ]);
  expect((await listTags(deps, ann, live)).filter((tag) => tag.startsWith("race"))).toHaveLength(8);
  // A rename of the same moment counts for a file in whichever order the two are written.
  const [id = ""] = files;
  await Promise.all([
    changeTag(deps, ann, live, { from: "race", to: "raced" }),
    updateFile(deps, ann, live, { id }, { alt: { en: "words" } }),
  ]);
  const { items } = await listFiles(deps, ann, live, { limit: 100, tag: "raced" });
  expect(items).toHaveLength(7);
  expect(await describeFile(deps, ann, live, id)).toMatchObject({ alt: { en: "words" } });
});

it("refuses new tags beyond the limit, and stores nothing then", async () => {
  const names = new Map(Array.from({ length: ASSET_LIMITS.allTags }, (_, at) => [`~${at}`, `many-${at}`]));
  const { seq } = await readTags(deps, live.orb);
  await store.batch(streams.orb(live.orb), [tagsMessage(live.orb, names, seq)]);
  const id = await upload();
  await updateFile(deps, ann, live, { id }, { tags: ["many-1"] });
  const more = updateFile(deps, ann, live, { id }, { tags: ["one more"], alt: { en: "words" } });
  expect(await failureOf(more)).toMatchObject({ errors: [{ path: "/tags", code: "too_many" }] });
  const several = tagFiles(deps, ann, live, { files: [id], add: ["one more"], remove: [] });
  expect(await failureOf(several)).toMatchObject({ errors: [{ path: "/add", code: "too_many" }] });
  expect(await describeFile(deps, ann, live, id)).toMatchObject({ tags: ["many-1"], alt: {} });
});

it("does not delete a file that an entry begins to use at the same time", async () => {
  const id = await upload();
  const deleting = deleteFile(
    beforeBatch(() => attach(id)),
    ann,
    live,
    { id },
  );
  expect(await failureOf(deleting)).toMatchObject({ code: "file_in_use", data: { uses: 1 } });
  expect((await readRecord(deps, live.orb, id))?.record.entries).toHaveLength(1);
});

it("does not let an entry use a file that is deleted at the same time", async () => {
  const id = await upload();
  const creating = attach(
    id,
    beforeBatch(() => deleteFile(deps, ann, live, { id })),
  );
  expect(await failureOf(creating)).toMatchObject({ errors: [{ code: "unknown_file" }] });
});

it("keeps what an entry begins to use while the description changes", async () => {
  const id = await upload();
  await updateFile(
    beforeBatch(() => attach(id)),
    ann,
    live,
    { id },
    { alt: { en: "words" } },
  );
  const { record } = (await readRecord(deps, live.orb, id)) ?? {};
  expect(record).toMatchObject({ asset: { alt: { en: "words" } }, entries: [{ schema: "picture" }] });
});

it("replaces a file also in an entry that begins to use it at the same time", async () => {
  const [old, next] = [await upload(), await upload()];
  await attach(old);
  const meanwhile = beforeBatch(() => attach(old));
  const { changed } = await replaceFile(meanwhile, ann, live, { id: old, by: next });
  expect(changed).toHaveLength(2);
  const { usedIn } = await describeFile(deps, ann, live, old);
  expect(usedIn.filter(({ newest }) => newest)).toEqual([]);
});

it("keeps a described file and its content, and removes an upload without a description", async () => {
  const [kept, left] = [await upload(deps, 2), await upload(deps, 2)];
  await updateFile(deps, ann, live, { id: kept }, {});
  await until(async () => (await readRecord(deps, live.orb, left)) === null);
  await sweepLater();
  const { record } = (await readRecord(deps, live.orb, kept)) ?? {};
  expect(record?.asset?.revision).toBe(2);
  const uses = await subjects(streams.orb(live.orb), fileSubjects.contentOf(live.orb, record?.sha256 ?? ""));
  expect(uses).toHaveLength(1);
});

it("lists a page with few requests, however many files and entries there are", async () => {
  const before = new Set((await listFiles(deps, ann, live, { limit: 100 })).items.map(({ id }) => id));
  const mine: string[] = [];
  for (let i = 0; i < 40; i++) mine.unshift(await upload());
  for (let i = 0; i < 200; i++)
    await createEntry(deps, ann, {
      ...{ orbId: live.orb, orb: live, module: "pictures" },
      values: { title: `${i}` },
    });
  const counted = countingStore(store);
  const page = await listFiles({ ...deps, store: counted.store }, ann, live, { limit: 24 });
  expect(page.items.map(({ id }) => id)).toEqual(mine.slice(0, 24));
  // The newest record, and a few windows before it.
  expect(counted.calls.length).toBeLessThanOrEqual(6);
  const found: string[] = page.items.map(({ id }) => id);
  for (let { next } = page; next !== null; ) {
    const more = await listFiles(deps, ann, live, { limit: 24, before: next });
    found.push(...more.items.map(({ id }) => id));
    next = more.next;
  }
  expect(new Set(found)).toEqual(new Set([...mine, ...before]));
  expect(found).toHaveLength(new Set(found).size);
});

it("lists files with the largest descriptions", async () => {
  const languages = [..."abcdefghijklmnop"].map((letter) => `a${letter}`);
  const context = { ...live, compiled: { ...live.compiled, languages } };
  const large = Object.fromEntries(languages.map((language) => [language, "語".repeat(2_000)]));
  const mine: string[] = [];
  for (let i = 0; i < 3; i++) {
    const id = await upload();
    await updateFile(deps, ann, context, { id }, { caption: large });
    mine.unshift(id);
  }
  await upload();
  for (const limit of [1, 3]) {
    const found: string[] = [];
    for (let next: number | null | undefined; next !== null && found.length < 3; ) {
      const query = { limit, search: "語", ...(next === undefined ? {} : { before: next }) };
      const page = await listFiles(deps, ann, context, query);
      found.push(...page.items.map(({ id }) => id));
      ({ next } = page);
    }
    expect(found).toEqual(mine);
  }
  const more = updateFile(deps, ann, context, { id: mine[0] ?? "" }, { alt: { aa: "one more" } });
  expect(await failureOf(more)).toMatchObject({ errors: [{ path: "/alt", code: "too_long" }] });
});
