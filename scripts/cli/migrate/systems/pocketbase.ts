/** Reads a running PocketBase over its API, with the token of a superuser. */
import { CommandError } from "../../command/context.ts";
import { type Api, apiOf, MOST_PAGES, pageCheck, readApi } from "../model/http.ts";
import { Names } from "../model/names.ts";
import { member, numberIn, objectsIn, textIn, textsIn } from "../model/read-json.ts";
import {
  entryLabel,
  type FieldDefinition,
  Linked,
  type Loss,
  type SchemaDefinition,
  type Source,
  type SourceEntry,
  SourceFile,
  type SourceOptions,
} from "../model/source.ts";
import { isEmpty } from "../model/values.ts";
import { fromHtmlOf, HTML, HTML_FORMATS, htmlComponents, IMAGE } from "./html.ts";

type Item = Record<string, unknown>;

interface Field {
  source: Item;
  id: string;
  type: string;
  definition: FieldDefinition;
}

interface Collection {
  id: string;
  name: string;
  schema: string;
  source: Item;
  fields: Field[];
}

/** Records in an answer. */
const PAGE = 200;
/** Maximum collections. All of them are in memory. */
const MOST_COLLECTIONS = 5_000;
const TYPES: Readonly<Record<string, string>> = {
  text: "string",
  editor: "richText",
  number: "number",
  bool: "boolean",
  email: "email",
  url: "url",
  date: "datetime",
  autodate: "datetime",
  select: "string",
  file: "file",
  relation: "reference",
  json: "json",
  geoPoint: "point",
};
/** Fields that only PocketBase itself reads. */
const SECRET = new Set(["password", "tokenKey"]);

export async function openPocketbase(options: SourceOptions): Promise<Source> {
  const { api, isLocal } = apiOf(options, "a superuser of PocketBase", "");
  const collections: Item[] = [];
  for (let page = 1; page <= MOST_PAGES; page++) {
    const answer = await readApi(api, `/api/collections?perPage=${PAGE}&page=${page}`);
    collections.push(...objectsIn(answer, "items"));
    if (collections.length > MOST_COLLECTIONS)
      throw new CommandError(`${api.url} names more than ${MOST_COLLECTIONS} collections.`);
    if (page >= (numberIn(answer, "totalPages") ?? 1)) break;
  }
  const pocketbase = new Pocketbase(api, collections);
  return {
    ...{ document: pocketbase.document, losses: pocketbase.losses, isLocal },
    entries: (schema) => pocketbase.entries(schema),
  };
}

class Pocketbase {
  readonly losses: Loss[] = [];
  readonly document: Source["document"];
  readonly #api: Api;
  readonly #collections = new Map<string, Collection>();

  constructor(api: Api, sources: readonly Item[]) {
    this.#api = api;
    const names = new Names("schema", "collection", this.losses);
    for (const source of sources) {
      const [id, name] = [textIn(source, "id") ?? "", textIn(source, "name") ?? ""];
      if (source.system === true || source.type === "view") {
        const why =
          source.type === "view" ? "views are computed of other collections" : "PocketBase itself uses it";
        this.losses.push({ kind: "model", at: `collection ${name}`, why, became: "left out" });
      } else this.#collections.set(id, { id, name, source, schema: names.of(name), fields: [] });
    }
    for (const collection of this.#collections.values()) collection.fields = this.#fieldsOf(collection);
    const usesText = [...this.#collections.values()].some(({ fields }) =>
      fields.some(({ type }) => type === "editor"),
    );
    this.document = {
      ...{ name: "PocketBase", languages: ["en"], components: usesText ? htmlComponents() : [] },
      schemas: [...this.#collections.values()].map((collection) => this.#schemaOf(collection)),
    };
  }

  #schemaOf({ name, schema, source, fields }: Collection): SchemaDefinition {
    const definitions = fields.map(({ definition }) => definition);
    return {
      ...{ id: schema, name, access: { read: this.#readers(name, source) } },
      fields: definitions.length > 0 ? definitions : [{ name: "empty", type: "boolean" }],
    };
  }

  /** Returns who may read the records of a collection. Rules that depend on records become stricter. */
  #readers(name: string, source: Item): "public" | "user" | "admin" {
    const rules = [source.listRule, source.viewRule];
    const writes = ["createRule", "updateRule", "deleteRule"].filter((rule) => source[rule] !== null);
    if (writes.length > 0)
      this.losses.push({
        ...{ kind: "model", at: `collection ${name}, ${writes.join(", ")}` },
        ...{ why: "rules for writing depend on records and requests", became: "only admins write" },
      });
    if (rules.every((rule) => rule === "")) return "public";
    if (rules.every((rule) => rule === "" || /^@request\.auth\.id\s*!=\s*(?:""|'')$/.test(String(rule))))
      return "user";
    if (rules.some((rule) => rule !== null))
      this.losses.push({
        ...{ kind: "model", at: `collection ${name}, listRule, viewRule` },
        ...{
          why: `there is no counterpart of ${JSON.stringify(rules).slice(0, 200)}`,
          became: "only admins read",
        },
      });
    return "admin";
  }

  #fieldsOf({ name, source }: Collection): Field[] {
    const names = new Names("field", `collection ${name}, field`, this.losses);
    const unique = new Set(textsIn(source, "indexes").flatMap((index) => uniqueColumn(index) ?? []));
    return objectsIn(source, "fields").flatMap((field) => {
      const [id, type] = [textIn(field, "name") ?? "", textIn(field, "type") ?? ""];
      const at = `collection ${name}, field ${id}`;
      if (id === "id") return [];
      if (type === "password" || SECRET.has(id)) {
        this.losses.push({ kind: "model", at, why: "PocketBase does not show it", became: "left out" });
        return [];
      }
      if (TYPES[type] === undefined)
        this.losses.push({
          kind: "model",
          at,
          why: `there is no type ${type}`,
          became: "a field of type json",
        });
      const definition = {
        name: names.of(id),
        ...this.#attributes(field, type),
        ...(unique.has(id) ? { unique: true } : {}),
      };
      return { source: field, id, type, definition };
    });
  }

  #attributes(field: Item, type: string): Omit<FieldDefinition, "name"> & { type: string } {
    const isList = (numberIn(field, "maxSelect") ?? 1) > 1;
    const [min, max] = [numberIn(field, "min"), numberIn(field, "max")];
    const pattern = textIn(field, "pattern") ?? "";
    const values = textsIn(field, "values");
    const target = this.#collections.get(textIn(field, "collectionId") ?? "")?.schema;
    const own: Record<string, unknown> = {
      ...(field.required === true && type !== "bool" && type !== "number" ? { required: true } : {}),
      ...(isList && ["select", "file", "relation"].includes(type) ? { list: true } : {}),
    };
    if (type === "text")
      Object.assign(own, {
        ...(min ? { min } : {}),
        ...(max ? { max } : {}),
        ...(pattern === "" ? {} : { pattern }),
      });
    if (type === "number")
      Object.assign(own, { ...(min === undefined ? {} : { min }), ...(max === undefined ? {} : { max }) });
    if (type === "select" && values.length <= 500) own.enum = values;
    if (type === "editor") Object.assign(own, HTML_FORMATS, { components: [IMAGE, HTML] });
    if (type === "relation" && target !== undefined) own.ref = target;
    const isInteger = type === "number" && field.onlyInt === true;
    const isText = type === "relation" && target === undefined;
    return { ...own, type: isInteger ? "integer" : isText ? "string" : (TYPES[type] ?? "json") };
  }

