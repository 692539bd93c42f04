/** A project of Payload with every type of field, and a script that fills it through its local API. */

export const CONFIG = `import { sqliteAdapter } from "@payloadcms/db-sqlite";
import { BlocksFeature, lexicalEditor } from "@payloadcms/richtext-lexical";
import { buildConfig } from "payload";
import { orbEndpoint } from "./orb-endpoint.ts";

const quote = { slug: "quote", fields: [{ name: "text", type: "textarea", localized: true }, { name: "by", type: "text" }] } as const;

export default buildConfig({
  secret: process.env.PAYLOAD_SECRET ?? "",
  db: sqliteAdapter({ client: { url: process.env.DATABASE_URL ?? "" } }),
  editor: lexicalEditor({ features: ({ defaultFeatures }) => [...defaultFeatures, BlocksFeature({ blocks: [quote as never] })] }),
  telemetry: false,
  endpoints: [orbEndpoint],
  typescript: { autoGenerate: false },
  localization: { locales: ["en", "de"], defaultLocale: "en" },
  collections: [
    { slug: "users", auth: { useAPIKey: true }, fields: [{ name: "name", type: "text" }] },
    {
      slug: "media",
      upload: { staticDir: process.env.MEDIA_DIR ?? "media" },
      access: { read: () => true },
      fields: [{ name: "alt", type: "text", localized: true }],
    },
    { slug: "tags", fields: [{ name: "label", type: "text", required: true, unique: true }] },
    {
      slug: "posts",
      versions: { drafts: true },
      access: { read: () => true },
      fields: [
        { name: "title", type: "text", required: true, localized: true, maxLength: 100 },
        { type: "row", fields: [{ name: "count", type: "number", min: 0 }, { name: "open", type: "checkbox", defaultValue: true }] },
        {
          type: "tabs",
          tabs: [
            { label: "More", fields: [{ name: "day", type: "date" }, { name: "mail", type: "email" }] },
            { name: "seo", fields: [{ name: "title", type: "text", localized: true }, { name: "image", type: "upload", relationTo: "media" }] },
          ],
        },
        { name: "kind", type: "select", options: ["a", { label: "B", value: "b" }] },
        { name: "kinds", type: "select", hasMany: true, options: ["x", "y"] },
        { name: "mood", type: "radio", options: ["good", "bad"] },
        { name: "words", type: "text", hasMany: true },
        { name: "code", type: "code" },
        { name: "extra", type: "json" },
        { name: "place", type: "point" },
        { name: "author", type: "relationship", relationTo: "users" },
        { name: "tags", type: "relationship", relationTo: "tags", hasMany: true },
        { name: "about", type: "relationship", relationTo: ["posts", "tags"], hasMany: true },
        { name: "photo", type: "upload", relationTo: "media" },
        { name: "gallery", type: "upload", relationTo: "media", hasMany: true },
        { name: "body", type: "richText", localized: true },
        { name: "links", type: "array", fields: [{ name: "label", type: "text" }, { name: "count", type: "number" }] },
        { name: "sections", type: "blocks", blocks: [quote as never, { slug: "picture", fields: [{ name: "image", type: "upload", relationTo: "media" }] }] },
        { name: "old", type: "text", admin: { hidden: true } },
      ],
    },
    { slug: "comments", fields: [{ name: "post", type: "relationship", relationTo: "posts" }, { name: "text", type: "text" }] },
  ],
  globals: [{ slug: "site", fields: [{ name: "title", type: "text", localized: true }, { name: "home", type: "relationship", relationTo: "posts" }] }],
});
`;

