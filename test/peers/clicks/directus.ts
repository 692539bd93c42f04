/** The tasks in the interface of Directus. */
import type { Locator, Page } from "playwright-core";
import { MIGRATED, startEmpty } from "../directus.ts";
import { api } from "../setup.ts";
import type { Hand } from "./hand.ts";
import { CONTENT, IMAGE, type Product, type RunningProduct, type Task, type Way } from "./tasks.ts";

type Running = Awaited<ReturnType<typeof startEmpty>>;
type Item = Record<string, unknown> & { id: string };

const key = (type = "integer") => ({
  ...{ field: "id", type, meta: { hidden: true, readonly: true } },
  schema: { is_primary_key: true, has_auto_increment: true },
});
const plain = (field: string, type: string, meta: object = {}) => ({ field, type, meta, schema: {} });

const STATUS = plain("status", "string", {
  interface: "select-dropdown",
  options: { choices: ["draft", "published", "archived"].map((value) => ({ text: value, value })) },
});
const PUBLISHED = { ...STATUS, schema: { default_value: "published" } };

/** How lists show the translations of an article. */
const TITLES = {
  display: "translations",
  display_options: {
    template: "{{title}}",
    languageField: "name",
    defaultLanguage: "en",
    userLanguage: false,
  },
};

/** The status is the field that Directus proposes for publication. */
const ARTICLES = {
  collection: "articles",
  schema: {},
  meta: {
    archive_field: "status",
    archive_value: "archived",
    unarchive_value: "draft",

    display_template: "{{translations.title}}",
  },
  fields: [
    key(),
    PUBLISHED,
    plain("body", "text", { interface: "input-multiline" }),
    { field: "image", type: "uuid", meta: { interface: "file-image", special: ["file"] }, schema: {} },
    plain("live_from", "timestamp", { interface: "datetime" }),
    plain("rating", "integer", { interface: "input" }),
    {
      field: "translations",
      type: "alias",
      meta: {
        interface: "translations",
        special: ["translations"],
        ...TITLES,
        options: { languageField: "name", defaultLanguage: "en" },
      },
    },
  ],
};

async function fill({ url, token }: Running): Promise<void> {
  const send = async (path: string, body: unknown, method?: string) =>
    ((await api(url + path, body, token, method)) as { data: Item } | null)?.data ?? { id: "" };
  await send("/collections", {
    ...{ collection: "languages", schema: {}, meta: { hidden: true } },
    fields: [
      { field: "code", type: "string", meta: {}, schema: { is_primary_key: true } },
      plain("name", "string"),
    ],
  });
  await send("/items/languages", [
    { code: "en", name: "English" },
    { code: "de", name: "German" },
  ]);
  await send("/collections", ARTICLES);
  await send("/collections", {
    ...{ collection: "articles_translations", schema: {}, meta: { hidden: true } },
    fields: [
      key(),
      { field: "articles_id", type: "integer", meta: { hidden: true }, schema: {} },
      { field: "languages_code", type: "string", meta: { hidden: true }, schema: {} },
      plain("title", "string", { interface: "input" }),
      plain("alt", "string", { interface: "input" }),
    ],
  });
  for (const [collection, field, related_collection, meta] of [
    ["articles", "image", "directus_files", {}],
    [
      "articles_translations",
      "articles_id",
      "articles",
      { one_field: "translations", junction_field: "languages_code" },
    ],
    ["articles_translations", "languages_code", "languages", { junction_field: "articles_id" }],
  ] as const)
    await send("/relations", {
      collection,
      field,
      related_collection,
      meta,
      schema: { on_delete: "SET NULL" },
    });
  const form = new FormData();
  form.set("title", "Old picture");
  form.set("file", new File([new Uint8Array(IMAGE.buffer)], "old.png", { type: "image/png" }));
  const sent = await fetch(`${url}/files`, {
    ...{ method: "POST", body: form, headers: { authorization: `Bearer ${token}` } },
  });
  const { id: shared } = ((await sent.json()) as { data: Item }).data;
  const text = (languages_code: string, title: string) => ({ languages_code, title });
  const article = (title: string, more: object = {}) =>
    send("/items/articles", {
      ...{ status: "draft", translations: [text("en", title), text("de", `${title} (de)`)] },
      ...more,
    });
  for (let n = 0; n < CONTENT.drafts; n++) await article(`Draft ${n}`, { rating: n });
  for (let n = 0; n < CONTENT.untranslated; n++)
    await article(`English ${n}`, { status: "published", translations: [text("en", `English ${n}`)] });
  const status = "published";
  for (let n = 0; n < CONTENT.sharing; n++) await article(`Picture ${n}`, { image: shared, status });
  const body = `the road to ${CONTENT.word}`;
  await article(CONTENT.found, { status, body });
  await article(CONTENT.later);
  // A change of only a translation makes no revision of the article. So a field of the article itself changes.
  for (const { before, after } of [CONTENT.changed, CONTENT.edited]) {
    const { id } = await article(after, { status, body: before });
    await send(`/items/articles/${id}`, { body: after }, "PATCH");
  }
  await article(CONTENT.typo.wrong, { status });
  // The list shows the titles of all articles.
  const layout_query = { tabular: { fields: ["translations", "status"], limit: 100 } };
  await send("/presets", { collection: "articles", layout: "tabular", layout_query });
}

