/** Moves exports of WordPress into orbs with the command `orb migrate-from`, and reads what is stored. */
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, expect, test } from "vitest";
import { adminToken, call } from "../support/auth.ts";
import { type MigratedEntry, migratedEntries } from "../support/migrated.ts";
import { type OrbCommand, orbCommand } from "../support/orb-command.ts";
import { sharedPlatform, type TestPlatform } from "../support/platform.ts";
import { exportedPost, wordpressExport } from "../support/wordpress-export.ts";

let platform: TestPlatform;
let token: string;
let orb: OrbCommand;

beforeAll(async () => {
  platform = await sharedPlatform();
  token = await adminToken(platform);
  orb = await orbCommand(platform.origin, token);
});

const BLOCKS = `<!-- wp:paragraph -->
<p>Read <strong>this</strong> <a href="https://example.org">page</a>.</p>
<!-- /wp:paragraph -->
<!-- wp:latest-posts {"number":3} /-->
<!-- wp:image {"id":20} -->
<figure><img src="http://127.0.0.1/wp-content/uploads/lamp-300x200.txt" alt="A lamp"><figcaption>Lit</figcaption></figure>
<!-- /wp:image -->
<table><tr><td>cell</td></tr></table>`;

const CLASSIC = `First line
second line

<ul>
<li>one</li>
</ul>
[gallery ids="1"]
<pre>a

b</pre>`;

const later = "2150-01-01 00:00:00";
const posts = [
  exportedPost({
    ...{ id: 1, title: "Blocks & more", content: BLOCKS, meta: { _thumbnail_id: "20", color: "red" } },
    more: { is_sticky: "1" },
    terms: [
      ["category", "news", "News"],
      ["post_tag", "own", "Only here"],
      ["genre", "jazz", "Jazz"],
    ],
    comments: [
      {
        id: "7",
        author: "Ben",
        author_email: "ben@example.org",
        content: "Nice",
        approved: "1",
        parent: "0",
      },
      { id: "8", author: "Spam", content: "Buy", approved: "0", parent: "7" },
    ],
  }),
  exportedPost({
    id: 2,
    title: "Classic",
    content: CLASSIC,
    more: { status: "draft", post_date_gmt: "0000-00-00 00:00:00" },
  }),
  exportedPost({ id: 3, title: "Future", more: { status: "future", post_date_gmt: later } }),
  exportedPost({ id: 4, title: "Secret", more: { post_password: "x" } }),
  exportedPost({ id: 5, title: "Thrown away", more: { status: "trash" } }),
  exportedPost({ id: 10, type: "page", title: "Parent", more: { post_name: "caf%C3%A9" } }),
  exportedPost({ id: 11, type: "page", title: "Child", more: { post_parent: "10" } }),
  exportedPost({
    ...{ id: 20, type: "attachment", title: "Lamp", meta: { _wp_attachment_image_alt: "Alt" } },
    more: { status: "inherit", attachment_url: "http://127.0.0.1/wp-content/uploads/lamp.txt" },
  }),
];

const CATEGORIES = `<wp:category><wp:category_nicename>all</wp:category_nicename><wp:cat_name>All</wp:cat_name></wp:category>
<wp:category><wp:category_nicename>news</wp:category_nicename><wp:category_parent>all</wp:category_parent><wp:cat_name>News</wp:cat_name></wp:category>`;

const stored = (id: string, schema: string): Promise<Map<string, MigratedEntry>> =>
  migratedEntries(platform, token, id, schema);

test("carries posts, pages, terms, comments and attachments", async () => {
  const uploads = join(orb.folder, "wp-content/uploads");
  mkdirSync(uploads, { recursive: true });
  writeFileSync(join(uploads, "lamp.txt"), "a lamp");
  const path = orb.file("blog.xml", wordpressExport(posts, CATEGORIES));
  const ran = await orb.run("migrate-from", "wordpress", path, "wp", "--read", "public", "--json");
  const report = JSON.parse(ran.out);
  expect(report.differences).toEqual([]);
  const [all, pages, categories] = [
    await stored("wp", "post"),
    await stored("wp", "page"),
    await stored("wp", "category"),
  ];
  const [tags, terms, authors] = [
    await stored("wp", "tag"),
    await stored("wp", "term"),
    await stored("wp", "author"),
  ];
  const [attachments, comments] = [await stored("wp", "attachment"), await stored("wp", "comment")];
  const lamp = attachments.get("20");
  expect(all.get("1")).toMatchObject({
    ...{ status: "PUBLISHED", createdAt: "2015-06-07T08:09:10.000Z", createdBy: "ann" },
    values: {
      ...{ title: "Blocks & more", slug: "slug-1", link: "https://blog.example/1", sticky: true },
      author: authors.get("ann")?.id,
      ...{
        categories: [categories.get("news")?.id],
        tags: [tags.get("own")?.id],
        terms: [terms.get("genre:jazz")?.id],
      },
      ...{ featuredImage: lamp?.id, meta: { _thumbnail_id: ["20"], color: ["red"] } },
    },
  });
  expect(categories.get("news")?.values.parent).toBe(categories.get("all")?.id);
  expect([...all.values()].map(({ status }) => status)).toEqual(
    expect.arrayContaining(["SAVED", "ARCHIVED"]),
  );
  expect(all.get("2")).toMatchObject({ status: "SAVED" });
  expect(all.get("3")).toMatchObject({ status: "PUBLISHED", validFrom: "2150-01-01T00:00:00.000Z" });
  expect(all.get("4")).toMatchObject({ status: "SAVED" });
  expect(pages.get("11")?.values.parent).toBe(pages.get("10")?.id);
  expect(pages.get("10")?.values.slug).toBe("café");
  expect(lamp?.values).toMatchObject({ file: { name: "lamp.txt" }, alt: "Alt" });
  expect(comments.get("7")).toMatchObject({
    ...{ status: "PUBLISHED", values: { author: "Ben", content: "Nice", post: all.get("1")?.id } },
  });
  expect(comments.get("8")).toMatchObject({ status: "SAVED", values: { parent: comments.get("7")?.id } });

  // Everyone may read the entries, but not the addresses of people.
  const seen = await call(platform, "GET", `/api/wp/content/comment/${comments.get("7")?.id}`);
  expect([seen.status, seen.body.values.author, seen.body.values.email]).toEqual([200, "Ben", undefined]);
});

