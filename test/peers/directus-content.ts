/** Makes collections with every type of field in a running Directus, over its API, and fills them. */
import { PUBLIC_POLICY } from "./directus.ts";
import { api } from "./setup.ts";

/** Comments, so that lists have several pages. */
export const COMMENTS = 120;

type Item = Record<string, unknown>;

const key = { field: "id", type: "integer", schema: { is_primary_key: true, has_auto_increment: true } };
const uuidKey = {
  field: "id",
  type: "uuid",
  meta: { special: ["uuid"] },
  schema: { is_primary_key: true },
};
const sort = { field: "sort", type: "integer", meta: { hidden: true } };
const plain = (field: string, type: string, meta: object = {}, schema: object = {}) => ({
  ...{ field, type, meta, schema },
});
const link = (field: string, type = "integer", meta: object = {}) =>
  plain(field, type, { special: ["m2o"], ...meta });
const alias = (field: string, special: string, meta: object = {}) => ({
  ...{ field, type: "alias", schema: null },
  meta: { special: [special], ...meta },
});

const CHOICES = ["published", "draft", "archived"].map((value) => ({ text: value, value }));
const REPEATED = [
  { field: "label", name: "label", type: "string", meta: { interface: "input", required: true } },
  { field: "count", name: "count", type: "integer", meta: { interface: "input" } },
  { field: "day", name: "day", type: "date", meta: { interface: "datetime" } },
];

const POST_FIELDS = [
  key,
  plain("status", "string", { interface: "select-dropdown", options: { choices: CHOICES } }),
  sort,
  plain("user_created", "uuid", { special: ["user-created"] }),
  plain("date_created", "timestamp", { special: ["date-created"] }),
  plain("user_updated", "uuid", { special: ["user-updated"] }),
  plain("date_updated", "timestamp", { special: ["date-updated"] }),
  alias("texts", "group", { interface: "group-detail" }),
  alias("line", "no-data", { interface: "presentation-divider" }),
  plain(
    "title",
    "string",
    { required: true, group: "texts", note: "What readers see first" },
    { max_length: 120 },
  ),
  plain(
    "slug",
    "string",
    {
      interface: "input",
      options: { slug: true },
      validation: { _and: [{ slug: { _regex: "^[a-z0-9-]+$" } }] },
      validation_message: "must be small letters",
    },
    { is_unique: true },
  ),
  plain("body", "text", { interface: "input-rich-text-html", group: "texts" }),
  plain("notes", "text", { interface: "input-rich-text-md" }),
  plain("page", "json", { special: ["cast-json"], interface: "input-block-editor" }),
  plain("summary", "text", { interface: "input-multiline", width: "half" }),
  plain("count", "integer"),
  plain("big", "bigInteger"),
  plain("weight", "float"),
  plain("price", "decimal", {}, { numeric_precision: 10, numeric_scale: 2 }),
  plain("open", "boolean", { special: ["cast-boolean"] }, { default_value: true }),
  plain("day", "date"),
  plain("at", "time"),
  plain("moment", "dateTime"),
  plain("stamp", "timestamp", { special: ["cast-timestamp"] }),
  plain("color", "string", { interface: "select-color" }),
  plain("kind", "string", {
    interface: "select-dropdown",
    options: {
      choices: [
        { text: "A", value: "a" },
        { text: "B", value: "b" },
      ],
    },
  }),
  plain("kinds", "json", {
    special: ["cast-json"],
    interface: "select-multiple-checkbox",
    options: { choices: ["x", "y", "z"].map((value) => ({ text: value, value })) },
  }),
  plain("labels", "csv", { special: ["cast-csv"], interface: "tags" }),
  plain("extra", "json", { special: ["cast-json"], interface: "input-code" }),
  plain("code", "text", { interface: "input-code" }),
  plain("mark", "uuid"),
  plain("secret", "hash", { special: ["hash"] }),
  plain("hidden_text", "string", { special: ["conceal"] }),
  plain("place", "json", {
    ...{ special: ["cast-json"], interface: "map", options: { geometryType: "Point" } },
  }),
  plain("links", "json", { special: ["cast-json"], interface: "list", options: { fields: REPEATED } }),
  link("author", "uuid"),
  link("photo", "uuid", { special: ["file"], interface: "file-image" }),
  alias("gallery", "files"),
  alias("tags", "m2m"),
  alias("related", "m2m"),
  alias("credits", "m2m"),
  alias("comments", "o2m"),
  alias("sections", "m2a"),
  alias("translations", "translations", { interface: "translations", options: { defaultLanguage: "en-US" } }),
];

