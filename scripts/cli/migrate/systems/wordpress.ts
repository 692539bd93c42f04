/** Reads an export of WordPress: the file that Tools → Export writes (WXR). */
import { dirname } from "node:path";
import { CommandError } from "../../command/context.ts";
import { Names } from "../model/names.ts";
import { childrenOf, readXml, textOf, type XmlElement } from "../model/read-xml.ts";
import {
  entryLabel,
  Linked,
  type Loss,
  type SchemaDefinition,
  type Source,
  type SourceEntry,
  SourceFile,
  type SourceOptions,
  type Status,
} from "../model/source.ts";
import { fromHtmlOf, htmlComponents } from "./html.ts";
import {
  AUTHOR,
  authorSchema,
  COMMENT,
  commentSchema,
  FIELD_OF_TERMS,
  postSchema,
  TAXONOMIES,
  TERM,
  termSchema,
} from "./wordpress-model.ts";
import { markupOf } from "./wordpress-text.ts";

const ATTACHMENT = "attachment";
const STATES: Readonly<Record<string, Status>> = {
  publish: "PUBLISHED",
  inherit: "PUBLISHED",
  future: "PUBLISHED",
  trash: "ARCHIVED",
};
/** Settings that the content does not need. */
const SITE = ["title", "link", "description", "language"];

interface Post {
  element: XmlElement;
  id: string;
  schema: string;
  type: string;
}

interface Term {
  schema: string;
  id: string;
  slug: string;
  name: string;
  description: string;
  parent: string;
  taxonomy: string;
}

export async function openWordpress({ source }: SourceOptions): Promise<Source> {
  const wordpress = new Wordpress();
  for await (const element of readXml(source, "channel")) wordpress.take(element);
  if (wordpress.isEmpty)
    throw new CommandError(`${source} has no items. Write it in WordPress with Tools → Export.`);
  return {
    ...{ document: wordpress.document(), losses: wordpress.losses, folder: dirname(source) },
    async *entries(schema) {
      yield* wordpress.entries(schema);
    },
  };
}

class Wordpress {
  readonly losses: Loss[] = [];
  readonly #names = new Names("schema", "post type", this.losses);
  readonly #posts = new Map<string, Post>();
  readonly #terms = new Map<string, Term>();
  readonly #authors: XmlElement[] = [];
  readonly #comments: { element: XmlElement; post: Post }[] = [];
  /** Attachments by their address, without the size that WordPress adds to copies. */
  readonly #images = new Map<string, string>();
  #site = "";
  /** Schemas of the posts that posts of a schema are below. */
  readonly #parents = new Map<string, Set<string>>();
  readonly #commented = new Set<string>();
  /** Names of authors that posts have. */
  readonly #creators = new Set<string>();

  constructor() {
    // These names are taken by what is no post.
    for (const name of [AUTHOR, COMMENT, ...Object.values(TAXONOMIES), TERM]) this.#names.of(name);
  }

  get isEmpty(): boolean {
    return this.#posts.size === 0;
  }

  take(element: XmlElement): void {
    const { name } = element;
    if (name === "item") this.#takePost(element);
    else if (name === "wp:author") this.#authors.push(element);
    else if (name === "wp:category")
      this.#takeTerm(element, "category", "category_nicename", "cat_name", "category");
    else if (name === "wp:tag") this.#takeTerm(element, "post_tag", "tag_slug", "tag_name", "tag");
    else if (name === "wp:term")
      this.#takeTerm(element, textOf(element, "wp:term_taxonomy"), "term_slug", "term_name", "term");
    else if (SITE.includes(name) && element.text.trim() !== "")
      this.#site = `${this.#site}${this.#site === "" ? "" : ", "}${name} ${JSON.stringify(element.text.slice(0, 200))}`;
  }