const field = (page: Page, name: string): Locator =>
  page.locator(`[data-collection=articles][data-field=${name}]`).last();
const text = (page: Page, name: string): Locator =>
  page
    .locator(`[data-collection=articles_translations][data-field=${name}]`)
    .last()
    .locator("input, textarea");
const option = (page: Page, name: string): Locator =>
  page.locator(".v-list-item", { hasText: new RegExp(`^\\s*${name}\\s*$`) }).last();
const row = (page: Page, title: string) => page.locator("tr", { hasText: title }).first();
const save = (page: Page) =>
  page
    .locator("header")
    .getByRole("button", { name: /^(Save|check)$/i })
    .first();

async function open(hand: Hand, title: string): Promise<void> {
  await hand.click(row(hand.page, title));
  await text(hand.page, "title").waitFor();
}

async function setStatus(hand: Hand, status: string): Promise<void> {
  const { page } = hand;
  await hand.click(field(page, "status").locator(".v-input").first());
  await hand.click(option(page, status));
}

/** Filters the list by a field. */
async function filter(hand: Hand, name: string): Promise<void> {
  await hand.click(hand.page.locator("button.icon-filter"));
  await hand.click(hand.page.locator("button.add-filter"));
  await hand.click(option(hand.page, name));
}

function waysOf({ url, token }: Running): Record<Task, Way> {
  const found = async (path: string, filter: object): Promise<Item[]> => {
    const query = new URLSearchParams({ filter: JSON.stringify(filter), limit: "-1" });
    return ((await api(`${url}/${path}?${query}`, undefined, token)) as { data: Item[] }).data;
  };
  const until = async (count: number, filter: object, path = "items/articles") => {
    for (let attempt = 0; ; attempt++) {
      const { length } = await found(path, filter);
      if (length === count) return;
      if (attempt === 50) throw new Error(`${length} of ${path} have ${JSON.stringify(filter)}`);
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  };
  const titled = (title: string) => ({ translations: { title: { _eq: title } } });
  return {
    async article(hand) {
      const { page } = hand;
      await hand.click(page.getByRole("link", { name: "Create" }));
      await hand.pick(field(page, "image").locator(".v-upload button").first(), IMAGE);
      await hand.write(text(page, "title"), "A new article");
      await hand.write(text(page, "alt"), "A red square");
      await hand.click(field(page, "translations").locator(".toggle").first());
      await hand.click(option(page, "German"));
      await page.locator(".field-name", { hasText: "TitleGerman" }).waitFor();
      await hand.write(text(page, "title"), "Ein neuer Artikel");
      await hand.write(text(page, "alt"), "Ein rotes Quadrat");
      await hand.click(save(page));
      await until(1, {
        ...titled("Ein neuer Artikel"),
        status: { _eq: "published" },
        image: { _nnull: true },
      });
    },
    async schedule(hand) {
      const { page } = hand;
      await open(hand, CONTENT.later);
      await setStatus(hand, "published");
      const day = new Date(Date.now() + 7 * 86_400_000).toISOString();
      await hand.click(field(page, "live_from").locator(".date-field-segment").first());
      await page.keyboard.type(`${day.slice(5, 7)}${day.slice(8, 10)}${day.slice(0, 4)}`);
      await hand.click(save(page));
      await until(1, { ...titled(CONTENT.later), live_from: { _gt: "$NOW" }, status: { _eq: "published" } });
    },
    async typo(hand) {
      await open(hand, CONTENT.typo.wrong);
      await hand.write(text(hand.page, "title"), CONTENT.typo.right);
      await hand.click(save(hand.page));
      await until(1, titled(CONTENT.typo.right));
    },
    async restore(hand) {
      const { page } = hand;
      await open(hand, CONTENT.changed.after);
      await hand.click(page.getByRole("button", { name: /Revisions/ }));
      await hand.click(page.locator(".revision-item").nth(1));
      await hand.click(page.getByRole("button", { name: "Apply" }));
      await hand.click(save(page));
      await until(1, { body: { _eq: CONTENT.changed.before } });
    },
    async find(hand) {
      const { page } = hand;
      await hand.click(page.locator(".search-input"));
      await hand.find(page.locator(".search-input-field"), CONTENT.word);
      await row(page, "Draft 0").waitFor({ state: "detached" });
      await open(hand, CONTENT.found);
    },
    async publish(hand) {
      const { page } = hand;
      await filter(hand, "Status");
      await hand.click(page.locator(".filter-input button.inline-display.placeholder"));
      await hand.click(option(page, "draft"));
      await row(page, "English 0").waitFor({ state: "detached" });
      await hand.press("Escape");
      await hand.click(page.locator("th .v-checkbox").first());
      await hand.click(page.getByRole("button", { name: "Edit" }).first());
      await hand.click(page.locator("[data-field=status] .v-checkbox").first());
      await setStatus(hand, "published");
      await hand.click(page.getByRole("button", { name: "Save" }).last());
      await until(0, { status: { _eq: "draft" } });
    },
    async invite(hand) {
      const { page } = hand;
      await hand.click(page.locator("a[href$='/admin/users']").first());
      await hand.click(page.locator("button:has([data-icon=person_add])"));
      await hand.write(page.locator("textarea").last(), CONTENT.colleague);
      await hand.click(page.getByRole("button", { name: "Invite", exact: true }));
      await page.getByText("Invite Users").waitFor({ state: "detached" });
    },
    async who(hand) {
      const { page } = hand;
      await open(hand, CONTENT.edited.after);
      await hand.click(page.getByRole("button", { name: /Revisions/ }));
      await hand.click(page.locator(".revision-item").nth(1));
      await page.getByText("Edited by").first().waitFor();
    },
    type: "cannot change the type of a field that exists",
    webhook: "was not counted yet",
    async replace(hand) {
      const { page } = hand;
      await hand.click(page.locator("a[href$='/admin/files']").first());
      await hand.click(page.getByText("Old picture").first());
      await hand.click(page.getByText("Replace File"));
      await hand.pick(page.locator(".v-upload button").first(), { ...IMAGE, name: "next.png" });
      await until(1, { filename_download: { _eq: "next.png" } }, "files");
    },
    untranslated: "was not counted yet",
  };
}

/** Closes the questions to the administrator of a new installation, which appear seconds after the page. */
async function calm(page: Page): Promise<void> {
  for (const name of ["Skip", "Remind Later"]) {
    const later = page.getByRole("button", { name, exact: true });
    await page.addLocatorHandler(later, () => later.dispatchEvent("click"), { noWaitAfter: true });
  }
}

const productOf = (running: Running): RunningProduct => ({
  ...{ version: MIGRATED, stop: running.stop, ways: waysOf(running) },
  async signIn(page) {
    const data = { email: running.user, password: running.token, mode: "session" };
    await page.request.post(`${running.url}/auth/login`, { data });
    await page.goto(`${running.url}/admin/content`);
    await calm(page);
  },
  home: `${running.url}/admin/content/articles`,
  ready: (page) => row(page, "Draft 0"),
  async reset() {
    // Filters and words of a search stay with the user.
    const path = `${running.url}/presets`;
    const query = 'filter={"user":{"_nnull":true}}&fields=id';
    const { data } = (await api(`${path}?${query}`, undefined, running.token)) as { data: Item[] };
    if (data.length > 0)
      await api(
        path,
        data.map(({ id }) => id),
        running.token,
        "DELETE",
      );
  },
});

export const directus: Product = {
  name: "Directus",
  async start(dir) {
    const running = await startEmpty(dir, { SERVE_APP: "true" });
    await fill(running);
    return productOf(running);
  },
};
