/** Reads an export of Contentful: the file that `contentful space export` writes, with its folder of assets beside it. */
import { dirname } from "node:path";
import { isObject } from "../../../../shared/kernel/json.ts";
import { CommandError } from "../../command/context.ts";
import { Names } from "../model/names.ts";
import { member, numberIn, objectsIn, parseJson, readText, textIn, textsIn } from "../model/read-json.ts";
import {
  type ComponentDefinition,
  entryLabel,
  type FieldDefinition,
  Linked,
  type Loss,
  type SchemaDefinition,
  type Source,
  type SourceEntry,
  SourceFile,
  type SourceOptions,
  type Status,
} from "../model/source.ts";
import { validationsOf } from "./contentful-rules.ts";
import { EMBEDDED, FORMATS, NODE, richTextOf, targetsIn } from "./contentful-text.ts";

type Item = Record<string, unknown>;

/** A field of a content type, and what became of it. */
export interface Field {
  source: Item;
  id: string;
  /** Type of the values, or of the items of a list. */
  kind: string;
  /** `Entry` or `Asset` for links. */
  linkType: string;
  definition: FieldDefinition;
}

interface Type {
  id: string;
  schema: string;
  fields: Field[];
}

const TYPES: Readonly<Record<string, string>> = {
  Symbol: "string",
  Text: "text",
  RichText: "richText",
  Integer: "integer",
  Number: "number",
  Date: "datetime",
  Boolean: "boolean",
  Location: "point",
  Object: "json",
  ResourceLink: "json",
  Link: "reference",
};
const ASSET = "Asset";
const TAGS = "tags";
/** The export lists further parts. They describe the space, and not its content. */
const LEFT_OUT: Readonly<Record<string, string>> = {
  editorInterfaces: "how forms of Contentful look",
  webhooks: "webhooks of Contentful",
  roles: "roles of the space",
};
/** A field may refer to this many schemas. */
const MOST_TARGETS = 50;

export async function openContentful({ source }: SourceOptions): Promise<Source> {
  const read = parseJson(await readText(source), source);
  if (!isObject(read) || !Array.isArray(read.contentTypes))
    throw new CommandError(`${source} has no contentTypes. Write it with: contentful space export`);
  const contentful = new Contentful(read);
  return {
    document: contentful.document(),
    losses: contentful.losses,
    folder: dirname(source),
    async *entries(schema) {
      yield* contentful.entries(schema);
    },
  };
}

class Contentful {
  readonly #export: Item;
  readonly losses: Loss[] = [];
  readonly #locales: string[];
  readonly #types = new Map<string, Type>();
  readonly #assetSchema: string;
  /** Content type of each entry. */
  readonly #typeOfEntry = new Map<string, string>();
  readonly #titles = new Map<string, string>();
  readonly #assets: ReadonlySet<string>;
  /** Content types whose entries rich text embeds, and link to, by content type and field. */
  readonly #used = new Map<string, Set<string>>();
  #embedded: string[] = [];

  constructor(read: Item) {
    this.#export = read;
    this.#locales = this.#readLocales();
    const names = new Names("schema", "content type", this.losses);
    for (const source of objectsIn(read, "contentTypes")) {
      const id = textIn(source, "sys", "id") ?? "";
      this.#types.set(id, { id, schema: names.of(id), fields: [] });
    }
    this.#assetSchema = names.of("asset");
    this.#assets = new Set(objectsIn(read, "assets").map((one) => textIn(one, "sys", "id") ?? ""));
    for (const entry of objectsIn(read, "entries"))
      this.#typeOfEntry.set(textIn(entry, "sys", "id") ?? "", this.#typeIdOf(entry));
    for (const source of objectsIn(read, "contentTypes")) this.#readType(source);
    this.#tellStrays();
    this.#findTargets();
    this.#setTargets();
    for (const [name, what] of Object.entries(LEFT_OUT)) {
      const count = objectsIn(read, name).length;
      if (count > 0)
        this.losses.push({
          kind: "model",
          at: name,
          why: `${what} (${count}) have no counterpart`,
          became: "left out",
        });
    }
    this.losses.push({
      kind: "model",
      at: "sys.updatedAt, sys.updatedBy, sys.publishedAt",
      why: "the platform says itself when an entry was changed, and by whom",
      became: "the time of the import; createdAt and createdBy are carried",
    });
  }

  #readLocales(): string[] {
    const locales = objectsIn(this.#export, "locales");
    const codes = locales.map((locale) => textIn(locale, "code") ?? "en-US");
    const main = locales.find((locale) => locale.default === true);
    const first = textIn(main, "code") ?? codes[0] ?? "en-US";
    for (const locale of locales) {
      const fallback = textIn(locale, "fallbackCode");
      if (fallback !== undefined && fallback !== first)
        this.losses.push({
          kind: "model",
          at: `locale ${textIn(locale, "code")}`,
          why: `values fall back to the default language, not to ${fallback}`,
          became: `fallback to ${first}`,
        });
    }
    return [first, ...codes.filter((code) => code !== first)];
  }

