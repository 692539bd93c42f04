/** Common beginner mistakes: the response says how to fix them. */
import { beforeAll, describe, expect, it } from "vitest";
import { admin, call, user } from "../support/auth.ts";
import { sharedPlatform, type TestPlatform } from "../support/platform.ts";

const DOCUMENT = {
  id: "kiosk",
  languages: ["en", "de"],
  markets: ["US", "EU"],
  uses: [
    { service: "rules", handlers: ["evaluate"] },
    { service: "settings", handlers: ["set"] },
  ],
  modules: [
    {
      id: "catalog",
      type: "CONTENT",
      schemas: [
        {
          id: "product",
          fields: [
            { name: "title", type: "string", translatable: true, required: true },
            { name: "slug", type: "string", min: 2 },
            { name: "price", type: "number", marketSpecific: true },
            { name: "released", type: "date" },
          ],
        },
        { id: "brand", access: { write: "owner" }, fields: [] },
      ],
    },
    { id: "discounts", type: "RULES", schemas: [{ id: "rule", fields: [{ name: "rule", type: "json" }] }] },
    { id: "orders", type: "TRANSACTIONS", schemas: [{ id: "order", fields: [] }] },
    { id: "prefs", type: "SETTINGS", schemas: [{ id: "pref", fields: [{ name: "dark", type: "boolean" }] }] },
    { id: "secrets", type: "CONFIG", schemas: [{ id: "key", access: { read: "admin" }, fields: [] }] },
  ],
};

let platform: TestPlatform;
const tokens: Record<string, string> = {};

beforeAll(async () => {
  platform = await sharedPlatform();
  tokens.admin = (await admin(platform)).token;
  tokens.user = (await user(platform)).token;
  const path = "/api/admin/orbs?publish=true";
  const made = await call(platform, "POST", path, { token: tokens.admin, body: DOCUMENT });
  expect(made.status).toBe(201);
  const draft = { token: tokens.admin, body: { id: "kiosk-draft", modules: [] } };
  expect((await call(platform, "POST", "/api/admin/orbs", draft)).status).toBe(201);
});

const PRODUCTS = "/api/kiosk/catalog/product";
const ENTRIES = "/api/admin/orbs/kiosk/entries";
const TITLE = { title: { en: "Lamp" } };

