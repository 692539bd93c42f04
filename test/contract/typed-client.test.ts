/** Uses the client as an application does: generates types of an orb, compiles a program with them, and runs it. */
import { readFileSync } from "node:fs";
import { gzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { OrbView } from "../../functions/discovery/overview-schemas.ts";
import { typesOf } from "../../scripts/cli/orb-types.ts";
import { Conflict, createClient, isProblem } from "../../shared/client/index.ts";
import { adminToken, call } from "../support/auth.ts";
import { ALBUM } from "../support/misnamed.ts";
import { sharedPlatform, type TestPlatform } from "../support/platform.ts";
import { programs } from "../support/typed-program.ts";

const shop = readFileSync(new URL("../../scripts/examples/shop.json", import.meta.url), "utf8");

const RIGHT = `import { createClient, isProblem } from "../../shared/client/index.ts";
import type { Orbs } from "./orbs.ts";

export async function run(url: string, token: string) {
  const shop = createClient<Orbs>({ url, token }).orb("shop");
  const lamps = await shop.catalog.category.create({ title: { en: "Lamps", de: "Lampen" }, slug: "lamps" }, { publish: true });
  const made = await shop.catalog.product.create(
    { title: { en: "Desk lamp", de: "Tischlampe" }, sku: "AB-1000", price: { US: 49.5, EU: 45 }, category: lamps.id, tags: ["light"] },
    { publish: true },
  );
  const whole: string | null | undefined = made.values.title.de;
  const page = await shop.catalog.product.list({
    filter: {
      price: { gte: 10 },
      condition: ["new"][0] === "new" ? "new" : "used",
      tags: { contains: "light" },
      "category.slug": lamps.values.slug,
      or: [{ sku: "AB-1000" }, { price: { lt: 0 }, condition: "used" }],
      not: { or: [{ sku: null }, { condition: { in: ["used"] } }] },
    },
    search: "tisch",
    sort: ["-price", "createdAt"],
    expand: ["category"],
    locale: "de",
  });
  const grouped = await shop.catalog.product.aggregate({
    aggregate: { n: "count", dearest: "max(price)" },
    group: ["condition"],
    filter: { price: { gte: 10 } },
  });
  const dearest: unknown = grouped[0]?.values.dearest;
  if (dearest !== 49.5) throw new Error("not aggregated");
  const [first] = page.items;
  if (first === undefined) throw new Error("nothing found");
  const title: string = first.values.title;
  const price: number = first.values.price;
  const condition: "new" | "used" | "refurbished" | null | undefined = first.values.condition;
  const category: string | undefined = first.expand.category?.values.title;
  const stop = shop.catalog.product.live({ filter: { price: { gte: 10 } }, locale: "de" }, (items) => {
    const shown: string | undefined = items[0]?.values.title;
    console.log(shown);
  });
  stop();
  const changed = await shop.catalog.product.update(first, { price: 12 }, { locale: "de" });
  const number: number = changed.values.price;
  const kept = await shop.catalog.product.put({ sku: "AB-1000" }, { ...(await shop.catalog.product.get({ sku: "AB-1000" })).values });
  const added = await shop.catalog.product.put({ sku: "AB-2000" }, { title: { en: "Chair" }, price: { US: 1 } });
  const fresh: number = (await shop.catalog.product.patch({ sku: "AB-2000" }, { price: { US: 2 } })).revision;
  await shop.catalog.product.delete({ sku: "AB-2000" });
  const written = await shop.batch([
    { create: "catalog/category", values: { title: { en: "Sets" }, slug: "sets" }, as: "sets", publish: true },
    { create: "catalog/product", values: { title: { en: "Set" }, sku: "AB-3000", price: { US: 1 }, category: { $ref: "sets" } } },
    { update: \`catalog/product/\${made.id}\`, values: { tags: ["light", "set"] }, if: { "==": [{ var: "values.sku" }, "AB-1000"] } },
  ]);
  const set = await shop.catalog.product.get({ sku: "AB-3000" }, { revision: "latest" });
  if (set.id !== written[1]?.id || set.values.category !== written[0]?.id) throw new Error("not written together");
  const days = await shop.catalog.category.patch(written[0]?.id ?? "", {}, { add: { position: 3 } });
  if (days.values.position !== 3) throw new Error("not added");
  await shop.batch([{ delete: \`catalog/product/\${set.id}\`, ifMatch: 1 }, { delete: \`catalog/category/\${written[0]?.id}\` }]);
  if (kept.id !== made.id || added.id === made.id || fresh !== 2) throw new Error("not addressed by the key");
  const settings = await shop.call("settings.get", { module: "preferences" });
  const theme: "light" | "dark" | "system" | null | undefined = settings.values.theme;
  const order = await shop.call("transactions.record", { values: { total: 5, currency: "EUR", items: ["lamp"] } });
  const total: number | null | undefined = order.values.total;
  const files = createClient<Orbs>({ url, token });
  const { id } = await files.files("album").upload(new Blob(["words"]), { name: "a.txt" });
  const picture = await files.orb("album").pictures.picture.create({ image: { file: id }, papers: [{ file: id }] });
  const size: number | undefined = picture.values.image?.size;
  const name: string | undefined = picture.values.papers?.[0]?.name;
  const library = files.files("album");
  await library.update(id, { tags: ["words"], alt: { en: "Words" } });
  const described = await files.orb("album").pictures.picture.get(picture.id, { expand: ["image", "papers"], revision: "latest", locale: "en" });
  const text = described.expand.image?.alt;
  const alt = described.expand.papers?.[0]?.alt;
  const { items: found } = await library.list({ search: "words", tag: "words" });
  const { usedIn } = await library.get(id);
  if (text !== "Words" || alt !== "Words" || found[0]?.id !== id || usedIn[0]?.id !== picture.id) throw new Error(JSON.stringify([text, alt, found, usedIn, picture.id]));
  return { whole, title, price, condition, category, number, theme, total, size, name, isProblem: isProblem(new Error("x")) };
}
`;

const SETS = `import { createClient, isProblem } from "../../shared/client/index.ts";
import type { Orbs } from "./orbs.ts";

export async function run(url: string, token: string) {
  const shop = createClient<Orbs>({ url, token, locale: "en" }).orb("shop");
  const { category } = shop.catalog;
  const old = await category.create({ title: "Set lamps", slug: "set-lamps" }, { publish: true });
  const set = await shop.changes.open({ title: "Spring sale", description: "For April" });
  const sale = shop.changes.in(set);
  const changed = await sale.catalog.category.update(old, { title: "New lamps" });
  const made = await sale.catalog.category.create({ title: "Chairs", slug: "set-chairs" });
  const [added] = await sale.batch([{ update: \`catalog/category/\${made.id}\`, add: { position: 2 } }]);
  if (added?.revision !== 2) throw new Error("not written into the set");
  // @ts-expect-error: the schema has no such field.
  const wrong = () => sale.batch([{ create: "catalog/category", values: { name: "Chairs" } }]);
  const title: string = (await sale.catalog.category.get(old.id)).values.title;
  const seen = await sale.catalog.category.list({ filter: { slug: { startsWith: "set-" } }, sort: "slug" });
  // @ts-expect-error: a set has no figures.
  const figures = () => sale.catalog.category.aggregate({});
  const byKey = await sale.catalog.category.put({ slug: "set-put" }, { title: "Put" });
  const putAgain = await sale.catalog.category.put({ slug: "set-put" }, { title: "Put" });
  if (byKey.id !== putAgain.id) throw new Error("put twice");
  const { changed: swept } = await sale.catalog.category.patchAll({ filter: { slug: "set-put" } }, { title: "Put twice" });
  if (swept !== 1) throw new Error("not changed in the set");
  await new Promise<void>((resolve) => {
    const stop = sale.catalog.category.live({ filter: { slug: "set-put" } }, (items) => {
      if (items[0]?.values.title !== "Put twice") return;
      resolve();
      setTimeout(() => stop(), 0);
    });
  });
  await sale.catalog.category.deleteAll({ filter: { slug: "set-put" } });
  // @ts-expect-error: no such collection.
  const none = () => sale.catalog.nothing;
  // @ts-expect-error: handlers do not take part in change sets.
  const call = () => sale.call("settings.get", { module: "preferences" });
  const before = await category.get(old.id);

  const { items, hidden } = await shop.changes.diff(set.id);
  const parts: string[] = items.flatMap(({ fields }) => fields.map(({ name, changes }) => name + changes.length));
  const comment = await shop.changes.comment(set.id, { text: "Final?", entry: "catalog/category/" + old.id, field: "title" });
  await shop.changes.resolve(set.id, comment.id);
  const comments = (await shop.changes.comments(set.id)).items.map(({ text, resolved }) => [text, resolved !== null]);
  const asked = await shop.changes.review(await shop.changes.get(set.id));
  await sale.catalog.category.patch(made.id, { title: "Stools" });
  const unseen = await shop.changes.approve(asked).catch((error: unknown) => isProblem(error, "hash_mismatch"));
  const [inList] = (await shop.changes.list({ entry: "catalog/category/" + old.id })).items;
  if (inList === undefined) throw new Error("not listed");
  const blind = await Promise.allSettled([
    // @ts-expect-error: a set of a list has no hash of the content.
    shop.changes.approve(inList),
    // @ts-expect-error: nor has one that is named by its revision.
    shop.changes.publish({ id: inList.id, revision: inList.revision }),
  ]);
  const rejected = await shop.changes.reject(set.id, "Too early");
  const stale = await shop.changes.close(asked).catch((error: unknown) => isProblem(error, "revision_mismatch"));
  const renamed = await shop.changes.patch(rejected, { title: "Summer sale", description: null });
  const planned = await shop.changes.patch(renamed, { publishAt: new Date("2999-03-01T08:00:00Z") });
  const unplanned = await shop.changes.patch(planned, { publishAt: null });
  const containing = await shop.changes.list({ entry: "catalog/category/" + old.id });
  await shop.changes.review(unplanned);
  const approved = await shop.changes.approve(await shop.changes.get(set.id), { comment: "Good" });
  const published = await shop.changes.publish(approved);
  const again = await shop.changes.publish(approved);
  const after = await category.get({ slug: "set-chairs" });
  const back = await shop.changes.revert(set.id);
  await shop.changes.remove(back.id, after.id);
  await shop.changes.close(back.id);
  const listed = await shop.changes.list({ state: "CLOSED" });
  return {
    changed: changed.revision,
    title,
    seen: seen.items.map(({ values }) => values.title),
    before: before.values.title,
    parts,
    hidden,
    comments,
    unseen,
    stale,
    blind: blind.map((each) => each.status === "rejected" && each.reason instanceof TypeError),
    rejected: rejected.rejection?.comment,
    renamed: [renamed.title, renamed.description],
    planned: [planned.publishAt, unplanned.publishAt, containing.items.map(({ id }) => id === set.id)],
    approved: [approved.state, approved.approvals[0]?.comment],
    published: published.items.map(({ status }) => status),
    again: again.change.id === set.id,
    after: [after.values.title, after.values.position],
    closed: listed.items.some(({ id, reverts }) => id === back.id && reverts === set.id),
    none: [figures, none, call, wrong].length,
  };
}
`;

/** An orb with the types whose values have a form of their own. */
const STOCK = {
  id: "stocked",
  modules: [
    {
      id: "goods",
      type: "CONTENT",
      schemas: [
        {
          id: "item",
          fields: [
            { name: "title", type: "string", required: true },
            { name: "slug", type: "slug", from: "title", unique: true, required: true },
            { name: "price", type: "decimal", scale: 2, required: true },
            { name: "tier", type: "decimal", scale: 1, enum: ["1.0", "2.5"], default: "1.0" },
            { name: "mail", type: "email", required: true, showIf: { "!!": [{ var: "site" }] } },
            { name: "site", type: "url" },
            { name: "opens", type: "time" },
            { name: "at", type: "datetime" },
            { name: "weight", type: "number" },
            { name: "pin", type: "string", sensitive: true },
            { name: "like", type: "reference", ref: "stocked/goods/item" },
          ],
        },
        {
          id: "page",
          fields: [
            { name: "title", type: "string" },
            {
              name: "body",
              type: "richText",
              styles: ["normal", "h2"],
              links: ["stocked/goods/page", "stocked/goods/item"],
              components: ["note"],
            },
            { name: "sections", type: "blocks", components: ["note", "total"] },
            {
              name: "about",
              type: "reference",
              ref: ["stocked/goods/page", "stocked/goods/item"],
              list: true,
            },
          ],
        },
      ],
    },
  ],
  components: [
    {
      id: "note",
      fields: [{ name: "text", type: "richText", styles: ["normal"], lists: [], marks: ["em"] }],
    },
    { id: "total", fields: [{ name: "amount", type: "decimal", scale: 2, required: true }] },
  ],
};

/** The types of blocks, rich text and references to several schemas are unions of all that the values can be. */
const RICH = `import { createClient } from "../../shared/client/index.ts";
import type { Orbs } from "./orbs.ts";

export async function run(url: string, token: string) {
  const { item, page } = createClient<Orbs>({ url, token }).orb("stocked").goods;
  const chair = await item.create({ title: "Chair", price: "0.10" }, { publish: true });
  const made = await page.create({
    title: "Start",
    body: { markdown: "## Hello *you*" },
    sections: [{ _type: "note", text: { html: "<p>Take <em>care</em></p>" } }, { _type: "total", amount: "1.50" }],
    about: [{ schema: "stocked/goods/item", id: chair.id }],
  }, { publish: true });
  const styles: ("normal" | "h2")[] = [];
  const texts: string[] = [];
  for (const block of made.values.body ?? []) {
    if (block._type === "note") {
      texts.push(block._key);
      continue;
    }
    styles.push(block.style);
    const level: number | null | undefined = block.level;
    for (const { text, marks } of block.children) texts.push(text, ...marks);
    for (const link of block.markDefs)
      texts.push(String(level), link.href ?? link.reference?.schema satisfies string | undefined ?? "");
    // @ts-expect-error: only blocks of the component have its fields.
    texts.push(...(block.text ?? []));
  }
  const amounts: string[] = [];
  for (const section of made.values.sections ?? []) if (section._type === "total") amounts.push(section.amount);
  const about: "stocked/goods/item" | "stocked/goods/page" | undefined = made.values.about?.[0]?.schema;
  const liked = await page.list({ filter: { "about.like.slug": "none" } });
  // @ts-expect-error: a filter leads through two references at most.
  const far = () => page.list({ filter: { "about.like.like.slug": "none" } });
  // @ts-expect-error: a slug is a text.
  const other = () => page.list({ filter: { "about.like.slug": 1 } });
  const written = await page.patch(made, {
    body: [{ _type: "block", children: [{ _type: "span", text: "More" }] }],
  });
  const html = await page.update(written, { body: { html: "<h2>New</h2>" } });
  // @ts-expect-error: no such markup.
  const wrong = () => page.create({ body: { text: "Hello" } });
  // @ts-expect-error: the field does not allow the style.
  const style = () => page.create({ body: [{ _type: "block", style: "h3", children: [{ _type: "span", text: "" }] }] });
  // @ts-expect-error: no such component.
  const component = () => page.create({ sections: [{ _type: "other" }] });
  // @ts-expect-error: not a schema of the field.
  const target = () => page.create({ about: [{ schema: "stocked/goods/other", id: chair.id }] });
  const first = html.values.body?.[0];
  const last = first?._type === "block" ? first.children[0]?.text : undefined;
  return { styles, texts, amounts, about, last, liked: liked.items.length, none: [wrong, style, component, target, far, other].length };
}
`;

const TYPED = `import { createClient } from "../../shared/client/index.ts";
import type { Orbs } from "./orbs.ts";

export async function run(url: string, token: string) {
  const { item } = createClient<Orbs>({ url, token }).orb("stocked").goods;
  const made = await item.create({ title: "Red chair", price: "0.10" }, { publish: true });
  const second = await item.create(
    { title: "Red chair", price: "0.2", opens: "09:30:00", tier: "2.5", like: { slug: "red-chair" } },
    { publish: true },
  );
  const like: string | null | undefined = second.values.like;
  // @ts-expect-error: only unique values name an entry.
  const unnamed = () => item.create({ title: "Red chair", price: "0.2", like: { title: "Red chair" } });
  const slug: string = made.values.slug;
  const tier: "1.0" | "2.5" | null | undefined = made.values.tier;
  const [all] = await item.aggregate({ aggregate: { total: "sum(price)", mean: "avg(price)" } });
  // @ts-expect-error: a decimal is a text.
  const wrong: number = made.values.price;
  // @ts-expect-error: texts have no sum.
  const none = () => item.aggregate({ aggregate: { total: "sum(slug)" } });
  const { items } = await item.list({ filter: { price: { gte: "0.2" }, opens: "09:30" }, sort: ["-price"] });
  return { slug, tier, all: all?.values, found: items.map(({ values }) => [values.slug, values.price, values.opens]), none: typeof none, unnamed: typeof unnamed, isLike: like === made.id, wrong };
}
`;

let platform: TestPlatform;
let token: string;

beforeAll(async () => {
  platform = await sharedPlatform({ link: true });
  token = await adminToken(platform);
  for (const body of [JSON.parse(shop) as unknown, ALBUM, STOCK])
    expect((await call(platform, "POST", "/api/admin/orbs?publish=true", { token, body })).status).toBe(201);
});

const overview = async () =>
  ((await (await fetch(`${platform.url}/api/discovery`)).json()) as { orbs: OrbView[] }).orbs;
const client = (more: object = {}) => createClient({ url: platform.origin, token, ...more });

describe("generated types", () => {
  const folder = programs();
  afterAll(() => folder[Symbol.dispose]());

  test("type-check a program against the orb, and the program works", async () => {
    folder.write("orbs.ts", typesOf(await overview()));
    const program = folder.write("right.ts", RIGHT);
    folder.compile();
    const { run } = (await import(program)) as { run: (url: string, token: string) => Promise<unknown> };
    expect(await run(platform.origin, token)).toMatchObject({
      whole: "Tischlampe",
      title: "Tischlampe",
      price: 49.5,
      condition: "new",
      category: "Lampen",
      number: 12,
      theme: "system",
      total: 5,
      size: 5,
      name: "a.txt",
      isProblem: false,
    });
  });

  test("reads and writes in a change set, and reviews, publishes and takes it back", async () => {
    folder.write("orbs.ts", typesOf(await overview()));
    const program = folder.write("sets.ts", SETS);
    folder.compile();
    const { run } = (await import(program)) as { run: (url: string, token: string) => Promise<unknown> };
    expect(await run(platform.origin, token)).toEqual({
      changed: 2,
      title: "New lamps",
      seen: ["Chairs", "New lamps"],
      before: "Set lamps",
      parts: ["title1", "title1", "slug1", "position1"],
      hidden: 0,
      comments: [["Final?", true]],
      unseen: true,
      stale: true,
      blind: [true, true],
      rejected: "Too early",
      renamed: ["Summer sale", null],
      planned: ["2999-03-01T08:00:00.000Z", null, [true]],
      approved: ["APPROVED", "Good"],
      published: ["PUBLISHED", "PUBLISHED"],
      again: true,
      after: ["Stools", 2],
      closed: true,
      none: 4,
    });
  });

  test("has exact numbers and addresses as texts, and leaves slugs to the platform", async () => {
    folder.write("orbs.ts", typesOf(await overview()));
    const program = folder.write("typed.ts", TYPED);
    folder.compile();
    const { run } = (await import(program)) as { run: (url: string, token: string) => Promise<unknown> };
    expect(await run(platform.origin, token)).toEqual({
      slug: "red-chair",
      tier: "1.0",
      all: { total: "0.30", mean: "0.15000000" },
      found: [["red-chair-2", "0.20", "09:30"]],
      none: "function",
      unnamed: "function",
      isLike: true,
      wrong: "0.10",
    });
  });

  test("has unions for blocks, rich text and references, and takes Markdown and HTML for rich text", async () => {
    folder.write("orbs.ts", typesOf(await overview()));
    const program = folder.write("rich.ts", RICH);
    folder.compile();
    const { run } = (await import(program)) as { run: (url: string, token: string) => Promise<unknown> };
    expect(await run(platform.origin, token)).toEqual({
      styles: ["h2"],
      texts: ["Hello ", "you", "em"],
      amounts: ["1.50"],
      about: "stocked/goods/item",
      last: "New",
      liked: 0,
      none: 6,
    });
  });
});

test("approves a planned set, although the response is lost and the set is scheduled already", async () => {
  const { changes } = client().orb("shop");
  const publishAt = new Date(Date.now() + 3_600_000);
  const { id } = await changes.open({ title: "Planned", publishAt });
  await changes.in(id).news?.article?.create({ headline: { en: "Later" } });
  await changes.review(id);
  await changes.approve(id);
  // The edit voids the approval. The next one schedules what was planned.
  await changes.in(id).news?.article?.create({ headline: { en: "Later still" } });
  await changes.patch(id, { publishAt });
  const seen = await changes.get(id);
  let lost = 0;
  const flaky: typeof fetch = async (...request) => {
    const response = await fetch(...request);
    if (lost++ === 0) throw new TypeError("the connection was lost");
    return response;
  };
  const approved = await client({ fetch: flaky }).orb("shop").changes.approve(seen);
  expect(lost).toBe(2);
  expect(approved).toMatchObject({ state: "SCHEDULED", hash: seen.hash, publishAt: publishAt.toISOString() });
  expect(approved.approvals).toHaveLength(1);
  await expect(changes.approve(id)).rejects.toMatchObject({ code: "wrong_state" });
  await changes.close(id);
  await expect(changes.approve(seen)).rejects.toMatchObject({ code: "wrong_state" });
});

describe("entries", () => {
  const articles = () => client().orb("shop").news?.article ?? expect.fail("the proxy knows every name");

  test("creates one entry, although responses are lost and the request is repeated", async () => {
    let lost = 2;
    const flaky: typeof fetch = async (...request) => {
      const response = await fetch(...request);
      if (lost-- > 0) throw new TypeError("the connection was lost");
      return response;
    };
    const { article } = client({ fetch: flaky }).orb("shop").news ?? {};
    const made = await article?.create({ headline: { en: "Once" } }, { publish: true });
    const { items } = await articles().list({ filter: { headline: "Once" } });
    expect(items.map(({ id }) => id)).toEqual([made?.id]);
  });

  test("keeps all values that an update does not name, in every language", async () => {
    const made = await articles().create({ headline: { en: "Old", de: "Alt" }, body: { en: "Text" } });
    const changed = await articles().update(made, { body: { en: "New text" } });
    expect(changed.values).toMatchObject({ headline: { en: "Old", de: "Alt" }, body: { en: "New text" } });
    const german = await articles().update(changed, { headline: "Neu" }, { locale: "de" });
    expect(german).toMatchObject({ revision: 3, values: { headline: "Neu" } });
    const latest = await articles().get(made.id, { revision: "latest" });
    expect(latest.values).toMatchObject({ headline: { en: "Old", de: "Neu" }, body: { en: "New text" } });
  });

  test("patches what is named, and merges maps", async () => {
    const made = await articles().create({ headline: { en: "Old", de: "Alt" }, body: { en: "Text" } });
    const changed = await articles().patch(made, { headline: { de: "Neu" }, body: null });
    expect(changed).toMatchObject({ revision: 2, values: { headline: { en: "Old", de: "Neu" } } });
    expect(changed.values.body ?? null).toBeNull();
    const stale = await articles()
      .patch(made, { headline: { de: "Spät" } })
      .catch((reason: unknown) => reason);
    expect(isProblem(stale, "revision_mismatch")).toBe(true);
    expect((await articles().patch(made.id, { headline: { de: null } })).values.headline).toEqual({
      en: "Old",
    });
  });

  test("reads the history, and brings a revision back", async () => {
    const made = await articles().create({ headline: { en: "Old", de: "Alt" } });
    const changed = await articles().update(made, { headline: { en: "New" } });
    const { items, nextCursor } = await articles().revisions(made.id, { limit: 1 });
    expect([items.map(({ revision }) => revision), nextCursor]).toEqual([[2], expect.any(String)]);
    const oldest = await articles().revision(made.id, 1);
    expect(oldest.values).toMatchObject({ headline: { en: "Old", de: "Alt" } });
    const at = await articles().get(made.id, { at: new Date(items[0]?.at ?? "") });
    expect(at.values).toMatchObject({ headline: { en: "New" } });
    const back = await articles().revert(changed, 1);
    expect(back).toMatchObject({ revision: 3, values: { headline: { en: "Old", de: "Alt" } } });
  });

  test("changes and deletes all entries that match", async () => {
    for (let number = 1; number <= 3; number++)
      await articles().create({ headline: { en: `Bulk ${number}` } });
    const filter = { headline: { startsWith: "Bulk" } };
    const dry = await articles().patchAll({ filter }, { body: { en: "Same" } }, { dryRun: true });
    expect(dry).toEqual({ changed: 3, unchanged: 0, failed: [] });
    const done = await articles().patchAll({ filter }, { body: { en: "Same" } }, { publish: true });
    expect(done).toEqual({ changed: 3, unchanged: 0, failed: [] });
    const { items } = await articles().list({ filter });
    expect(items.map(({ values }) => values.body)).toEqual(Array(3).fill({ en: "Same" }));
    expect(await articles().deleteAll({ filter })).toMatchObject({ changed: 3, failed: [] });
    expect((await articles().list({ filter })).items).toEqual([]);
  });

  test("publishes what an update names, and no other draft", async () => {
    const made = await articles().create(
      { headline: { en: "Old", de: "Alt" }, body: { en: "Text" } },
      { publish: true },
    );
    const draft = await articles().update(made, { body: { en: "UNFINISHED" } });
    const changed = await articles().update(draft, { headline: { en: "New" } }, { publish: true });
    expect(changed.values).toMatchObject({ headline: { en: "New" }, body: { en: "UNFINISHED" } });
    const live = await articles().get(made.id);
    expect(live.values).toMatchObject({ headline: { en: "New" }, body: { en: "Text" } });
    expect(live.values.headline).toEqual({ en: "New" });
    await articles().delete(made.id);
  });

  test("reports a conflict with both versions, and loses neither", async () => {
    const made = await articles().create({ headline: { en: "Draft" } });
    await articles().update(made, { headline: { en: "Theirs" } });
    const error = await articles()
      .update(made, { headline: { en: "Mine" } })
      .catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(Conflict);
    expect(isProblem(error, "revision_mismatch")).toBe(true);
    expect(error).toMatchObject({
      theirs: { revision: 2, values: { headline: { en: "Theirs" } } },
      mine: { headline: { en: "Mine" } },
    });
  });

  test("recognises its own update when only the response was lost", async () => {
    let lost = 0;
    const flaky: typeof fetch = async (address, init) => {
      const response = await fetch(address, init);
      if (lost === 0 || !/PUT|PATCH/.test(init?.method ?? "")) return response;
      lost--;
      throw new TypeError("the connection was lost");
    };
    const made = await articles().create({ headline: { en: "First" } });
    const article = client({ fetch: flaky }).orb("shop").news?.article ?? expect.fail();
    lost = 1;
    const changed = await article.update(made, { headline: { en: "Second" } });
    expect(changed).toMatchObject({ revision: 2, values: { headline: { en: "Second" } } });
    lost = 1;
    const patched = await article.patch(changed, { headline: { de: "Zweite" } });
    expect(patched).toMatchObject({ revision: 3, values: { headline: { en: "Second", de: "Zweite" } } });
    // The platform stores or shows these values in another form than they were sent.
    const { page, item } = client({ fetch: flaky }).orb("stocked").goods ?? {};
    const pages = [{ body: { markdown: "Third" } }, { body: { html: "<p>Third</p>" } }];
    const items = [
      { price: "1.5" },
      { tier: "2.50" },
      { pin: "1234" },
      { opens: "09:30:00" },
      { at: "2026-03-04T05:06:07+02:00" },
      { weight: -0 },
      { mail: "Ann@EXAMPLE.com", site: "HTTPS://müller.example" },
      { title: "Other title", slug: null },
    ];
    const cases = [
      ...pages.map((values) => ({ schema: page, first: { title: "First" }, values })),
      ...items.map((values, number) => ({
        schema: item,
        first: { title: `Lost ${number}`, price: "0.10" },
        values,
      })),
    ];
    for (const { schema, first, values } of cases) {
      const before = (await schema?.create(first)) ?? expect.fail();
      lost = 1;
      expect(await schema?.update(before, values), JSON.stringify(values)).toMatchObject({ revision: 2 });
      expect(lost).toBe(0);
      await expect(schema?.update(before, values)).rejects.toBeInstanceOf(Conflict);
    }
  });

  test("yields all entries of a list over several pages", async () => {
    const { category } = client().orb("shop").catalog ?? {};
    if (category === undefined) return expect.fail();
    for (let i = 0; i < 7; i++)
      await category.create({ slug: `page-${i}`, title: { en: `Page ${i}` } }, { publish: true });
    const slugs: unknown[] = [];
    const filter = { slug: { startsWith: "page-" } };
    for await (const found of category.all({ filter, limit: 3, sort: "-slug" }))
      slugs.push(found.values.slug);
    expect(slugs).toEqual(["page-6", "page-5", "page-4", "page-3", "page-2", "page-1", "page-0"]);
  });

  test("answers operations in the language of the client", async () => {
    const made = await articles().create({ headline: { en: "Now", de: "Jetzt" } });
    const german = client({ locale: "de" }).orb("shop").news?.article ?? expect.fail();
    const live = await german.publish(made.id);
    expect([live.status, live.revision, live.values.headline]).toEqual(["PUBLISHED", 2, "Jetzt"]);
    expect((await german.revert(live, 1)).values.headline).toBe("Jetzt");
    expect((await german.archive(made.id)).values.headline).toBe("Jetzt");
    expect((await articles().restore(made.id)).values.headline).toEqual({ en: "Now", de: "Jetzt" });
  });

  test("publishes, unpublishes, archives, restores and deletes", async () => {
    const made = await articles().create({ headline: { en: "Moves" } });
    const live = await articles().publish(made);
    expect(live.status).toBe("PUBLISHED");
    expect((await articles().unpublish(live)).status).toBe("UNPUBLISHED");
    expect((await articles().archive(made.id)).status).toBe("ARCHIVED");
    expect((await articles().restore(made.id)).status).toBe("UNPUBLISHED");
    await articles().delete(made.id);
    expect(
      isProblem(
        await articles()
          .get(made.id)
          .catch((error: unknown) => error),
        "entry_not_found",
      ),
    ).toBe(true);
  });
});

describe("problems", () => {
  test("carry the code, the faults and the id of the request", async () => {
    const { review } = client().orb("shop").reviews ?? {};
    const error = await review?.create({ stars: 9 }).catch((reason: unknown) => reason);
    expect(error).toMatchObject({ status: 422, code: "validation_failed", requestId: expect.any(String) });
    if (isProblem(error, "validation_failed"))
      expect(error.errors.map(({ path }) => path).sort()).toEqual(["/values/product", "/values/stars"]);
  });

  test("end repetitions when the caller aborts", async () => {
    const away = createClient({ url: "http://127.0.0.1:9" });
    const controller = new AbortController();
    const waiting = away.orb("shop").news?.article?.list({ signal: controller.signal });
    controller.abort();
    await expect(waiting).rejects.toMatchObject({ name: "AbortError" });
  });
});

test("reads a stream across reconnections without losing or repeating a message", async () => {
  const mapping = { stream: "øshop", subjectFilter: "shop.*.public.>", description: "Published entries" };
  const mapped = await call(platform, "PUT", "/api/admin/streams/shop-live", { token, body: mapping });
  expect(mapped.status).toBe(201);
  const { category } = client().orb("shop").catalog ?? {};
  const ids: (string | undefined)[] = [];
  const publish = async (slug: string) => {
    const made = await category?.create({ slug, title: { en: slug } }, { publish: true });
    ids.push(made?.id);
  };
  let offset = "now";
  const batch = await client().stream("shop-live", { offset }).next();
  offset = batch.value?.offset ?? expect.fail("the stream has a first batch");
  await publish("stream-0");
  const seen: string[] = [];
  while (seen.length < 5) {
    for await (const { messages, offset: next } of client().stream<{ id: string }>("shop-live", { offset })) {
      seen.push(...messages.map(({ id }) => id));
      offset = next;
      if (messages.length === 0) continue;
      // Published between two connections.
      await publish(`stream-${ids.length}`);
      break;
    }
  }
  expect(seen).toEqual(ids.slice(0, 5));
});

test("follows a list in its order, and tells why it cannot", async () => {
  const { category } = client().orb("shop").catalog ?? {};
  if (category === undefined) throw new Error("the orb has no such module");
  const create = (slug: string) => category.create({ slug, title: { en: slug } }, { publish: true });
  const one = await create("live-1");
  await create("live-2");
  const shown: string[][] = [];
  const waiting: (() => void)[] = [];
  const stop = category.live({ filter: { slug: { startsWith: "live-" } }, sort: "-slug" }, (items) => {
    shown.push(items.map(({ values }) => String(values.slug)));
    for (const go of waiting.splice(0)) go();
  });
  const until = async (slugs: string[]) => {
    while (shown.at(-1)?.join() !== slugs.join()) await new Promise<void>((go) => waiting.push(go));
  };
  await until(["live-2", "live-1"]);
  await create("live-3");
  await until(["live-3", "live-2", "live-1"]);
  await category.unpublish(one);
  await until(["live-3", "live-2"]);
  stop();
  await create("live-4");
  expect(shown.at(-1)).toEqual(["live-3", "live-2"]);

  const refused = new Promise<unknown>((onError) => {
    const missing = client().orb("shop").catalog?.nothing;
    missing?.live({}, () => undefined, { onError });
  });
  expect(isProblem(await refused, "schema_not_found")).toBe(true);
});

test("is at most 9 KiB in size", async () => {
  const { build } = await import("esbuild");
  const [made] = (
    await build({
      entryPoints: ["shared/client/index.ts"],
      bundle: true,
      minify: true,
      format: "esm",
      write: false,
    })
  ).outputFiles;
  expect(gzipSync(made?.contents ?? "").length).toBeLessThan(9 * 1024);
});