const COLLECTIONS: Readonly<Record<string, readonly object[]>> = {
  languages: [
    plain("code", "string", {}, { is_primary_key: true }),
    plain("name", "string"),
    plain("direction", "string", {}, { default_value: "ltr" }),
  ],
  authors: [
    uuidKey,
    plain("name", "string", { required: true }, { is_nullable: false }),
    plain("email", "string", { interface: "input" }),
    link("mentor", "uuid"),
    link("favourite"),
  ],
  tags: [key, plain("label", "string", {}, { is_unique: true })],
  posts: POST_FIELDS,
  posts_translations: [
    key,
    link("posts_id"),
    link("languages_code", "string"),
    plain("title", "string", { required: true }),
    plain("teaser", "text", { interface: "input-rich-text-html" }),
    link("picture", "uuid", { special: ["file"] }),
  ],
  posts_files: [key, link("posts_id"), link("directus_files_id", "uuid"), sort],
  posts_tags: [key, link("posts_id"), link("tags_id"), sort],
  posts_posts: [key, link("posts_id"), link("related_posts_id"), sort],
  posts_authors: [key, link("posts_id"), link("authors_id", "uuid"), plain("role", "string")],
  comments: [key, link("post"), plain("text", "text"), sort],
  posts_sections: [key, link("posts_id"), plain("item", "string"), plain("collection", "string"), sort],
  section_text: [key, plain("heading", "string"), plain("text", "text")],
  section_image: [key, link("image", "uuid", { special: ["file"] }), plain("caption", "string")],
  site: [key, plain("name", "string"), link("logo", "uuid", { special: ["file"] })],
};
const JUNCTIONS = [
  "posts_translations",
  "posts_files",
  "posts_tags",
  "posts_posts",
  "posts_authors",
  "posts_sections",
];

const relation = (from: string, related_collection: string | null, meta: object = {}, more: object = {}) => {
  const [collection, field] = from.split(".");
  return { collection, field, related_collection, meta, schema: { on_delete: "SET NULL" }, ...more };
};
const RELATIONS = [
  relation("posts.user_created", "directus_users", {}, { schema: null }),
  relation("posts.user_updated", "directus_users", {}, { schema: null }),
  relation("posts.author", "authors"),
  relation("posts.photo", "directus_files"),
  relation("authors.mentor", "authors"),
  relation("authors.favourite", "posts"),
  relation("comments.post", "posts", { one_field: "comments", sort_field: "sort" }),
  relation("posts_files.posts_id", "posts", {
    ...{ one_field: "gallery", junction_field: "directus_files_id", sort_field: "sort" },
  }),
  relation("posts_files.directus_files_id", "directus_files", { junction_field: "posts_id" }),
  relation("posts_tags.posts_id", "posts", {
    ...{ one_field: "tags", junction_field: "tags_id", sort_field: "sort" },
  }),
  relation("posts_tags.tags_id", "tags", { junction_field: "posts_id" }),
  relation("posts_posts.posts_id", "posts", {
    ...{ one_field: "related", junction_field: "related_posts_id", sort_field: "sort" },
  }),
  relation("posts_posts.related_posts_id", "posts", { junction_field: "posts_id" }),
  relation("posts_authors.posts_id", "posts", { one_field: "credits", junction_field: "authors_id" }),
  relation("posts_authors.authors_id", "authors", { junction_field: "posts_id" }),
  relation("posts_translations.posts_id", "posts", {
    ...{ one_field: "translations", junction_field: "languages_code" },
  }),
  relation("posts_translations.languages_code", "languages", { junction_field: "posts_id" }),
  relation("posts_translations.picture", "directus_files"),
  relation("posts_sections.posts_id", "posts", {
    ...{ one_field: "sections", junction_field: "item", sort_field: "sort" },
  }),
  relation(
    "posts_sections.item",
    null,
    {
      ...{ junction_field: "posts_id", one_collection_field: "collection" },
      one_allowed_collections: ["section_text", "section_image"],
    },
    { schema: null },
  ),
  relation("section_image.image", "directus_files"),
  relation("site.logo", "directus_files"),
];

