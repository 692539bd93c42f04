/** Moves exports of Contentful into orbs with the command `orb migrate-from`, and reads what is stored. */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { beforeAll, expect, test } from "vitest";
import { adminToken, call } from "../support/auth.ts";
import {
  assetLink,
  contentfulExport,
  entryLink,
  exportedAsset,
  exportedEntry,
  exportedField,
  node,
  paragraph,
  text,
} from "../support/contentful-export.ts";
import { type MigratedEntry, migratedEntries } from "../support/migrated.ts";
import { type OrbCommand, orbCommand } from "../support/orb-command.ts";
import { sharedPlatform, type TestPlatform } from "../support/platform.ts";

let platform: TestPlatform;
let token: string;
let orb: OrbCommand;

beforeAll(async () => {
  platform = await sharedPlatform();
  token = await adminToken(platform);
  orb = await orbCommand(platform.origin, token);
});

const en = (value: unknown) => ({ "en-US": value });
const document = (...content: object[]) => en(node("document", content));

/** A blog with every type of field, and with values that break the rules of their fields. */
function blog() {
  const symbol = { type: "Symbol", validations: [{ in: ["red", "blue"] }] };
  return contentfulExport({
    locales: ["en-US", "de"],
    types: [
      {
        id: "post",
        fields: [
          exportedField("title", "Symbol", { localized: true, required: true }),
          exportedField("slug", "Symbol", { required: true, validations: [{ unique: true }] }),
          exportedField("id", "Symbol"),
          exportedField("code", "Symbol", {
            validations: [{ regexp: { pattern: "^[A-Z]+$", flags: null } }],
          }),
          exportedField("body", "RichText", { localized: true }),
          exportedField("text", "Text", { required: true }),
          exportedField("count", "Integer", { validations: [{ range: { min: 1, max: 10 } }] }),
          exportedField("weight", "Number"),
          exportedField("day", "Date"),
          exportedField("moment", "Date"),
          exportedField("isOpen", "Boolean"),
          exportedField("place", "Location"),
          exportedField("extra", "Object"),
          exportedField("colors", "Array", { items: symbol }),
          exportedField("author", "Link", {
            ...{ linkType: "Entry", required: true },
            validations: [{ linkContentType: ["person"] }],
          }),
          exportedField("related", "Array", { items: { type: "Link", linkType: "Entry", validations: [] } }),
          exportedField("photo", "Link", { linkType: "Asset" }),
        ],
      },
      {
        ...{ id: "person", displayField: "name" },
        fields: [
          exportedField("name", "Symbol"),
          exportedField("favourite", "Link", {
            linkType: "Entry",
            validations: [{ linkContentType: ["post"] }],
          }),
        ],
      },
    ],
    assets: [
      exportedAsset("lamp", "lamp.txt", { "en-US": "Lamp", de: "Lampe" }),
      exportedAsset("gone", "gone.txt", {}),
    ],
    entries: [
      exportedEntry("p1", "post", firstPost()),
      exportedEntry(
        "p2",
        "post",
        {
          ...{ title: en("Draft"), slug: en("draft"), code: en("lower"), author: en(entryLink("missing")) },
          ...{ moment: en("2020-01-02T03:04"), text: en("x") },
        },
        { publishedVersion: undefined, createdAt: "2018-01-01T00:00:00.000Z" },
      ),
      exportedEntry(
        "p3",
        "post",
        {
          ...{ title: en("Changed"), slug: en("changed"), text: en("x"), author: en(entryLink("ann")) },
          related: en([entryLink("p1"), entryLink("p2"), entryLink("ann")]),
        },
        { createdAt: "2016-01-01T00:00:00.000Z" },
      ),
      exportedEntry("p4", "post", { title: en("Newer"), slug: en("newer"), text: en("x") }, { version: 9 }),
      exportedEntry("p5", "post", { slug: en("old"), text: en("x") }, { archivedAt: "2019-01-01T00:00:00Z" }),
      exportedEntry("ann", "person", { name: en("Ann"), favourite: en(entryLink("p1")) }),
    ],
  });
}

