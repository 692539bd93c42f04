/** What a migration must make of the content of `test/peers/payload-content.ts`. */
import { expect } from "vitest";
import { call } from "./auth.ts";
import { expectParity, migratedEntries } from "./migrated.ts";
import type { Ran } from "./orb-command.ts";

/** An image of one pixel. */
export const PNG = Buffer.from(
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
  "base64",
);

export async function expectPayload(
  platform: { origin: string },
  token: string,
  orb: string,
  ran: Ran,
): Promise<void> {
  const losses = expectParity(ran, { entries: 128, files: 2 });
  const stored = async (schema: string) => [
    ...(await migratedEntries(platform, token, orb, schema)).values(),
  ];
  const [posts, tags, media] = [await stored("posts"), await stored("tags"), await stored("media")];
  const [ann] = await stored("users");
  const [full, draft, changed] = posts;
  const [lamp, chair] = media.map(({ id }) => id);
  expect(posts.map(({ status, values }) => [status, values.title])).toEqual([
    ["PUBLISHED", { en: "Full", de: "Voll" }],
    ["SAVED", { en: "Draft" }],
    // The draft is newer than what is published.
    ["PUBLISHED", { en: "Newer" }],
  ]);
  const live = await call(platform, "GET", `/api/${orb}/content/posts/${changed?.id}`);
  expect([live.status, live.body.values]).toMatchObject([200, { title: "Before", count: 1 }]);
  expect(draft?.values.about).toEqual([{ schema: `${orb}/content/posts`, id: full?.id }]);
  expect(media[0]?.values).toMatchObject({
    alt: { en: "A lamp" },
    file: { name: "lamp.png", size: PNG.length },
  });
  expect(full?.values).toMatchObject({
    ...{ count: 3, open: false, day: "2022-03-04T12:00:00.000Z", mail: "ann@example.org", kind: "b" },
    ...{ kinds: ["y", "x"], mood: "bad", words: ["one", "two"], code: "let x = 1;" },
    ...{ extra: { a: [1, { b: null }] }, place: { lat: 52.5, lon: 13.4 }, author: ann?.id },
    tags: [tags[2]?.id, tags[0]?.id],
    about: [{ schema: `${orb}/content/tags`, id: tags[1]?.id }],
    ...{ photo: lamp, gallery: [chair, lamp], old: "hidden" },
    seo: { title: { en: "For machines", de: "Maschinen" }, image: chair },
    links: [{ label: "One", count: 1 }, { label: "Two" }],
    sections: [
      { _type: "quote", text: { en: "To be" }, by: "Hamlet" },
      { _type: "picture", image: lamp },
    ],
  });
  expect(full?.values.body).toMatchObject({
    en: [
      { style: "h2", children: [{ text: "Title" }] },
      {
        children: [
          { text: "Read " },
          { text: "this", marks: ["strong", "em"] },
          { text: "link" },
          { text: "\n" },
          { text: "end", marks: ["code"] },
        ],
        markDefs: [{ href: "https://example.org" }],
      },
      { listItem: "number", level: 1 },
      { listItem: "bullet", level: 2 },
      { listItem: "bullet", level: 1 },
      { style: "blockquote" },
      { _type: "html", html: "<hr>" },
      { _type: "image", attachment: lamp },
      // In a localized text, the fields of a block are in its language.
      { _type: "quote-2", text: "Inside", by: "Ann" },
      { _type: "html" },
    ],
  });
  const [site] = await stored("global-site");
  expect(site?.values).toMatchObject({ title: { en: "Site", de: "Seite" }, home: full?.id });
  expect((await call(platform, "GET", `/api/${orb}/content/users`)).status).toBe(401);
  const lines = losses.map(({ kind, at, why }) => `${kind} ${at}: ${why}`);
  expect(lines.filter((line) => !line.startsWith("model"))).toEqual([
    ...["lists have no boxes to check", "text has no hr", "rich text has no block for relationship"].map(
      (why) => `value posts 1, body.en: ${why}`,
    ),
  ]);
  expect(lines).toContain("model collection users, passwords and sessions: Payload does not show them");
}