  async *entries(schema: string): AsyncGenerator<SourceEntry> {
    const collection = [...this.#collections.values()].find((one) => one.schema === schema);
    if (collection === undefined) return;
    const created = collection.fields.find(
      ({ source, type }) => type === "autodate" && source.onUpdate !== true,
    );
    const order = created === undefined ? "@rowid" : `${created.id},@rowid`;
    const path = `/api/collections/${encodeURIComponent(collection.name)}/records`;
    const query = `perPage=${PAGE}&skipTotal=1&sort=${encodeURIComponent(order)}`;
    const check = pageCheck(`${this.#api.url}${path}`);
    for (let page = 1; page <= MOST_PAGES; page++) {
      const items = objectsIn(await readApi(this.#api, `${path}?${query}&page=${page}`), "items");
      check(items);
      for (const record of items) yield this.#entry(collection, record, created?.id);
      if (items.length < PAGE) return;
    }
  }

  #entry(collection: Collection, record: Item, created: string | undefined): SourceEntry {
    const { schema, fields } = collection;
    const id = textIn(record, "id") ?? "";
    const losses: Loss[] = [];
    const createdAt = created === undefined ? undefined : textIn(record, created);
    const values = Object.fromEntries(
      fields.map((field) => {
        const tell = (loss: Pick<Loss, "why" | "became">) =>
          losses.push({ kind: "value", at: entryLabel({ schema, id }, field.id), ...loss });
        return [field.definition.name, this.#value(collection, id, field, record[field.id], tell)];
      }),
    );
    return {
      ...{ schema, id, losses, values, status: "PUBLISHED" },
      ...(createdAt === undefined || createdAt === "" ? {} : { createdAt }),
    };
  }

  #value(
    collection: Collection,
    record: string,
    { source, type, definition }: Field,
    value: unknown,
    tell: (loss: Pick<Loss, "why" | "became">) => void,
  ): unknown {
    if (isEmpty(value)) return undefined;
    const each = (convert: (one: unknown) => unknown): unknown =>
      Array.isArray(value) ? value.map(convert) : convert(value);
    if (type === "editor")
      return typeof value === "string" ? fromHtmlOf(value, { tell, imageAt: () => undefined }) : undefined;
    if (type === "relation") {
      const target = this.#collections.get(textIn(source, "collectionId") ?? "");
      return target === undefined ? value : each((one) => new Linked(target.schema, String(one), "one"));
    }
    if (type === "geoPoint") {
      const [lat, lon] = [numberIn(value, "lat"), numberIn(value, "lon")];
      // PocketBase shows a missing place as 0, 0.
      return lat === undefined || lon === undefined || (lat === 0 && lon === 0) ? undefined : { lat, lon };
    }
    if (type !== "file") return definition.list === true && !Array.isArray(value) ? [value] : value;
    if (member(source, "protected") === true) {
      tell({ why: "the file is protected. Turn this off while you migrate", became: "left out" });
      return undefined;
    }
    const base = `${this.#api.url}/api/files/${encodeURIComponent(collection.id)}/${encodeURIComponent(record)}`;
    return each((name) => new SourceFile(`${base}/${encodeURIComponent(String(name))}`));
  }
}

/** Returns the column of an index that makes the values of one column unique. */
function uniqueColumn(index: string): string | undefined {
  const [, column] =
    /^\s*create\s+unique\s+index\b[^(]*\(\s*[`"[]?(\w+)[`"\]]?\s*\)\s*;?\s*$/i.exec(index) ?? [];
  return column;
}
