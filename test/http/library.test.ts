/** The library of files: what it lists, who may see and change it, variants of a crop, required texts, replacement. */
import { beforeAll, describe, expect, test } from "vitest";
import { headerOf } from "../../shared/images/header.ts";
import { user } from "../support/auth.ts";
import { fileAdmin } from "../support/file-admin.ts";
import { BLUE, jpeg, picture, png, RED } from "../support/images.ts";

const { platform, token, as } = await fileAdmin();
const ORB = "library";
const files = `/api/${ORB}/files`;
const managed = `/api/admin/orbs/${ORB}/files`;
const THUMB = "w=320&h=320&fit=contain&format=webp";
/** A user who may write articles, and one who may write only notes of their own. */
let editor: string;
let visitor: string;
/** A user who may write drafts of pages, and not publish them. */
let drafter: string;

const access = (read: string, create: string, change: string) => ({
  ...{ read: [read], create: [create], update: [change], publish: [change], delete: [change] },
});

beforeAll(async () => {
  const image = { name: "image", type: "file", variants: [{ w: 20, h: 20, fit: "cover", format: "png" }] };
  const made = await as("POST", "/api/admin/orbs?publish=true", {
    id: ORB,
    languages: ["en", "de"],
    uses: [{ service: "access", handlers: ["passkey", "invitations"] }],
    roles: [
      { id: "writer", name: "Writers" },
      { id: "drafter", name: "Drafters" },
    ],
    modules: [
      {
        id: "news",
        type: "CONTENT",
        schemas: [
          {
            id: "article",
            access: access("public", "writer", "writer"),
            fields: [
              { name: "title", type: "string" },
              image,
              { name: "cover", type: "file", altRequired: true },
              { name: "gallery", type: "file", list: true },
              {
                name: "parts",
                type: "object",
                list: true,
                fields: [
                  { name: "picture", type: "file", translatable: true },
                  { name: "secret", type: "string", sensitive: true },
                ],
              },
            ],
          },
          {
            id: "note",
            access: access("own", "user", "own"),
            fields: [{ name: "paper", type: "file" }],
          },
          {
            id: "page",
            access: {
              ...{ read: "public", publish: ["writer"], delete: ["writer"] },
              ...{ create: ["writer", "drafter"], update: ["writer", "drafter"] },
            },
            fields: [{ name: "hero", type: "file", accept: ["image/*"], altRequired: true }],
          },
        ],
      },
    ],
  });
  expect(made.status, JSON.stringify(made.body)).toBe(201);
  editor = (await user(platform, ORB, "writer")).token;
  visitor = (await user(platform, ORB)).token;
  drafter = (await user(platform, ORB, "drafter")).token;
});

const send = (path: string, by: string, init: RequestInit = {}) =>
  fetch(platform.origin + path, {
    ...init,
    headers: { ...(by === "" ? {} : { authorization: `Bearer ${by}` }), ...init.headers },
  });

async function upload(body: Uint8Array<ArrayBuffer>, name = "sun.png", by = editor): Promise<string> {
  const answer = await send(`${files}?name=${name}`, by, { method: "POST", body });
  expect(answer.status).toBe(201);
  return ((await answer.json()) as { id: string }).id;
}

const JSON_TYPE = { "content-type": "application/json" };

/** Reads as a visitor without an account. */
const anyone = async (path: string) => JSON.parse(await (await send(path, "")).text());

let shade = 0;
/** Returns an image that no other test uploads. */
const image = (width = 64, height = 32) => png(picture(width, height, RED, [++shade % 256, 1, 2, 255]));

const article = async (values: object, publish = false, by = editor) => {
  const path = `/api/${ORB}/news/article${publish ? "?publish=true" : ""}`;
  return as("POST", path, { values }, by);
};
const describeOf = (id: string, by = editor) => as("GET", `${files}/${id}?describe=true`, undefined, by);
const patch = (id: string, body: object, by = editor) => as("PATCH", `${files}/${id}`, body, by);
const listed = async (query = "", by = editor): Promise<string[]> => {
  const ids: string[] = [];
  let cursor = "";
  do {
    const { status, body } = await as("GET", `${files}?limit=5${query}${cursor}`, undefined, by);
    expect(status, JSON.stringify(body)).toBe(200);
    ids.push(...body.items.map(({ id }: { id: string }) => id));
    cursor = body.nextCursor === null ? "" : `&cursor=${body.nextCursor}`;
  } while (cursor !== "");
  return ids;
};

