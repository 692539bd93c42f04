/** What a migration must make of the content of `test/peers/strapi-content.ts`. */
import { expect } from "vitest";
import { call } from "./auth.ts";
import { expectParity, type MigratedEntry, migratedEntries } from "./migrated.ts";
import type { Ran } from "./orb-command.ts";

export async function expectStrapi(
  platform: { origin: string },
  token: string,
  orb: string,
  ran: Ran,
): Promise<void> {
  const losses = expectParity(ran, { entries: 131, files: 3 });
  const stored = (schema: string) => migratedEntries(platform, token, orb, schema);
  const articles = [...(await stored("article")).values()];
  const [full, draft, changed, german] = articles;
  expect(articles.map(({ status, values }) => [status, values.title, values.count])).toEqual([
    ["PUBLISHED", { en: "Full", de: "Voll" }, 3],
    ["SAVED", { en: "Draft" }, 5],
    // The draft is newer than what is published. Without a value, the default does not count.
    ["PUBLISHED", { en: "Newer", de: "Nur Entwurf" }, null],
    ["PUBLISHED", { de: "Nur deutsch" }, 5],
  ]);
  expect(german?.values.slug).toEqual({ de: "nur-deutsch" });
  expect(changed?.values.related).toEqual([full?.id, draft?.id]);
  expect(changed?.values).not.toHaveProperty("summary.de");
  const live = await call(platform, "GET", `/api/${orb}/content/article/${changed?.id}?locale=*`);
  expect([live.status, live.body.values]).toMatchObject([
    200,
    { title: { en: "Before", de: "Vorher" }, summary: { de: "Weg" } },
  ]);
  expect((await call(platform, "GET", `/api/${orb}/content/user`)).status).toBe(401);
  await expectFull(full, stored);
  const lines = losses.map(({ kind, at, why }) => `${kind} ${at}: ${why}`);
  expect(lines.filter((line) => !line.startsWith("model"))).toEqual([
    `value article ${full?.values.sourceId}, body.en: code has no language, such as js`,
  ]);
  const { body } = await call(platform, "GET", `/api/admin/orbs/${orb}`, { token });
  expect(body.roles).toEqual([{ id: "editors", name: "Editors" }]);
  const accessOf = (id: string) =>
    body.modules[0].schemas.find((schema: { id: string }) => schema.id === id).access;
  const may = ["editors"];
  expect([accessOf("article"), accessOf("author")]).toEqual([
    { read: "public", create: may, update: may, publish: may, delete: may },
    { read: may },
  ]);
  expect(lines).toContain(
    "model content type api::article.article, attribute secret: Strapi does not show it",
  );
  expect(lines).toContain(
    "model component shared.card, attribute text: a dynamic zone has components whose text differ in type",
  );
}

async function expectFull(
  full: MigratedEntry | undefined,
  stored: (schema: string) => Promise<Map<string, MigratedEntry>>,
): Promise<void> {
  const [files, tags] = [[...(await stored("file")).values()], [...(await stored("tag")).values()]];
  const [ann, ben] = [...(await stored("author")).values()];
  const [lamp, chair, table] = files.map(({ id }) => id);
  expect(files[1]?.values).toMatchObject({ name: "chair.txt", caption: "chair", file: { size: 16 } });
  expect(full?.values).toMatchObject({
    ...{ slug: { en: "full", de: "voll" }, weight: 0.5, price: "12.345", open: false, kind: "a" },
    ...{ day: "2022-03-04", at: "09:30", moment: "2022-03-04T05:06:07.000Z", mail: "ann@example.org" },
    ...{ code: "ABC", extra: { a: [1, { b: null }] }, photo: lamp, gallery: [table, chair], author: ann?.id },
    tags: [tags[2]?.id, tags[0]?.id],
    notes: { en: [{ style: "h1" }, {}, { listItem: "bullet" }, {}, { _type: "image", attachment: lamp }] },
    body: {
      en: [
        { style: "h2", children: [{ text: "Title" }] },
        { children: [{ text: "Read " }, { marks: ["strong", "em"] }, { text: "link" }] },
        ...[
          { listItem: "number", level: 1 },
          { listItem: "bullet", level: 2 },
          { listItem: "number", level: 1 },
        ],
        ...[{ style: "blockquote" }, { style: "code" }, { _type: "image", attachment: lamp, alt: "A lamp" }],
      ],
    },
    seo: { en: { title: "For machines", image: chair }, de: { title: "Maschinen" } },
    links: [{ label: "One", count: 1 }, { label: "Two" }],
    sections: {
      en: [
        { _type: "shared-quote", text: "To be", by: "Hamlet" },
        {
          _type: "shared-card",
          text_richText: [{ style: "h2" }],
          image: table,
          about: ben?.id,
          links: [{ count: 7 }],
        },
      ],
      de: [{ text: "Sein" }],
    },
  });
  expect([ann?.values.mentor, ben?.values.mentor]).toEqual([ben?.id, ann?.id]);
  expect(ann?.values.articles).toEqual([full?.id]);
}