/** Caller, method, path, body, expected status, and words that the detail or an error message contains. */
const MISTAKES: [who: string, method: string, path: string, body: unknown, status: number, words: string][] =
  [
    ["admin", "POST", PRODUCTS, { title: "Lamp" }, 422, 'Put the fields of the schema into "values".'],
    [
      "admin",
      "POST",
      ENTRIES,
      { module: "shop", values: {} },
      422,
      "must be a module of the orb: catalog, discounts, orders",
    ],
    [
      "admin",
      "POST",
      ENTRIES,
      { module: "catalog", values: {} },
      422,
      "is required, because the module has several schemas: product, brand",
    ],
    [
      "admin",
      "POST",
      ENTRIES,
      { module: "catalog", schema: "x", values: {} },
      422,
      "must be a schema of the module: product, brand",
    ],
    ["admin", "POST", PRODUCTS, { values: TITLE, publish: true }, 422, "Send it as ?publish="],
    [
      "admin",
      "POST",
      ENTRIES,
      { module: "catalog", schema: "product", title: "Lamp" },
      422,
      'Put the fields of the schema into "values".',
    ],
    [
      "admin",
      "POST",
      PRODUCTS,
      { values: { ...TITLE, colour: "red" } },
      422,
      "Its fields are title, slug, price, rel",
    ],
    ["admin", "POST", PRODUCTS, { values: { title: "Lamp" } }, 422, 'such as {"en": …}'],
    [
      "admin",
      "POST",
      PRODUCTS,
      { values: { title: { fr: "Lampe" } } },
      422,
      "is not a language of this orb. Use en, de.",
    ],
    [
      "admin",
      "POST",
      PRODUCTS,
      { values: { ...TITLE, price: { JP: 1 } } },
      422,
      "is not a market of this orb. Use US, EU.",
    ],
    [
      "admin",
      "POST",
      PRODUCTS,
      { values: { ...TITLE, slug: "x" } },
      422,
      "must be at least 2 characters long",
    ],
    [
      "admin",
      "POST",
      `${PRODUCTS}?locale=fr`,
      { values: { title: "x" } },
      400,
      "must be a language of the orb: en, de",
    ],
    [
      "admin",
      "POST",
      `${PRODUCTS}?market=JP`,
      { values: { title: {} } },
      400,
      "must be a market of the orb: US, EU",
    ],
    ["admin", "GET", `${PRODUCTS}?filter[createdAt][gte]=2026-11-22`, undefined, 400, "2026-03-01T10:00:00Z"],
    ["admin", "GET", `${PRODUCTS}?filter[released]=22.11.2026`, undefined, 400, "such as 2026-03-01"],
    ["admin", "GET", `${PRODUCTS}?filter[id]=lamp`, undefined, 400, "must be the id of an entry"],
    ["anonymous", "GET", "/api/kiosk/catalog/products", undefined, 404, "Use one of: product, brand."],
    ["anonymous", "GET", "/api/kiosk/discounts", undefined, 404, "rules.evaluate"],
    ["anonymous", "GET", "/api/kiosk/orders", undefined, 404, "transactions.record"],
    ["anonymous", "GET", "/api/kiosk/prefs", undefined, 404, "settings.get"],
    ["anonymous", "GET", "/api/kiosk-draft/catalog", undefined, 404, "or it is not published"],
    ["anonymous", "GET", "/api/openapi?orb=kiosk-draft", undefined, 404, "or it is not published"],
    ["anonymous", "GET", "/api/discovery?orb=kiosk-draft", undefined, 404, "or it is not published"],
    ["anonymous", "GET", "/api/kiosk-draft/signin", undefined, 404, "or it is not published"],
    ["anonymous", "GET", `${PRODUCTS}/0mwrwji5coefegpfwch4`, undefined, 404, "or it is not live"],
    ["admin", "POST", "/api/kiosk/evaluate?x=1", { facts: {} }, 400, "This address takes none."],
    ["admin", "GET", "/api/admin/orbs?status=live", undefined, 400, "Use limit, cursor, "],
    ["anonymous", "GET", "/api/health?x=1", undefined, 400, "Use probe."],
    ["admin", "GET", "/api/admin/orbs?limit=0", undefined, 400, "must be a whole number"],
    ["admin", "GET", "/api/admin/audit?filter[at][gte]=today", undefined, 400, "2026-03-01T10:00:00Z"],
    ["admin", "PUT", "/api/_auth/me", { email: "nobody" }, 422, "must be an email address"],
    ["anonymous", "GET", `${PRODUCTS}/`, undefined, 404, "Try it without the trailing slash."],
    ["anonymous", "GET", "/api/admin/orbs/", undefined, 404, "Try it without the trailing slash."],
    ["anonymous", "GET", `${PRODUCTS}?filter[slug]=a&filter[slug]=b`, undefined, 400, "filter[slug][in]=a,b"],
    ["anonymous", "GET", "/api/admin/orbs", undefined, 401, "signed in as a platform admin"],
    ["user", "POST", PRODUCTS, { values: TITLE }, 403, "It needs the role admin."],
    ["user", "POST", "/api/kiosk/catalog/brand", { values: {} }, 403, "It needs the role owner."],
    ["user", "GET", "/api/kiosk/secrets", undefined, 403, "It needs the role admin."],
    ["user", "GET", `${PRODUCTS}?revision=latest`, undefined, 403, "It needs the role admin."],
    ["user", "POST", "/api/kiosk/set", { values: {}, scope: "application" }, 403, "It needs the role admin."],
    ["user", "POST", "/api/auth/invitations", {}, 403, "It needs the role admin."],
    ["user", "PUT", "/api/auth/me", { name: "" }, 422, "must be at least 1 character long"],
    ["admin", "POST", ENTRIES, { module: "prefs", values: {} }, 409, "settings.set"],
    [
      "admin",
      "POST",
      "/api/admin/orbs",
      { id: "kiosk2", session: { ttl: 60 } },
      422,
      "Add the service access",
    ],
    ["anonymous", "POST", "/api/auth/passkey/begin", { name: "Ada" }, 422, "belongs to a registration"],
    ["anonymous", "POST", "/api/_auth/passkey/begin", { email: "ada" }, 422, "must be an email address"],
    [
      "user",
      "POST",
      "/api/auth/passkey/begin",
      { add: true, email: "a@b.de" },
      422,
      "belongs to a registration",
    ],
    ["anonymous", "POST", "/api/auth/passkey/complete", {}, 400, "is required (header sessionid)"],
  ];

describe("error messages say how to fix a mistake", () => {
  it.each(MISTAKES)("%s %s %s", async (who, method, path, body, status, words) => {
    const token = tokens[who];
    const answer = await call(platform, method, path, {
      ...(token === undefined ? {} : { token }),
      ...(body === undefined ? {} : { body }),
    });
    const { detail, errors = [] } = answer.body as { detail: string; errors?: { message: string }[] };
    const said = [detail, ...errors.map(({ message }) => message)].join("\n");
    expect(said).toContain(words);
    expect(answer.status).toBe(status);
  });

  it("reports the line and column of malformed JSON", async () => {
    const answer = await fetch(`${platform.origin}/api/admin/orbs`, {
      method: "POST",
      headers: { authorization: `Bearer ${tokens.admin}`, "content-type": "application/json" },
      body: '{\n  "id": "kiosk2",\n}',
    });
    expect(answer.status).toBe(400);
    expect(await answer.json()).toMatchObject({
      code: "malformed_json",
      detail: "The body is not well-formed JSON in UTF-8: see line 3, column 1.",
    });
  });
});