describe("the list", () => {
  test("has all files that the caller may see, page by page, and the same for platform admins", async () => {
    const mine: string[] = [];
    for (let i = 0; i < 7; i++) {
      const id = await upload(await image(), `list-${i}.png`);
      mine.push(id);
      if (i % 2 === 0) expect((await article({ title: `list ${i}`, image: { file: id } })).status).toBe(201);
      else expect((await patch(id, { tags: ["listed"] })).status).toBe(200);
    }
    const found = await listed("&search=list-");
    expect([...found].sort()).toEqual([...mine].sort());
    expect(new Set(found).size).toBe(mine.length);
    const { body } = await as("GET", `${managed}?search=list-&limit=100`);
    expect(body.items.map(({ id }: { id: string }) => id)).toEqual(found);
    expect(await listed("&search=LIST-3%20png")).toEqual([mine[3]]);
    expect(await listed("&search=list-&only=unused")).toHaveLength(3);
    expect(await listed("&search=list-&tag=listed")).toHaveLength(3);
    expect(await listed("&search=list-&type=image/*")).toHaveLength(7);
    expect(await listed("&search=list-&type=text/plain")).toEqual([]);
  });

  test("is closed to anonymous callers, and to users who may not read the drafts of others", async () => {
    const id = await upload(await image(), "closed.png");
    expect((await patch(id, {})).status).toBe(200);
    for (const [method, path] of [
      ["GET", files],
      ["GET", `${files}/${id}?describe=true`],
      ["PATCH", `${files}/${id}`],
      ["DELETE", `${files}/${id}`],
      ["POST", `${files}/${id}/replace`],
    ] as const) {
      const body = method === "GET" || method === "DELETE" ? undefined : { by: "x", unknown: true };
      const init = body === undefined ? {} : { body: JSON.stringify(body), headers: JSON_TYPE };
      expect((await send(path, "", { method, ...init })).status, `${method} ${path}`).toBe(401);
      expect((await as(method, path, body, visitor)).status, `${method} ${path}`).toBe(403);
      const twin = path.replace(files, managed).replace("?describe=true", "");
      expect((await as(method, twin, body, editor)).status, `${method} ${twin}`).toBe(403);
    }
    expect((await describeOf(id)).body.tags).toEqual([]);
    // Content of a kept file is readable for those who see it in the library only.
    expect((await send(`${files}/${id}`, editor)).status).toBe(200);
    expect((await send(`${files}/${id}`, visitor)).status).toBe(404);
    expect((await send(`${files}/${id}`, "")).status).toBe(401);
  });

  test("does not show the files of entries that only their authors may read", async () => {
    const paper = await upload(await image(), "private.png", visitor);
    const { status } = await as(
      "POST",
      `/api/${ORB}/news/note`,
      { values: { paper: { file: paper } } },
      visitor,
    );
    expect(status).toBe(201);
    expect(await listed("&search=private")).toEqual([]);
    expect((await describeOf(paper)).status).toBe(404);
    expect((await patch(paper, { tags: ["x"] })).status).toBe(404);
    const { body } = await as("GET", `${managed}/${paper}`);
    expect(body).toMatchObject({ uses: 1, usedIn: [{ schema: "note", newest: true, live: false }] });
  });

  test("does not show unused uploads of others until they are kept", async () => {
    const id = await upload(await image(), "pending.png", visitor);
    expect(await listed("&search=pending")).toEqual([]);
    expect((await describeOf(id)).status).toBe(404);
  });

  test("refuses parameters that it does not know, also together with describe", async () => {
    const id = await upload(await image());
    for (const path of [
      `${files}?sort=name`,
      `${files}?limit=101`,
      `${files}?type=image`,
      `${files}?cursor=abc`,
      `${files}/${id}?describe=true&w=3`,
      `${files}/${id}?describe=yes`,
    ])
      expect((await as("GET", path, undefined, editor)).status, path).toBe(400);
    expect((await as("PUT", files, {}, editor)).status).toBe(405);
    expect((await as("PUT", `${files}/${id}`, {}, editor)).status).toBe(405);
  });
});

