/** The attribute `preview` of schemas. */
import { describe, expect, test } from "vitest";
import { filledIn, previewOrigin } from "../../shared/definition/document/index.ts";
import { type Bag, faultsOf } from "../support/documents.ts";

const document = (url: unknown, more: Bag = {}, module: Bag = {}) => ({
  id: "site",
  markets: ["eu"],
  modules: [
    {
      id: "news",
      type: "CONTENT",
      schemas: [
        {
          id: "post",
          preview: { url },
          fields: [
            { name: "title", type: "string" },
            { name: "slug", type: "slug", was: "path" },
            { name: "pin", type: "string", sensitive: true },
            { name: "tags", type: "string", list: true },
            { name: "photo", type: "file" },
          ],
        },
      ],
      ...module,
    },
  ],
  ...more,
});
const faultIn = (url: unknown, more?: Bag, module?: Bag) => faultsOf(document(url, more, module))[0];

describe("an address", () => {
  test.each([
    "https://site.example/{locale}/news/{slug}",
    "https://site.example/{market}/{id}?page={title}#top",
    "https://site.example:8443/news/{path}",
    "https://site.example",
    "http://localhost:4321/news/{slug}",
    "http://127.0.0.1:4321/",
  ])("may be %s", (url) => {
    expect(faultIn(url)).toBeUndefined();
  });

  test.each([
    ["http://site.example/{slug}", "unless the site is on localhost"],
    ["http://localhost.site.example/", "unless the site is on localhost"],
    ["javascript:alert({slug})", "begins with https://"],
    ["data:text/html,{slug}", "begins with https://"],
    ["/news/{slug}", "begins with https://"],
    ["https://{slug}/", "before the path"],
    ["https://site.example{slug}/", "before the path"],
    ["https://site.example:{slug}/", "https://"],
    ["https://{slug}@site.example/", "user name"],
    ["https://ann:secret@site.example/", "user name"],
    ["https://*/{slug}", "host of letters"],
    ["https://site.example;script-src/{slug}", "host of letters"],
    ["https://site.example,other.example/", "host of letters"],
    ["https://site.example/{slug", "closing brace"],
    ["https://site.example/slug}", "closing brace"],
    ["https://site.example/{}", "has )"],
    ["https://site.example/{nothing}", "has nothing"],
    ["https://site.example/{pin}", "not sensitive"],
    ["https://site.example/{tags}", "single values"],
    ["https://site.example/{photo}", "single values"],
    [7, "string"],
  ])("must not be %s", (url, message) => {
    expect(faultIn(url)?.message).toContain(message);
    expect(faultIn(url)?.path).toBe("/modules/0/schemas/0/preview/url");
  });

  test("needs markets for a market, and a module that sites can read", () => {
    expect(faultIn("https://site.example/{market}", { markets: [] })?.message).toContain("without markets");
    expect(faultIn("https://site.example/", {}, { type: "RULES" })?.code).toBe("not_applicable");
  });
});

test("values cannot leave their part of an address", () => {
  const url = "https://site.example/{locale}/{slug}";
  const filled = (slug: string) => filledIn(url, (name) => (name === "slug" ? slug : "en"));
  expect(filled("a/../b?c#d")).toBe("https://site.example/en/a%2F..%2Fb%3Fc%23d");
  expect([filled(".."), filled("."), filled("")]).toEqual([undefined, undefined, undefined]);
  expect(previewOrigin("https://site.example:8443/{slug}")).toBe("https://site.example:8443");
});