/** What the test must know of the content. */
export interface DirectusContent {
  files: string[];
  ann: string;
  ben: string;
}

export async function fillDirectus(url: string, token: string): Promise<DirectusContent> {
  const send = async (path: string, body: unknown, method?: string): Promise<Item> =>
    ((await api(url + path, body, token, method)) as { data: Item } | null)?.data ?? {};
  await send("/collections", { collection: "content", schema: null, meta: { icon: "folder" } });
  for (const [collection, fields] of Object.entries(COLLECTIONS))
    await send("/collections", {
      ...{ collection, fields, schema: {} },
      meta: {
        ...{ hidden: JUNCTIONS.includes(collection), singleton: collection === "site" },
        ...(collection === "posts"
          ? {
              ...{ archive_field: "status", archive_value: "archived", unarchive_value: "draft" },
              ...{ sort_field: "sort", group: "content", versioning: true },
            }
          : {}),
      },
    });
  for (const one of RELATIONS) await send("/relations", one);
  const permission = { policy: PUBLIC_POLICY, action: "read", fields: ["*"] };
  // Without a licence, Directus 12 lets a policy read all of a collection or nothing.
  for (const collection of ["posts", "tags", ...PARTS])
    await send("/permissions", { ...permission, collection, permissions: {} });
  await fillRoles(send);
  const { id: folder } = await send("/folders", { name: "Photos" });
  const files: string[] = [];
  for (const name of ["lamp", "chair", "table"]) files.push(await upload(url, token, name, String(folder)));
  const content = await fillItems(send, files);
  await fillPosts(send, content);
  return content;
}

/** Collections whose items are part of posts. */
const PARTS = ["posts_files", "posts_tags", "posts_posts", "posts_translations", "posts_sections"];

/** Writers may do everything with posts, and read authors. */
async function fillRoles(send: (path: string, body: unknown) => Promise<Item>): Promise<void> {
  const { id: policy } = await send("/policies", { name: "Writing", app_access: true });
  const { id: staff } = await send("/roles", { name: "Staff" });
  const { id: role } = await send("/roles", { name: "Writers", parent: staff });
  await send("/access", { role, policy });
  const whole = { policy, permissions: {}, fields: ["*"] };
  for (const action of ["create", "read", "update", "delete"])
    for (const collection of ["posts", ...PARTS])
      await send("/permissions", { ...whole, action, collection });
  await send("/permissions", { ...whole, action: "read", collection: "authors" });
}

async function upload(url: string, token: string, name: string, folder: string): Promise<string> {
  const form = new FormData();
  for (const [field, value] of Object.entries({ title: `The ${name}`, description: name, folder }))
    form.append(field, value);
  form.append("file", new Blob([`content of ${name}`], { type: "text/plain" }), `${name}.txt`);
  const response = await fetch(`${url}/files`, {
    ...{ method: "POST", body: form, headers: { authorization: `Bearer ${token}` } },
  });
  return ((await response.json()) as { data: { id: string } }).data.id;
}

type Send = (path: string, body: unknown, method?: string) => Promise<Item>;

