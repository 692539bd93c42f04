/** The form of an entry whose fields have types with a form of their own, sections, columns and conditions. */
import { expect, test } from "vitest";
import { call } from "../support/auth.ts";
import { inspect, useConsole } from "../support/console.ts";

const console = useConsole();

const parcel = { "==": [{ var: "kind" }, "parcel"] };
const document = {
  id: "console-stock",
  name: "Stock",
  modules: [
    {
      id: "goods",
      type: "CONTENT",
      schemas: [
        {
          id: "item",
          name: "Item",
          fields: [
            { name: "title", label: "Title", type: "string", required: true, placeholder: "Garden chair" },
            { name: "slug", label: "Address", type: "slug", from: "title", unique: true, required: true },
            { name: "price", label: "Price", type: "decimal", scale: 2, width: "half", group: "Sale" },
            {
              name: "kind",
              label: "Kind",
              type: "string",
              enum: ["parcel", "download"],
              width: "half",
              group: "Sale",
            },
            {
              name: "weight",
              label: "Weight",
              type: "decimal",
              scale: 3,
              required: true,
              showIf: parcel,
              group: "Sale",
            },
            { name: "mail", label: "Mail", type: "email", width: "third", group: "Contact" },
            { name: "site", label: "Website", type: "url", width: "third", group: "Contact" },
            { name: "opens", label: "Opens", type: "time", width: "third", group: "Contact" },
            {
              name: "prices",
              label: "Earlier prices",
              type: "decimal",
              scale: 2,
              list: true,
              group: "Contact",
            },
          ],
        },
      ],
    },
  ],
};

const ITEMS = "/orbs/console-stock/entries/goods/item";

test("shows sections and columns, the slug while typing, and fields whose condition is met", async () => {
  await console.seedOrb(document);
  const page = await console.open(`${ITEMS}/new`);
  await page.getByRole("heading", { level: 1, name: "New entry: Item" }).waitFor();
  await expect.poll(() => page.getByLabel("Title").getAttribute("placeholder")).toBe("Garden chair");
  await page.getByLabel("Title").fill("Großer Stuhl & Tisch");
  const address = page.getByLabel("Address");
  await expect.poll(() => address.getAttribute("placeholder")).toBe("grosser-stuhl-tisch");
  const sale = page.getByRole("group", { name: "Sale" });
  await sale.getByLabel("Price").fill("1,234.5");
  await expect.poll(() => page.getByLabel("Weight").count()).toBe(0);
  await sale.getByLabel("Kind").selectOption("parcel");
  await sale.getByLabel("Weight").fill("0.25");
  await sale.getByLabel("Kind").selectOption("download");
  await expect.poll(() => page.getByLabel("Weight").count()).toBe(0);
  await sale.getByLabel("Kind").selectOption("parcel");
  await expect.poll(() => sale.getByLabel("Weight").inputValue()).toBe("0.250");
  const contact = page.getByRole("group", { name: "Contact" });
  await contact.getByLabel("Mail").fill("Ann@example.org");
  await contact.getByLabel("Website").fill("https://example.org/a");
  await contact.getByLabel("Opens").fill("09:30");
  await page.getByLabel("Earlier prices", { exact: true }).fill("9.5");
  await page.keyboard.press("Enter");
  const [price, kind] = await Promise.all(
    [sale.getByLabel("Price"), sale.getByLabel("Kind")].map((one) => one.boundingBox()),
  );
  const isBeside = Math.abs((price?.y ?? 0) - (kind?.y ?? 0)) < 20;
  expect(isBeside).toBe(!console.phone);
  await inspect(page, "typed-new");
  await page.keyboard.press("Control+Enter");
  await page.locator(".toast", { hasText: "Created and published" }).waitFor();
  const id = page.url().split("/").at(-1) ?? "";
  const path = `/api/admin/orbs/console-stock/entries/${id}`;
  expect((await call(console.platform, "GET", path, { token: console.token })).body.values).toEqual({
    title: "Großer Stuhl & Tisch",
    slug: "grosser-stuhl-tisch",
    price: "1234.50",
    kind: "parcel",
    weight: "0.250",
    mail: "Ann@example.org",
    site: "https://example.org/a",
    opens: "09:30",
    prices: ["9.50"],
  });
  await expect.poll(() => address.inputValue()).toBe("grosser-stuhl-tisch");
  await sale.getByLabel("Price").fill("12,5x");
  await page.keyboard.press("Control+s");
  await page.getByText("must be a number").waitFor();
  await inspect(page, "typed-fault");
});

test("shows numbers, addresses and times in the table, and filters by them", async () => {
  const page = await console.open(
    `${ITEMS}?filter[price][gte]=1234.5&filter[mail]=ann@example.org&columns=title,price,mail,site,opens`,
  );
  await page.getByText("1,234.50").waitFor();
  // A phone shows fewer columns.
  if (!console.phone) {
    await page.getByRole("link", { name: "example.org/a" }).waitFor();
    await page.getByText("9:30", { exact: false }).first().waitFor();
  }
  await inspect(page, "typed-table");
});
