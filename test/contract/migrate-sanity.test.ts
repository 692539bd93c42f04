/** Moves exports of Sanity into orbs with the command `orb migrate-from`, and reads what is stored. */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, expect, test } from "vitest";
import { adminToken, call } from "../support/auth.ts";
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

const reference = (id: string) => ({ _type: "reference", _ref: id });
const span = (text: string, ...marks: string[]) => ({ _type: "span", _key: "s", text, marks });
const made = (day: number) => ({
  _createdAt: `2020-01-0${day}T00:00:00Z`,
  _updatedAt: "2021-01-01T00:00:00Z",
});

const documents = [
  {
    ...{
      _id: "post-1",
      _type: "post",
      ...made(1),
      title: "Hello",
      slug: { _type: "slug", current: "hello" },
    },
    ...{
      views: 3,
      rating: 4.5,
      isOpen: true,
      day: "2020-02-03",
      at: "2020-02-03T04:05:06Z",
      tags: ["a", "b"],
    },
    ...{ author: reference("ann"), place: { _type: "geopoint", lat: 52.5, lng: 13.4 }, mixed: "text" },
    seo: {
      _type: "seo",
      title: "For engines",
      image: { _type: "image", _sanityAsset: "image@file://./images/a.png" },
    },
    main: { _type: "image", alt: "A lamp", hotspot: { x: 0.5 }, _sanityAsset: "image@file://./images/a.png" },
    sections: [
      { _type: "hero", _key: "h1", title: "Hero", ref: reference("post-2") },
      { _type: "quote", _key: "q1", text: "To be" },
    ],
    people: [{ _key: "p1", name: "Ben" }],
    related: [
      { ...reference("post-2"), _key: "r1" },
      { ...reference("gone"), _key: "r2" },
    ],
    body: [
      { _type: "block", _key: "b", style: "h2", markDefs: [], children: [span("Title")] },
      {
        ...{ _type: "block", _key: "c", style: "normal" },
        markDefs: [
          { _type: "link", _key: "l1", href: "https://example.org" },
          { _type: "internalLink", _key: "l2", reference: reference("ann") },
          { _type: "color", _key: "l3", value: "red" },
        ],
        children: [
          span("a", "strong", "l1"),
          span("b", "l2"),
          span("c", "l3"),
          { _type: "emoji", _key: "e", code: "x" },
        ],
      },
      { _type: "image", _key: "i", alt: "inside", _sanityAsset: "image@file://./images/a.png" },
      {
        _type: "block",
        _key: "d",
        style: "normal",
        listItem: "bullet",
        level: 2,
        markDefs: [],
        children: [span("item")],
      },
    ],
  },
  {
    _id: "post-2",
    _type: "post",
    ...made(2),
    title: "Live",
    slug: { _type: "slug", current: "Not A Slug" },
    mixed: 7,
  },
  { _id: "drafts.post-2", _type: "post", ...made(2), title: "Newer", mixed: 7 },
  { _id: "drafts.post-3", _type: "post", ...made(3), title: "Only a draft" },
  { _id: "ann", _type: "author", ...made(1), name: "Ann", best: reference("post-1") },
  { _id: "system.x", _type: "system.group", members: [] },
  { _id: "versions.r1.post-1", _type: "post", title: "For a release" },
];

function written(name: string, lines: readonly object[]): string {
  const folder = join(orb.folder, name);
  mkdirSync(join(folder, "images"), { recursive: true });
  writeFileSync(join(folder, "images/a.png"), "no image, but a file");
  writeFileSync(join(folder, "data.ndjson"), lines.map((line) => JSON.stringify(line)).join("\n"));
  return folder;
}

const stored = (id: string, schema: string): Promise<Map<string, MigratedEntry>> =>
  migratedEntries(platform, token, id, schema);