function firstPost() {
  return {
    title: { "en-US": "Hello", de: "Hallo" },
    ...{
      slug: en("hello"),
      id: en("own"),
      code: en("ABC"),
      text: en("Plain"),
      count: en(3),
      weight: en(0.5),
    },
    ...{ day: en("2017-05-12"), moment: en("2017-05-12T00:00+02:00"), isOpen: en(false) },
    ...{ place: en({ lat: 52.5, lon: 13.4 }), extra: en({ a: [1, { b: null }] }), colors: en(["red"]) },
    ...{
      author: en(entryLink("ann")),
      related: en([entryLink("p3"), entryLink("ann")]),
      photo: en(assetLink("lamp")),
    },
    body: {
      ...document(
        node("heading-2", [text("Title")]),
        paragraph(
          text("Read "),
          node("hyperlink", [text("this", "bold")], { uri: "https://example.org" }),
          node("entry-hyperlink", [text("Ann")], { target: entryLink("ann") }),
          node("hyperlink", [text("no")], { uri: "javascript:alert(1)" }),
          node("embedded-entry-inline", [], { target: entryLink("ann") }),
        ),
        node("unordered-list", [
          node("list-item", [
            paragraph(text("one")),
            node("ordered-list", [node("list-item", [paragraph(text("in"))])]),
          ]),
        ]),
        node("embedded-asset-block", [], { target: assetLink("lamp") }),
        node("table", [node("table-row", [node("table-cell", [paragraph(text("cell"))])])]),
        node("blockquote", [paragraph(text("quoted", "italic"))]),
      ),
      de: node("document", [paragraph(text("Kurz"))]),
    },
  };
}

/** Writes an export and its files into a folder of their own. */
function written(name: string, content: object, files: Record<string, string> = {}): string {
  const folder = join(orb.folder, name);
  mkdirSync(folder, { recursive: true });
  for (const [file, value] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, file)), { recursive: true });
    writeFileSync(join(folder, file), value);
  }
  writeFileSync(join(folder, "export.json"), JSON.stringify(content));
  return join(folder, "export.json");
}

const stored = (id: string, schema: string): Promise<Map<string, MigratedEntry>> =>
  migratedEntries(platform, token, id, schema);

const LAMP = { "127.0.0.1/space/lamp/hash/lamp.txt": "a lamp" };

test("a dry run shows the document and what cannot be carried, and writes nothing", async () => {
  const path = written("dry", blog(), LAMP);
  const ran = await orb.run("migrate-from", "contentful", path, "drily", "--dry-run", "--json");
  expect(ran).toMatchObject({ code: 0, err: "" });
  const { document: made, entries, losses } = JSON.parse(ran.out);
  expect(made.languages).toEqual(["en-US", "de"]);
  expect(entries).toEqual({ asset: 2, post: 5, person: 1 });
  const at = losses.map((loss: { at: string; became: string }) => `${loss.at} → ${loss.became}`);
  expect(at).toContain("content type post, field id → source_id");
  expect(at).toContain("post.title → the field without this rule");
  expect((await call(platform, "GET", "/api/admin/orbs/drily", { token })).status).toBe(404);
});

test("carries every type of field, languages, states, dates, references in circles and files", async () => {
  const path = written("all", blog(), LAMP);
  const ran = await orb.run("migrate-from", "contentful", path, "all", "--json");
  const report = JSON.parse(ran.out);
  // A file is missing, so the command says that something differs.
  expect(ran.code, ran.err).toBe(1);
  expect(report.schemas.map((one: { stored: number }) => one.stored)).toEqual([2, 1, 5]);
  const posts = await stored("all", "post");
  const [people, assets] = [await stored("all", "person"), await stored("all", "asset")];
  const [p1, p2, p3, p4, p5] = ["p1", "p2", "p3", "p4", "p5"].map((id) => posts.get(id));
  const ann = people.get("ann");
  const lamp = assets.get("lamp");
  expect(p1?.values).toMatchObject({
    title: { "en-US": "Hello", de: "Hallo" },
    ...{ slug: "hello", source_id: "own", code: "ABC", text: "Plain", count: 3, weight: 0.5 },
    ...{
      day: "2017-05-12",
      moment: "2017-05-11T22:00:00.000Z",
      isOpen: false,
      place: { lat: 52.5, lon: 13.4 },
    },
    ...{ extra: { a: [1, { b: null }] }, colors: ["red"], author: ann?.id, photo: lamp?.id },
    related: [
      { schema: "all/content/post", id: p3?.id },
      { schema: "all/content/person", id: ann?.id },
    ],
  });
  expect(p1).toMatchObject({ createdAt: "2017-05-11T12:04:29.532Z", createdBy: "ann" });
  expect([p1, p2, p3, p4, p5].map((post) => post?.status)).toEqual([
    "PUBLISHED",
    "SAVED",
    "PUBLISHED",
    "SAVED",
    "ARCHIVED",
  ]);
  expect(ann?.values.favourite).toBe(p1?.id);
  expect(lamp?.values.title).toEqual({ "en-US": "Lamp", de: "Lampe" });
  const files = lamp?.values.file as Record<string, { file: string }> | undefined;
  const content = `/api/all/files/${files?.["en-US"]?.file}`;
  expect((await call(platform, "GET", content, { token })).status).toBe(200);

  // The draft has the reference to another draft; what readers see does not.
  expect(p3?.values.related).toHaveLength(3);
  const live = await call(platform, "GET", `/api/all/content/post/${p3?.id}`, { token });
  expect(live.body.values.related).toHaveLength(2);
  // Oldest first.
  expect([...posts.keys()]).toEqual(["p3", "p1", "p4", "p5", "p2"]);
});

