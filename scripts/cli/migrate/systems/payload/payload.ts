/** Reads a running Payload, or an export of one: the configuration of its collections and globals, and their documents. */
import { stat } from "node:fs/promises";
import { join } from "node:path";
import { isObject } from "../../../../../shared/kernel/json.ts";
import { CommandError } from "../../../command/context.ts";
import { apiOf } from "../../model/http.ts";
import { languageOf, Names } from "../../model/names.ts";
import { member, objectsIn, readJsonLines, textIn, textsIn } from "../../model/read-json.ts";
import {
  type ComponentDefinition,
  entryLabel,
  type Loss,
  type SchemaDefinition,
  type Source,
  type SourceEntry,
  SourceFile,
  type SourceOptions,
} from "../../model/source.ts";
import { draftOf } from "../../model/values.ts";
import { HTML, htmlComponents, IMAGE } from "../html.ts";
import { agreeOnTypes, type Component, type Field, type FieldContext, fieldsOf } from "./fields.ts";
import { isAddress, linesOf } from "./live.ts";
import { OWN } from "./own.ts";
import { idOf, type ValueContext, valuesOf } from "./values.ts";

type Item = Record<string, unknown>;

/** A document, and its newest draft. */
interface Document {
  doc: Item;
  draft: Item | undefined;
}

/** A collection or a global. */
interface Collection {
  slug: string;
  schema: string;
  source: Item;
  isGlobal: boolean;
  fields: Field[];
  documents: Document[];
}

/** All documents are kept in memory. */
const MOST_CHARACTERS = 512 * 1024 * 1024;
/** Name of the field with the content of a file. */
const CONTENT = "file";
/** Fields that Payload itself adds, and that the platform has itself. */
const EVERYWHERE = ["updatedAt", "createdAt", "deletedAt", "_status"];
const OF_FILES = [
  ...["url", "thumbnailURL", "filename", "mimeType", "filesize", "width", "height", "focalX", "focalY"],
  ...["sizes", "prefix"],
];
const OF_ACCOUNTS = ["sessions", "apiKey", "enableAPIKey", "apiKeyIndex", "hasAPIKey", "_verified"];
/** Fields of the components that rich text has in any case, with their types. */
const OF_TEXT = { attachment: "reference", address: "string", alt: "text", title: "string", html: "text" };
/** Maximum schemas to which links of a text refer. */
const MOST_LINKS = 20;

export async function openPayload(options: SourceOptions): Promise<Source> {
  const { source, env } = options;
  if (isAddress(source)) {
    // A key of the API names the collection of its account: "users API-Key …".
    const scheme = /\s/.test(env.SOURCE_TOKEN?.trim() ?? "") ? "" : "JWT ";
    const { api, isLocal } = apiOf(options, "an account of Payload that may read everything", scheme);
    return { ...(await sourceOf(linesOf(api), source, true)), isLocal, credentials: api };
  }
  const isFolder = (await stat(source).catch(() => undefined))?.isDirectory() === true;
  const path = isFolder ? join(source, "payload.jsonl") : source;
  return sourceOf(readJsonLines(path), path, false);
}

/** @param path where the lines come from, for messages */
async function sourceOf(from: AsyncIterable<unknown>, path: string, isLive: boolean): Promise<Source> {
  const lines: Item[] = [];
  let characters = 0;
  for await (const line of from) {
    if (!isObject(line)) throw new CommandError(`${path} has a line that is no object.`);
    characters += JSON.stringify(line).length;
    if (characters > MOST_CHARACTERS)
      throw new CommandError(`${path} has more than 512 MiB. Export some collections at a time.`);
    lines.push(line);
  }
  const [config, ...rest] = lines;
  if (config?.payload !== 3)
    throw new CommandError(
      `${path} does not begin with the configuration of Payload 3. Write it with the script of the guide move-in-from-payload.md.`,
    );
  const payload = new Payload(config, rest, isLive);
  return {
    ...{ document: payload.document, losses: payload.losses },
    async *entries(schema) {
      yield* payload.entries(schema);
    },
  };
}

