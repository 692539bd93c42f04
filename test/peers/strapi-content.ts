/** A project of Strapi with every type of attribute, and its content, which is made over the API of Strapi. */

import { api } from "./setup.ts";
import type { StrapiProject } from "./strapi.ts";

/** Tags, so that lists have several pages. */
export const TAGS = 120;

const localized = { pluginOptions: { i18n: { localized: true } } };

const type = (singularName: string, attributes: object, more: object = {}) => ({
  ...{ kind: "collectionType", collectionName: `${singularName}_rows`, options: { draftAndPublish: false } },
  info: { singularName, pluralName: `${singularName}s`, displayName: singularName },
  ...{ attributes, ...more },
});

const component = (name: string, attributes: object) => ({
  ...{ collectionName: `components_${name}`, info: { displayName: name }, options: {}, attributes },
});

const ARTICLE = {
  title: { type: "string", required: true, maxLength: 120, ...localized },
  slug: { type: "uid", targetField: "title", ...localized },
  summary: { type: "text", ...localized },
  notes: { type: "richtext", ...localized },
  body: { type: "blocks", ...localized },
  count: { type: "integer", min: 1, default: 5 },
  big: { type: "biginteger" },
  weight: { type: "float" },
  price: { type: "decimal" },
  open: { type: "boolean", default: true },
  day: { type: "date" },
  at: { type: "time" },
  moment: { type: "datetime" },
  mail: { type: "email", unique: true },
  code: { type: "string", regex: "^[A-Z]+$" },
  secret: { type: "password" },
  hidden: { type: "string", private: true },
  kind: { type: "enumeration", enum: ["a", "b"] },
  extra: { type: "json" },
  photo: { type: "media", multiple: false, allowedTypes: ["images", "files"] },
  gallery: { type: "media", multiple: true, allowedTypes: ["images", "files"] },
  author: { type: "relation", relation: "manyToOne", target: "api::author.author", inversedBy: "articles" },
  tags: { type: "relation", relation: "manyToMany", target: "api::tag.tag" },
  related: { type: "relation", relation: "oneToMany", target: "api::article.article" },
  owner: { type: "relation", relation: "oneToOne", target: "plugin::users-permissions.user" },
  editor: { type: "relation", relation: "oneToOne", target: "admin::user" },
  seo: { type: "component", component: "shared.seo", repeatable: false, ...localized },
  links: { type: "component", component: "shared.link", repeatable: true },
  sections: { type: "dynamiczone", components: ["shared.quote", "shared.card"], ...localized },
};

export const PROJECT: StrapiProject = {
  types: {
    article: type("article", ARTICLE, { options: { draftAndPublish: true }, ...localized }),
    author: type("author", {
      name: { type: "string", required: true },
      mentor: { type: "relation", relation: "oneToOne", target: "api::author.author" },
      articles: {
        type: "relation",
        relation: "oneToMany",
        target: "api::article.article",
        mappedBy: "author",
      },
    }),
    tag: type("tag", { label: { type: "string", unique: true } }),
    site: {
      ...type("site", { name: { type: "string" }, logo: { type: "media", multiple: false } }),
      kind: "singleType",
    },
  },
  components: {
    "shared.seo": component("seo", {
      title: { type: "string", required: true },
      image: { type: "media", multiple: false },
    }),
    "shared.link": component("link", { label: { type: "string" }, count: { type: "integer" } }),
    "shared.quote": component("quote", { text: { type: "text" }, by: { type: "string" } }),
    "shared.card": component("card", {
      heading: { type: "string" },
      text: { type: "blocks" },
      image: { type: "media", multiple: false },
      about: { type: "relation", relation: "oneToOne", target: "api::author.author" },
      links: { type: "component", component: "shared.link", repeatable: true },
    }),
  },
};

const text = (value: string, marks: object = {}) => ({ type: "text", text: value, ...marks });
const BODY = [
  { type: "heading", level: 2, children: [text("Title")] },
  {
    type: "paragraph",
    children: [
      text("Read "),
      text("this", { bold: true, italic: true }),
      { type: "link", url: "https://example.org", children: [text("link")] },
    ],
  },
  {
    type: "list",
    format: "ordered",
    children: [
      { type: "list-item", children: [text("one")] },
      { type: "list", format: "unordered", children: [{ type: "list-item", children: [text("in")] }] },
      { type: "list-item", children: [text("two")] },
    ],
  },
  { type: "quote", children: [text("quoted")] },
  { type: "code", language: "js", children: [text("let x = 1;")] },
];

/** An image of one pixel. */
const PNG =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

type Item = Record<string, unknown>;
type Send = (path: string, data: unknown, method?: string) => Promise<Item>;

