/**
 * Values that stand in for missing ones: responses name them, writes do not store them, and reads and lists can leave
 * them out.
 */
import { beforeAll, describe, expect, test } from "vitest";
import { MASK } from "../../shared/definition/document/text.ts";
import { adminToken, call } from "../support/auth.ts";
import { sharedPlatform, type TestPlatform } from "../support/platform.ts";
import { sending } from "../support/sending.ts";

const document = {
  id: "spoken",
  languages: ["en", "de", "de-CH"],
  markets: ["US", "EU"],
  modules: [
    {
      id: "dishes",
      type: "CONTENT",
      schemas: [
        {
          id: "dish",
          fields: [
            { name: "name", type: "string", translatable: true },
            { name: "price", type: "number", marketSpecific: true },
            { name: "note", type: "string", translatable: true, marketSpecific: true },
            { name: "tags", type: "string", translatable: true, list: true },
            { name: "data", type: "json", translatable: true },
            { name: "code", type: "string" },
            { name: "pin", type: "string", translatable: true, marketSpecific: true, sensitive: true },
            { name: "side", type: "reference", ref: "spoken/dishes/dish" },
          ],
        },
      ],
    },
  ],
};

const ENGLISH = {
  name: { en: "Soup" },
  price: { US: 9 },
  note: { US: { en: "Large" } },
  tags: { en: ["hot", "red"] },
  data: { en: { a: [1] } },
  code: "s",
};

let platform: TestPlatform;
let token: string;
const base = "/api/spoken/dishes";

beforeAll(async () => {
  platform = await sharedPlatform();
  token = await adminToken(platform);
  const made = await call(platform, "POST", "/api/admin/orbs?publish=true", { token, body: document });
  expect(made.status, JSON.stringify(made.body)).toBe(201);
});

const { send } = sending(() => ({ platform, token }));

const soup = (values: object = ENGLISH) => send("POST", `${base}?publish=true`, { values });
const all = async (id: string) => (await send("GET", `${base}/${id}?locale=*&revision=latest`)).values;

test("names the fields whose value is that of another language or market", async () => {
  const { id } = await soup({ ...ENGLISH, note: { EU: { en: "Big" }, US: { de: "Groß" } } });
  const german = await send("GET", `${base}/${id}?locale=de&market=EU`);
  expect(german.fallback).toEqual({
    name: { language: "en" },
    price: { market: "US" },
    note: { language: "en" },
    tags: { language: "en" },
    data: { language: "en" },
  });
  expect((await send("GET", `${base}/${id}?locale=de-CH&market=US`)).fallback.note).toEqual({
    language: "de",
  });
  for (const query of ["locale=en&market=US&fields=name,price", "locale=*"])
    expect(await send("GET", `${base}/${id}?${query}`)).not.toHaveProperty("fallback");
  const { items } = await send("GET", `${base}?filter[id]=${id}&locale=de&market=EU&fields=name`);
  expect(items[0].fallback).toEqual({ name: { language: "en" } });
});

describe("a response that is sent back stores no value that was filled in", () => {
  const places = ["locale=de", "market=EU", "locale=de&market=EU", "locale=de-CH", "locale=de&market=US"];
  for (const method of ["PUT", "PATCH"])
    for (const place of places)
      test.each([
        ["whole", (read: object) => read],
        ["only its values", ({ values }: { values: object }) => ({ values })],
      ])(`${method} with ${place}: %s`, async (_, bodyOf) => {
        const { id } = await soup();
        const read = await send("GET", `${base}/${id}?${place}`);
        const answer = await send(method, `${base}/${id}?${place}&publish=true`, bodyOf(read));
        expect(await all(id)).toEqual(ENGLISH);
        expect([answer.values, answer.fallback]).toEqual([read.values, read.fallback]);
        await send("PATCH", `${base}/${id}?publish=true`, {
          values: { name: { en: "Broth" }, price: { US: 10 } },
        });
        const later = await send("GET", `${base}/${id}?${place}`);
        expect([later.values.name, later.values.price]).toEqual(["Broth", 10]);
      });

  test("although the value is a mask", async () => {
    const { id } = await soup({ ...ENGLISH, pin: { US: { en: "4711" } } });
    for (const place of places) {
      const read = await send("GET", `${base}/${id}?${place}`);
      expect([read.values.pin, read.fallback.pin]).toEqual([MASK, expect.anything()]);
      for (const method of ["PUT", "PATCH"])
        for (const body of [read, { values: read.values }])
          await send(method, `${base}/${id}?${place}&publish=true`, body);
    }
    const path = `/api/admin/orbs/spoken/entries/${id}?reveal=true`;
    expect((await send("GET", path)).values.pin).toEqual({ US: { en: "4711" } });
  });

  test("although the other language has changed since", async () => {
    const { id } = await soup();
    const read = await send("GET", `${base}/${id}?locale=de`);
    await send("PATCH", `${base}/${id}?publish=true`, { values: { name: { en: "Broth" } } });
    await send("PUT", `${base}/${id}?locale=de&publish=true`, {
      ...read,
      values: { ...read.values, code: "new" },
    });
    expect(await all(id)).toEqual({ ...ENGLISH, name: { en: "Broth" }, code: "new" });
  });

  test("although the draft has another value", async () => {
    const { id } = await soup();
    await send("PATCH", `${base}/${id}`, { values: { name: { en: "Broth", de: "Brühe" } } });
    const read = await send("GET", `${base}/${id}?locale=de`);
    expect(read.values.name).toBe("Soup");
    await send("PUT", `${base}/${id}?locale=de`, read);
    expect((await all(id)).name).toEqual({ en: "Broth", de: "Brühe" });
  });

  test("through the management API", async () => {
    const { id } = await soup();
    const read = await send("GET", `${base}/${id}?locale=de`);
    for (const method of ["PUT", "PATCH"])
      await send(method, `/api/admin/orbs/spoken/entries/${id}?locale=de`, read);
    expect(await all(id)).toEqual(ENGLISH);
  });
});

