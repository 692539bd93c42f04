/** Reads a running Strapi over its API, with a token of full access. */

import { isObject } from "../../../../../shared/kernel/json.ts";
import { CommandError } from "../../../command/context.ts";
import { type Api, apiOf, findApi, MOST_PAGES, pageCheck, readApi } from "../../model/http.ts";
import { languageOf } from "../../model/names.ts";
import { member, objectsIn, textIn, textsIn } from "../../model/read-json.ts";
import {
  entryLabel,
  Linked,
  type Loss,
  type Source,
  type SourceEntry,
  SourceFile,
  type SourceOptions,
} from "../../model/source.ts";
import { draftOf } from "../../model/values.ts";
import { FILE, type Field } from "./fields.ts";
import { CONTENT, type ContentType, type Described, Model, type StrapiRole, USER } from "./model.ts";
import { convertedOf, idOf, type ValueContext } from "./values.ts";

/** Components inside each other. */
const MAX_DEPTH = 8;

/** Returns the parameters for the relations, files and components of an entry. */
function populateOf(fields: readonly Field[], model: Model): string[] {
  return inside(fields, model, "populate", 0);
}

function inside(fields: readonly Field[], model: Model, at: string, depth: number): string[] {
  return fields.flatMap(({ id, type, source }) => {
    const here = `${at}[${encodeURIComponent(id)}]`;
    if (type === "media" || type === "relation") return [`${here}[fields][0]=documentId`];
    if (type === "component") return of(textIn(source, "component") ?? "", model, here, depth);
    if (type !== "dynamiczone") return [];
    return textsIn(source, "components").flatMap((uid) =>
      of(uid, model, `${here}[on][${encodeURIComponent(uid)}]`, depth),
    );
  });
}

function of(uid: string, model: Model, at: string, depth: number): string[] {
  const component = model.component(uid);
  if (component === undefined || depth > MAX_DEPTH) return [];
  const deeper = inside(component.fields, model, `${at}[populate]`, depth + 1);
  return deeper.length > 0 ? deeper : [`${at}=true`];
}

type Item = Record<string, unknown>;
type Values = Record<string, unknown>;

/** Rows in an answer, and documents whose rows are read at once. Addresses must stay short for proxies. */
const PAGE = 100;
const AT_ONCE = 20;
/** Maximum content types, languages and files. They are in memory. */
const MOST = 1_000_000;

export async function openStrapi(options: SourceOptions): Promise<Source> {
  const { api, isLocal } = apiOf(options, "full access of Strapi");
  const described = await describe(api);
  const strapi = new Strapi(api, new Model(described));
  await strapi.prepare();
  return {
    ...{ document: strapi.model.document(strapi.languages), losses: strapi.model.losses },
    ...{ isLocal, credentials: api },
    entries: (schema) => strapi.entries(schema),
  };
}

async function describe(api: Api): Promise<Described> {
  const types = objectsIn(await readApi(api, "/api/content-type-builder/content-types"), "data");
  const components = objectsIn(await readApi(api, "/api/content-type-builder/components"), "data");
  // Strapi has roles only with the plugin users-permissions.
  const roles = objectsIn(await findApi(api, "/api/users-permissions/roles"), "roles");
  const rightsOf = async (id: string | undefined) => {
    const path = `/api/users-permissions/roles/${encodeURIComponent(id ?? "")}`;
    return id === undefined ? undefined : member(await findApi(api, path), "role");
  };
  const roleOf = (type: string) => rightsOf(idOf({ id: roles.find((one) => one.type === type)?.id }));
  const isUsual = (role: Item) => role.type === "public" || role.type === "authenticated";
  const others: StrapiRole[] = [];
  for (const role of roles.filter((one) => !isUsual(one))) {
    const id = idOf({ id: role.id });
    if (id !== undefined) others.push({ id, name: textIn(role, "name") ?? "", rights: await rightsOf(id) });
  }
  return {
    ...{ types, components, everyone: await roleOf("public"), users: await roleOf("authenticated") },
    roles: others,
  };
}

/** The rows of a document: one for each language. */
interface Rows {
  published: Item[];
  drafts: Item[];
}

class Strapi {
  readonly model: Model;
  readonly #api: Api;
  readonly #context: ValueContext;
  /** Codes of the languages in Strapi, the default first, and those of the orb. */
  readonly #languages = new Map<string, string>();
  /** Ids of the files by their addresses. */
  readonly #files = new Map<string, string>();
  /** Content types whose entries cannot be read. */
  readonly #closed = new Set<string>();

  constructor(api: Api, model: Model) {
    this.#api = api;
    this.model = model;
    this.#context = { model, fileAt: (address) => this.#fileAt(address) };
  }

  get languages(): string[] {
    return this.#languages.size === 0 ? ["en"] : [...new Set(this.#languages.values())];
  }

