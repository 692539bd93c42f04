/** Reads an export of Sanity: `data.ndjson`, with the folders of its files beside it. */
import { stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { isObject } from "../../../../shared/kernel/json.ts";
import { CommandError } from "../../command/context.ts";
import { Names } from "../model/names.ts";
import { readJsonLines, textIn } from "../model/read-json.ts";
import {
  entryLabel,
  type Loss,
  type SchemaDefinition,
  type Source,
  type SourceEntry,
  type SourceOptions,
} from "../model/source.ts";
import { type Field, Fields, publishedId } from "./sanity-fields.ts";
import { learnMembers, newShape, typesIn } from "./sanity-shape.ts";

type Document = Record<string, unknown> & { _id: string; _type: string };

/** A published document, its draft, or both. */
interface Pair {
  published?: Document;
  draft?: Document;
}

/** Types that Sanity itself writes. */
const OWN_TYPE = /^(?:system|sanity)\./;
const DRAFT = "drafts.";
const VERSION = /^versions\./;
/** All documents are kept in memory. */
const MOST_CHARACTERS = 512 * 1024 * 1024;

export async function openSanity({ source }: SourceOptions): Promise<Source> {
  const isFolder = (await stat(source).catch(() => undefined))?.isDirectory() === true;
  const path = isFolder ? join(source, "data.ndjson") : source;
  if (/\.(?:tar\.)?gz$/.test(path))
    throw new CommandError(
      `${path} is an archive. Unpack it with: tar xzf ${path}, and name the file data.ndjson.`,
    );
  const documents: Document[] = [];
  let characters = 0;
  for await (const one of readJsonLines(path)) {
    if (!isDocument(one))
      throw new CommandError(
        `${path} has a line without _id and _type. Write it with: sanity dataset export`,
      );
    characters += JSON.stringify(one).length;
    if (characters > MOST_CHARACTERS)
      throw new CommandError(`${path} has more than 512 MiB. Export some types at a time, with --types.`);
    documents.push(one);
  }
  const sanity = new Sanity(documents);
  return {
    ...{ document: sanity.document, losses: sanity.losses, folder: dirname(path) },
    async *entries(schema) {
      yield* sanity.entries(schema);
    },
  };
}

const isDocument = (value: unknown): value is Document =>
  isObject(value) && typeof value._id === "string" && typeof value._type === "string";

class Sanity {
  readonly losses: Loss[] = [];
  readonly document: Source["document"];
  readonly #pairs = new Map<string, Pair>();
  readonly #assets = new Map<string, string>();
  /** Type and fields of each schema. */
  readonly #schemas = new Map<string, { type: string; fields: readonly Field[] }>();
  readonly #fields: Fields;

  constructor(all: readonly Document[]) {
    const own = all.filter((document) => this.#take(document));
    const names = new Names("schema", "type", this.losses);
    const typeOf = (id: string) => this.#typeOf(id);
    this.#fields = new Fields(
      {
        ...{ typeOf, losses: this.losses, schemaOf: (type) => names.of(type) },
        addressOf: (id) => this.#assets.get(id),
      },
      typesIn(own, typeOf),
      own,
    );
    const schemas: SchemaDefinition[] = [];
    for (const [type, documents] of Map.groupBy(own, ({ _type }) => _type)) {
      const shape = newShape();
      for (const document of documents) learnMembers(shape, document, typeOf);
      const fields = this.#fields.of(shape, `type ${type}`);
      const id = names.of(type);
      this.#schemas.set(id, { type, fields });
      const empty = [{ name: "empty", type: "boolean" }];
      schemas.push({
        id,
        name: type,
        fields: fields.length > 0 ? fields.map((one) => one.definition) : empty,
      });
    }
    const { components } = this.#fields;
    this.document = { name: "Sanity", languages: ["en"], components, schemas };
    this.losses.push({
      ...{ kind: "model", at: "_updatedAt, _rev" },
      why: "the platform says itself when an entry was changed",
      became: "the time of the import; _createdAt is carried",
    });
  }

  /** Remembers a document. Returns whether it is content. */
  #take(document: Document): boolean {
    const { _id: id, _type: type } = document;
    if (type === "sanity.imageAsset" || type === "sanity.fileAsset") {
      const url = textIn(document, "url");
      if (url !== undefined) this.#assets.set(id, url);
      return false;
    }
    const isVersion = VERSION.test(id);
    if (OWN_TYPE.test(type) || isVersion) {
      const why = isVersion ? "versions of releases have no counterpart" : "Sanity itself has written it";
      this.losses.push({ kind: "model", at: `document ${id}`, why, became: "left out" });
      return false;
    }
    const pair = this.#pairs.get(publishedId(id)) ?? {};
    if (id.startsWith(DRAFT)) pair.draft = document;
    else pair.published = document;
    this.#pairs.set(publishedId(id), pair);
    return true;
  }

  #typeOf(id: string): string | undefined {
    const pair = this.#pairs.get(publishedId(id));
    return (pair?.published ?? pair?.draft)?._type;
  }

  *entries(schema: string): Generator<SourceEntry> {
    const own = this.#schemas.get(schema);
    const pairs = [...this.#pairs].filter(
      ([, { published, draft }]) => (published ?? draft)?._type === own?.type,
    );
    const at = ([, { published, draft }]: [string, Pair]) => textIn(published ?? draft, "_createdAt") ?? "";
    pairs.sort((a, b) => (at(a) < at(b) ? -1 : at(a) > at(b) ? 1 : 0));
    for (const [id, pair] of pairs) yield this.#entry(schema, id, pair, own?.fields ?? []);
  }

  #entry(schema: string, id: string, { published, draft }: Pair, fields: readonly Field[]): SourceEntry {
    const main = published ?? draft ?? {};
    const losses: Loss[] = [];
    const tell = (loss: Pick<Loss, "why" | "became">) =>
      losses.push({ kind: "value", at: entryLabel({ schema, id }), ...loss });
    const values = this.#fields.values(fields, main, tell);
    const isNewer = published !== undefined && draft !== undefined;
    return {
      ...{ schema, id, losses, values, createdAt: textIn(main, "_createdAt") },
      status: published === undefined ? "SAVED" : "PUBLISHED",
      ...(isNewer ? { draft: withRemovals(values, this.#fields.values(fields, draft, tell)) } : {}),
    };
  }
}

/** Returns the values of a draft, with `null` for those that it has removed. */
function withRemovals(before: Readonly<Record<string, unknown>>, after: Readonly<Record<string, unknown>>) {
  const removed = Object.keys(before).filter((name) => after[name] === undefined || after[name] === null);
  return { ...after, ...Object.fromEntries(removed.map((name) => [name, null])) };
}
