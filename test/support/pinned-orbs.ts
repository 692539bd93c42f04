/** An orb's document before and after renames, moves and changes of type, for tests of callers that name the first one. */

export const OPEN = { read: "public" } as const;

export const FIRST = (orb: string) => ({
  languages: ["en", "de"],
  components: [{ id: "quote", fields: [{ name: "text", type: "string" }] }],
  modules: [
    {
      id: "catalog",
      type: "CONTENT",
      schemas: [
        {
          id: "product",
          access: OPEN,
          fields: [
            { name: "title", type: "string", required: true },
            { name: "sku", type: "string", unique: true, index: "ordered" },
            { name: "count", type: "integer" },
            { name: "tag", type: "string" },
            { name: "blurb", type: "string" },
            { name: "sections", type: "blocks", components: ["quote"] },
            { name: "pin", type: "string", sensitive: true },
            { name: "like", type: "reference", ref: `${orb}/catalog/product` },
          ],
        },
      ],
    },
  ],
});

export const SECOND = (orb: string) => ({
  languages: ["en", "de"],
  components: [
    {
      id: "saying",
      was: "quote",
      fields: [
        { name: "words", was: "text", type: "string" },
        { name: "by", type: "string" },
      ],
    },
    { id: "video", fields: [{ name: "href", type: "url" }] },
  ],
  modules: [
    {
      id: "goods",
      was: "catalog",
      type: "CONTENT",
      schemas: [
        {
          id: "article",
          was: "product",
          access: OPEN,
          fields: [
            { name: "headline", was: "title", type: "string", required: true, translatable: true },
            { name: "number", was: "sku", type: "string", unique: true, index: "ordered" },
            { name: "count", type: "decimal", scale: 2 },
            { name: "tags", was: "tag", type: "string", list: true },
            {
              name: "seo",
              type: "object",
              fields: [
                { name: "summary", type: "string" },
                { name: "robots", type: "string" },
              ],
              from: { fields: { summary: "blurb" } },
            },
            { name: "parts", was: "sections", type: "blocks", components: ["saying", "video"] },
            { name: "code", was: "pin", type: "string", sensitive: true },
            { name: "similar", was: "like", type: "reference", ref: `${orb}/goods/article` },
            { name: "extra", type: "string" },
          ],
        },
      ],
    },
  ],
});

export const VALUES = {
  title: "Chair",
  sku: "c-1",
  count: 3,
  tag: "oak",
  blurb: "A chair",
  sections: [{ _type: "quote", _key: "q1", text: "Sit" }],
  pin: "1234",
};