describe("the description", () => {
  test("is merged member by member, in versions that If-Match names", async () => {
    const id = await upload(await image());
    expect((await describeOf(id)).body).toMatchObject({ kept: false, revision: 1, uses: 0, usedIn: [] });
    const first = await patch(id, {
      alt: { en: "A sun", de: "Eine Sonne" },
      tags: ["sky", " sky "],
      focal: { x: 0.25, y: 0.123456 },
      crop: { x: 0, y: 0, w: 0.5, h: 1 },
      name: "x/../sunrise.png",
    });
    expect(first.body).toMatchObject({
      ...{ kept: true, revision: 2, name: "sunrise.png", tags: ["sky"], caption: {} },
      ...{ focal: { x: 0.25, y: 0.1235 }, crop: { x: 0, y: 0, w: 0.5, h: 1 } },
    });
    const second = await patch(id, { alt: { de: null }, focal: null, caption: { en: "At noon" } });
    expect(second.body).toMatchObject({ alt: { en: "A sun" }, focal: null, caption: { en: "At noon" } });
    const stale = await send(`${files}/${id}`, editor, {
      method: "PATCH",
      body: JSON.stringify({ tags: [] }),
      headers: { "content-type": "application/json", "if-match": '"2"' },
    });
    expect(stale.status).toBe(412);
    expect((await describeOf(id)).body).toMatchObject({ revision: 3, tags: ["sky"] });
  });

  test("reports every fault at once, and stores nothing then", async () => {
    const id = await upload(await image());
    const { status, body } = await patch(id, {
      ...{ alt: { fr: "Un soleil", en: 5 }, caption: "text", tags: ["", "x".repeat(41)], title: "no" },
      ...{ focal: { x: 2, y: 0 }, crop: { x: 0.6, y: 0, w: 0.5, h: 1 }, name: "" },
    });
    expect(status).toBe(422);
    const paths = body.errors.map(({ path }: { path: string }) => path).sort();
    expect(paths).toEqual(
      ["/alt/en", "/alt/fr", "/caption", "/crop", "/focal", "/name", "/tags/0", "/tags/1", "/title"].sort(),
    );
    const text = await upload(new Uint8Array(Buffer.from("words")), "words.txt");
    expect((await patch(text, { crop: { x: 0, y: 0, w: 1, h: 1 } })).status).toBe(422);
    expect((await describeOf(id)).body).toMatchObject({ kept: false, revision: 1 });
  });

  test("comes with entries that expand the field, in the language of the response", async () => {
    const id = await upload(await image());
    await patch(id, { alt: { en: "A tree", de: "Ein Baum" }, focal: { x: 0.5, y: 0.5 } });
    const made = await article({ title: "tree", image: { file: id }, gallery: [{ file: id }] }, true);
    const path = `/api/${ORB}/news/article/${made.body.id}`;
    const german = await anyone(`${path}?expand=image,gallery&locale=de`);
    const one = { file: id, alt: "Ein Baum", caption: null, focal: { x: 0.5, y: 0.5 }, crop: null };
    expect(german.expand).toEqual({ image: one, gallery: [one] });
    const all = await anyone(`${path}?expand=image&locale=*`);
    expect(all.expand.image.alt).toEqual({ en: "A tree", de: "Ein Baum" });
    const managedOne = await as("GET", `/api/admin/orbs/${ORB}/entries?schema=article&expand=image`);
    expect(managedOne.status).toBe(200);
    const tagOf = async () => (await send(`${path}?expand=image&locale=de`, "")).headers.get("etag");
    const before = await tagOf();
    await patch(id, { alt: { de: "Eine Linde" } });
    expect(await tagOf()).not.toBe(before);
  });
});