test("turns blocks and classic texts into rich text", async () => {
  const all = await stored("wp", "post");
  const lamp = (await stored("wp", "attachment")).get("20");
  expect(all.get("1")?.values.content).toMatchObject([
    {
      children: [
        { text: "Read " },
        { text: "this", marks: ["strong"] },
        { text: " " },
        { text: "page" },
        { text: "." },
      ],
      markDefs: [{ href: "https://example.org" }],
    },
    { _type: "html", html: '<!-- wp:latest-posts {"number":3} /-->' },
    { _type: "image", alt: "A lamp", attachment: lamp?.id },
    { children: [{ text: "Lit" }] },
    { _type: "html", html: "<table><tr><td>cell</td></tr></table>" },
  ]);
  expect(all.get("2")?.values.content).toMatchObject([
    { style: "normal", children: [{ text: "First line\nsecond line" }] },
    { listItem: "bullet", children: [{ text: "one" }] },
    { children: [{ text: '[gallery ids="1"]' }] },
    { style: "code", children: [{ text: "a\n\nb" }] },
  ]);
});

test("reports what it could not carry, and changes nothing when it is run again", async () => {
  const before = await stored("wp", "post");
  const path = join(orb.folder, "blog.xml");
  const again = await orb.run("migrate-from", "wordpress", path, "wp", "--read", "public", "--json");
  expect(await stored("wp", "post")).toEqual(before);
  const lines = JSON.parse(again.out).losses.map(
    ({ at, why }: { at: string; why: string }) => `${at}: ${why}`,
  );
  for (const line of [
    "post 1, content: text has no table",
    'post 1, content: 1 of its blocks have attributes, such as wp:image {"id":20}',
    "post 2, content: shortcodes have no meaning: gallery",
    "post 4, password: an entry has no password",
  ])
    expect(lines).toContain(line);
});

test("refuses entities of the file's own, deep nesting and files that are cut off", async () => {
  const bomb = '<!DOCTYPE rss [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;&a;&a;">]>';
  const run = async (name: string, text: string) =>
    (await orb.run("migrate-from", "wordpress", orb.file(name, text), "never")).err;
  expect(await run("bomb.xml", wordpressExport(posts, "", bomb))).toContain("declares entities");
  expect(await run("deep.xml", `<channel>${"<a>".repeat(100_000)}`)).toContain("nests elements deeper than");
  expect(await run("cut.xml", wordpressExport(posts).slice(0, -100))).toContain("ends inside the element");
  expect(await run("other.xml", "<html></html>")).toContain("has no element channel");
  const nested = exportedPost({ id: 1, title: "Deep", content: "<div>".repeat(5_000) });
  const path = orb.file("nested.xml", wordpressExport([nested]));
  const ran = await orb.run("migrate-from", "wordpress", path, "wordpress-nested", "--json");
  expect(JSON.parse(ran.out).differences).toEqual([]);
  const content = (await stored("wordpress-nested", "post")).get("1")?.values.content;
  expect(content).toMatchObject([{ _type: "html", html: "<div>".repeat(5_000) }]);
});

/** Exports by others, which are not part of the project. */
const OTHERS = join(process.env.MIGRATION_EXPORTS ?? "", "wordpress-theme-unit-test.xml");

// A test that is skipped counts as failed, so this one is not even there.
if (existsSync(OTHERS))
  test("carries every value of an export by others", async () => {
    const { out } = await orb.run("migrate-from", "wordpress", OTHERS, "theme", "--json");
    const { schemas, differences } = JSON.parse(out);
    // Files are not there.
    expect(differences.filter(({ at }: { at: string }) => !at.endsWith(", file"))).toEqual([]);
    for (const one of schemas)
      expect([one.schema, one.stored, one.equal]).toEqual([one.schema, one.source, one.values]);
  }, 300_000);