export const FILL = `import { getPayload } from "payload";
import config from "./payload.config.ts";
const payload = await getPayload({ config });
const make = (collection: string, data: object, more: object = {}) =>
  payload.create({ collection, data, ...more } as never) as unknown as Promise<{ id: number }>;
const ann = await make("users", { email: "ann@example.org", password: "a long password", name: "Ann" });
const PNG = Buffer.from("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==", "base64");
const files: { id: number }[] = [];
for (const name of ["lamp", "chair"]) {
  const file = { data: PNG, mimetype: "image/png", name: \`\${name}.png\`, size: PNG.length };
  files.push(await make("media", { alt: \`A \${name}\` }, { file }));
}
const tags = [];
for (let n = 1; n <= 120; n++) tags.push(await make("tags", { label: \`Tag \${n}\` }));
const text = (t: string, format = 0) => ({ type: "text", text: t, format, detail: 0, mode: "normal", style: "", version: 1 });
const node = (type: string, children: object[], more: object = {}) => ({ type, children, direction: "ltr", format: "", indent: 0, version: 1, ...more });
const full = await make("posts", {
  title: "Full", count: 3, open: false, day: "2022-03-04T12:00:00.000Z", mail: "ann@example.org",
  seo: { title: "For machines", image: files[1].id }, kind: "b", kinds: ["y", "x"], mood: "bad", words: ["one", "two"],
  code: "let x = 1;", extra: { a: [1, { b: null }] }, place: [13.4, 52.5], author: ann.id, tags: [tags[2].id, tags[0].id],
  about: [{ relationTo: "tags", value: tags[1].id }], photo: files[0].id, gallery: [files[1].id, files[0].id],
  body: { root: node("root", [
    node("heading", [text("Title")], { tag: "h2" }),
    node("paragraph", [text("Read "), text("this", 3), node("link", [text("link")], { version: 3, fields: { linkType: "custom", url: "https://example.org", newTab: false } }), { type: "linebreak", version: 1 }, text("end", 16)], { textFormat: 0, textStyle: "" }),
    node("list", [node("listitem", [text("one")], { value: 1 }), node("listitem", [node("list", [node("listitem", [text("deep")], { value: 1 })], { listType: "bullet", tag: "ul", start: 1 })], { value: 2 })], { listType: "number", tag: "ol", start: 1 }),
    node("list", [node("listitem", [text("done")], { value: 1, checked: true })], { listType: "check", tag: "ul", start: 1 }),
    node("quote", [text("To be")]),
    { type: "horizontalrule", version: 1 },
    { type: "upload", relationTo: "media", value: files[0].id, fields: {}, format: "", version: 3, id: "6500000000000000000000aa" },
    { type: "block", version: 2, format: "", fields: { id: "6500000000000000000000ab", blockType: "quote", blockName: "", text: "Inside", by: "Ann" } },
    { type: "relationship", relationTo: "tags", value: tags[4].id, format: "", version: 2 },
  ]) },
  links: [{ label: "One", count: 1 }, { label: "Two" }],
  sections: [{ blockType: "quote", text: "To be", by: "Hamlet" }, { blockType: "picture", image: files[0].id }],
  old: "hidden", _status: "published",
});
await payload.update({ collection: "posts", id: full.id, locale: "de", data: { title: "Voll", seo: { title: "Maschinen" }, _status: "published" } as never });
const draft = await make("posts", { title: "Draft", about: [{ relationTo: "posts", value: full.id }], _status: "draft" }, { draft: true });
const changed = await make("posts", { title: "Before", count: 1, _status: "published" });
await payload.update({ collection: "posts", id: changed.id, draft: true, data: { title: "Newer", count: null, _status: "draft" } as never });
await make("comments", { post: full.id, text: "Nice" });
await payload.updateGlobal({ slug: "site", data: { title: "Site", home: full.id } as never });
await payload.updateGlobal({ slug: "site", locale: "de", data: { title: "Seite" } as never });
console.log("filled", draft.id);
process.exit(0);
`;

/** The email address and the password of the account that can sign in. */
export const ACCOUNT = { email: "ann@example.org", password: "a long password" };

/** Serves the REST API of Payload, as frameworks do, and prints the address. */
export const SERVE = `import { createServer } from "node:http";
import { Readable } from "node:stream";
import { handleEndpoints } from "payload";
import config from "./payload.config.ts";
const server = createServer(async (given, answer) => {
  const origin = \`http://\${given.headers.host}\`;
  const headers = Object.entries(given.headers).flatMap(([name, value]) => (typeof value === "string" ? [[name, value]] : []));
  const hasBody = given.method !== "GET" && given.method !== "HEAD";
  const body = hasBody ? Readable.toWeb(given) : undefined;
  const request = new Request(origin + given.url, { method: given.method, headers, body, duplex: "half" } as never);
  const response = await handleEndpoints({ config, request });
  answer.writeHead(response.status, Object.fromEntries(response.headers));
  answer.end(Buffer.from(await response.arrayBuffer()));
});
server.listen(0, "127.0.0.1", () => console.log(\`http://127.0.0.1:\${(server.address() as { port: number }).port}\`));
`;