  /** Reads the languages, and the addresses of the files. */
  async prepare(): Promise<void> {
    const answer = await findApi(this.#api, "/api/i18n/locales");
    const locales = objectsIn({ answer }, "answer");
    const sorted = [...locales.filter((one) => one.isDefault === true), ...locales];
    for (const locale of sorted) {
      const code = textIn(locale, "code") ?? "";
      if (!this.#languages.has(code)) this.#languages.set(code, languageOf(code, this.model.losses));
    }
    const files = this.model.types.find(({ uid }) => uid === FILE);
    if (files === undefined) return;
    for await (const file of this.#plain(files, "&fields[0]=url")) {
      const [id, url] = [idOf(file), textIn(file, "url")];
      if (id !== undefined && url !== undefined) this.#files.set(url, id);
      if (this.#files.size > MOST) throw new CommandError(`${this.#api.url} has more than ${MOST} files.`);
    }
  }

  #fileAt(address: string): Linked | undefined {
    const path = address.startsWith(this.#api.url) ? address.slice(this.#api.url.length) : address;
    const id = this.#files.get(address) ?? this.#files.get(path);
    const schema = this.model.schemaOf(FILE);
    return id === undefined || schema === undefined ? undefined : new Linked(schema, id, "one");
  }

  /** Yields the rows of files and users, whose answers have no pages of their own. */
  async *#plain({ path }: ContentType, more = ""): AsyncGenerator<Item> {
    const check = pageCheck(`${this.#api.url}${path}`);
    for (let page = 0; page < MOST_PAGES; page++) {
      const query = `start=${page * PAGE}&limit=${PAGE}&sort=id:asc${more}`;
      const answer = await readApi(this.#api, `${path}?${query}`);
      const items = objectsIn({ answer }, "answer");
      check(items);
      yield* items;
      if (items.length < PAGE) return;
    }
  }

  /** Yields the rows of a query, page by page. */
  async *#rows(type: ContentType, query: string): AsyncGenerator<Item> {
    const check = pageCheck(`${this.#api.url}${type.path}`);
    for (let page = 1; page <= MOST_PAGES; page++) {
      const path = `${type.path}?${query}&pagination[page]=${page}&pagination[pageSize]=${PAGE}`;
      const answer = await findApi(this.#api, path);
      if (answer === undefined) {
        this.#close(type);
        return;
      }
      const items = objectsIn(answer, "data");
      check(items);
      yield* items;
      const size = member(answer, "meta", "pagination", "pageSize");
      if (items.length === 0 || items.length < (typeof size === "number" ? size : PAGE)) return;
    }
  }

  #close({ uid }: ContentType): void {
    if (this.#closed.has(uid)) return;
    this.#closed.add(uid);
    this.model.losses.push({
      ...{ kind: "model", at: `content type ${uid}`, became: "a schema without entries" },
      why: "the API of Strapi has no route to its entries",
    });
  }

  async *entries(schema: string): AsyncGenerator<SourceEntry> {
    const type = this.model.types.find((one) => one.schema === schema);
    if (type === undefined) return;
    if (type.uid === FILE || type.uid === USER) {
      const populate = populateOf(type.fields, this.model).join("&");
      for await (const row of this.#plain(type, populate === "" ? "" : `&${populate}`)) {
        const entry = this.#entry(type, { published: [row], drafts: [] });
        if (entry !== undefined) yield entry;
      }
      return;
    }
    if (type.isSingle) {
      const entry = this.#entry(type, await this.#single(type));
      if (entry !== undefined) yield entry;
      return;
    }
    if (!type.isLocalized && !type.hasDrafts) {
      const query = ["sort[0]=createdAt:asc&sort[1]=id:asc", ...populateOf(type.fields, this.model)];
      for await (const row of this.#rows(type, query.join("&"))) {
        const entry = this.#entry(type, { published: [row], drafts: [] });
        if (entry !== undefined) yield entry;
      }
      return;
    }
    let some: string[] = [];
    for (const id of await this.#ids(type)) {
      some.push(id);
      if (some.length < AT_ONCE) continue;
      yield* this.#documents(type, some);
      some = [];
    }
    if (some.length > 0) yield* this.#documents(type, some);
  }

  /** Returns the ids of all documents in the order of their creation. A document may lack any language. */
  async #ids(type: ContentType): Promise<string[]> {
    const ids = new Set<string>();
    const query = `fields[0]=documentId&sort[0]=createdAt:asc&sort[1]=id:asc${localesOf(type)}`;
    for (const status of statesOf(type))
      for await (const row of this.#rows(type, `${query}&status=${status}`)) {
        const id = idOf(row);
        if (id !== undefined) ids.add(id);
        if (ids.size > MOST) throw new CommandError(`${this.#api.url} has more than ${MOST} ${type.schema}.`);
      }
    return [...ids];
  }

  async *#documents(type: ContentType, ids: readonly string[]): AsyncGenerator<SourceEntry> {
    const found = new Map<string, Rows>(ids.map((id) => [id, { published: [], drafts: [] }]));
    const filters = ids.map((id, at) => `filters[documentId][$in][${at}]=${encodeURIComponent(id)}`);
    const query = [...filters, `sort=id:asc${localesOf(type)}`, ...populateOf(type.fields, this.model)].join(
      "&",
    );
    for (const status of statesOf(type))
      for await (const row of this.#rows(type, `${query}&status=${status}`)) {
        const rows = found.get(idOf(row) ?? "");
        (status === "draft" ? rows?.drafts : rows?.published)?.push(row);
      }
    for (const rows of found.values()) {
      const entry = this.#entry(type, rows);
      if (entry !== undefined) yield entry;
    }
  }

  async #single(type: ContentType): Promise<Rows> {
    const rows: Rows = { published: [], drafts: [] };
    const codes = type.isLocalized ? [...this.#languages.keys()] : [""];
    const populate = populateOf(type.fields, this.model);
    for (const status of statesOf(type))
      for (const code of codes) {
        const locale = code === "" ? [] : [`locale=${encodeURIComponent(code)}`];
        const query = [`status=${status}`, ...locale, ...populate].join("&");
        const row = member(await findApi(this.#api, `${type.path}?${query}`), "data");
        if (isObject(row)) (status === "draft" ? rows.drafts : rows.published).push(row);
      }
    return rows;
  }

  /** Returns the entry of a document: published if one of its languages is. */
  #entry(type: ContentType, { published, drafts }: Rows): SourceEntry | undefined {
    const isLive = published.length > 0;
    const rows = isLive ? published : drafts;
    const id = idOf(rows[0]);
    if (id === undefined) return undefined;
    const losses: Loss[] = [];
    const values = this.#values(type, id, rows, losses);
    const dates = [...drafts, ...published].flatMap((row) => textIn(row, "createdAt") ?? []).sort();
    const entry: SourceEntry = {
      ...{ schema: type.schema, id, values, losses, status: isLive ? "PUBLISHED" : "SAVED" },
      ...(dates[0] === undefined ? {} : { createdAt: dates[0] }),
    };
    if (!isLive || drafts.length === 0) return entry;
    const draftLosses: Loss[] = [];
    const draft = this.#values(type, id, drafts, draftLosses);
    if (JSON.stringify(draft) === JSON.stringify(values)) return entry;
    const isNew = (loss: Loss) => !losses.some(({ at, why }) => at === loss.at && why === loss.why);
    const localized = type.fields.filter((one) => one.isLocalized).map(({ definition }) => definition.name);
    return {
      ...entry,
      draft: draftOf(values, draft, localized),
      losses: [...losses, ...draftLosses.filter(isNew)],
    };
  }

  #values(type: ContentType, id: string, rows: readonly Item[], losses: Loss[]): Values {
    const { schema, fields, uid } = type;
    const [first = ""] = this.#languages.keys();
    const main = rows.find(({ locale }) => locale === first) ?? rows[0] ?? {};
    const values: Values = {};
    for (const field of fields) {
      const { name } = field.definition;
      const convert = (row: Item, place: string) =>
        convertedOf(field, row[field.id], this.#context, (loss) =>
          losses.push({ kind: "value", at: entryLabel({ schema, id }, place), ...loss }),
        );
      if (!field.isLocalized) {
        values[name] = convert(main, field.id);
        for (const row of rows) if (row !== main) this.#tellOther(type, id, field.id, main, row, losses);
        continue;
      }
      const places = rows.flatMap((row) => {
        const language = this.#languages.get(textIn(row, "locale") ?? first) ?? this.languages[0];
        const value = convert(row, `${field.id}.${language}`);
        return value === undefined ? [] : [[language, value] as const];
      });
      if (places.length > 0) values[name] = Object.fromEntries(places);
    }
    if (uid === FILE) values[CONTENT] = this.#contentOf(main);
    return values;
  }

  /** Tells a value in another language of a field that is not localized. Strapi shows it there alone. */
  #tellOther(type: ContentType, id: string, field: string, main: Item, row: Item, losses: Loss[]): void {
    const [value, other] = [main[field], row[field]].map((one) => JSON.stringify(withoutIds(one)) ?? "null");
    if (value === other || other === "null" || other === "[]") return;
    losses.push({
      ...{ kind: "value", at: entryLabel({ schema: type.schema, id }, `${field}.${textIn(row, "locale")}`) },
      ...{
        why: "the attribute is not localized, and differs by language",
        became: "the value in the default language",
      },
    });
  }

  #contentOf(row: Item): SourceFile | undefined {
    const url = textIn(row, "url") ?? "";
    return url === "" ? undefined : new SourceFile(url.startsWith("/") ? `${this.#api.url}${url}` : url);
  }
}

const statesOf = ({ hasDrafts }: ContentType) =>
  hasDrafts ? (["draft", "published"] as const) : (["published"] as const);
const localesOf = ({ isLocalized }: ContentType) => (isLocalized ? "&locale=*" : "");

/** Each language has components of its own, with other ids. */
function withoutIds(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutIds);
  if (!isObject(value)) return value;
  const { id: _, ...rest } = value;
  return Object.fromEntries(Object.entries(rest).map(([name, one]) => [name, withoutIds(one)]));
}