describe("a description that readers see", () => {
  const page = (id: string, publish: boolean) =>
    as(
      "POST",
      `/api/${ORB}/news/page${publish ? "?publish=true" : ""}`,
      { values: { hero: { file: id } } },
      editor,
    );

  test("is changed only by callers who may publish, from the publication on", async () => {
    const id = await upload(await image(), "hero.png", drafter);
    const drafted = await page(await upload(await image()), false);
    expect(drafted.status, JSON.stringify(drafted.body)).toBe(201);
    expect((await patch(id, { alt: { en: "A hero" } }, drafter)).status).toBe(200);
    expect((await page(id, true)).status).toBe(201);
    for (const change of [{ alt: { en: "Defaced" } }, { crop: { x: 0, y: 0, w: 0.1, h: 0.1 } }]) {
      const refused = await patch(id, change, drafter);
      expect([refused.status, refused.body.code]).toEqual([403, "file_in_other_entries"]);
      expect((await patch(id, change, editor)).status).toBe(200);
    }
    // Readers see neither.
    expect((await patch(id, { tags: ["mine"], name: "x.png" }, drafter)).status).toBe(200);
  });

  test("keeps the text that a published entry requires", async () => {
    const id = await upload(await image());
    expect((await patch(id, { alt: { en: "A hero", de: "Held" } })).status).toBe(200);
    const made = await page(id, true);
    for (const alt of [null, { en: null }, { en: "" }]) {
      const refused = await patch(id, { alt });
      expect([refused.status, refused.body.errors?.[0].code]).toEqual([422, "alt_required"]);
    }
    expect((await patch(id, { alt: { de: null } })).status).toBe(200);
    const path = `/api/${ORB}/news/page/${made.body.id}/unpublish`;
    expect((await as("POST", path, undefined, editor)).status).toBe(200);
    expect((await patch(id, { alt: null })).status).toBe(200);
  });
});

describe("variants", () => {
  const sizeOf = async (id: string, query: string, by = editor) => {
    const answer = await send(`${files}/${id}?${query}`, by);
    const bytes = new Uint8Array(await answer.arrayBuffer());
    expect(answer.status, Buffer.from(bytes).toString()).toBe(200);
    return { header: headerOf(bytes), bytes: Buffer.from(bytes) };
  };

  test("show only the crop, around the focal point, from the change on", async () => {
    // The upper left quarter is blue.
    const id = await upload(await png(picture(80, 40, RED, BLUE)));
    await article({ title: "cut", image: { file: id } });
    const cover = "w=20&h=20&fit=cover&format=png";
    const whole = await sizeOf(id, cover);
    await patch(id, { focal: { x: 0, y: 0 } });
    const left = await sizeOf(id, cover);
    expect(left.header).toMatchObject({ width: 20, height: 20 });
    expect(left.bytes.equals(whole.bytes)).toBe(false);
    await patch(id, { crop: { x: 0.5, y: 0.5, w: 0.5, h: 0.5 } });
    const right = await sizeOf(id, cover);
    expect(right.bytes.equals(left.bytes)).toBe(false);
    expect((await sizeOf(id, THUMB)).header).toMatchObject({ width: 40, height: 20 });
    await patch(id, { crop: null, focal: null });
    expect((await sizeOf(id, cover)).bytes.equals(whole.bytes)).toBe(true);
  });

  test("include a thumbnail of every image, also one without an entry", async () => {
    const id = await upload(await jpeg(picture(640, 320, RED)));
    expect((await sizeOf(id, THUMB)).header).toMatchObject({ format: "webp", width: 320, height: 160 });
  });
});

describe("a text that a field requires", () => {
  test("is required to publish, not to save, in the default language", async () => {
    const id = await upload(await image());
    const draft = await article({ title: "text", cover: { file: id } });
    expect(draft.status).toBe(201);
    const publish = () => as("POST", `/api/${ORB}/news/article/${draft.body.id}/publish`, undefined, editor);
    const refused = await publish();
    expect([refused.status, refused.body.errors]).toEqual([
      422,
      [expect.objectContaining({ path: "/values/cover", code: "alt_required" })],
    ]);
    await patch(id, { alt: { de: "Nur deutsch" } });
    expect((await publish()).status).toBe(422);
    await patch(id, { alt: { en: "Now in English" } });
    expect((await publish()).status).toBe(200);
    // A new file in the same write is checked too, and a file that is no image needs no text.
    expect((await article({ cover: { file: await upload(await image()) } }, true)).status).toBe(422);
    const words = await upload(new Uint8Array(Buffer.from("words")), "words.txt");
    expect((await article({ cover: { file: words } }, true)).status).toBe(201);
  });
});

