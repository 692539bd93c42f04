/** The tasks in the interface of PocketBase. Its superusers are its only editors. */
import type { Locator, Page } from "playwright-core";
import { startEmpty } from "../pocketbase.ts";
import { api } from "../setup.ts";
import type { Hand } from "./hand.ts";
import { CONTENT, IMAGE, type Product, type Task, type Way } from "./tasks.ts";

type Running = Awaited<ReturnType<typeof startEmpty>>;
type Stored = Record<string, unknown> & { id: string };

/** A field says whether an article is published, and one from when. */
const RULE = 'published = true && (live_from = "" || live_from <= @now)';

async function fill({ url, token }: Running): Promise<void> {
  const make = (path: string, body: object) => api(`${url}/api/collections${path}`, body, token);
  const images = (await make("", {
    name: "images",
    type: "base",
    fields: [{ name: "file", type: "file", maxSelect: 1 }],
  })) as Stored;
  const text = (name: string) => ({ name, type: "text" });
  await make("", {
    name: "articles",
    type: "base",
    listRule: RULE,
    viewRule: RULE,
    fields: [
      ...["title_en", "title_de", "body"].map(text),
      { name: "image", type: "file", maxSelect: 1 },
      ...["alt_en", "alt_de"].map(text),
      { name: "shared", type: "relation", collectionId: images.id, maxSelect: 1 },
      { name: "rating", type: "number" },
      { name: "published", type: "bool" },
      { name: "live_from", type: "date" },
      { name: "created", type: "autodate", onCreate: true },
    ],
  });
  const form = new FormData();
  form.set("file", new File([new Uint8Array(IMAGE.buffer)], "old.png"));
  const sent = await fetch(`${url}/api/collections/images/records`, {
    ...{ method: "POST", body: form, headers: { authorization: token } },
  });
  const { id: shared } = (await sent.json()) as Stored;
  const article = (title_en: string, more: object = {}) =>
    make("/articles/records", { title_en, title_de: `${title_en} (de)`, ...more });
  for (let n = 0; n < CONTENT.drafts; n++) await article(`Draft ${n}`, { rating: n });
  for (let n = 0; n < CONTENT.untranslated; n++) await article(`English ${n}`, { title_de: "" });
  for (let n = 0; n < CONTENT.sharing; n++) await article(`Picture ${n}`, { shared, published: true });
  await article(CONTENT.found, { body: `the road to ${CONTENT.word}`, published: true });
  await article(CONTENT.later);
  await article(CONTENT.typo.wrong, { published: true });
}

const articles = (page: Page) => page.locator(".collections-list").getByRole("button", { name: "articles" });
const form = (page: Page) => page.locator(".record-upsert-modal");
const field = (page: Page, name: string): Locator => form(page).locator(`[name=${name}]`);
const save = (page: Page) => form(page).getByRole("button", { name: /^(Create|Save changes)$/ });

async function saved(hand: Hand): Promise<void> {
  await hand.click(save(hand.page));
  await form(hand.page).waitFor({ state: "detached" });
}

async function open(hand: Hand, title: string): Promise<void> {
  await hand.click(articles(hand.page));
  await hand.click(hand.page.locator("tr", { hasText: title }).first());
  await field(hand.page, "title_en").waitFor();
}

async function search(hand: Hand, words: string): Promise<void> {
  await hand.click(articles(hand.page));
  await hand.find(hand.page.locator("[data-placeholder='Search term or filter...']"), words);
  await hand.press("Enter");
}

/** Returns the tasks, and checks what they store. */
function waysOf({ url, token }: Running): Record<Task, Way> {
  const found = async (filter: string): Promise<Stored[]> => {
    const path = `${url}/api/collections/articles/records?perPage=100&filter=${encodeURIComponent(filter)}`;
    return ((await api(path, undefined, token)) as { items: Stored[] }).items;
  };
  const expectOne = async (filter: string) => {
    if ((await found(filter)).length !== 1) throw new Error(`no article has ${filter}`);
  };
  return {
    async article(hand) {
      const { page } = hand;
      await hand.click(articles(page));
      await hand.click(page.getByRole("button", { name: "New record" }).first());
      await hand.write(field(page, "title_en"), "A new article");
      await hand.write(field(page, "title_de"), "Ein neuer Artikel");
      await hand.pick(form(page).locator(".field-type-file button", { hasText: "Upload" }).first(), IMAGE);
      await hand.write(field(page, "alt_en"), "A red square");
      await hand.write(field(page, "alt_de"), "Ein rotes Quadrat");
      await hand.click(form(page).locator("label", { hasText: "published" }));
      await saved(hand);
      await expectOne('title_en = "A new article" && image != "" && alt_de != "" && published = true');
    },
    async schedule(hand) {
      await open(hand, CONTENT.later);
      const day = new Date(Date.now() + 7 * 86_400_000).toISOString().slice(0, 16);
      await hand.write(field(hand.page, "live_from"), day);
      await hand.click(form(hand.page).locator("label", { hasText: "published" }));
      await saved(hand);
      await expectOne(`title_en = "${CONTENT.later}" && live_from > @now && published = true`);
    },
    async typo(hand) {
      await open(hand, CONTENT.typo.wrong);
      await hand.write(field(hand.page, "title_en"), CONTENT.typo.right);
      await saved(hand);
      await expectOne(`title_en = "${CONTENT.typo.right}" && published = true`);
    },
    restore: "keeps no earlier versions of a record",
    async find(hand) {
      await search(hand, CONTENT.word);
      await hand.click(hand.page.locator("tr", { hasText: CONTENT.found }).first());
      await field(hand.page, "title_en").waitFor();
    },
    publish: "changes one record at a time: selected records can only be deleted",
    async invite(hand) {
      const { page } = hand;
      await hand.click(page.locator("summary", { hasText: "System" }));
      await hand.click(page.locator(".collections-list").getByRole("button", { name: "_superusers" }));
      await hand.click(page.getByRole("button", { name: "New record" }).first());
      await hand.write(field(page, "email"), CONTENT.colleague);
      await hand.write(field(page, "password"), "a password for a colleague");
      await hand.write(field(page, "passwordConfirm"), "a password for a colleague");
      await saved(hand);
    },
    who: "keeps neither the author of a change nor the values before it",
    type: "cannot change the type of a field: a new field begins empty",
    webhook: "sends no webhooks",
    async replace(hand) {
      const { page } = hand;
      await hand.click(page.locator(".collections-list").getByRole("button", { name: "images" }));
      await hand.click(page.locator("tbody tr").first());
      await hand.click(form(page).locator(".field-type-file .list button:visible").last());
      await hand.pick(form(page).locator(".field-type-file button", { hasText: "Upload" }), IMAGE);
      await saved(hand);
    },
    async untranslated(hand) {
      await search(hand, 'title_de=""');
      await hand.page.getByText(`Total: ${CONTENT.untranslated}`).waitFor();
    },
  };
}

export const pocketbase: Product = {
  name: "PocketBase",
  async start(dir) {
    const running = await startEmpty(dir);
    await fill(running);
    return {
      ...{ version: running.version, stop: running.stop, ways: waysOf(running) },
      async signIn(page) {
        await page.goto(`${running.url}/_/`);
        await page.locator("#login_identity").fill(running.user);
        await page.locator("#login_pass").fill(running.password);
        await page.getByRole("button", { name: "Login" }).click();
        await articles(page).waitFor();
      },
      home: `${running.url}/_/`,
      ready: articles,
    };
  },
};
