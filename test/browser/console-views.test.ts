/** Saved views of lists, for oneself and for others, and the map. */
import { beforeAll, expect, test } from "vitest";
import { call } from "../support/auth.ts";
import { inspect, PHONE, useConsole } from "../support/console.ts";

const console = useConsole();
const LIST = "/orbs/sights/entries/guide/sight";
const fields = [
  { name: "name", type: "string", label: "Name" },
  { name: "kind", type: "string", label: "Kind", enum: ["tower", "bridge"] },
  { name: "place", type: "point", label: "Place" },
];
const access = { read: ["user"], create: ["user"], update: ["user"], publish: ["user"], delete: ["user"] };
const orb = (all: object[] = fields) => ({
  id: "sights",
  name: "Sights",
  uses: [{ service: "access", handlers: ["passkey", "invitations", "bootstrap"] }],
  roles: [{ id: "writer", name: "Writers" }],
  modules: [
    {
      id: "guide",
      type: "CONTENT",
      name: "Guide",
      schemas: [{ id: "sight", name: "Sight", access, fields: all }],
    },
  ],
});

beforeAll(async () => {
  await console.seedOrb(orb());
  const sights = [
    ["Eiffel Tower", "tower", { lat: 48.858, lon: 2.294 }],
    ["Pont Neuf", "bridge", { lat: 48.857, lon: 2.341 }],
    ["Tower Bridge", "bridge", { lat: 51.505, lon: -0.075 }],
    ["Sky Tower", "tower", { lat: -36.848, lon: 174.762 }],
    ["Nowhere", "tower", null],
  ] as const;
  for (const [name, kind, place] of sights)
    await console.seedEntry("sights", { module: "guide", values: { name, kind, place } }, true);
});

const BRIDGES = `${LIST}?filter[kind][eq]=bridge`;

test("a view for all opens the lists of others, follows a rename, and says which field is gone", async () => {
  const page = await console.open(BRIDGES);
  await page.getByText("of 2").waitFor();
  await page.getByRole("button", { name: "Save this view" }).click();
  await page.getByLabel("Name of the view").fill("Bridges");
  await page.getByLabel("Who sees it").selectOption("All");
  await page.getByLabel("Open the list with this view").check();
  await inspect(page, "views-save");
  await page.keyboard.press("Enter");
  await page.getByRole("button", { name: "Change the view Bridges" }).waitFor();

  const reader = await console.openAs("sights", "user", LIST);
  await reader.getByText("of 2").waitFor();
  expect(new URL(reader.url()).search).toBe("?filter[kind][eq]=bridge");
  // Readers see the view, and do not change it.
  const bridges = reader.getByRole("button", { name: /^Bridges/ });
  expect(await bridges.getAttribute("aria-current")).toBe("true");
  expect(await reader.getByRole("button", { name: "Change the view Bridges" }).count()).toBe(0);
  await reader.getByRole("button", { name: "All entries" }).click();
  await reader.getByText("of 5").waitFor();
  await reader.getByRole("button", { name: "Add a filter" }).click();
  await reader.getByLabel("Field").selectOption("kind");
  await reader.getByLabel("Value").selectOption("tower");
  await reader.getByRole("button", { name: "Apply the filter" }).click();
  await reader.getByText("of 3").waitFor();
  await reader.getByRole("button", { name: "Save this view" }).click();
  expect(await reader.getByLabel("Who sees it").count()).toBe(0);
  await reader.getByLabel("Name of the view").fill("Towers");
  await reader.keyboard.press("Enter");
  await reader.getByRole("button", { name: "Remove the view Towers" }).waitFor();

  // The orb renames the field, and the views show it under its new name.
  const publish = async (document: object) => {
    const path = "/api/admin/orbs/sights?publish=true&force=true";
    expect((await call(console.platform, "PUT", path, { token: console.token, body: document })).status).toBe(
      200,
    );
  };
  const type = { name: "type", type: "string", label: "Type", enum: ["tower", "bridge"], was: "kind" };
  await publish(orb(fields.map((field) => (field.name === "kind" ? type : field))));
  await page.goto(new URL(`/console${LIST}`, page.url()).href);
  await page.getByText("of 2").waitFor();
  expect(new URL(page.url()).search).toBe("?filter[type][eq]=bridge");
  await publish(orb(fields.filter(({ name }) => name !== "kind")));
  await page.goto(new URL(`/console${LIST}`, page.url()).href);
  await page.getByRole("button", { name: /^Bridges/ }).waitFor();
  await publish(orb());
});

