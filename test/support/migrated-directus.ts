/** What a migration must make of the content of `test/peers/directus-content.ts`. */
import { expect } from "vitest";
import { call } from "./auth.ts";
import { expectParity, type MigratedEntry, migratedEntries } from "./migrated.ts";
import type { Ran } from "./orb-command.ts";

export async function expectDirectus(
  platform: { origin: string },
  token: string,
  orb: string,
  ran: Ran,
): Promise<void> {
  const losses = expectParity(ran, { entries: 140, files: 3 });
  const stored = (schema: string) => migratedEntries(platform, token, orb, schema);
  const posts = await stored("posts");
  await expectPost(posts, stored);
  const states = [...posts.values()].map(({ status, values }) => [values.sourceId, status, values.open]);
  expect(states).toEqual([
    ["1", "PUBLISHED", false],
    ["2", "SAVED", true],
    ["3", "ARCHIVED", true],
    ["4", "PUBLISHED", null],
  ]);
  // A version of Directus is a newer draft.
  const changed = posts.get("4");
  expect([changed?.values.title, changed?.publishedRevision]).toEqual(["Newer", 1]);
  const live = await call(platform, "GET", `/api/${orb}/content/posts/${changed?.id}`);
  expect([live.status, live.body.values.title]).toEqual([200, "Empty"]);
  const users = await call(platform, "GET", `/api/${orb}/content/directus-users`);
  expect(users.status).toBe(401);
  const lines = losses.map(({ kind, at, why }) => `${kind} ${at}: ${why}`);
  expect(lines.filter((line) => !line.startsWith("model"))).toEqual([
    "value posts 1, body: text has no table",
    "value posts 1, page: text has no hr",
    "value posts 1: it is published, and refers to entries that are not",
  ]);
  expect(lines).toContain(
    "model collection posts, field secret: it is a secret, which Directus hashes or hides",
  );
  const { body } = await call(platform, "GET", `/api/admin/orbs/${orb}`, { token });
  expect(body.roles).toContainEqual({ id: "writers", name: "Writers" });
  const accessOf = (id: string) =>
    body.modules[0].schemas.find((schema: { id: string }) => schema.id === id).access;
  const may = ["writers"];
  expect([accessOf("posts"), accessOf("authors")]).toEqual([
    { read: "public", create: may, update: may, publish: may, delete: may },
    { read: may },
  ]);
  expect(lines).toContain(
    "model role Administrator, its accounts: people sign in to an orb with passkeys of their own",
  );
  expect(lines).toContain('model posts.kind: 1 value does not meet the rule enum ["a","b"]');
}

async function expectPost(
  posts: Map<string, MigratedEntry>,
  stored: (schema: string) => Promise<Map<string, MigratedEntry>>,
): Promise<void> {
  const full = posts.get("1");
  const [files, authors, tags] = [
    await stored("directus-files"),
    await stored("authors"),
    await stored("tags"),
  ];
  const named = new Map([...files.values()].map(({ id, values }) => [String(values.title), id]));
  const [lamp, chair, table] = ["lamp", "chair", "table"].map((name) => named.get(`The ${name}`));
  const [ann, ben] = ["Ann", "Ben"].map((name) =>
    [...authors.values()].find(({ values }) => values.name === name),
  );
  expect([...files.values()][0]?.values).toMatchObject({ file: { name: "lamp.txt", size: 15 } });
  expect(full?.values).toMatchObject({
    ...{ title: "Full", slug: "full", summary: "Short", count: 3, weight: 0.5, price: 12.5, at: "09:30" },
    ...{ day: "2022-03-04", moment: "2022-03-04T05:06:07.000Z", stamp: "2022-03-04T05:06:07.000Z" },
    ...{ color: "#ff0000", kind: "a", kinds: ["x", "z"], labels: ["l1", "l2"], code: "let x = 1;" },
    ...{ extra: { a: [1, { b: null }] }, place: { lat: 52.5, lon: 13.4 }, author: ann?.id, photo: lamp },
    links: [
      { label: "One", count: 1, day: "2020-01-02" },
      { label: "Two", count: 2 },
    ],
    body: [{ style: "h2" }, { children: [{ text: "Read " }, { marks: ["strong"] }] }, { _type: "html" }],
    notes: [{ style: "h1" }, { markDefs: [{ href: "https://example.org" }] }, { listItem: "bullet" }, {}],
    page: [{ style: "h3" }, {}, { listItem: "number", level: 1 }, { level: 2 }, { html: "<hr>" }],
    gallery: [table, chair],
    tags: ["3", "1"].map((id) => tags.get(id)?.id),
    related: [full?.id, posts.get("2")?.id],
    translations_title: { "en-US": "Full", "de-DE": "Voll" },
    picture: { "en-US": lamp, "de-DE": chair },
    sections: [{ schema: /section-image$/ }, { schema: /section-text$/ }].map(({ schema }) => ({
      schema: expect.stringMatching(schema),
    })),
  });
  expect(full?.values).not.toHaveProperty("secret");
  expect([ann?.values.mentor, ben?.values.mentor]).toEqual([ben?.id, ann?.id]);
  expect(Date.parse(full?.createdAt ?? "")).toBe(Date.parse(String(full?.values.date_created)));
  const comments = await stored("comments");
  // Their order is the one of their field `sort`.
  expect(full?.values.comments).toHaveLength(60);
  const [first] = [full?.values.comments].flat();
  expect([...comments.values()].find(({ id }) => id === first)?.values.text).toBe("Comment 118");
}