async function fillItems(send: Send, files: string[]): Promise<DirectusContent> {
  for (const [code, name] of [
    ["en-US", "English"],
    ["de-DE", "Deutsch"],
  ])
    await send("/items/languages", { code, name });
  const { id: ann } = await send("/items/authors", { name: "Ann", email: "ann@example.org" });
  const { id: ben } = await send("/items/authors", { name: "Ben", mentor: ann });
  await send(`/items/authors/${ann}`, { mentor: ben }, "PATCH");
  for (const label of ["red", "blue", "green"]) await send("/items/tags", { label });
  await send("/items/section_text", { heading: "First", text: "Text of the section" });
  await send("/items/section_image", { image: files[1], caption: "A chair" });
  await send("/items/site", { name: "Shop", logo: files[0] }, "PATCH");
  return { files, ann: String(ann), ben: String(ben) };
}

async function fillPosts(send: Send, { files, ann, ben }: DirectusContent): Promise<void> {
  const [lamp, chair, table] = files;
  await send("/items/posts", {
    ...{ title: "Full", slug: "full", status: "published", sort: 2, count: 3, big: "9007199254740993" },
    body: "<h2>Title</h2><p>Read <b>this</b></p><table><tbody><tr><td>c</td></tr></tbody></table>",
    notes: "# Heading\n\nSome *words*, a [link](https://example.org) and\n\n- one\n- two\n",
    page: {
      time: 1,
      version: "2.30.0",
      blocks: [
        { id: "h", type: "header", data: { text: "Page", level: 3 } },
        { id: "p", type: "paragraph", data: { text: "With <b>bold</b> words" } },
        {
          id: "l",
          type: "nestedlist",
          data: { style: "ordered", items: [{ content: "one", items: [{ content: "in" }] }] },
        },
        { id: "d", type: "delimiter", data: {} },
      ],
    },
    ...{ summary: "Short", weight: 0.5, price: "12.50", open: false, day: "2022-03-04", at: "09:30:00" },
    ...{ moment: "2022-03-04T05:06:07", stamp: "2022-03-04T05:06:07.000Z", color: "#ff0000", kind: "a" },
    ...{ kinds: ["x", "z"], labels: ["l1", "l2"], extra: { a: [1, { b: null }] }, code: "let x = 1;" },
    ...{ mark: "0b1f0c8e-6d0c-4c2b-9a51-1d8f3d6f9c11", secret: "hidden", hidden_text: "hidden" },
    place: { type: "Point", coordinates: [13.4, 52.5] },
    links: [
      { label: "One", count: 1, day: "2020-01-02" },
      { label: "Two", count: 2, day: null },
    ],
    ...{ author: ann, photo: lamp },
    gallery: [
      { directus_files_id: table, sort: 1 },
      { directus_files_id: chair, sort: 2 },
    ],
    tags: [
      { tags_id: 3, sort: 1 },
      { tags_id: 1, sort: 2 },
    ],
    credits: [{ authors_id: ben, role: "photos" }],
    sections: [
      { collection: "section_image", item: "1", sort: 1 },
      { collection: "section_text", item: "1", sort: 2 },
    ],
    translations: [
      { languages_code: "en-US", title: "Full", teaser: "<p>Short <i>words</i></p>", picture: lamp },
      { languages_code: "de-DE", title: "Voll", teaser: "<p>Kurz</p>", picture: chair },
    ],
  });
  await send("/items/posts", { title: "Draft", slug: "draft", status: "draft", author: ben, kind: "c" });
  await send("/items/posts", { title: "Old", slug: "old", status: "archived" });
  await send("/items/posts", { title: "Empty", status: "published", open: null });
  const related = [1, 2].map((id, at) => ({ related_posts_id: id, sort: at + 1 }));
  await send("/items/posts/1", { related }, "PATCH");
  await send(`/items/authors/${ann}`, { favourite: 1 }, "PATCH");
  const comments = Array.from({ length: COMMENTS }, (_, at) => ({
    ...{ post: at % 2 === 0 ? 1 : 4, text: `Comment ${at}`, sort: COMMENTS - at },
  }));
  await send("/items/comments", comments);
  const { id: version } = await send("/versions", {
    key: "draft",
    name: "Draft",
    collection: "posts",
    item: "4",
  });
  await send(`/versions/${version}/save`, { title: "Newer" });
}