export async function fillStrapi(url: string, token: string): Promise<void> {
  const send: Send = async (path, data, method) =>
    ((await api(`${url}/api${path}`, { data }, token, method)) as { data: Item }).data;
  await prepare(url);
  const [lamp, chair, table] = await upload(url, token, ["lamp", "chair", "table"]);
  await api(
    `${url}/api/users`,
    { username: "eve", email: "eve@example.org", password: "a long password", role: 1 },
    token,
  );
  const ann = await send("/authors", { name: "Ann" });
  const ben = await send("/authors", { name: "Ben", mentor: ann.documentId });
  await send(`/authors/${ann.documentId}`, { mentor: ben.documentId }, "PUT");
  const tags: Item[] = [];
  for (let at = 0; at < TAGS; at++) tags.push(await send("/tags", { label: `Tag ${at}` }));
  await send("/site", { name: "Shop", logo: lamp?.id }, "PUT");
  const image = { type: "image", image: lamp, children: [text("")] };
  const full = await send("/articles", {
    ...{ title: "Full", slug: "full", summary: "Short", body: [...BODY, image], count: 3 },
    notes: `# Heading\n\nSome *words* and\n\n- one\n- two\n\n![A lamp](${lamp?.url})\n`,
    ...{
      big: "9007199254740993",
      weight: 0.5,
      price: 12.345,
      open: false,
      day: "2022-03-04",
      at: "09:30:00.000",
    },
    ...{ moment: "2022-03-04T05:06:07.000Z", mail: "ann@example.org", code: "ABC", secret: "a long secret" },
    ...{
      hidden: "hidden",
      kind: "a",
      extra: { a: [1, { b: null }] },
      photo: lamp?.id,
      gallery: [table?.id, chair?.id],
    },
    ...{ author: ann.documentId, tags: [tags[2]?.documentId, tags[0]?.documentId], owner: 1 },
    seo: { title: "For machines", image: chair?.id },
    links: [{ label: "One", count: 1 }, { label: "Two" }],
    sections: [
      { __component: "shared.quote", text: "To be", by: "Hamlet" },
      {
        ...{ __component: "shared.card", heading: "Card", text: BODY.slice(0, 1), image: table?.id },
        ...{ about: ben.documentId, links: [{ label: "In", count: 7 }] },
      },
    ],
  });
  const german = {
    ...{ title: "Voll", slug: "voll", summary: "Kurz", seo: { title: "Maschinen" } },
    sections: [{ __component: "shared.quote", text: "Sein" }],
  };
  await send(`/articles/${full.documentId}?locale=de`, german, "PUT");
  const draft = await send("/articles?status=draft", {
    title: "Draft",
    slug: "draft",
    author: ben.documentId,
  });
  const changed = await send("/articles", {
    title: "Before",
    slug: "before",
    mail: "ben@example.org",
    count: null,
  });
  await send(`/articles/${changed.documentId}?locale=de`, { title: "Vorher", summary: "Weg" }, "PUT");
  const newer = { title: "Newer", mail: "ben@example.org", related: [full.documentId, draft.documentId] };
  await send(`/articles/${changed.documentId}?status=draft`, newer, "PUT");
  await send(
    `/articles/${changed.documentId}?status=draft&locale=de`,
    { title: "Nur Entwurf", summary: null },
    "PUT",
  );
  await send("/articles?locale=de", { title: "Nur deutsch", slug: "nur-deutsch" });
}

/** Adds a language, and lets everyone read articles and tags, as an administrator of Strapi. */
async function prepare(url: string): Promise<void> {
  const person = { firstname: "Ada", email: "ada@example.org", password: "A long passw0rd" };
  const { data } = (await api(`${url}/admin/register-admin`, person)) as { data: { token: string } };
  const { token } = data;
  await api(`${url}/i18n/locales`, { code: "de", name: "German", isDefault: false }, token);
  const { roles } = (await api(`${url}/users-permissions/roles`, undefined, token)) as {
    roles: { id: number; type: string }[];
  };
  const id = roles.find((role) => role.type === "public")?.id;
  const path = `${url}/users-permissions/roles/${id}`;
  const { role } = (await api(path, undefined, token)) as {
    role: {
      permissions: Record<string, { controllers: Record<string, Record<string, { enabled: boolean }>> }>;
    };
  };
  for (const name of ["article", "tag"])
    for (const action of ["find", "findOne"]) {
      const found = role.permissions[`api::${name}`]?.controllers[name]?.[action];
      if (found !== undefined) found.enabled = true;
    }
  await api(path, role, token, "PUT");
  const rights = (names: readonly string[]) =>
    Object.fromEntries(names.map((name) => [name, { enabled: true, policy: "" }]));
  // Editors may write articles; their role has no right to sites.
  const permissions = {
    "api::article": { controllers: { article: rights(["find", "findOne", "create", "update", "delete"]) } },
    "api::author": { controllers: { author: rights(["find", "findOne"]) } },
  };
  await api(
    `${url}/users-permissions/roles`,
    { name: "Editors", description: "They write", permissions },
    token,
  );
}

async function upload(url: string, token: string, names: readonly string[]): Promise<Item[]> {
  const form = new FormData();
  for (const name of names) {
    // Strapi takes only images into its rich text.
    const file = name === "lamp" ? `${name}.png` : `${name}.txt`;
    const content = name === "lamp" ? [Buffer.from(PNG, "base64")] : [`content of ${name}`];
    form.append("files", new Blob(content, { type: name === "lamp" ? "image/png" : "text/plain" }), file);
    const info = { name: file, alternativeText: `A ${name}`, caption: name };
    form.append("fileInfo", JSON.stringify(info));
  }
  const headers = { authorization: `Bearer ${token}` };
  const response = await fetch(`${url}/api/upload`, { method: "POST", body: form, headers });
  if (!response.ok) throw new Error(await response.text());
  return (await response.json()) as Item[];
}