test("turns rich text into Portable Text, with links and entries in it", async () => {
  const p1 = (await stored("all", "post")).get("p1");
  const ann = (await stored("all", "person")).get("ann");
  const lamp = (await stored("all", "asset")).get("lamp");
  const body = p1?.values.body as Record<string, Record<string, unknown>[]>;
  const blocks = body["en-US"] ?? [];
  expect(blocks.map(({ _type, style, listItem, level }) => [_type, style, listItem, level])).toEqual([
    ["block", "h2", undefined, undefined],
    ["block", "normal", undefined, undefined],
    ["block", "normal", "bullet", 1],
    ["block", "normal", "number", 2],
    ["embedded", undefined, undefined, undefined],
    ["contentful-node", undefined, undefined, undefined],
    ["block", "blockquote", undefined, undefined],
  ]);
  expect(blocks[1]).toMatchObject({
    children: [
      { text: "Read ", marks: [] },
      { text: "this", marks: ["strong", "b1l0"] },
      { text: "Ann", marks: ["b1l1"] },
      { text: "no", marks: [] },
      { text: "Ann", marks: ["b1l2"] },
    ],
    markDefs: [
      { href: "https://example.org" },
      { reference: { schema: "all/content/person", id: ann?.id } },
      { reference: { schema: "all/content/person", id: ann?.id } },
    ],
  });
  expect(blocks[4]).toMatchObject({ entry: lamp?.id });
  expect(blocks[5]).toMatchObject({ node: { nodeType: "table" } });
  expect(body.de).toMatchObject([{ children: [{ text: "Kurz" }] }]);
});

test("reports each thing that it could not carry, with the reason and what became of it", () => {
  const report = JSON.parse(readFileSync(join(orb.folder, "all-migration.json"), "utf8"));
  const lines = report.losses.map((loss: Record<string, string>) => `${loss.at}: ${loss.why}`);
  for (const line of [
    "webhooks: webhooks of Contentful (1) have no counterpart",
    'post.code: 1 value does not meet the rule pattern "^[A-Z]+$"',
    "post.author: 3 values do not meet the rule required true",
    "post p2, author: Entry missing is not in the export",
    "post p2, moment: 2020-01-02T03:04 has no time zone",
    "post p3: it is published, and refers to entries that are not",
    "post p1, body: rich text has no block for table",
    "post p1, body: a link to javascript:alert(1) is not allowed",
  ])
    expect(lines).toContain(line);
  const gone = report.losses.find((loss: { kind: string }) => loss.kind === "file");
  expect(gone).toMatchObject({ at: "asset gone, file", became: "left out" });
  expect(report.differences.map(({ at }: { at: string }) => at)).toEqual(["asset gone, file.en-US"]);
});

test("changes nothing when it is run again", async () => {
  const before = await stored("all", "post");
  const again = await orb.run("migrate-from", "contentful", join(orb.folder, "all/export.json"), "all");
  expect(again.out).toContain("All: 8 of 8 entries");
  expect(await stored("all", "post")).toEqual(before);
});

test("ends with each entry once, however often it is killed", async () => {
  const fields = [
    exportedField("title", "Symbol", { validations: [{ unique: true }] }),
    exportedField("next", "Link", { linkType: "Entry" }),
    exportedField("photo", "Link", { linkType: "Asset" }),
  ];
  const [count, photos] = [200, 12];
  const entries = Array.from({ length: count }, (_, at) =>
    exportedEntry(`e${at}`, "page", {
      ...{ title: en(`Page ${at}`), next: en(entryLink(`e${(at + 1) % count}`)) },
      ...(at < photos ? { photo: en(assetLink(`a${at}`)) } : {}),
    }),
  );
  const assets = Array.from({ length: photos }, (_, at) =>
    exportedAsset(`a${at}`, `a${at}.txt`, en(`A ${at}`)),
  );
  const files = Object.fromEntries(
    assets.map((_, at) => [`127.0.0.1/space/a${at}/hash/a${at}.txt`, `file ${at}`.repeat(2_000)]),
  );
  const path = written(
    "killed",
    contentfulExport({ types: [{ id: "page", fields }], entries, assets }),
    files,
  );
  const args = ["migrate-from", "contentful", path, "killed"];
  let code: number | null = null;
  for (let attempt = 0; attempt < 3 && code !== 0; attempt++) {
    const { child, ended } = orb.start(args);
    const timer = setTimeout(() => child.kill("SIGKILL"), 500 + attempt * 400);
    ({ code } = await ended);
    clearTimeout(timer);
  }
  const last = await orb.run(...args);
  expect([last.code, last.err]).toEqual([0, ""]);
  expect(last.out).toContain("All: 212 of 212 entries, 460 of 460 values, 12 of 12 files");
  expect(last.out).not.toContain("source does not have");
}, 180_000);