class Payload {
  readonly losses: Loss[] = [];
  readonly document: Source["document"];
  readonly #config: Item;
  readonly #collections: Collection[];
  readonly #components = new Map<string, Component>();
  readonly #componentNames = new Names("schema", "block", this.losses);
  /** The first block of each slug. */
  readonly #blocks = new Map<string, Item>();
  readonly #languages = new Map<string, string>();
  /** The first collection of files. Images in rich text refer to it. */
  readonly #images: Collection | undefined;

  /** @param isLive whether the documents come from the API, which shows only what the account of the token may read */
  constructor(config: Item, lines: readonly Item[], isLive: boolean) {
    this.#config = config;
    const locales = textsIn(config, "localization", "localeCodes");
    const first = textIn(config, "localization", "defaultLocale");
    for (const code of new Set(first === undefined ? locales : [first, ...locales]))
      this.#languages.set(code, languageOf(code, this.losses));
    this.#collections = this.#carried(lines);
    this.#images = this.#collections.find(({ source }) => isFile(source));
    const context: FieldContext = {
      losses: this.losses,
      schemaOf: (slug) => this.#schemaOf(slug),
      componentOf: (block, isLocalized) => this.#componentOf(block, isLocalized, context),
      links: this.#collections
        .filter(({ isGlobal }) => !isGlobal)
        .map(({ schema }) => schema)
        .slice(0, MOST_LINKS),
    };
    for (const collection of this.#collections) {
      const at = `${collection.isGlobal ? "global" : "collection"} ${collection.slug}`;
      const names = new Names("field", `${at}, field`, this.losses);
      collection.fields = fieldsOf(contentOf(collection), { at, names, isLocalized: false }, context);
    }
    this.#agree(context);
    this.document = this.#documentOf();
    this.#tellRest();
    if (isLive) this.#tellClosed();
  }

