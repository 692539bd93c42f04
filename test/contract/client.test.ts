/** Uses the OpenAPI document as an outside developer does: generates a typed client and calls the API with it. */
import { execFileSync } from "node:child_process";
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { afterAll, beforeAll, expect, test } from "vitest";
import { adminToken, call } from "../support/auth.ts";
import { describedWhole } from "../support/described.ts";
import { sharedPlatform, type TestPlatform } from "../support/platform.ts";

const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))));
// In a folder of the checkout, so that the client library is found in node_modules.
const folder = join(root, ".wrangler", `client-${process.pid}`);
const shop = readFileSync(join(root, "scripts/examples/shop.json"), "utf8");

const CLIENT = `import createClient from "openapi-fetch";
import type { components, paths } from "./api.d.ts";

type Schemas = components["schemas"];

export async function run(baseUrl: string, token: string) {
  const api = createClient<paths>({
    baseUrl,
    headers: { authorization: \`Bearer \${token}\` },
    querySerializer: { array: { style: "form", explode: false } },
  });
  const lamps = await api.POST("/api/shop/catalog/category", {
    params: { query: { publish: "true", locale: "en" } },
    body: { values: { title: "Chairs", slug: "chairs" } },
  });
  const made = await api.POST("/api/shop/catalog/product", {
    params: { query: { publish: "true" } },
    body: { values: { title: { en: "Chair", de: "Stuhl" }, sku: "AB-1234", price: { US: 49.5 }, condition: "new", category: lamps.data?.id } },
  });
  if (made.error !== undefined) throw new Error(made.error.code);
  const list = await api.GET("/api/shop/catalog/product", {
    params: {
      query: {
        locale: "de",
        "filter[condition][in]": ["new", "used"],
        "filter[price][gte]": 10,
        sort: ["-price", "createdAt"],
        expand: ["category"],
      },
    },
  });
  if (list.error !== undefined) throw new Error(list.error.code);
  const { items } = list.data as Schemas["shop.catalog.product.List"];
  const [first] = items;
  if (first === undefined) throw new Error("nothing found");
  const title: string = first.values.title;
  const price: number = first.values.price;
  const condition: "new" | "used" | "refurbished" | null | undefined = first.values.condition;
  const category = first.expand?.category as Schemas["shop.catalog.category"];
  const slug: string = category.values.slug;
  const whole = await api.GET("/api/shop/catalog/product/{id}", {
    params: { path: { id: first.id }, query: { locale: "*" } },
  });
  const german = (whole.data as Schemas["shop.catalog.product.AllLocales"]).values.title.de;
  const settings = await api.POST("/api/shop/set", { body: { values: { theme: "dark" } } });
  const theme: "light" | "dark" | "system" | null | undefined = settings.data?.values.theme;
  const order = await api.POST("/api/shop/record", { body: { values: { total: 5, currency: "EUR", items: ["lamp"] } } });
  const total: number | undefined = order.data?.values.total;
  const rules = await api.POST("/api/shop/evaluate", { body: { facts: { cart: { total: 120 } } } });
  const one = await api.GET("/api/shop/catalog/product/{id}", { params: { path: { id: made.data.id } } });
  const missing = await api.GET("/api/shop/catalog/product/{id}", { params: { path: { id: "0" } } });
  return { id: made.data.id, title, price, condition, slug, german, theme, total, results: rules.data?.results.length, etag: one.response.headers.get("etag"), code: missing.error?.code };
}
`;

const WRONG = `import createClient from "openapi-fetch";
import type { paths } from "./api.d.ts";

const api = createClient<paths>({ baseUrl: "" });
// @ts-expect-error no such path
await api.GET("/api/shop/catalog/nothing");
// @ts-expect-error not one of the allowed values
await api.POST("/api/shop/catalog/product", { body: { values: { title: null, sku: "", price: null, condition: "broken" } } });
// @ts-expect-error not one of the allowed values
await api.GET("/api/shop/catalog/product", { params: { query: { "filter[condition]": "broken" } } });
// @ts-expect-error no such operator for a number
await api.GET("/api/shop/catalog/product", { params: { query: { "filter[price][startsWith]": "1" } } });
// @ts-expect-error sensitive fields cannot be used in filters
await api.GET("/api/shop/catalog/product", { params: { query: { "filter[supplierNote]": "x" } } });
// @ts-expect-error not a reference
await api.GET("/api/shop/catalog/product", { params: { query: { expand: ["sku"] } } });
// @ts-expect-error no such field
await api.GET("/api/shop/catalog/product", { params: { query: { sort: ["-weight"] } } });
// @ts-expect-error no such language
await api.POST("/api/shop/news", { params: { query: { locale: "fr" } }, body: { values: { headline: "x" } } });
// @ts-expect-error a number where there is text
await api.POST("/api/shop/news", { body: { values: { headline: "x", publishedOn: 5 } } });
`;

const TSCONFIG = JSON.stringify({
  compilerOptions: {
    strict: true,
    noEmit: true,
    target: "es2024",
    lib: ["es2024", "dom", "dom.iterable"],
    module: "nodenext",
    skipLibCheck: true,
    types: [],
    allowImportingTsExtensions: true,
  },
  include: ["*.ts"],
});

let platform: TestPlatform;
let token: string;

beforeAll(async () => {
  platform = await sharedPlatform({ link: true });
  token = await adminToken(platform);
  const made = await call(platform, "POST", "/api/admin/orbs?publish=true", {
    token,
    body: JSON.parse(shop),
  });
  expect(made.status).toBe(201);
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

test("generates a typed client from the OpenAPI document that type-checks and works", async () => {
  const description = JSON.stringify(await describedWhole(platform));
  mkdirSync(folder, { recursive: true });
  const types = execFileSync(process.execPath, [join(root, "test/support/client-types.mjs")], {
    input: description,
    maxBuffer: 64 * 1024 * 1024,
  });
  writeFileSync(join(folder, "api.d.ts"), types);
  writeFileSync(join(folder, "client.ts"), CLIENT);
  writeFileSync(join(folder, "wrong.ts"), WRONG);
  writeFileSync(join(folder, "package.json"), '{"type":"module"}');
  writeFileSync(join(folder, "tsconfig.json"), TSCONFIG);
  const compiler = join(root, "node_modules/typescript/bin/tsc");
  try {
    execFileSync(process.execPath, [compiler, "-p", folder], { stdio: "pipe" });
  } catch (error) {
    throw new Error(String(Reflect.get(Object(error), "stdout")));
  }
  const { run } = (await import(pathToFileURL(join(folder, "client.ts")).href)) as {
    run: (baseUrl: string, token: string) => Promise<Record<string, unknown>>;
  };
  expect(await run(platform.origin, token)).toEqual({
    id: expect.stringMatching(/^\d/),
    title: "Stuhl",
    price: 49.5,
    condition: "new",
    slug: "chairs",
    german: "Stuhl",
    theme: "dark",
    total: 5,
    results: expect.any(Number),
    etag: expect.stringMatching(/^"1-/),
    code: "entry_not_found",
  });
});