test("stores a value of the response that has changed, and the same text if the client says so", async () => {
  const { id } = await soup();
  const read = await send("GET", `${base}/${id}?locale=de`);
  await send("PUT", `${base}/${id}?locale=de`, { ...read, values: { ...read.values, name: "Suppe" } });
  expect((await all(id)).name).toEqual({ en: "Soup", de: "Suppe" });
  await send("PATCH", `${base}/${id}?locale=de`, { values: { tags: ["hot", "red"] }, fallback: {} });
  expect((await all(id)).tags).toEqual({ en: ["hot", "red"], de: ["hot", "red"] });
  // A stored translation can become equal to the other language.
  await send("POST", `${base}/${id}/publish`);
  await send("PATCH", `${base}/${id}?locale=de`, { values: { name: "Soup" } });
  expect((await all(id)).name).toEqual({ en: "Soup", de: "Soup" });
});

describe("fallback=none", () => {
  test("answers null for values that are missing in the language and the market", async () => {
    const side = await soup({ name: { en: "Bread", de: "Brot" } });
    const { id } = await soup({ ...ENGLISH, price: { US: 9, EU: 8 }, side: side.id });
    const query = "locale=de&market=EU&fallback=none&expand=side";
    const missing = { name: null, price: 8, note: null, tags: null, data: null, code: "s" };
    const one = await send("GET", `${base}/${id}?${query}`);
    expect(one.values).toMatchObject(missing);
    expect(one).not.toHaveProperty("fallback");
    expect(one.expand.side.values.name).toBe("Brot");
    const { items } = await send("GET", `${base}?filter[id]=${id}&${query}`);
    expect(items[0].values).toMatchObject(missing);
    expect((await send("GET", `${base}?filter[id]=${id}&filter[name]=Soup&${query}`)).items).toEqual([]);
    expect((await send("GET", `${base}/${id}?locale=fr&fallback=none`)).values.name).toBeNull();
    expect((await send("GET", `${base}/${id}?fallback=none`)).values.name).toBe("Soup");
  });

  test("has an entity tag of its own", async () => {
    const { id } = await soup();
    const [with_, without] = await Promise.all(
      ["", "&fallback=none"].map((more) => call(platform, "GET", `${base}/${id}?locale=de${more}`)),
    );
    expect(with_?.headers.get("etag")).not.toBe(without?.headers.get("etag"));
  });

  test("works in live lists", async () => {
    const { id } = await soup();
    const abort = new AbortController();
    const url = `${platform.origin}${base}?filter[id]=${id}&locale=de&fallback=none&live=sse`;
    const response = await fetch(url, { signal: abort.signal });
    const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
    let text = "";
    while (!text.includes(id)) text += (await reader?.read())?.value ?? expect.fail("the list ended");
    abort.abort();
    expect(text).toContain('"name":null');
  });
});

describe("missing=de", () => {
  test("finds the entries that lack the language, on both APIs", async () => {
    const whole = await soup({ name: { en: "A", de: "A" }, note: { US: { en: "n", de: "n" } } });
    const part = await soup({ name: { en: "B", de: "B" }, note: { US: { en: "n" }, EU: { de: "n" } } });
    const none = await soup({ name: { en: "C" } });
    const empty = await soup({ code: "without texts" });
    const cleared = await soup({ name: { en: "D", de: null } });
    const ids = [whole, part, none, empty, cleared].map(({ id }) => id);
    const query = `filter[id][in]=${ids.join(",")}&missing=de`;
    const lacking = [part.id, none.id, cleared.id];
    for (const path of [
      `${base}?${query}&locale=de`,
      `${base}?${query}&count=true&revision=latest`,
      `/api/admin/orbs/spoken/entries?module=dishes&schema=dish&${query}`,
    ]) {
      const { items } = await send("GET", path);
      expect(
        items.map((item: { id: string }) => item.id),
        path,
      ).toEqual(lacking);
    }
    const { total } = await send("GET", `${base}?${query}&count=true&limit=1`);
    expect(total).toBe(3);
  });

  test.each([`${base}?missing=fr`, `${base}?missing=*`, "/api/admin/orbs/spoken/entries?missing=de"])(
    "is 400 for another language, and without a schema: %s",
    async (path) => {
      const { status, body } = await call(platform, "GET", path, { token });
      expect([status, body.errors[0].path]).toEqual([400, "/missing"]);
    },
  );
});