  #carried(lines: readonly Item[]): Collection[] {
    const names = new Names("schema", "collection", this.losses);
    const of = (list: Item[], kind: "collection" | "global"): Collection[] =>
      list.flatMap((source) => {
        const slug = textIn(source, "slug") ?? "";
        if (OWN.test(slug)) return [];
        const documents = lines.flatMap((line): Document[] => {
          if (line[kind] !== slug || !isObject(line.doc)) return [];
          return [{ doc: line.doc, draft: isObject(line.draft) ? line.draft : undefined }];
        });
        const isGlobal = kind === "global";
        return [
          {
            slug,
            schema: names.of(isGlobal ? `global-${slug}` : slug),
            source,
            isGlobal,
            fields: [],
            documents,
          },
        ];
      });
    return [
      ...of(objectsIn(this.#config, "collections"), "collection"),
      ...of(objectsIn(this.#config, "globals"), "global"),
    ];
  }

  #schemaOf(slug: string): string | undefined {
    return this.#collections.find((one) => !one.isGlobal && one.slug === slug)?.schema;
  }

  /** Returns the component of a block. Blocks of one slug with other fields are other components. */
  #componentOf(block: unknown, isLocalized: boolean, context: FieldContext): Component | undefined {
    const source = isObject(block)
      ? block
      : objectsIn(this.#config, "blocks").find((one) => one.slug === block);
    const slug = textIn(source, "slug");
    if (source === undefined || slug === undefined) return undefined;
    if (!this.#blocks.has(slug)) this.#blocks.set(slug, source);
    const key = JSON.stringify([slug, isLocalized, source.fields]);
    const known = this.#components.get(key);
    if (known !== undefined) return known;
    const same = [...this.#components.values()].filter((one) => one.slug === slug).length;
    const id = this.#componentNames.of(same === 0 ? slug : `${slug}-${same + 1}`);
    const component: Component = { slug, id, fields: [] };
    this.#components.set(key, component);
    const at = `block ${slug}`;
    const names = new Names("field", `${at}, field`, this.losses);
    component.fields = fieldsOf(objectsIn(source, "fields"), { at, names, isLocalized }, context);
    return component;
  }

  /** Gives rich text the components of its blocks, and lets all components of one place agree. */
  #agree(context: FieldContext): void {
    const slugs = new Set(blocksInTexts(this.#collections.flatMap(({ documents }) => documents)));
    const seen = new Set<Component>();
    const enter = (components: readonly Component[], taken: Readonly<Record<string, string>>) => {
      const fresh = components.filter((one) => !seen.has(one));
      for (const one of fresh) seen.add(one);
      agreeOnTypes(components, taken, this.losses);
      for (const { fields } of fresh) visit(fields);
    };
    const visit = (fields: readonly Field[]): void => {
      for (const field of fields) {
        if (field.type === "richText") {
          const found = [...slugs].flatMap((slug) => {
            const block = this.#blocks.get(slug);
            return block === undefined ? [] : (context.componentOf(block, field.isInLanguage) ?? []);
          });
          field.blocks = new Map(found.map((one) => [one.slug, one]));
          const components = [IMAGE, HTML, ...found.map(({ id }) => id)];
          field.definition = { ...field.definition, components };
          enter(found, OF_TEXT);
        } else if (field.type === "blocks") enter([...field.blocks.values()], {});
        visit(field.inner);
        if (field.inner.length > 0)
          field.definition = { ...field.definition, fields: field.inner.map((one) => one.definition) };
      }
    };
    for (const { fields } of this.#collections) visit(fields);
  }

  #documentOf(): Source["document"] {
    const definitions = (fields: readonly Field[]) => fields.map(({ definition }) => definition);
    const components: ComponentDefinition[] = [...this.#components.values()].map(({ id, slug, fields }) => ({
      ...{ id, name: slug },
      fields: fields.length > 0 ? definitions(fields) : [{ name: "empty", type: "boolean" }],
    }));
    const schemas = this.#collections.map(({ schema, slug, source, fields }): SchemaDefinition => {
      const content = isFile(source) ? [{ name: CONTENT, type: "file" }] : [];
      const all = [...definitions(fields), ...content];
      return {
        ...{ id: schema, name: textIn(source, "labels", "plural") ?? textIn(source, "label") ?? slug },
        ...(isTrue(source.auth) ? { access: { read: "admin" } } : {}),
        fields: all.length > 0 ? all : [{ name: "empty", type: "boolean" }],
      };
    });
    const languages = [...new Set(this.#languages.values())];
    return {
      ...{ name: "Payload", languages: languages.length === 0 ? ["en"] : languages, schemas },
      components: [...htmlComponents(this.#images?.schema), ...components],
    };
  }

  #tellRest(): void {
    const tell = (at: string, why: string, became = "left out") =>
      void this.losses.push({ kind: "model", at, why, became });
    for (const { slug, source, isGlobal } of this.#collections) {
      if (isGlobal) tell(`global ${slug}`, "schemas have no limit of one entry", "a schema with one entry");
      if (isTrue(source.auth))
        tell(`collection ${slug}, passwords and sessions`, "Payload does not show them");
      if (isTrue(source.trash)) tell(`collection ${slug}, its trash`, "the export does not have it");
      if (isTrue(source.auth)) tell(`collection ${slug}, API keys`, "they are secrets of Payload");
      if (isFile(source))
        tell(
          `collection ${slug}, sizes and focal points`,
          "the platform finds sizes itself, and makes variants",
        );
    }
    tell("access, hooks, validations and conditions", "they are code", "who may read is what --read says");
    tell(
      "updatedAt, earlier versions",
      "the platform says itself when an entry was changed",
      "createdAt is carried",
    );
  }

  /** Names the fields that the API may not show, although they can have values. */
  #tellClosed(): void {
    for (const collection of this.#collections)
      for (const name of closedFields(contentOf(collection))) {
        const { isGlobal, slug } = collection;
        const at = `${isGlobal ? "global" : "collection"} ${slug}, field ${name}`;
        const why = "who may read it is code, so the API may not show it to the account of the token";
        this.losses.push({ kind: "model", at, why, became: "what the API shows. An export has all" });
      }
  }

  *entries(schema: string): Generator<SourceEntry> {
    const collection = this.#collections.find((one) => one.schema === schema);
    for (const document of collection?.documents ?? []) {
      const entry = collection && this.#entry(collection, document);
      if (entry !== undefined) yield entry;
    }
  }

  #entry(collection: Collection, { doc, draft }: Document): SourceEntry | undefined {
    const { schema, source, fields, isGlobal } = collection;
    const id = isGlobal ? collection.slug : idOf(doc);
    if (id === undefined) return undefined;
    const losses: Loss[] = [];
    const values = this.#values(collection, id, doc, losses);
    const isLive = !hasDrafts(source) || doc._status === "published";
    const createdAt = textIn(doc, "createdAt");
    const entry: SourceEntry = {
      ...{ schema, id, values, losses, status: isLive ? "PUBLISHED" : "SAVED" },
      ...(createdAt === undefined ? {} : { createdAt }),
    };
    if (draft === undefined || draft._status !== "draft") return entry;
    const newer: Loss[] = [];
    const next = this.#values(collection, id, { ...draft, filename: doc.filename, url: doc.url }, newer);
    if (!isLive) return { ...entry, values: next, losses: newer };
    const isNew = (loss: Loss) => !losses.some(({ at, why }) => at === loss.at && why === loss.why);
    const localized = fields.filter((one) => one.isLocalized).map(({ definition }) => definition.name);
    return { ...entry, draft: draftOf(values, next, localized), losses: [...losses, ...newer.filter(isNew)] };
  }

  #values({ schema, source, fields }: Collection, id: string, doc: Item, losses: Loss[]): Item {
    const context: ValueContext = {
      schemaOf: (slug) => this.#schemaOf(slug),
      languages: this.#languages,
      images: this.#images?.slug,
    };
    const values = valuesOf(fields, doc, context, (place) => (loss) => {
      losses.push({ kind: "value", at: entryLabel({ schema, id }, place), ...loss });
    });
    if (!isFile(source)) return values;
    const [name, url, server] = [
      textIn(doc, "filename"),
      textIn(doc, "url"),
      textIn(this.#config, "serverURL"),
    ];
    const full = url?.startsWith("/") === true ? `${server ?? ""}${url}` : url;
    // Anything else would be a path on this computer, which the name of the file says alone.
    const address = full !== undefined && /^https?:\/\//i.test(full) ? full : undefined;
    return name === undefined ? values : { ...values, [CONTENT]: new SourceFile(address, name) };
  }
}

const isTrue = (value: unknown): boolean => value === true || isObject(value);
const isFile = ({ upload }: Item): boolean => isTrue(upload);
const hasDrafts = (source: Item): boolean =>
  isTrue(member(source, "versions", "drafts")) || source.drafts === true;

const contentOf = (collection: Collection): Item[] =>
  objectsIn(collection.source, "fields").filter((field) => isContent(field, collection));

/** Returns whether a field has content, and is none that Payload itself adds. */
function isContent({ name, hidden }: Item, { source }: Collection): boolean {
  const own = [
    ...EVERYWHERE,
    ...(isFile(source) ? OF_FILES : []),
    ...(isTrue(source.auth) ? OF_ACCOUNTS : []),
  ];
  return !(own.includes(String(name)) || (isTrue(source.auth) && hidden === true));
}

/** Yields the names of the fields at any depth that the API shows to some callers only. */
function* closedFields(fields: unknown): Generator<string> {
  if (Array.isArray(fields)) for (const one of fields) yield* closedFields(one);
  else if (isObject(fields)) {
    const { name, access } = fields;
    if (typeof name === "string" && member(access, "read") === "code") yield name;
    for (const inside of ["fields", "tabs", "blocks"]) yield* closedFields(fields[inside]);
  }
}

/** Yields the slugs of the blocks in rich text. */
function* blocksInTexts(value: unknown): Generator<string> {
  if (Array.isArray(value)) for (const one of value) yield* blocksInTexts(one);
  else if (isObject(value)) {
    if (value.type === "block" && isObject(value.fields)) yield String(value.fields.blockType);
    for (const one of Object.values(value)) yield* blocksInTexts(one);
  }
}
