/** Handlers, deliveries, streams and requests as code in the console, with a real service on the broker. */
import { spawn } from "node:child_process";
import { connect, type NatsConnection } from "nats";
import { afterAll, beforeAll, expect, test } from "vitest";
import { inspect, PHONE, useConsole } from "../support/console.ts";
import { type HookService, hookService, Refusal } from "../support/hooks.ts";
import { entryOf, natsUrl } from "../support/services.ts";

const console = useConsole({ hooks: true });
let service: NatsConnection;
let notifier: HookService;

const quote = entryOf("pricing.quote", {
  description: "Returns the price of some items.",
  input: {
    type: "object",
    properties: {
      count: { type: "integer", minimum: 1, description: "How many items." },
      size: { type: "string", enum: ["small", "large"] },
    },
    required: ["count", "size"],
    additionalProperties: false,
  },
});

const store = {
  id: "store",
  name: "Store",
  uses: [
    { service: "access", handlers: ["passkey", "invitations"] },
    { service: "pricing", handlers: ["quote"] },
    { service: "notify", handlers: ["sold"] },
  ],
  hooks: [{ id: "sold", on: ["entry.published"], module: "catalog", handler: "notify.sold", mode: "after" }],
  modules: [
    {
      id: "catalog",
      type: "CONTENT",
      schemas: [
        {
          id: "product",
          fields: [
            { name: "sku", type: "string", required: true },
            { name: "title", type: "string", required: true, translatable: true },
            { name: "price", type: "number" },
          ],
        },
      ],
    },
  ],
};

beforeAll(async () => {
  const url = new URL(natsUrl(console.platform));
  service = await connect({ servers: url.host, user: url.username, pass: url.password });
  service.subscribe("svc.pricing.quote", {
    callback: (_error, message) => {
      const { input } = message.json<{ input: { count: number; size: string } }>();
      message.respond(JSON.stringify({ total: input.count * (input.size === "large" ? 20 : 10) }));
    },
  });
  await service.request("$KV.handlers.pricing.quote", JSON.stringify(quote));
  notifier = await hookService({ tcpUrl: () => natsUrl(console.platform) }, "notify.sold");
  notifier.answer = () => new Refusal("409", "The notifier is full.");
  await console.seedOrb(store);
});
afterAll(async () => {
  await notifier?.close();
  await service?.close();
});

test("calls a handler with a form from its input schema, and shows faults at their inputs", async () => {
  const page = await console.open("/orbs/store/handlers");
  const card = page.getByRole("listitem").filter({ hasText: "pricing.quote" });
  await card.getByText("Available").waitFor();
  await card.getByRole("button", { name: "Try it" }).click();
  await card.getByLabel("count").fill("0");
  await card.getByLabel("size").selectOption("large");
  await card.getByRole("button", { name: "Call" }).click();
  await card.locator(".field.wrong", { hasText: "count" }).waitFor();
  await inspect(page, "handlers-fault");
  await card.getByLabel("count").fill("3");
  await card.getByRole("button", { name: "Call" }).click();
  expect(JSON.parse((await card.locator("pre").textContent()) ?? "")).toEqual({ total: 60 });
  await card.getByLabel("Enter the input as JSON").check();
  expect(JSON.parse(await card.getByLabel("Input (JSON)").inputValue())).toEqual({ count: 3, size: "large" });
});