  #takeTerm(element: XmlElement, taxonomy: string, slugName: string, name: string, prefix: string): void {
    const schema = TAXONOMIES[taxonomy] ?? TERM;
    const slug = textOf(element, `wp:${slugName}`);
    const id = schema === TERM ? `${taxonomy}:${slug}` : slug;
    const known = this.#terms.get(`${schema}\n${id}`);
    this.#terms.set(`${schema}\n${id}`, {
      ...{ schema, id, slug, taxonomy, name: textOf(element, `wp:${name}`) },
      description: textOf(element, `wp:${prefix}_description`) || (known?.description ?? ""),
      parent: textOf(element, `wp:${prefix}_parent`) || (known?.parent ?? ""),
    });
  }

  #takePost(element: XmlElement): void {
    const type = textOf(element, "wp:post_type") || "post";
    const post = { element, type, id: textOf(element, "wp:post_id"), schema: this.#names.of(type) };
    if (post.id === "") {
      const at = `item ${textOf(element, "title")}`;
      this.losses.push({ kind: "entry", at, why: "it has no wp:post_id", became: "left out" });
      return;
    }
    this.#posts.set(post.id, post);
    const creator = textOf(element, "dc:creator");
    if (creator !== "") this.#creators.add(creator);
    for (const comment of childrenOf(element, "wp:comment")) this.#comments.push({ element: comment, post });
    for (const category of childrenOf(element, "category")) this.#takeCategory(category);
    const address = textOf(element, "wp:attachment_url");
    if (type === ATTACHMENT && address !== "") this.#images.set(plainAddress(address), post.id);
  }

  /** Remembers a term that only a post names. */
  #takeCategory(element: XmlElement): void {
    const { domain = "", nicename = "" } = element.attributes;
    const schema = TAXONOMIES[domain] ?? TERM;
    const id = schema === TERM ? `${domain}:${nicename}` : nicename;
    const key = `${schema}\n${id}`;
    if (nicename === "" || this.#terms.has(key)) return;
    const term = {
      schema,
      id,
      slug: nicename,
      taxonomy: domain,
      name: element.text,
      description: "",
      parent: "",
    };
    this.#terms.set(key, term);
  }

  document(): Source["document"] {
    const posts = [...this.#posts.values()];
    const hasAttachments = posts.some(({ type }) => type === ATTACHMENT);
    const terms = [...new Set([...this.#terms.values()].map(({ schema }) => schema))];
    const schemas: SchemaDefinition[] = [authorSchema, ...terms.map(termSchema)];
    for (const [id, own] of Map.groupBy(posts, ({ schema }) => schema)) {
      const parents = new Set(own.flatMap((post) => this.#parentOf(post)?.schema ?? []));
      this.#parents.set(id, parents);
      const type = own[0]?.type ?? id;
      schemas.push(postSchema({ id, type, terms, parents: [...parents], hasAttachments }));
    }
    for (const { post } of this.#comments) this.#commented.add(post.schema);
    if (this.#commented.size > 0) schemas.push(commentSchema([...this.#commented]));
    this.losses.push({
      ...{ kind: "model", at: "channel", became: "left out" },
      why: `settings of the site have no counterpart: ${this.#site || "none"}`,
    });
    return {
      name: "WordPress",
      languages: ["en"],
      components: htmlComponents(hasAttachments ? ATTACHMENT : undefined),
      schemas,
    };
  }

  #parentOf({ element }: Post): Post | undefined {
    return this.#posts.get(textOf(element, "wp:post_parent"));
  }

  *entries(schema: string): Generator<SourceEntry> {
    if (schema === AUTHOR) yield* this.#authorsOf();
    for (const term of this.#terms.values()) if (term.schema === schema) yield this.#term(term);
    const posts = [...this.#posts.values()].filter((post) => post.schema === schema);
    for (const post of byDate(posts, "wp:post_date_gmt")) yield this.#post(post);
    if (schema === COMMENT)
      for (const one of byDate(this.#comments, "wp:comment_date_gmt")) yield this.#comment(one);
  }

  /** Yields the authors of the export, and those that only posts name. */
  *#authorsOf(): Generator<SourceEntry> {
    const others = new Set(this.#creators);
    for (const element of this.#authors) {
      const author = authorOf(element);
      others.delete(author.id);
      yield author;
    }
    for (const login of others) yield { schema: AUTHOR, id: login, status: "PUBLISHED", values: { login } };
  }

  #term({ schema, id, name, slug, description, parent, taxonomy }: Term): SourceEntry {
    const parentId = schema === TERM ? `${taxonomy}:${parent}` : parent;
    return {
      ...{ schema, id, status: "PUBLISHED" },
      values: {
        ...{ name, slug, description },
        ...(parent === "" ? {} : { parent: new Linked(schema, parentId, "one") }),
        ...(schema === TERM ? { taxonomy } : {}),
      },
    };
  }

  #post(post: Post): SourceEntry {
    const { element, schema, id } = post;
    const losses: Loss[] = [];
    const at = entryLabel({ schema, id });
    const state = textOf(element, "wp:status");
    const status = STATES[state] ?? "SAVED";
    const date = momentOf(textOf(element, "wp:post_date_gmt"));
    const isFuture = date !== undefined && Date.parse(date) > Date.now();
    const hasPassword = textOf(element, "wp:post_password") !== "";
    const tell = (loss: Pick<Loss, "why" | "became">, field: string) =>
      losses.push({ kind: "value", at: `${at}, ${field}`, ...loss });
    if (hasPassword)
      tell({ why: "an entry has no password", became: "a draft, without the password" }, "password");
    if (state === "private")
      tell({ why: "an entry cannot be published for editors alone", became: "a draft" }, state);
    const content = fromHtmlOf(
      markupOf(textOf(element, "content:encoded"), (loss) => tell(loss, "content")),
      {
        tell: (loss) => tell(loss, "content"),
        imageAt: (address) => this.#imageAt(address),
      },
    );
    const creator = textOf(element, "dc:creator");
    return {
      ...{ schema, id, losses, status: hasPassword ? "SAVED" : status },
      ...(creator === "" ? {} : { createdBy: creator }),
      ...(isFuture ? { validFrom: date } : { createdAt: date }),
      values: { ...this.#plain(post, state, date), content, ...this.#links(post) },
    };
  }

  #plain({ element, type }: Post, state: string, date: string | undefined): Record<string, unknown> {
    const order = Number(textOf(element, "wp:menu_order"));
    const address = textOf(element, "wp:attachment_url");
    return {
      ...{ title: textOf(element, "title"), slug: decoded(textOf(element, "wp:post_name")) },
      ...{ link: textOf(element, "link"), excerpt: textOf(element, "excerpt:encoded"), date },
      modified: momentOf(textOf(element, "wp:post_modified_gmt")),
      ...{ status: state, commentStatus: textOf(element, "wp:comment_status") },
      pingStatus: textOf(element, "wp:ping_status"),
      ...(Number.isSafeInteger(order) ? { menuOrder: order } : {}),
      sticky: textOf(element, "wp:is_sticky") === "1",
      meta: metaOf(element),
      ...(type === ATTACHMENT && address !== ""
        ? {
            file: new SourceFile(address, pathOf(address)),
            address,
            alt: metaOf(element)?._wp_attachment_image_alt?.[0],
          }
        : {}),
    };
  }

  #links(post: Post): Record<string, unknown> {
    const { element } = post;
    const terms = new Map<string, Linked[]>();
    for (const { attributes } of childrenOf(element, "category")) {
      const { domain = "", nicename = "" } = attributes;
      const schema = TAXONOMIES[domain] ?? TERM;
      const id = schema === TERM ? `${domain}:${nicename}` : nicename;
      const field = FIELD_OF_TERMS[schema] ?? "terms";
      if (nicename !== "") terms.set(field, [...(terms.get(field) ?? []), new Linked(schema, id, "one")]);
    }
    const creator = textOf(element, "dc:creator");
    const parent = this.#parentOf(post);
    const thumbnail = metaOf(element)?._thumbnail_id?.[0];
    return {
      ...Object.fromEntries(terms),
      ...(creator === "" ? {} : { author: new Linked(AUTHOR, creator, "one") }),
      ...(parent === undefined
        ? {}
        : { parent: new Linked(parent.schema, parent.id, this.#parentForm(post.schema)) }),
      ...(thumbnail === undefined ? {} : { featuredImage: new Linked(ATTACHMENT, thumbnail, "one") }),
    };
  }

  #parentForm(schema: string): "one" | "several" {
    return (this.#parents.get(schema)?.size ?? 0) > 1 ? "several" : "one";
  }

  #imageAt(address: string): Linked | undefined {
    const id = this.#images.get(plainAddress(address));
    return id === undefined ? undefined : new Linked(ATTACHMENT, id, "one");
  }

  #comment({ element, post }: { element: XmlElement; post: Post }): SourceEntry {
    const date = momentOf(textOf(element, "wp:comment_date_gmt"));
    const parent = textOf(element, "wp:comment_parent");
    const approved = textOf(element, "wp:comment_approved");
    const isSeveral = this.#commented.size > 1;
    return {
      ...{ schema: COMMENT, id: textOf(element, "wp:comment_id"), createdAt: date },
      status: approved === "1" ? "PUBLISHED" : "SAVED",
      values: {
        post: new Linked(post.schema, post.id, isSeveral ? "several" : "one"),
        author: textOf(element, "wp:comment_author"),
        email: textOf(element, "wp:comment_author_email"),
        address: textOf(element, "wp:comment_author_url"),
        ip: textOf(element, "wp:comment_author_IP"),
        ...{ date, content: textOf(element, "wp:comment_content"), approved },
        type: textOf(element, "wp:comment_type"),
        userId: textOf(element, "wp:comment_user_id"),
        ...(parent === "" || parent === "0" ? {} : { parent: new Linked(COMMENT, parent, "one") }),
      },
    };
  }
}

function authorOf(element: XmlElement): SourceEntry {
  const login = textOf(element, "wp:author_login");
  return {
    ...{ schema: AUTHOR, id: login, status: "PUBLISHED" },
    values: {
      ...{ login, email: textOf(element, "wp:author_email") },
      displayName: textOf(element, "wp:author_display_name"),
      firstName: textOf(element, "wp:author_first_name"),
      lastName: textOf(element, "wp:author_last_name"),
    },
  };
}

function byDate<T extends { element: XmlElement }>(items: readonly T[], name: string): T[] {
  const at = ({ element }: T) => momentOf(textOf(element, name)) ?? "";
  return items.toSorted((a, b) => (at(a) < at(b) ? -1 : at(a) > at(b) ? 1 : 0));
}

/** Returns a time of WordPress in UTC. Drafts have zeros. */
function momentOf(text: string): string | undefined {
  const [, day, time] = /^(\d{4}-\d{2}-\d{2}) (\d{2}:\d{2}:\d{2})$/.exec(text.trim()) ?? [];
  return day === undefined || day.startsWith("0000") ? undefined : `${day}T${time}Z`;
}

function metaOf(element: XmlElement): Record<string, string[]> | undefined {
  const meta = childrenOf(element, "wp:postmeta");
  if (meta.length === 0) return undefined;
  const found = new Map<string, string[]>();
  for (const one of meta) {
    const key = textOf(one, "wp:meta_key");
    found.set(key, [...(found.get(key) ?? []), textOf(one, "wp:meta_value")]);
  }
  return Object.fromEntries(found);
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** Returns an address without scheme, parameters and the size of a copy, such as `-300x200`. */
function plainAddress(address: string): string {
  return address
    .replace(/^https?:/, "")
    .replace(/[?#].*$/, "")
    .replace(/-\d+x\d+(?=\.\w+$)/, "");
}

/** Returns the path of an upload in a copy of the folder `wp-content`. */
function pathOf(address: string): string | undefined {
  if (!URL.canParse(address)) return undefined;
  const path = decoded(new URL(address).pathname);
  const at = path.indexOf("wp-content/");
  return at < 0 ? path.replace(/^\/+/, "") : path.slice(at);
}
