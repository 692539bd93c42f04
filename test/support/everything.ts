/** An orb that uses every feature of a definition that the API description shows. */
const title = { name: "title", type: "string", required: true, translatable: true, max: 80 };
const ref = "everything/library/author";

/** Every field type, alone and with each attribute that it allows. */
const fields = [
  title,
  { name: "subtitle", type: "string", translatable: true, marketSpecific: true, max: 80 },
  { name: "code", type: "string", required: true, unique: true, pattern: "^[A-Z]{2}-[0-9]{2,4}$" },
  { name: "shelf", type: "string", pattern: "^\\p{L}{1,8}$", min: 1, max: 8 },
  { name: "format", type: "string", enum: ["paper", "audio", "large, bold"], default: "paper" },
  { name: "tags", type: "string", list: true, max: 20 },
  { name: "address", type: "slug", from: "title", translatable: true, unique: true, required: true },
  { name: "fee", type: "decimal", scale: 2, min: "0", default: "1.50" },
  { name: "deposit", type: "decimal", scale: 3, enum: ["1.000", "2.500"] },
  { name: "contact", type: "email", max: 80 },
  { name: "page", type: "url" },
  { name: "opens", type: "time", min: "06:00" },
  { name: "summary", type: "text", translatable: true },
  { name: "price", type: "number", required: true, marketSpecific: true, min: 0, max: 1000 },
  { name: "weights", type: "number", list: true },
  { name: "stars", type: "integer", enum: [1, 2, 3], default: 1 },
  { name: "pages", type: "integer", min: 1, max: 5000 },
  { name: "lent", type: "boolean", default: false },
  { name: "printed", type: "date", min: "1500-01-01" },
  { name: "added", type: "datetime" },
  { name: "extra", type: "json" },
  { name: "author", type: "reference", ref },
  { name: "editors", type: "reference", ref, list: true },
  { name: "foreword", type: "reference", ref, translatable: true },
  { name: "note", type: "text", sensitive: true },
  { name: "pin", type: "integer", sensitive: true, marketSpecific: true, min: 0, max: 9999 },
  { name: "cost", type: "number", access: { read: ["admin", "editor"], write: ["admin"] } },
];

export const everything = {
  id: "everything",
  name: "Everything",
  languages: ["en", "de"],
  markets: ["US", "EU"],
  roles: [{ id: "editor", name: "Editors" }],
  access: { signup: "open" },
  branding: { color: "#0b6038" },
  uses: [
    { service: "access", handlers: ["passkey", "invitations", "bootstrap"] },
    { service: "rules", handlers: ["evaluate"] },
    { service: "transactions", handlers: ["record", "list"] },
    { service: "settings", handlers: ["get", "set"] },
  ],
  modules: [
    {
      id: "library",
      type: "CONTENT",
      schemas: [
        { id: "book", fields },
        {
          id: "author",
          access: {
            read: ["public"],
            create: ["user"],
            update: ["own", "editor"],
            publish: ["editor"],
            delete: ["admin"],
          },
          fields: [{ name: "name", type: "string", required: true, max: 80 }],
        },
      ],
    },
    {
      id: "desks",
      type: "CONFIG",
      schemas: [
        {
          id: "desk",
          access: { read: "user", write: "user" },
          fields: [
            { name: "label", type: "string", required: true, max: 20 },
            { name: "rate", type: "number", marketSpecific: true },
            { name: "books", type: "reference", ref: "everything/library/book", list: true },
          ],
        },
      ],
    },
    {
      id: "fees",
      type: "RULES",
      schemas: [
        {
          id: "fee",
          fields: [
            { name: "name", type: "string", required: true, unique: true },
            { name: "rule", type: "json", required: true },
            { name: "priority", type: "integer", default: 0 },
          ],
        },
      ],
    },
    {
      id: "loans",
      type: "TRANSACTIONS",
      schemas: [
        {
          id: "loan",
          access: { read: "own", create: ["user"] },
          fields: [
            { name: "book", type: "string", required: true, max: 40 },
            { name: "days", type: "integer", required: true, min: 1, max: 90 },
            { name: "notice", type: "string", translatable: true },
          ],
        },
      ],
    },
    {
      id: "wishes",
      type: "SETTINGS",
      schemas: [
        {
          id: "wish",
          fields: [
            { name: "theme", type: "string", enum: ["light", "dark"], default: "light", required: true },
            { name: "letters", type: "boolean" },
          ],
        },
      ],
    },
  ],
};