describe("a replacement", () => {
  test("writes all entries at once, and keeps older revisions", async () => {
    const [old, next] = [await upload(await image()), await upload(await image(10, 10))];
    await patch(old, { alt: { en: "Our logo" }, tags: ["logo"] });
    const live = await article({ title: "live", cover: { file: old }, gallery: [{ file: old }] }, true);
    const parts = [{ picture: { en: { file: old } }, secret: "hush" }];
    const draft = await article({ title: "draft", parts });
    const both = await article({ title: "both", image: { file: old } }, true);
    const at = (id: string) => `/api/${ORB}/news/article/${id}`;
    await as("PATCH", at(both.body.id), { values: { title: "changed" } }, editor);
    const { status, body } = await as("POST", `${files}/${old}/replace`, { by: next }, editor);
    expect(status, JSON.stringify(body)).toBe(200);
    expect(body.file).toMatchObject({ id: next, uses: 3, alt: { en: "Our logo" }, tags: ["logo"] });
    expect(body.changed.map(({ id }: { id: string }) => id).sort()).toEqual(
      [live, draft, both].map((one) => one.body.id).sort(),
    );
    expect(body.left.map(({ id }: { id: string }) => id)).toEqual([both.body.id]);
    const newest = async (id: string) =>
      (await as("GET", `${at(id)}?revision=latest`, undefined, editor)).body;
    expect((await anyone(at(live.body.id))).values).toMatchObject({
      cover: { file: next, width: 10 },
      gallery: [{ file: next }],
    });
    expect((await newest(draft.body.id)).values.parts[0]).toMatchObject({ picture: { file: next } });
    const revealed = await as("GET", `/api/admin/orbs/${ORB}/entries/${draft.body.id}?reveal=true`);
    expect(revealed.body.values.parts[0].secret).toBe("hush");
    expect((await anyone(at(both.body.id))).values).toMatchObject({
      title: "both",
      image: { file: old },
    });
    const first = await as("GET", `${at(live.body.id)}/revisions/1`, undefined, editor);
    expect(first.body.values.cover.file).toBe(old);
    expect((await send(`${files}/${old}`, editor)).status).toBe(200);
    // The old file is out of sight, and the entries that still show it are known.
    expect(await listed()).not.toContain(old);
    expect(await listed("&only=replaced")).toContain(old);
    const { usedIn, replacedBy } = (await describeOf(old)).body;
    expect(replacedBy).toBe(next);
    expect(usedIn.filter(({ live }: { live: boolean }) => live)).toHaveLength(1);
  });

  test("changes nothing if one entry may not have the new file", async () => {
    const [old, words] = [
      await upload(await image()),
      await upload(new Uint8Array(Buffer.from("words")), "words.txt"),
    ];
    const made = await article({ title: "one", image: { file: old } });
    const other = await upload(await image(), "other.png", visitor);
    expect((await as("POST", `${files}/${old}/replace`, { by: other }, editor)).status).toBe(404);
    expect((await as("POST", `${files}/${old}/replace`, { by: old }, editor)).status).toBe(422);
    expect((await as("POST", `${files}/${old}/replace`, { by: words, more: 1 }, editor)).status).toBe(422);
    const path = `/api/${ORB}/news/article/${made.body.id}?revision=latest`;
    expect((await as("GET", path, undefined, editor)).body).toMatchObject({
      revision: 1,
      values: { image: { file: old } },
    });
    // The new file gets no description either.
    const hero = await upload(await image());
    await patch(hero, { alt: { en: "Text" } });
    const page = await as("POST", `/api/${ORB}/news/page`, { values: { hero: { file: hero } } }, editor);
    expect(page.status).toBe(201);
    expect((await as("POST", `${files}/${hero}/replace`, { by: words }, editor)).status).toBe(422);
    expect((await describeOf(words)).body).toMatchObject({ kept: false, revision: 1, alt: {} });
  });
});

describe("deletion", () => {
  test("is refused while an entry has the file, and removes an unused one", async () => {
    const id = await upload(await image());
    const made = await article({ title: "used", image: { file: id } });
    const remove = () => as("DELETE", `${files}/${id}`, undefined, editor);
    const refused = await remove();
    expect([refused.status, refused.body.code, refused.body.uses]).toEqual([409, "file_in_use", 1]);
    await as("DELETE", `/api/admin/orbs/${ORB}/entries/${made.body.id}`);
    expect((await remove()).status).toBe(409);
    const free = await upload(await image());
    await patch(free, { tags: ["free"] });
    expect((await as("DELETE", `${files}/${free}`, undefined, editor)).status).toBe(204);
    expect((await describeOf(free)).status).toBe(404);
    expect(await listed("&tag=free")).toEqual([]);
    expect((await article({ image: { file: free } })).status).toBe(422);
  });

  test("a kept file survives the purge of its last entry", async () => {
    const id = await upload(await image());
    await patch(id, { alt: { en: "Kept" } });
    const made = await article({ title: "gone", image: { file: id } });
    const gone = await as("DELETE", `/api/admin/orbs/${ORB}/entries/${made.body.id}?purge=true`);
    expect(gone.status).toBe(204);
    expect((await describeOf(id)).body).toMatchObject({ uses: 0, kept: true, alt: { en: "Kept" } });
    const back = await article({ title: "again", image: { file: id } });
    expect(back.status, JSON.stringify(back.body)).toBe(201);
  });
});