test("shows which handlers are absent, and removes a registration", async () => {
  await service.request("$KV.handlers.gone.away", JSON.stringify(entryOf("gone.away")));
  const page = await console.open();
  const concerns = page.getByRole("region", { name: "Needs attention" });
  const concern = concerns.getByRole("listitem").filter({ hasText: "the handler gone.away" });
  await concern.getByRole("link", { name: "View" }).click();
  await page.getByRole("heading", { level: 1, name: "Handlers" }).waitFor();
  await page.setViewportSize(PHONE);
  const row = page.getByRole("row").filter({ hasText: "gone.away" });
  await row.getByText("Absent").waitFor();
  await inspect(page, "handlers-registry-phone");
  await row.getByRole("button", { name: "Remove" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Remove" }).click();
  await row.waitFor({ state: "detached" });
  await expect
    .poll(() => page.getByRole("row").filter({ hasText: "rules.evaluate" }).getByRole("button").count())
    .toBe(0);
});

test("says that no hooks process runs only where deliveries wait for one", async () => {
  await console.seedOrb({ ...store, id: "plain", name: "Plain", hooks: [] });
  const page = await console.open("/orbs/plain/deliveries");
  await page.getByRole("heading", { name: "No failed deliveries" }).waitFor();
  await expect.poll(() => page.getByText("No hooks process is running").count()).toBe(0);
});

test("shows a delivery that waits with the reason, and delivers it again", async () => {
  const values = { sku: "a-1", title: { en: "Lamp" }, price: 12 };
  await console.seedEntry("store", { module: "catalog", schema: "product", values });
  const page = await console.open("/orbs/store/deliveries");
  await page.getByRole("heading", { name: "No failed deliveries" }).waitFor();
  await expect.poll(() => notifier.calls.length).toBeGreaterThan(0);
  await page.getByRole("tab", { name: "Waiting" }).click();
  const row = page.getByRole("row").filter({ hasText: "sold" });
  await expect
    .poll(async () => {
      await page.getByRole("button", { name: "Refresh" }).click();
      return row.filter({ hasText: "The notifier is full." }).count();
    })
    .toBe(1);
  await inspect(page, "deliveries");
  const before = notifier.calls.length;
  await row.getByRole("button", { name: "Deliver again" }).click();
  await page.getByText("The next attempt starts within seconds.").waitFor();
  await expect.poll(() => notifier.calls.length).toBeGreaterThan(before);
  // The attempt failed too. The home page names the orb, and leads to the delivery.
  const home = await console.open();
  const concern = home.getByText("Store has failed deliveries.");
  await expect
    .poll(async () => {
      await home.reload();
      await home.getByRole("table").waitFor();
      return concern.waitFor({ timeout: 1_000 }).then(
        () => true,
        () => false,
      );
    })
    .toBe(true);
  await home.getByRole("listitem").filter({ has: concern }).getByRole("link", { name: "View" }).click();
  await home.getByRole("row").filter({ hasText: "The notifier is full." }).waitFor();
  notifier.answer = () => null;
  await page.getByRole("tab", { name: "Delivered" }).click();
  await expect
    .poll(async () => {
      await page.getByRole("button", { name: "Refresh" }).click();
      return row.count();
    })
    .toBe(1);
});

test("creates a stream, and follows its messages", async () => {
  const page = await console.open("/streams");
  await page.getByRole("button", { name: "New stream" }).click();
  const dialog = page.getByRole("dialog", { name: "New stream" });
  await dialog.getByLabel("Name").fill("store-live");
  await dialog.getByLabel("Broker stream").fill("østore");
  await dialog.getByLabel("Subjects").fill("store.>");
  await dialog.getByRole("button", { name: "Save" }).click();
  await dialog.locator(".field.wrong", { hasText: "Subjects" }).waitFor();
  await inspect(page, "streams-fault");
  await dialog.getByLabel("Subjects").fill("store.*.public.>");
  await dialog.getByRole("button", { name: "Save" }).click();
  await page.getByRole("link", { name: "store-live" }).click();
  await page.getByRole("heading", { level: 1, name: "store-live" }).waitFor();
  await page.getByLabel("Start from").selectOption("-1");
  await page.getByRole("list", { name: "Messages" }).getByText("a-1").waitFor();
  const values = { sku: "a-2", title: { en: "Chair" } };
  await console.seedEntry("store", { module: "catalog", schema: "product", values });
  await page.getByRole("list", { name: "Messages" }).getByText("a-2").waitFor();
  await inspect(page, "streams-tail");
  await page.getByRole("button", { name: "Pause" }).click();
  await page.getByText("Paused").waitFor();
});

test("shows the request of a list as code that runs", async () => {
  const page = await console.open("/orbs/store/entries/catalog/product?filter[price][gte]=10&sort=-price");
  if (console.phone) {
    await page.getByText("of 1").waitFor();
    await page.getByRole("button", { name: /^Search or run/ }).click();
    await page.getByRole("option", { name: "Show this list as code" }).click();
  } else await page.getByRole("link", { name: "Code" }).click();
  const code = page.locator(".code pre");
  await code.waitFor();
  const address = /'(http[^']+)'/.exec((await code.textContent()) ?? "")?.[1] ?? "";
  const headers = { authorization: `Bearer ${console.token}` };
  const answer = (await (await fetch(address, { headers })).json()) as { items: { values: object }[] };
  expect(answer.items.map(({ values }) => values)).toMatchObject([{ sku: "a-1" }]);
  await page.getByRole("tab", { name: "TypeScript" }).click();
  await expect
    .poll(() => code.textContent())
    .toContain('.catalog.product.list({ filter: { price: { gte: 10 } }, sort: "-price" })');
  await page.getByLabel("Operation").selectOption("create");
  await page.getByRole("tab", { name: "Python" }).click();
  await expect
    .poll(() => code.textContent())
    .toContain('json={"values": {"sku": "Example", "title": {"en": "Example"}}}');
  await inspect(page, "api-code");
});