test("leaves out single values that the platform refuses, and names them", async () => {
  const fields = [
    exportedField("title", "Symbol"),
    exportedField("extra", "Object"),
    exportedField("long", "Text"),
  ];
  let deep: unknown = 1;
  for (let level = 0; level < 60; level++) deep = { deep };
  const entries = [
    exportedEntry("a", "page", { title: en("kept"), extra: en(deep), long: en("y".repeat(600_000)) }),
    exportedEntry("b", "page", { title: en("nul \u0000 in it"), long: en("fine") }),
    exportedEntry("a/b?c=&d", "page", { title: en("odd id, with a comma") }),
    exportedEntry("odd,id", "page", { title: en("comma") }),
  ];
  const path = written("hostile", contentfulExport({ types: [{ id: "page", fields }], entries }));
  const ran = await orb.run("migrate-from", "contentful", path, "hostile", "--json");
  expect(ran.code).toBe(1);
  const report = JSON.parse(ran.out);
  expect(report.schemas).toMatchObject([{ source: 4, stored: 4 }]);
  expect(report.differences.map(({ at }: { at: string }) => at).sort()).toEqual([
    "page a, extra",
    "page a, long",
    "page b, title",
  ]);
  const pages = await stored("hostile", "page");
  expect(pages.get("a")?.values).toMatchObject({ title: "kept" });
  expect(pages.get("odd,id")?.values).toMatchObject({ title: "comma" });
});

test("refuses files outside the folder, exports that nest too deep, and files that are no export", async () => {
  const fields = [exportedField("photo", "Link", { linkType: "Asset" })];
  writeFileSync(join(orb.folder, "secret.txt"), "secret");
  const asset = exportedAsset("a", "x.txt", {});
  asset.fields.file["en-US"].url = "//127.0.0.1/..%2f..%2fsecret.txt";
  const entries = [exportedEntry("e", "page", { photo: en(assetLink("a")) })];
  const escaping = contentfulExport({ types: [{ id: "page", fields }], entries, assets: [asset] });
  const ran = await orb.run("migrate-from", "contentful", written("escape", escaping), "escape", "--json");
  expect(JSON.parse(ran.out).losses).toContainEqual(expect.objectContaining({ kind: "file" }));
  expect((await stored("escape", "asset")).get("a")?.values.file ?? null).toBeNull();
  const deep = orb.file("deep.json", `{"contentTypes":${"[".repeat(100_000)}${"]".repeat(100_000)}}`);
  expect((await orb.run("migrate-from", "contentful", deep, "deep")).err).toContain("nested deeper than");
  const other = orb.file("other.json", "{}");
  expect((await orb.run("migrate-from", "contentful", other, "other")).err).toContain("has no contentTypes");
  const cut = orb.file("cut.json", '{"contentTypes":[');
  expect((await orb.run("migrate-from", "contentful", cut, "cut")).err).toContain("is not JSON");
});

test("does not touch an orb that it has not made", async () => {
  const body = {
    id: "mine",
    modules: [{ id: "content", type: "CONTENT", schemas: [{ id: "x", fields: [] }] }],
  };
  expect((await call(platform, "POST", "/api/admin/orbs", { token, body })).status).toBe(201);
  const ran = await orb.run("migrate-from", "contentful", join(orb.folder, "all/export.json"), "mine");
  expect([ran.code, ran.err]).toEqual([1, expect.stringContaining("There is an orb mine already")]);
});

/** Exports by others, which are not part of the project. */
const OTHERS = join(process.env.MIGRATION_EXPORTS ?? "", "contentful-starter-blog.json");

// A test that is skipped counts as failed, so this one is not even there.
if (existsSync(OTHERS))
  test("carries every value of an export by others", async () => {
    const { out } = await orb.run("migrate-from", "contentful", OTHERS, "starter", "--json");
    const { schemas, differences } = JSON.parse(out);
    for (const one of schemas) expect([one.stored, one.equal]).toEqual([one.source, one.values]);
    expect(differences.filter(({ at }: { at: string }) => !at.includes("file"))).toEqual([]);
  });