test("views that the browser has stay, and move to the server", async () => {
  const page = await console.open(LIST);
  await page.evaluate(() =>
    localStorage.setItem(
      "console.views/sights/guide/sight",
      JSON.stringify([
        { name: "Old towers", query: "filter[kind][eq]=tower&layout=board:kind" },
        { name: "Old towers", query: "filter[kind][eq]=tower" },
      ]),
    ),
  );
  await page.reload();
  // The second one of the name becomes another view.
  for (const at of [1, 0]) {
    await page.getByRole("button", { name: "Old towers (Only in this browser)" }).nth(at).click();
    await page.getByRole("button", { name: "Keep the view Old towers on the server" }).click();
    await expect.poll(() => page.getByRole("button", { name: /Only in this browser/ }).count()).toBe(at);
  }
  await page.getByRole("button", { name: "Change the view Old towers (2)" }).waitFor();
  await page.getByRole("button", { name: "Old towers", exact: true }).click();
  await page.getByRole("button", { name: "Remove the view Old towers", exact: true }).click();
  await page.getByRole("button", { name: "Undo" }).click();
  await page.getByRole("button", { name: "Change the view Old towers", exact: true }).waitFor();
  await page.getByRole("button", { name: "Old towers (2)", exact: true }).click();
  await page.getByRole("button", { name: "Change the view Old towers (2)" }).click();
  await page.getByLabel("Name of the view").fill("Tall ones");
  await page.getByLabel("Who sees it").selectOption("All with the role Writers");
  await page.getByRole("button", { name: "Change the view", exact: true }).click();
  await page.getByRole("button", { name: "Change the view Tall ones" }).waitFor();
  expect(await page.evaluate(() => localStorage.getItem("console.views/sights/guide/sight"))).toBe("[]");
  const writer = await console.openAs("sights", "writer", LIST);
  await writer.getByRole("button", { name: /^Tall ones/ }).click();
  await expect.poll(() => new URL(writer.url()).search).toContain("layout=board:kind");
  // No entry refers to a sight.
  await page.getByRole("button", { name: "All entries" }).click();
  await page.getByRole("button", { name: "Add a filter" }).click();
  await page.getByRole("button", { name: "Used nowhere" }).click();
  await expect.poll(() => new URL(page.url()).search).toBe("?used=false");
  await page.getByText("of 5").waitFor();
  await page.getByRole("button", { name: "Remove the filter: Used nowhere" }).click();
  await expect.poll(() => new URL(page.url()).search).toBe("");
});

test("a map shows the places of entries, groups close ones, and moves by keys", async () => {
  const page = await console.open(`${LIST}?layout=map:place`);
  const map = page.getByRole("group", { name: "Map" });
  await page.getByText("4 of 4 entries in this part").waitFor();
  await page.getByRole("button", { name: "3 entries here" }).waitFor();
  await map.getByRole("link", { name: "Sky Tower" }).waitFor();
  await inspect(page, "views-map");
  // Coming closer takes the group apart. The focus stays on the map.
  await page.getByRole("button", { name: "3 entries here" }).click();
  await map.getByRole("link", { name: "Tower Bridge" }).waitFor();
  await page.getByText("3 of 4 entries in this part").waitFor();
  await page.getByRole("button", { name: "2 entries here" }).click();
  await map.getByRole("link", { name: "Pont Neuf" }).waitFor();
  await expect.poll(() => page.evaluate("document.activeElement?.className")).toBe("map-canvas");
  for (let times = 0; times < 14; times++) await page.keyboard.press("-");
  await page.getByRole("button", { name: "3 entries here" }).waitFor();
  for (let times = 0; times < 9; times++) await page.keyboard.press("ArrowUp");
  await page.getByText("0 of 4 entries in this part").waitFor();
  await page.getByRole("button", { name: "Show all places" }).click();
  await page.getByText("4 of 4 entries in this part").waitFor();
  await map.getByRole("link", { name: "Sky Tower" }).click();
  await page.waitForURL(/sight\/[0-9a-z]+/);
});

test("views and the map fit on a phone, in the dark, and from right to left", async () => {
  const page = await console.open(`${LIST}?layout=map:place`, { size: PHONE, dark: true });
  await page.getByText("4 of 4 entries in this part").waitFor();
  await page.evaluate("document.documentElement.dir = 'rtl'");
  await inspect(page, "views-map-phone");
});
