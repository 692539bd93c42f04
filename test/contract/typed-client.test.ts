/** Uses the client as an application does: generates types of an orb, compiles a program with them, and runs it. */
import { readFileSync } from "node:fs";
import { gzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { OrbView } from "../../functions/discovery/overview-schemas.ts";
import { typesOf } from "../../scripts/cli/orb-types.ts";
import { Conflict, createClient, isProblem } from "../../shared/client/index.ts";
import { adminToken, call } from "../support/auth.ts";
import { sharedPlatform, type TestPlatform } from "../support/platform.ts";
import { programs } from "../support/typed-program.ts";

const shop = readFileSync(new URL("../../scripts/examples/shop.json", import.meta.url), "utf8");

const FILES = [
  { name: "image", type: "file" },
  { name: "papers", type: "file", list: true },
];
const ALBUM = {
  id: "album",
  modules: [{ id: "pictures", type: "CONTENT", schemas: [{ id: "picture", fields: FILES }] }],
};

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
  const settings = await shop.call("settings.get", { module: "preferences" });
  const theme: "light" | "dark" | "system" | null | undefined = settings.values.theme;
  const order = await shop.call("transactions.record", { values: { total: 5, currency: "EUR", items: ["lamp"] } });
  const total: number | null | undefined = order.values.total;
  const files = createClient<Orbs>({ url, token });
  const { id } = await files.files("album").upload(new Blob(["words"]), { name: "a.txt" });
  const picture = await files.orb("album").pictures.picture.create({ image: { file: id }, papers: [{ file: id }] });
  const size: number | undefined = picture.values.image?.size;
  const name: string | undefined = picture.values.papers?.[0]?.name;
  return { whole, title, price, condition, category, number, theme, total, size, name, isProblem: isProblem(new Error("x")) };
}
`;

const WRONG = `import { createClient } from "../../shared/client/index.ts";
import type { Orbs } from "./orbs.ts";

const client = createClient<Orbs>({ url: "" });
// @ts-expect-error no such orb
client.orb("shops");
const shop = client.orb("shop");
// @ts-expect-error no such schema
await shop.catalog.nothing.list();
// @ts-expect-error RULES modules have no automatic routes
await shop.discounts.discount.list();
// @ts-expect-error not one of the allowed values
await shop.catalog.product.list({ filter: { condition: "broken" } });
// @ts-expect-error sensitive fields cannot be used in filters
await shop.catalog.product.list({ filter: { supplierNote: "x" } });
// @ts-expect-error no such operator for a number
await shop.catalog.product.list({ filter: { price: { startsWith: "1" } } });
// @ts-expect-error no such field to add up
await shop.catalog.product.aggregate({ aggregate: { total: "sum(weight)" } });
// @ts-expect-error no such field in a group
await shop.catalog.product.list({ filter: { or: [{ weight: 1 }] } });
// @ts-expect-error no such field of the referenced entry
await shop.catalog.product.list({ filter: { "category.weight": 1 } });
// @ts-expect-error no such field
await shop.catalog.product.list({ sort: "-weight" });
// @ts-expect-error not a reference
await shop.catalog.product.list({ expand: ["sku"] });
// @ts-expect-error a required field is missing
await shop.catalog.product.create({ title: "Lamp", sku: "AB-1000" }, { locale: "en" });
// @ts-expect-error text where there is a number
await shop.reviews.review.create({ product: "0", stars: "5" });
// @ts-expect-error no such language
await shop.catalog.category.create({ slug: "x", title: { fr: "Lampes" } });
// @ts-expect-error no such handler
await shop.call("pricing.quote", {});
// @ts-expect-error not one of the allowed values of the orb's own schema
await shop.call("transactions.record", { values: { total: 5, currency: "GBP", items: [1] } });
// @ts-expect-error a setting with another type
await shop.call("settings.set", { values: { pageSize: "many" } });
const { picture } = client.orb("album").pictures;
// @ts-expect-error a file is an object with its id
await picture.create({ image: "0" });
// @ts-expect-error one file in a list of files
await picture.create({ papers: { file: "0" } });
const all = await shop.catalog.product.get("0");
// @ts-expect-error without a language, the value is a map
all.values.title.toUpperCase();
// @ts-expect-error the field is not required
(await shop.reviews.review.get("0")).values.text.length;
// @ts-expect-error a value that was never set is missing
const text: string | null = (await shop.reviews.review.get("0")).values.text;
`;

let platform: TestPlatform;
let token: string;

beforeAll(async () => {
  platform = await sharedPlatform();
  token = await adminToken(platform);
  for (const body of [JSON.parse(shop) as unknown, ALBUM])
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
    folder.write("wrong.ts", WRONG);
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
    const { items } = await articles().list({ filter: { headline: "Once" } as object });
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
    const filter = { headline: { startsWith: "Bulk" } } as object;
    const dry = await articles().patchAll({ filter }, { body: { en: "Same" } }, { dryRun: true });
    expect(dry).toEqual({ changed: 3, unchanged: 0, failed: [] });
    const done = await articles().patchAll({ filter }, { body: { en: "Same" } }, { publish: true });
    expect(done).toEqual({ changed: 3, unchanged: 0, failed: [] });
    const { items } = await articles().list({ filter });
    expect(items.map(({ values }) => values.body)).toEqual(Array(3).fill({ en: "Same" }));
    expect(await articles().deleteAll({ filter })).toMatchObject({ changed: 3, failed: [] });
    expect((await articles().list({ filter })).items).toEqual([]);
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
    const made = await articles().create({ headline: { en: "First" } });
    let lost = 1;
    const flaky: typeof fetch = async (address, init) => {
      const response = await fetch(address, init);
      if (init?.method === "PUT" && lost-- > 0) throw new TypeError("the connection was lost");
      return response;
    };
    const { article } = client({ fetch: flaky }).orb("shop").news ?? {};
    const changed = await article?.update(made, { headline: { en: "Second" } });
    expect(changed).toMatchObject({ revision: 2, values: { headline: { en: "Second" } } });
  });

  test("yields all entries of a list over several pages", async () => {
    const { category } = client().orb("shop").catalog ?? {};
    if (category === undefined) return expect.fail();
    for (let i = 0; i < 7; i++)
      await category.create({ slug: `page-${i}`, title: { en: `Page ${i}` } }, { publish: true });
    const slugs: unknown[] = [];
    const filter = { slug: { startsWith: "page-" } } as object;
    for await (const found of category.all({ filter, limit: 3, sort: "-slug" as never }))
      slugs.push(found.values.slug);
    expect(slugs).toEqual(["page-6", "page-5", "page-4", "page-3", "page-2", "page-1", "page-0"]);
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

test("is at most 6 KiB in size", async () => {
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
  expect(gzipSync(made?.contents ?? "").length).toBeLessThan(6 * 1024);
});