describe("tags", () => {
  const tag = (body: object, by = editor) => as("PATCH", files, body, by);
  const tagged = async (...names: string[][]) => {
    const ids: string[] = [];
    for (const tags of names) {
      const id = await upload(await image());
      expect((await patch(id, { tags })).status).toBe(200);
      ids.push(id);
    }
    return ids;
  };

  test("are added to several files and removed from them, or nothing changes", async () => {
    const [one = "", other = ""] = await tagged(["tag-a", "tag-b"], ["tag-b"]);
    const bare = await upload(await image());
    const { status, body } = await tag({ files: [one, other, bare], add: ["tag-c"], remove: ["tag-b"] });
    expect(status, JSON.stringify(body)).toBe(200);
    expect(body.items).toMatchObject([
      { id: one, tags: ["tag-a", "tag-c"], revision: 3 },
      { id: other, tags: ["tag-c"] },
      { id: bare, tags: ["tag-c"], kept: true },
    ]);
    expect([...(await listed("&tag=tag-c"))].sort()).toEqual([one, other, bare].sort());
    expect(await listed("&search=tag-b")).toEqual([]);
    const hidden = await upload(await image(), "private.png", visitor);
    for (const [files, wanted] of [
      [[one, "no-such-file"], 404],
      [[one, hidden], 404],
      [[], 422],
    ] as const)
      expect((await tag({ files, add: ["tag-d"] })).status).toBe(wanted);
    // Both ways to write an accent are the same tag.
    expect((await tag({ files: [one], add: ["Caf\u00e9"] })).status).toBe(200);
    expect(await listed(`&tag=${encodeURIComponent("Cafe\u0301")}`)).toEqual([one]);
    const full = Array.from({ length: 19 }, (_, at) => `full-${at}`);
    expect((await patch(other, { tags: full })).status).toBe(200);
    const over = await tag({ files: [one, other], add: ["tag-d", "tag-e"] });
    expect(over.body.errors).toMatchObject([{ path: "/files/1", code: "too_many" }]);
    expect(await listed("&tag=tag-d")).toEqual([]);
    for (const wrong of [{ add: [] }, { add: [" "] }, { add: ["x"], remove: ["x"] }, { add: ["x"], more: 1 }])
      expect((await tag({ files: [one], ...wrong })).status, JSON.stringify(wrong)).toBe(422);
    expect((await tag({ files: [one], add: ["x"] }, visitor)).status).toBe(403);
  });

  test("are renamed, joined and removed in all files at once, by callers who may change all files", async () => {
    const [one = "", other = ""] = await tagged(["old-name", "rest"], ["new-name"]);
    const rename = (from: string, to: string | null) => as("PATCH", `${managed}/tags`, { from, to });
    const tags = async (by = editor) => (await as("GET", `${files}/tags`, undefined, by)).body.tags;
    const revisionOf = async (id: string) => (await describeOf(id)).body.revision;
    const before = await revisionOf(one);
    const renamed = await rename("old-name", " next-name ");
    expect(renamed.body.tags).toEqual(expect.arrayContaining(["next-name", "new-name"]));
    expect(renamed.body.tags).not.toContain("old-name");
    expect((await describeOf(one)).body.tags).toEqual(["next-name", "rest"]);
    expect(await revisionOf(one)).toBe(before);
    expect(await listed("&tag=next-name")).toEqual([one]);
    // The old name is free. A tag that gets it is another one.
    const [third = ""] = await tagged(["old-name"]);
    expect(await listed("&tag=old-name")).toEqual([third]);
    await rename("next-name", "new-name");
    expect([...(await listed("&tag=new-name"))].sort()).toEqual([one, other].sort());
    await rename("new-name", null);
    expect((await describeOf(one)).body.tags).toEqual(["rest"]);
    expect(await tags()).not.toContain("new-name");
    // A tag of the same name does not bring back what was removed.
    await patch(third, { tags: ["new-name"] });
    expect(await listed("&tag=new-name")).toEqual([third]);

    expect((await rename("no-such-tag", "x")).body.code).toBe("tag_not_found");
    expect((await rename("rest", " ")).body.errors).toMatchObject([{ path: "/to", code: "format" }]);
    const refused = await as("PATCH", `${files}/tags`, { from: "rest", to: "x" }, editor);
    expect(refused.body.code).toBe("file_in_other_entries");
    expect((await as("GET", `${files}/tags`, undefined, visitor)).status).toBe(403);
    expect((await send(`${files}/tags`, "")).status).toBe(401);
    const wrong = await send(`${files}/tags`, editor, { method: "DELETE" });
    expect([wrong.status, wrong.headers.get("allow")]).toEqual([405, "GET, HEAD, PATCH"]);
  });
});

