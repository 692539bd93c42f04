import { expect, test } from "vitest";
import { admin, type call as Call, call } from "../support/auth.ts";
import { serveBeside } from "../support/near.ts";
import { sharedPlatform } from "../support/platform.ts";
import { rounds, seededRandom } from "../support/random.ts";

const PRODUCT = "/api/same/catalog/product";
const MAKER = "/api/same/catalog/maker";

const document = (languages: string[], more: object[]) => ({
  id: "same",
  languages,
  markets: ["eu", "us"],
  uses: [],
  modules: [
    {
      id: "catalog",
      type: "CONTENT",
      schemas: [
        {
          id: "maker",
          access: { read: "public", write: "admin" },
          fields: [{ name: "flag", type: "boolean" }],
        },
        {
          id: "product",
          access: { read: "public", write: "admin" },
          fields: [
            { name: "title", type: "string", translatable: true, search: true },
            { name: "kind", type: "string", enum: ["a", "b", "c"] },
            { name: "size", type: "integer" },
            { name: "code", type: "string", unique: true },
            { name: "maker", type: "reference", ref: "same/catalog/maker" },
            ...more,
          ],
        },
      ],
    },
  ],
});

/** Every way in which a list can depend on stored data. */
const LISTS = [
  "",
  "?limit=2",
  "?sort=-createdAt&limit=2",
  "?filter[kind]=a",
  "?filter[kind][in]=a,b&sort=-createdAt",
  "?filter[kind][ne]=a",
  "?filter[size][gt]=2",
  "?filter[code]=c3",
  "?filter[code][in]=c1,c2,c3,c4",
  "?filter[title]=t3",
  "?search=t",
  "?search=T1&filter[kind]=a&limit=3&count=true",
  "?sort=size,-title",
  "?count=true&filter[kind]=b",
  "?limit=1&count=true&sort=-size",
  "?locale=*",
  "?locale=de&market=eu",
  "?fields=title",
  "?expand=maker",
].map((query) => PRODUCT + query);

type Answer = Awaited<ReturnType<typeof Call>>;

/**
 * The parts of a response that must be equal. Cursors are compared by type only, because different cursors can point to
 * the same place.
 */
function shape({ status, headers, body }: Answer): unknown {
  const told = ["etag", "content-language", "vary", "cache-control"].map((name) => headers.get(name));
  if (status !== 200) return [status, told, body.code];
  return [status, told, { ...body, nextCursor: typeof body.nextCursor }];
}

test("gives the same responses with a cache as without one, for random writes through both processes", async () => {
  const platform = await sharedPlatform();
  await using host = await serveBeside(platform);
  const near = { ...platform, origin: host.url };
  const { token } = await admin(platform);
  const { below, pick: of } = seededRandom(7);
  const define = (query: string, method: string, languages: string[], more: object[]) =>
    call(platform, method, `/api/admin/orbs${query}`, { token, body: document(languages, more) });
  expect((await define("", "POST", ["en", "de"], [])).status).toBe(201);
  expect((await call(platform, "POST", "/api/admin/orbs/same/publish", { token })).status).toBe(200);

  const products: string[] = [];
  const makers: string[] = [];
  let count = 0;
  const add = async (path: string, ids: string[], body: object) => {
    const made = await call(of([near, platform]), "POST", path, { token, body });
    if (made.status === 201) ids.push(made.body.id as string);
  };
  const values = () => ({
    title: { en: `t${++count}`, ...(below(2) === 0 ? { de: `d${count}` } : {}) },
    kind: of(["a", "b", "c"]),
    size: below(5),
    code: `c${below(40)}`,
    ...(below(2) === 0 ? { maker: of(makers) } : {}),
  });
  const window = () => {
    const edge = new Date(Date.now() + 200 + below(400)).toISOString();
    return of([{}, {}, {}, { validTo: edge }, { validFrom: edge }]);
  };
  for (let i = 0; i < 3; i++) await add(`${MAKER}?publish=true`, makers, { values: { flag: i === 0 } });

  const write = async () => {
    const by = of([near, platform]);
    const kind = products.length === 0 ? 0 : below(12);
    const one = `${PRODUCT}/${products.length === 0 ? "" : of(products)}`;
    const body = () => ({ values: values(), ...window() });
    if (kind < 3) return add(`${PRODUCT}${of(["", "?publish=true"])}`, products, body());
    if (kind < 6) return call(by, "PUT", one + of(["", "?publish=true"]), { token, body: body() });
    if (kind < 8)
      return call(by, "POST", `${one}/${of(["publish", "unpublish", "archive", "restore"])}`, { token });
    if (kind === 8) return call(by, "DELETE", one, { token });
    if (kind === 9)
      return call(by, "POST", `${MAKER}/${of(makers)}/${of(["publish", "unpublish"])}`, { token });
    if (kind === 10)
      return call(by, "PUT", `${MAKER}/${of(makers)}?publish=true`, {
        token,
        body: { values: { flag: true } },
      });
    const languages = of([
      ["en", "de"],
      ["de", "en"],
    ]);
    return define(
      "/same?publish=true&force=true",
      "PUT",
      languages,
      of([[], [{ name: "x", type: "string", default: "y" }]]),
    );
  };

  for (let round = 0; round < rounds(12); round++) {
    const addresses = [of(LISTS), of(LISTS), of(LISTS), `${PRODUCT}?filter[maker]=${of(makers)}`];
    addresses.push(`${MAKER}?filter[flag]=true`, `${MAKER}/${of(makers)}`);
    if (products.length > 0)
      addresses.push(`${PRODUCT}/${of(products)}`, `${PRODUCT}?filter[id]=${of(products)}`);
    for (const address of [...addresses]) {
      const cursor: unknown = (await call(near, "GET", address)).body.nextCursor;
      const next = `${address}${address.includes("?") ? "&" : "?"}cursor=`;
      if (typeof cursor === "string") addresses.push(next + encodeURIComponent(cursor));
    }
    for (let i = 0; i < 2; i++) for (const address of addresses) await call(near, "GET", address);
    await write();
    for (const address of addresses) {
      // A change notice may still be on its way, or a validity window may open between the two reads. Both end soon.
      await expect
        .poll(
          async () => {
            const [mine, theirs] = [await call(near, "GET", address), await call(platform, "GET", address)];
            return [shape(mine), shape(theirs)];
          },
          { message: `round ${round}: ${address}` },
        )
        .toSatisfy(([mine, theirs]: unknown[]) => JSON.stringify(mine) === JSON.stringify(theirs));
    }
  }
  expect(host.answers().given).toBeGreaterThan(25);
}, 120_000);