  /** Reports entries whose content type is missing. */
  #tellStrays(): void {
    for (const [id, type] of this.#typeOfEntry)
      if (!this.#types.has(type))
        this.losses.push({
          ...{ kind: "entry", at: `entry ${id}` },
          ...{ why: `the export has no content type ${type || "for it"}`, became: "left out" },
        });
  }

  #typeIdOf(entry: Item): string {
    return textIn(entry, "sys", "contentType", "sys", "id") ?? "";
  }

  #readType(source: Item): void {
    const id = textIn(source, "sys", "id") ?? "";
    const type = this.#types.get(id);
    if (type === undefined) return;
    const names = new Names("field", `content type ${id}, field`, this.losses);
    for (const field of objectsIn(source, "fields")) {
      const isList = field.type === "Array";
      const kind = textIn(isList ? field.items : field, "type") ?? "";
      const linkType = textIn(isList ? field.items : field, "linkType") ?? "";
      const fieldId = textIn(field, "id") ?? "";
      const at = `content type ${id}, field ${fieldId}`;
      const definition: FieldDefinition = {
        name: names.of(fieldId),
        type: TYPES[kind] ?? "json",
        label: textIn(field, "name")?.slice(0, 200) || fieldId,
        ...(isList ? { list: true } : {}),
        ...(field.localized === true ? { translatable: true } : {}),
        ...(field.required === true && field.omitted !== true ? { required: true } : {}),
        ...validationsOf(field, at, this.losses),
      };
      if (TYPES[kind] === undefined)
        this.losses.push({
          kind: "model",
          at,
          why: `there is no type ${kind}`,
          became: "a field of type json",
        });
      if (kind === "RichText") Object.assign(definition, FORMATS, { components: [NODE] });
      type.fields.push({ source: field, id: fieldId, kind, linkType, definition });
    }
  }

  /** Finds which content types rich text and links without a rule refer to. */
  #findTargets(): void {
    const embedded = new Set<string>();
    for (const entry of objectsIn(this.#export, "entries")) {
      const type = this.#types.get(this.#typeIdOf(entry));
      for (const field of type?.fields ?? []) {
        const used = this.#usedBy(type?.id ?? "", field.id);
        for (const value of Object.values(this.#localesOf(entry, field.id))) {
          const tell = (kind: "link" | "block", linkType: string, id: string) => {
            const schema = this.schemaOf(linkType, id);
            if (schema !== undefined) (kind === "block" ? embedded : used).add(schema);
          };
          if (field.kind === "RichText") targetsIn(value, tell);
          if (field.kind === "Link")
            for (const one of Array.isArray(value) ? value : [value])
              tell("link", textIn(one, "sys", "linkType") ?? "", textIn(one, "sys", "id") ?? "");
        }
      }
    }
    this.#embedded = [...embedded].slice(0, MOST_TARGETS);
  }

  #usedBy(type: string, field: string): Set<string> {
    const key = JSON.stringify([type, field]);
    const used = this.#used.get(key) ?? new Set();
    this.#used.set(key, used);
    return used;
  }

  /** Sets to which schemas fields may refer: those of their rules, and those that entries use. */
  #setTargets(): void {
    const all = [...this.#types.values()].map(({ schema }) => schema);
    for (const { id, fields } of this.#types.values())
      for (const field of fields) {
        const used = [...this.#usedBy(id, field.id)];
        const { definition } = field;
        if (field.kind === "RichText") {
          if (used.length > 0) definition.links = used;
          if (this.#embedded.length > 0) definition.components = [NODE, EMBEDDED];
        }
        if (field.kind !== "Link") continue;
        const rules = [
          ...objectsIn(field.source, "validations"),
          ...objectsIn(field.source, "items", "validations"),
        ];
        const allowed = rules
          .flatMap((rule) => [textsIn(rule, "linkContentType"), textIn(rule, "linkContentType") ?? []].flat())
          .flatMap((type) => this.#types.get(type)?.schema ?? []);
        const named = field.linkType === ASSET ? [this.#assetSchema] : allowed;
        const targets = [...new Set([...(named.length > 0 || used.length > 0 ? named : all), ...used])];
        definition.ref = targets.length === 1 ? targets[0] : targets.slice(0, MOST_TARGETS);
      }
  }

  document(): Source["document"] {
    const usesText = [...this.#types.values()].some(({ fields }) =>
      fields.some(({ kind }) => kind === "RichText"),
    );
    const entry = this.#embedded.length === 1 ? this.#embedded[0] : this.#embedded;
    const components: ComponentDefinition[] = usesText
      ? [
          { id: NODE, name: "Node of Contentful", fields: [{ name: "node", type: "json" }] },
          ...(this.#embedded.length > 0
            ? [{ id: EMBEDDED, name: "Embedded", fields: [{ name: "entry", type: "reference", ref: entry }] }]
            : []),
        ]
      : [];
    const schemas: SchemaDefinition[] = objectsIn(this.#export, "contentTypes").flatMap((source) => {
      const type = this.#types.get(textIn(source, "sys", "id") ?? "");
      if (type === undefined) return [];
      const description = textIn(source, "description");
      const tags = this.#hasTags(type.id) ? [{ name: TAGS_FIELD, type: "string", list: true }] : [];
      return {
        ...{ id: type.schema, name: textIn(source, "name") ?? type.id },
        ...(description === undefined || description === "" ? {} : { description }),
        fields: [...type.fields.map(({ definition }) => definition), ...tags],
      };
    });
    if (this.#assets.size > 0) schemas.unshift(this.#assetDefinition());
    return { name: "Contentful", languages: this.#locales, components, schemas };
  }

  #assetDefinition(): SchemaDefinition {
    const translatable = this.#locales.length > 1;
    const place = translatable ? { translatable } : {};
    return {
      ...{ id: this.#assetSchema, name: "Asset" },
      fields: [
        { name: "title", type: "string", ...place },
        { name: "description", type: "text", ...place },
        { name: "file", type: "file", ...place },
        { name: "fileName", type: "string", ...place },
        { name: "contentType", type: "string", ...place },
        { name: "address", type: "string", ...place, description: "Address of the file at Contentful" },
      ],
    };
  }

  #hasTags(type: string): boolean {
    return objectsIn(this.#export, "entries").some(
      (entry) => this.#typeIdOf(entry) === type && objectsIn(entry, "metadata", TAGS).length > 0,
    );
  }

  schemaOf(linkType: string, id: string): string | undefined {
    if (linkType === ASSET) return this.#assets.has(id) ? this.#assetSchema : undefined;
    return linkType === "Entry" ? this.#types.get(this.#typeOfEntry.get(id) ?? "")?.schema : undefined;
  }

  #titleOf(id: string): string {
    if (this.#titles.size === 0)
      for (const entry of objectsIn(this.#export, "entries")) {
        const type = objectsIn(this.#export, "contentTypes").find(
          (one) => textIn(one, "sys", "id") === this.#typeIdOf(entry),
        );
        const title = this.#localesOf(entry, textIn(type, "displayField") ?? "")[this.#locales[0] ?? ""];
        this.#titles.set(textIn(entry, "sys", "id") ?? "", typeof title === "string" ? title : "");
      }
    return this.#titles.get(id) || id;
  }

  #localesOf(item: Item, field: string): Item {
    const value = member(item, "fields", field);
    return isObject(value) ? value : {};
  }

  *entries(schema: string): Generator<SourceEntry> {
    if (schema === this.#assetSchema)
      for (const asset of byCreation(objectsIn(this.#export, "assets"))) yield this.#asset(asset);
    const type = [...this.#types.values()].find((one) => one.schema === schema);
    if (type === undefined) return;
    const own = objectsIn(this.#export, "entries").filter((entry) => this.#typeIdOf(entry) === type.id);
    for (const entry of byCreation(own)) yield this.#entry(entry, type);
  }

  #base(item: Item, schema: string): Omit<SourceEntry, "values"> & { losses: Loss[] } {
    const id = textIn(item, "sys", "id") ?? "";
    const { status, note } = statusOf(item);
    const losses: Loss[] = [];
    if (note !== undefined)
      losses.push({
        kind: "value",
        at: entryLabel({ schema, id }),
        why: note,
        became: "a draft with this content",
      });
    const createdBy = textIn(item, "sys", "createdBy", "sys", "id");
    return {
      ...{ schema, id, status, losses, createdAt: textIn(item, "sys", "createdAt") },
      ...(createdBy === undefined ? {} : { createdBy }),
    };
  }

  #asset(asset: Item): SourceEntry {
    const base = this.#base(asset, this.#assetSchema);
    const files = this.#localesOf(asset, "file");
    const place = (of: Item) => (this.#locales.length > 1 ? of : of[this.#locales[0] ?? ""]);
    const each = (make: (file: unknown) => unknown) =>
      place(Object.fromEntries(Object.entries(files).map(([locale, file]) => [locale, make(file)])));
    return {
      ...base,
      values: {
        title: place(this.#localesOf(asset, "title")),
        description: place(this.#localesOf(asset, "description")),
        file: each((file) => fileOf(file)),
        fileName: each((file) => textIn(file, "fileName")),
        contentType: each((file) => textIn(file, "contentType")),
        address: each((file) => addressOf(file)),
      },
    };
  }

  #entry(entry: Item, type: Type): SourceEntry {
    const base = this.#base(entry, type.schema);
    const values: Record<string, unknown> = {};
    for (const field of type.fields) {
      const locales = this.#localesOf(entry, field.id);
      const { name, translatable } = field.definition;
      const at = entryLabel(base, field.id);
      const convert = (value: unknown) => this.#value(field, value, at, base.losses);
      const [first = ""] = this.#locales;
      if (translatable === true)
        values[name] = Object.fromEntries(
          Object.entries(locales).map(([locale, value]) => [locale, convert(value)]),
        );
      else {
        values[name] = convert(locales[first]);
        const others = Object.keys(locales).filter((locale) => locale !== first);
        if (others.length > 0)
          base.losses.push({
            ...{ kind: "value", at: `${at} in ${others.join(", ")}` },
            ...{
              why: "the field is not localized",
              became: "left out, as Contentful does not show it either",
            },
          });
      }
    }
    const tags = objectsIn(entry, "metadata", TAGS).map((tag) =>
      this.#tagName(textIn(tag, "sys", "id") ?? ""),
    );
    return { ...base, values: tags.length > 0 ? { ...values, [TAGS_FIELD]: tags } : values };
  }

  #tagName(id: string): string {
    const tag = objectsIn(this.#export, TAGS).find((one) => textIn(one, "sys", "id") === id);
    return textIn(tag, "name") ?? id;
  }

  #value({ kind, definition, linkType }: Field, value: unknown, at: string, losses: Loss[]): unknown {
    const tell = (loss: Pick<Loss, "why" | "became">) => losses.push({ kind: "value", at, ...loss });
    if (kind === "RichText")
      return richTextOf(value, {
        schemaOf: (type, id) => this.schemaOf(type, id),
        titleOf: (_, id) => this.#titleOf(id),
        several: this.#embedded.length > 1,
        tell,
      });
    if (kind === "Location") return pointOf(value);
    if (kind !== "Link") return value;
    const link = (one: unknown): Linked | undefined => {
      const id = textIn(one, "sys", "id") ?? "";
      const schema = this.schemaOf(textIn(one, "sys", "linkType") ?? linkType, id);
      if (schema !== undefined)
        return new Linked(schema, id, Array.isArray(definition.ref) ? "several" : "one");
      tell({ why: `${linkType} ${id} is not in the export`, became: "left out" });
      return undefined;
    };
    if (!Array.isArray(value)) return isObject(value) ? link(value) : undefined;
    return value.map(link).filter((one) => one !== undefined);
  }
}

/** Name of the field for the tags of an entry. Fields of Contentful have no capital at the beginning. */
const TAGS_FIELD = "ContentfulTags";

function pointOf(value: unknown): unknown {
  const [lat, lon] = [numberIn(value, "lat"), numberIn(value, "lon")];
  return lat === undefined || lon === undefined ? undefined : { lat, lon };
}

function byCreation(items: readonly Item[]): Item[] {
  const at = (item: Item) => textIn(item, "sys", "createdAt") ?? "";
  return items.toSorted((a, b) => (at(a) < at(b) ? -1 : at(a) > at(b) ? 1 : 0));
}

function addressOf(file: unknown): string | undefined {
  const url = textIn(file, "url") ?? textIn(file, "upload");
  return url?.startsWith("//") === true ? `https:${url}` : url;
}

/** Returns the file of an asset. Exports with files have it in a folder named like its host. */
function fileOf(file: unknown): SourceFile | undefined {
  const address = addressOf(file);
  if (address === undefined || !URL.canParse(address)) return undefined;
  const { hostname, pathname } = new URL(address);
  return new SourceFile(address, `${hostname}${decoded(pathname)}`);
}

function decoded(path: string): string {
  try {
    return decodeURIComponent(path);
  } catch {
    return path;
  }
}

/** Returns the state of an entry, and what its state does not say. */
function statusOf(item: Item): { status: Status; note?: string } {
  const [version = 0, published] = [
    numberIn(item, "sys", "version"),
    numberIn(item, "sys", "publishedVersion"),
  ];
  if (textIn(item, "sys", "archivedAt") !== undefined) return { status: "ARCHIVED" };
  if (published === undefined)
    return { status: (numberIn(item, "sys", "publishedCounter") ?? 0) > 0 ? "UNPUBLISHED" : "SAVED" };
  if (version <= published + 1) return { status: "PUBLISHED" };
  return {
    status: "SAVED",
    note: "it has a draft that is newer than what is published, and the export has only the draft",
  };
}