test("shows the requests of accounts, handlers, streams and the schema as code that runs", async () => {
  const page = await console.open("/orbs/store/people");
  const dialog = page.getByRole("dialog", { name: "Code of these requests" });
  const code = dialog.locator("pre");
  /** Runs the shown command for at most 3 seconds, because a stream does not end. */
  const output = async (): Promise<string> => {
    const command = (await code.textContent()) ?? "";
    const env = { ...process.env, ORB_TOKEN: console.token };
    const child = spawn("bash", ["-c", command.replace("curl ", "curl -sS -m 3 ")], { env });
    let text = "";
    for await (const chunk of child.stdout) text += String(chunk);
    return text;
  };
  await page.getByRole("button", { name: "Code" }).click();
  await dialog.getByLabel("Operation").selectOption("Invite");
  expect(JSON.parse(await output())).toMatchObject({ role: "user", status: "active" });
  await inspect(page, "people-code");
  await page.keyboard.press("Escape");
  await page.goto(`${console.platform.origin}/console/orbs/store/handlers`);
  const card = page.getByRole("listitem").filter({ hasText: "pricing.quote" });
  await card.getByRole("button", { name: "Try it" }).click();
  await card.getByRole("button", { name: "Code" }).click();
  await dialog.getByRole("tab", { name: "TypeScript" }).click();
  await expect.poll(() => code.textContent()).toContain('client.orb("store").call("pricing.quote", {');
  await page.keyboard.press("Escape");
  await page.goto(`${console.platform.origin}/console/streams/store-live`);
  await page.getByLabel("Start from").selectOption("-1");
  await page.getByRole("button", { name: "Code" }).click();
  expect(await output()).toContain("a-1");
  await dialog.getByRole("tab", { name: "Python" }).click();
  await expect.poll(() => code.textContent()).toContain('params={"offset": "-1", "live": "sse"}');
  await page.goto(`${console.platform.origin}/console/orbs/store/schema`);
  await page.getByRole("button", { name: "More actions", exact: true }).click();
  await page.getByRole("menuitem", { name: "Code" }).click();
  await expect.poll(() => code.textContent()).toContain("-d @store.json");
  await dialog.getByLabel("Operation").selectOption("Read the document");
  expect(JSON.parse(await output())).toMatchObject({ id: "store", status: "PUBLISHED" });
});

test("lets users of an orb call its handlers, and hides what platform admins manage", async () => {
  const page = await console.openAs("store", "user", "/orbs/store/handlers");
  await page.getByText("pricing.quote").waitFor();
  const navigation = await console.navigation(page);
  for (const name of ["Deliveries", "Streams", "Audit log"])
    await expect.poll(() => navigation.getByRole("link", { name }).count()).toBe(0);
});
