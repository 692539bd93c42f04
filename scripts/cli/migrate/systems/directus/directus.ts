/** Reads a running Directus over its API, with the token of an administrator. */
import { CommandError } from "../../../command/context.ts";
import { type Api, apiOf, MOST_PAGES, pageCheck, readApi } from "../../model/http.ts";
import { languageOf } from "../../model/names.ts";
import { member, textIn } from "../../model/read-json.ts";
import {
  entryLabel,
  type Loss,
  type Source,
  type SourceEntry,
  SourceFile,
  type SourceOptions,
} from "../../model/source.ts";
import { draftOf } from "../../model/values.ts";
import { directusRoles, limitOf, withLimits } from "./access.ts";
import type { Field } from "./fields.ts";
import { type Collection, type Described, dataIn, FILES, Model } from "./model.ts";
import { listLimitOf } from "./relations.ts";
import { convertedOf, linksOf, type Tell, utcOf, type ValueContext } from "./values.ts";

type Item = Record<string, unknown>;

/** Items in an answer. */
const PAGE = 100;
/** Maximum collections, and fields of all of them. They are in memory. */
const MOST_FIELDS = 100_000;
const MOST_LANGUAGES = 500;
/** Where Directus has the items of its own collections. */
const PATHS: Readonly<Record<string, string>> = {
  directus_files: "/files",
  directus_folders: "/folders",
  directus_users: "/users",
};

export async function openDirectus(options: SourceOptions): Promise<Source> {
  const { api, isLocal } = apiOf(options, "an administrator of Directus");
  const model = new Model(await describe(api));
  const directus = new Directus(api, model, listLimitOf(await readApi(api, "/server/info")));
  await directus.readLanguages();
  return {
    ...{ document: model.document(directus.languages), losses: model.losses, isLocal, credentials: api },
    entries: (schema) => directus.entries(schema),
  };
}

async function describe(api: Api): Promise<Described> {
  const collections = dataIn(await readApi(api, "/collections"));
  const fields = dataIn(await readApi(api, "/fields"));
  if (collections.length > MOST_FIELDS || fields.length > MOST_FIELDS)
    throw new CommandError(`${api.url} names more than ${MOST_FIELDS} collections or fields.`);
  const relations = dataIn(await readApi(api, "/relations"));
  const access = dataIn(await readApi(api, "/access?fields=role,user,policy&limit=-1"));
  const isEveryone = ({ role, user }: Item) => (role ?? null) === null && (user ?? null) === null;
  const open = access.filter(isEveryone).map(({ policy }) => String(policy));
  const roles = dataIn(await readApi(api, "/roles?limit=-1&fields=id,name,parent&sort=name"));
  const policies = dataIn(
    await readApi(api, "/policies?limit=-1&fields=id,name,admin_access,ip_access,enforce_tfa"),
  );
  const permissions = withLimits(dataIn(await readApi(api, "/permissions?limit=-1")), policies);
  return {
    ...{ collections, fields, relations },
    permissions: permissions.filter(({ policy }) => open.includes(String(policy))),
    roles: directusRoles(roles, access, policies, permissions),
    policies: policies
      .filter(({ id }) => {
        const own = access.filter(({ policy }) => policy === id);
        return own.length === 0 || own.some(({ user }) => (user ?? null) !== null);
      })
      .map((one) => textIn(one, "name") ?? ""),
    limited: policies.flatMap((one) => {
      const why = limitOf(one);
      return why === undefined ? [] : [{ name: textIn(one, "name") ?? "", why }];
    }),
  };
}

class Directus {
  readonly #api: Api;
  readonly #model: Model;
  readonly #page: number;
  readonly #context: ValueContext;
  /** Codes of the languages in Directus, and those of the orb. */
  readonly #languages = new Map<string, string>();

  constructor(api: Api, model: Model, listLimit: number | undefined) {
    this.#api = api;
    this.#model = model;
    this.#page = Math.min(PAGE, listLimit ?? PAGE);
    this.#context = { listLimit, files: model.schemaOf(FILES), schemaOf: (id) => model.schemaOf(id) };
  }