test("infers fields of documents, and carries values, drafts, references and files", async () => {
  const ran = await orb.run("migrate-from", "sanity", written("all", documents), "studio", "--json");
  const report = JSON.parse(ran.out);
  expect(report.schemas.map((one: { stored: number }) => one.stored)).toEqual([1, 3]);
  const posts = await stored("studio", "post");
  const ann = (await stored("studio", "author")).get("ann");
  const [p1, p2, p3] = ["post-1", "post-2", "post-3"].map((id) => posts.get(id));
  expect(p1?.values).toMatchObject({
    ...{
      title: "Hello",
      slug: "hello",
      views: 3,
      rating: 4.5,
      isOpen: true,
      day: "2020-02-03",
      mixed: "text",
    },
    ...{ at: "2020-02-03T04:05:06.000Z", tags: ["a", "b"], author: ann?.id, place: { lat: 52.5, lon: 13.4 } },
    seo: { title: "For engines", image: { asset: { name: "a.png" } } },
    main: { alt: "A lamp", hotspot: { x: 0.5 }, asset: { name: "a.png" } },
    sections: [
      { _type: "hero", _key: "h1", title: "Hero", ref: p2?.id },
      { _type: "quote", _key: "q1", text: "To be" },
    ],
    people: [{ _key: "p1", name: "Ben" }],
    related: [p2?.id],
  });
  expect(p1).toMatchObject({ status: "PUBLISHED", createdAt: "2020-01-01T00:00:00.000Z" });
  expect(ann?.values.best).toBe(p1?.id);
  expect(p3).toMatchObject({ status: "SAVED", values: { title: "Only a draft" } });

  expect(p2).toMatchObject({ status: "PUBLISHED", values: { title: "Newer" } });
  expect(p2?.values.slug ?? null).toBeNull();
  const live = await call(platform, "GET", `/api/studio/content/post/${p2?.id}`, { token });
  expect(live.body.values).toMatchObject({ title: "Live", slug: "Not A Slug" });
  expect(report.differences).toEqual([]);
});

test("keeps Portable Text, and turns what it cannot have into blocks", async () => {
  const ann = (await stored("studio", "author")).get("ann");
  const body = (await stored("studio", "post")).get("post-1")?.values.body;
  expect(body).toMatchObject([
    { style: "h2", children: [{ text: "Title" }] },
    {
      children: [
        { text: "a", marks: ["strong", "b1l0"] },
        { text: "b", marks: ["b1l1"] },
        { text: "c", marks: [] },
      ],
      markDefs: [
        { href: "https://example.org" },
        { reference: { schema: "studio/content/author", id: ann?.id } },
      ],
    },
    { _type: "sanity-part", part: { _type: "emoji", code: "x" } },
    { _type: "image", alt: "inside", asset: { name: "a.png" } },
    { listItem: "bullet", level: 2, children: [{ text: "item" }] },
  ]);
});

test("reports what it could not carry, and changes nothing when it is run again", async () => {
  const before = await stored("studio", "post");
  const again = await orb.run(
    "migrate-from",
    "sanity",
    join(orb.folder, "all/data.ndjson"),
    "studio",
    "--json",
  );
  const { losses, differences } = JSON.parse(again.out);
  expect(differences).toEqual([]);
  expect(await stored("studio", "post")).toEqual(before);
  const lines = losses.map(({ at, why }: { at: string; why: string }) => `${at}: ${why}`);
  for (const line of [
    "type post, field mixed: it has values of several types: string, number",
    'post.slug: 1 value does not meet the rule type "slug"',
    "post post-1: the export has no document gone",
    "document versions.r1.post-1: versions of releases have no counterpart",
    "document system.x: Sanity itself has written it",
    'post post-1: a mark color cannot be kept: {"value":"red"}',
    "post post-1: rich text has no emoji inside a paragraph",
  ])
    expect(lines).toContain(line);
});

test("refuses lines that are too deep, and that are no documents, and files outside the folder", async () => {
  const deep = orb.file("deep.ndjson", `${JSON.stringify({ _id: "a", _type: "b" })}\n${"[".repeat(50_000)}`);
  expect((await orb.run("migrate-from", "sanity", deep, "x1")).err).toContain("line 2 is nested deeper than");
  const other = orb.file("other.ndjson", "[1]\n");
  expect((await orb.run("migrate-from", "sanity", other, "x2")).err).toContain("without _id and _type");
  const long = orb.file("long.ndjson", `"${"x".repeat(17_000_000)}`);
  expect((await orb.run("migrate-from", "sanity", long, "x3")).err).toContain(
    "has a line of more than 16 MiB",
  );
  writeFileSync(join(orb.folder, "secret.txt"), "secret");
  const main = { _type: "image", _sanityAsset: "image@file://./../secret.txt" };
  const folder = written("escape", [{ _id: "a", _type: "page", main }]);
  const ran = await orb.run("migrate-from", "sanity", folder, "sanity-escape", "--json");
  expect(JSON.parse(ran.out).losses).toContainEqual(expect.objectContaining({ kind: "file" }));
  expect((await stored("sanity-escape", "page")).get("a")?.values.main ?? null).toBeNull();
});
