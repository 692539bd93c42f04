/** The tasks in the console of this platform. */
import type { Page } from "playwright-core";
import { VERSION } from "../../../shared/kernel/version.ts";
import { call } from "../../support/auth.ts";
import type { TestPlatform } from "../../support/platform.ts";
import type { Hand } from "./hand.ts";
import { CONTENT, IMAGE, type RunningProduct, type Task, type Way } from "./tasks.ts";

const ORB = "clicks";
const ENTRIES = `/api/admin/orbs/${ORB}/entries`;
const ARTICLES = `/api/${ORB}/news/article`;

const DOCUMENT = {
  id: ORB,
  name: "Clicks",
  languages: ["en", "de"],
  uses: [{ service: "access", handlers: ["passkey", "invitations"] }],
  roles: [{ id: "editor", name: "Editors" }],
  // Nothing listens there.
  hooks: [{ id: "site", on: ["entry.published"], url: "http://127.0.0.1:9/hook" }],
  modules: [
    {
      id: "news",
      type: "CONTENT",
      schemas: [
        {
          id: "article",
          name: "Article",
          access: {
            ...{ read: ["public"], create: ["editor"], update: ["editor"], publish: ["editor"] },
            delete: ["editor"],
          },
          fields: [
            { name: "title", label: "Title", type: "string", translatable: true },
            { name: "body", label: "Body", type: "text", search: true },
            { name: "image", label: "Image", type: "file", accept: ["image/*"] },
            { name: "alt", label: "Alt", type: "string", translatable: true },
            { name: "rating", label: "Rating", type: "integer" },
          ],
        },
      ],
    },
  ],
};

type Stored = Record<string, unknown> & { id: string };

/** What tasks need of the platform. */
export interface Place {
  platform: TestPlatform;
  token: string;
  /** Gives a page the session of an admin. */
  signIn(page: Page): Promise<void>;
}

/** Sends a request as an admin. */
const sender =
  ({ platform, token }: Place) =>
  async (method: string, path: string, body?: unknown): Promise<{ items: Stored[] } & Stored> => {
    const answer = await call(platform, method, path, { token, ...(body === undefined ? {} : { body }) });
    if (answer.status >= 300)
      throw new Error(`${method} ${path}: ${answer.status} ${JSON.stringify(answer.body)}`);
    return answer.body;
  };

async function fill(place: Place): Promise<void> {
  const send = sender(place);
  await send("POST", "/api/admin/orbs?publish=true", DOCUMENT);
  const article = (title: string, publish: boolean, values: object = {}, german = true) =>
    send("POST", `${ENTRIES}?publish=${publish}`, {
      ...{ module: "news", schema: "article" },
      values: { title: { en: title, ...(german ? { de: `${title} (de)` } : {}) }, ...values },
    });
  const sent = await fetch(`${place.platform.origin}/api/${ORB}/files?name=old.png`, {
    ...{ method: "POST", body: new Uint8Array(IMAGE.buffer) },
    headers: { authorization: `Bearer ${place.token}` },
  });
  const { id: file } = (await sent.json()) as Stored;
  for (let n = 0; n < CONTENT.drafts; n++) await article(`Draft ${n}`, false, { rating: n });
  for (let n = 0; n < CONTENT.untranslated; n++) await article(`English ${n}`, true, {}, false);
  for (let n = 0; n < CONTENT.sharing; n++) await article(`Picture ${n}`, true, { image: { file } });
  await article(CONTENT.found, true, { body: `the road to ${CONTENT.word}` });
  await article(CONTENT.later, false);
  for (const { before, after } of [CONTENT.changed, CONTENT.edited]) {
    const { id } = await article(before, true);
    await send("PATCH", `${ARTICLES}/${id}?publish=true`, { values: { title: { en: after } } });
  }
  await article(CONTENT.typo.wrong, true);
}

const link = (page: Page, name: string | RegExp) => page.getByRole("link", { name }).first();
const button = (page: Page, name: string) => page.getByRole("button", { name, exact: true });

async function list(hand: Hand): Promise<void> {
  await hand.click(hand.page.getByRole("navigation").getByRole("link", { name: "Article", exact: true }));
  await hand.page.getByRole("heading", { level: 1, name: "Article" }).waitFor();
}

/** Opens an article of the list, in which those that changed last come first. */
async function open(hand: Hand, title: string): Promise<void> {
  await list(hand);
  await hand.click(link(hand.page, title));
  await hand.page.getByRole("button", { name: "Save draft" }).waitFor();
}

const said = (page: Page, text: string | RegExp) =>
  page.locator(".toast", { hasText: text }).first().waitFor();