  get languages(): string[] {
    return this.#languages.size === 0 ? ["en"] : [...new Set(this.#languages.values())];
  }

  /** Reads the languages of all translations. The default comes first. */
  async readLanguages(): Promise<void> {
    const translated = this.#model.collections.flatMap((one) => one.translated ?? []);
    const codes = translated.flatMap(({ first }) => first ?? []).slice(0, 1);
    for (const languages of new Set(translated.map(({ way }) => way.languages))) {
      const key = this.#model.collections.find(({ id }) => id === languages)?.key ?? "code";
      for await (const item of this.#items(languages, `fields=${encodeURIComponent(key)}`)) {
        if (codes.length >= MOST_LANGUAGES)
          throw new CommandError(`${this.#api.url} has more than ${MOST_LANGUAGES} languages.`);
        codes.push(String(item[key]));
      }
    }
    for (const code of new Set(codes)) this.#languages.set(code, languageOf(code, this.#model.losses));
  }

  async *#items(collection: string, query: string): AsyncGenerator<Item> {
    const own = Object.hasOwn(PATHS, collection) ? PATHS[collection] : undefined;
    const path = own ?? `/items/${encodeURIComponent(collection)}`;
    const check = pageCheck(`${this.#api.url}${path}`);
    for (let page = 1; page <= MOST_PAGES; page++) {
      const answer = await readApi(this.#api, `${path}?${query}&limit=${this.#page}&page=${page}`);
      const items = dataIn(answer);
      check(items);
      // A collection of one item has it instead of a list.
      const only = member(answer, "data");
      if (!Array.isArray(only) && typeof only === "object" && only !== null) yield { ...only };
      yield* items;
      if (items.length < this.#page) return;
    }
  }

  async *entries(schema: string): AsyncGenerator<SourceEntry> {
    const collection = this.#model.collections.find((one) => one.schema === schema);
    if (collection === undefined) return;
    const versions = await this.#versionsOf(collection);
    const query = queryOf(collection);
    for await (const item of this.#items(collection.id, query)) {
      const key = item[collection.key];
      if (key === null || key === undefined) continue;
      const entry = this.#entry(collection, item);
      const version = versions.get(entry.id);
      yield version === undefined ? entry : await this.#withVersion(collection, entry, version, query);
    }
  }

  /** Returns the keys of the versions of items. */
  async #versionsOf({ id, source }: Collection): Promise<Map<string, string[]>> {
    const found = new Map<string, string[]>();
    if (member(source, "meta", "versioning") !== true) return found;
    const query = `filter[collection][_eq]=${encodeURIComponent(id)}&fields=key,item&sort=date_created`;
    const check = pageCheck(`${this.#api.url}/versions`);
    for (let page = 1; page <= MOST_PAGES; page++) {
      const answer = await readApi(this.#api, `/versions?${query}&limit=${this.#page}&page=${page}`);
      const items = dataIn(answer);
      check(items);
      for (const one of items) {
        const item = String(one.item);
        found.set(item, [...(found.get(item) ?? []), String(one.key)]);
      }
      if (items.length < this.#page) break;
    }
    return found;
  }

  /** Adds a version of a published item as its draft. */
  async #withVersion(
    collection: Collection,
    entry: SourceEntry,
    keys: readonly string[],
    query: string,
  ): Promise<SourceEntry> {
    const isLive = entry.status === "PUBLISHED";
    const taken = isLive ? (keys.find((key) => key === "draft") ?? keys[0]) : undefined;
    const losses = keys
      .filter((key) => key !== taken)
      .map((key) => ({
        ...{ kind: "value" as const, at: entryLabel(entry, `version ${key}`), became: "left out" },
        why: isLive ? "an entry has one newer draft" : "only published entries have a newer draft",
      }));
    if (taken === undefined) return { ...entry, losses: [...(entry.losses ?? []), ...losses] };
    const path = `/items/${encodeURIComponent(collection.id)}/${encodeURIComponent(entry.id)}`;
    const answer = await readApi(this.#api, `${path}?${query}&version=${encodeURIComponent(taken)}`);
    const draft = this.#entry(collection, Object(member(answer, "data")));
    return {
      ...entry,
      draft: draftOf(
        entry.values,
        draft.values,
        collection.translated?.fields.map(({ definition }) => definition.name),
      ),
      losses: [...(entry.losses ?? []), ...(draft.losses ?? []), ...losses],
    };
  }

  #entry(collection: Collection, item: Item): SourceEntry {
    const { schema, key, states, created, creator, translated } = collection;
    const id = String(item[key]);
    const losses: Loss[] = [];
    const tellOf =
      (field: string): Tell =>
      (loss) =>
        losses.push({ kind: "value", at: entryLabel({ schema, id }, field), ...loss });
    const values: Record<string, unknown> = {};
    for (const field of collection.fields)
      values[field.definition.name] = this.#value(field, item, id, tellOf(field.id));
    if (translated !== undefined) Object.assign(values, this.#texts(translated, item, tellOf));
    const [createdAt, createdBy] = [created, creator].map((field) =>
      field === undefined ? undefined : member(item, field.id),
    );
    return {
      ...{ schema, id, losses, values, status: states?.of(item[states.field]) ?? "PUBLISHED" },
      ...(typeof createdAt === "string" ? { createdAt: String(utcOf(createdAt)) } : {}),
      ...(typeof createdBy === "string" ? { createdBy } : {}),
    };
  }

  #value(field: Field, item: Item, id: string, tell: Tell): unknown {
    if (field.form === "content") {
      const name = encodeURIComponent(textIn(item, "filename_download") ?? "file");
      return new SourceFile(`${this.#api.url}/assets/${encodeURIComponent(id)}/${name}`);
    }
    return field.way === undefined
      ? convertedOf(field, item[field.id], this.#context, tell)
      : linksOf(field, item, this.#context, tell);
  }

  /** Returns the values of translatable fields, by language. */
  #texts(
    { alias, way, fields }: NonNullable<Collection["translated"]>,
    item: Item,
    tellOf: (field: string) => Tell,
  ): Record<string, Record<string, unknown>> {
    const values: Record<string, Record<string, unknown>> = {};
    const rows = member(item, alias);
    const seen = new Set<string>();
    for (const row of Array.isArray(rows) ? rows : []) {
      const code = String(member(row, way.language) ?? "");
      const language = this.#languages.get(code);
      if (language === undefined || seen.has(language)) {
        const why = seen.has(language ?? "")
          ? `there are two texts in ${code}`
          : `there is no language ${code}`;
        tellOf(alias)({ why, became: "left out" });
        continue;
      }
      seen.add(language);
      for (const field of fields) {
        const value = this.#value(field, Object(row), "", tellOf(`${alias}.${code}.${field.id}`));
        if (value === undefined) continue;
        const { name } = field.definition;
        values[name] = { ...values[name], [language]: value };
      }
    }
    return values;
  }
}

/** Returns the query for the items of a collection, in the order of their creation, with what they refer to. */
function queryOf({ key, fields, translated, states, created }: Collection): string {
  const names = new Set([key, ...(states === undefined ? [] : [states.field])]);
  const deep: string[] = [];
  const all = (alias: string, sort: string | undefined) => {
    deep.push(`deep[${alias}][_limit]=-1`);
    if (sort !== undefined) deep.push(`deep[${alias}][_sort]=${encodeURIComponent(sort)}`);
  };
  for (const { id, way, form } of fields) {
    if (form === "content") continue;
    if (way?.kind === "any") names.add(way.collectionField);
    if (way?.kind === "manyAny") names.add(`${id}.${way.collectionField}`);
    if (way?.kind === "many" || way?.kind === "manyAny") names.add(`${id}.${way.field}`);
    else names.add(id);
    if (way !== undefined && "sort" in way) all(id, way.sort);
  }
  if (translated !== undefined) {
    for (const { id } of translated.fields) names.add(`${translated.alias}.${id}`);
    names.add(`${translated.alias}.${translated.way.language}`);
    all(translated.alias, undefined);
  }
  const sort = [...(created === undefined ? [] : [created.id]), key].join(",");
  return [
    `fields=${encodeURIComponent([...names].join(","))}`,
    `sort=${encodeURIComponent(sort)}`,
    ...deep,
  ].join("&");
}