test("the purge of an entry shows its described file to no others", async () => {
  const id = await upload(await image(), "payslip.png", visitor);
  const made = await as("POST", `/api/${ORB}/news/note`, { values: { paper: { file: id } } }, visitor);
  expect((await as("PATCH", `${managed}/${id}`, { alt: { en: "A payslip" } })).status).toBe(200);
  expect((await describeOf(id)).status).toBe(404);
  const gone = await as("DELETE", `/api/admin/orbs/${ORB}/entries/${made.body.id}?purge=true`);
  expect(gone.status).toBe(204);
  expect(await listed("&search=payslip")).toEqual([]);
  expect((await describeOf(id)).status).toBe(404);
  expect((await send(`${files}/${id}`, editor)).status).toBe(404);
  expect((await article({ image: { file: id } })).status).toBe(422);
  expect((await as("GET", `${managed}/${id}`)).body).toMatchObject({ uses: 0, kept: true });
  expect((await as("DELETE", `${managed}/${id}`)).status).toBe(204);
});

test("an export and its import keep the descriptions, and kept files that no entry has", async () => {
  const id = await upload(await image(), "exported.png");
  const change = { alt: { en: "Exported" }, crop: { x: 0, y: 0, w: 0.5, h: 0.5 }, tags: ["out"] };
  expect((await patch(id, change)).status).toBe(200);
  // Files that only older revisions have, which an export leaves out.
  const older = await upload(await image(), "older.png");
  expect((await patch(older, { alt: { en: "Older" } })).status).toBe(200);
  const moved = await article({ title: "moved", image: { file: older } });
  const at = `/api/${ORB}/news/article/${moved.body.id}`;
  expect((await as("PATCH", at, { values: { image: null } }, editor)).status).toBe(200);
  const own = await upload(await image(), "own.png", visitor);
  const note = await as("POST", `/api/${ORB}/news/note`, { values: { paper: { file: own } } }, visitor);
  expect((await as("PATCH", `${managed}/${own}`, { alt: { en: "Own" } })).status).toBe(200);
  const paper = await as(
    "PATCH",
    `/api/${ORB}/news/note/${note.body.id}`,
    { values: { paper: null } },
    visitor,
  );
  expect(paper.status).toBe(200);
  expect((await as("PATCH", `${managed}/tags`, { from: "out", to: "outside" })).status).toBe(200);
  const before = (await as("GET", `${managed}?search=exported`)).body.items;
  expect(before).toMatchObject([{ tags: ["outside"] }]);
  const lines = await (await send(`/api/admin/orbs/${ORB}/export`, token)).text();
  expect(lines).toContain('"tags":["outside"]');
  expect((await as("DELETE", `/api/admin/orbs/${ORB}`)).status).toBe(204);
  const imported = await send("/api/admin/orbs/import", token, {
    method: "POST",
    body: lines,
    headers: { "content-type": "application/x-ndjson" },
  });
  expect(imported.status, await imported.text()).toBeLessThan(300);
  expect((await as("GET", `${managed}?search=exported`)).body.items).toEqual(before);
  expect((await send(`${files}/${id}`, token)).status).toBe(200);
  expect((await as("GET", `${managed}/${older}`)).body).toMatchObject({ uses: 0, alt: { en: "Older" } });
  expect((await as("GET", `${managed}/${own}`)).body).toMatchObject({ uses: 0, alt: { en: "Own" } });
  const again = (await user(platform, ORB, "writer")).token;
  expect((await describeOf(older, again)).status).toBe(200);
  expect((await describeOf(own, again)).status).toBe(404);
});