function waysOf(place: Place): Record<Task, Way> {
  const send = sender(place);
  const live = async (title: string) => {
    const query = new URLSearchParams({ "filter[title]": title, locale: "en" });
    const { items } = await send("GET", `${ARTICLES}?${query}`);
    if (items.length !== 1) throw new Error(`${items.length} live articles are called ${title}`);
    return items[0];
  };
  return {
    async article(hand) {
      const { page } = hand;
      await list(hand);
      await hand.click(link(page, "New entry"));
      const title = page.getByRole("group", { name: "Title" });
      await hand.write(title.getByLabel("English"), "A new article");
      await hand.write(title.getByLabel("German"), "Ein neuer Artikel");
      await hand.pick(page.getByLabel("Image"), IMAGE);
      const alt = page.getByRole("group", { name: "Alt" });
      await hand.write(alt.getByLabel("English"), "A red square");
      await hand.write(alt.getByLabel("German"), "Ein rotes Quadrat");
      await page.getByText("red.png").waitFor();
      await hand.click(page.getByRole("button", { name: /publish/i }).first());
      await said(page, "published");
      await live("A new article");
    },
    async schedule(hand) {
      await open(hand, CONTENT.later);
      const { page } = hand;
      await hand.click(page.locator("summary", { hasText: "Schedule" }));
      const day = new Date(Date.now() + 7 * 86_400_000).toISOString().slice(0, 16);
      await hand.write(page.getByLabel("Visible from"), day);
      await hand.click(page.getByRole("button", { name: /publish/i }).first());
      await said(page, /ublished/);
    },
    async typo(hand) {
      await open(hand, CONTENT.typo.wrong);
      const { page } = hand;
      await hand.write(page.getByRole("group", { name: "Title" }).getByLabel("English"), CONTENT.typo.right);
      await hand.click(page.getByRole("button", { name: /publish/i }).first());
      await said(page, "Published");
      await live(CONTENT.typo.right);
    },
    async restore(hand) {
      await open(hand, CONTENT.changed.after);
      const { page } = hand;
      await hand.click(link(page, /history/));
      await page
        .getByRole("region", { name: "Comparison" })
        .getByText(CONTENT.changed.before)
        .first()
        .waitFor();
      await hand.click(page.getByRole("button", { name: /^Restore revision 1/ }));
      await said(page, "Revision 1 is the new draft");
      await hand.click(page.getByRole("button", { name: /publish/i }).first());
      await said(page, "Published");
      await live(CONTENT.changed.before);
    },
    async find(hand) {
      const { page } = hand;
      await hand.press("Control+K");
      await hand.find(page.getByRole("combobox").first(), CONTENT.word);
      await page
        .getByRole("option", { name: new RegExp(CONTENT.found) })
        .first()
        .waitFor();
      await hand.press("Enter");
      await page.getByRole("heading", { level: 1, name: CONTENT.found }).waitFor();
    },
    async publish(hand) {
      const { page } = hand;
      await list(hand);
      await hand.choose(page.getByLabel("State"), "Draft");
      await hand.click(page.getByLabel("Select the entries shown so far"));
      await hand.click(page.getByRole("button", { name: "Publish", exact: true }));
      await hand.click(page.getByRole("dialog").getByRole("button", { name: /^Publish \d+ entries/ }));
      await page.getByText(/\d+ entries published/).waitFor();
    },
    async invite(hand) {
      const { page } = hand;
      await hand.click(page.getByRole("navigation").getByRole("link", { name: "People" }));
      await hand.click(button(page, "Invite"));
      await hand.choose(page.getByRole("dialog").getByLabel("Role"), "Editors");
      await hand.click(page.getByRole("dialog").getByRole("button", { name: "Create invitation" }));
      await page.getByRole("dialog").getByLabel("Link", { exact: true }).waitFor();
    },
    async who(hand) {
      await open(hand, CONTENT.edited.after);
      const { page } = hand;
      await hand.click(link(page, /history/));
      await page
        .getByRole("region", { name: "Comparison" })
        .getByText(CONTENT.edited.before)
        .first()
        .waitFor();
    },
    async type(hand) {
      const { page } = hand;
      await hand.click(page.getByRole("navigation").getByRole("link", { name: "Schema" }));
      await hand.click(page.locator("main").getByRole("button", { name: "Article", exact: true }).first());
      await hand.click(page.getByRole("button", { name: /^rating/ }).first());
      await hand.choose(page.getByLabel("Type required"), "number");
      await hand.click(page.getByRole("button", { name: /publish/i }).first());
      await hand.click(
        page
          .getByRole("dialog")
          .getByRole("button", { name: /publish/i })
          .first(),
      );
      await said(page, /ublished/);
    },
    async webhook(hand) {
      const { page } = hand;
      await hand.click(page.getByRole("navigation").getByRole("link", { name: "Deliveries" }));
      await hand.click(page.getByRole("tab", { name: "Waiting" }));
      await page.locator("main").getByText(/site/).first().waitFor();
    },
    async replace(hand) {
      const { page } = hand;
      await hand.click(page.getByRole("navigation").getByRole("link", { name: "Media" }));
      await hand.click(page.locator(".media-tile", { hasText: "old.png" }));
      await hand.pick(page.locator("#media-replace-file"), { ...IMAGE, name: "next.png" });
      await said(page, "entries have the new file");
    },
    async untranslated(hand) {
      const { page } = hand;
      await list(hand);
      await hand.click(page.getByRole("button", { name: "Add a filter" }));
      await hand.click(page.getByRole("button", { name: "Missing in German" }));
      await page.getByText("English 0").first().waitFor();
      await page.getByText("Draft 0").first().waitFor({ state: "detached" });
    },
  };
}

/** Fills an orb, and returns its console. */
export async function startOurs(place: Place): Promise<RunningProduct> {
  await fill(place);
  return {
    version: VERSION,
    ways: waysOf(place),
    signIn: place.signIn,
    home: `${place.platform.origin}/console/orbs/${ORB}`,
    ready: (page) => page.getByRole("navigation").getByRole("link", { name: "Article", exact: true }),
    stop: async () => undefined,
  };
}
