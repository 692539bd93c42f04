/** Compares what the other system has with what the orb has: both are read again. */
import { equal, isObject } from "../../../shared/kernel/json.ts";
import { type Context, manage } from "../command/context.ts";
import { pagesOf } from "../command/pages.ts";
import { bar } from "../command/progress.ts";
import {
  entryLabel,
  type FieldDefinition,
  Linked,
  MODULE,
  SOURCE_ID,
  type SourceEntry,
  SourceFile,
} from "./model/source.ts";
import { isEmpty, withOffset } from "./model/values.ts";
import { nameOf, refOf, valuesOf } from "./rows.ts";
import type { WriteInput, Written } from "./write.ts";

export interface Difference {
  /** The entry and, if only a value differs, its field. */
  at: string;
  source: string;
  stored: string;
}

export interface SchemaParity {
  schema: string;
  /** Entries of the source, those of them that are stored, and stored entries that the source does not have. */
  source: number;
  stored: number;
  others: number;
  /** Values of the source, one for each field and language, and those that are stored as they are there. */
  values: number;
  equal: number;
  files: number;
  equalFiles: number;
}

export interface Parity {
  schemas: SchemaParity[];
  differences: Difference[];
}

interface StoredEntry {
  id: string;
  status: string;
  createdAt: string;
  createdBy: string;
  values: Record<string, unknown>;
}

/** A filter takes this many values. */
const AT_ONCE = 100;
const PAGE = "200";

export async function compare(context: Context, input: WriteInput, written: Written): Promise<Parity> {
  return new Comparison(context, input, written).run();
}

class Comparison {
  readonly #context: Context;
  readonly #input: WriteInput;
  readonly #written: Written;
  /** Ids in the source by the ids of the orb's entries. */
  readonly #ids = new Map<string, string>();
  readonly #differences: Difference[] = [];
  #shown: ReturnType<typeof bar>;
  #done = 0;

  constructor(context: Context, input: WriteInput, written: Written) {
    this.#context = context;
    this.#input = input;
    this.#written = written;
    const total = [...input.fitted.known.values()].reduce((sum, { size }) => sum + size, 0);
    this.#shown = bar(context, "entries compared", total);
  }

  async run(): Promise<Parity> {
    const others = new Map<string, number>();
    for (const schema of this.#input.order) others.set(schema, await this.#readIds(schema));
    const schemas: SchemaParity[] = [];
    for (const schema of this.#input.order)
      schemas.push(await this.#compare(schema, others.get(schema) ?? 0));
    this.#shown.end();
    return { schemas, differences: this.#differences };
  }

  async #page(schema: string, query: { cursor?: string; [name: string]: string | undefined }) {
    const path = `/api/admin/orbs/${encodeURIComponent(this.#input.orb)}/entries`;
    return manage<{ items: StoredEntry[]; nextCursor: string | null }>(this.#context, "GET", path, {
      query: { module: MODULE, schema, limit: PAGE, ...query },
    });
  }

  /** Reads which entries the orb has. Returns the number of those that the source does not have. */
  async #readIds(schema: string): Promise<number> {
    const known = this.#input.fitted.known.get(schema);
    let others = 0;
    for await (const { items } of pagesOf((at) => this.#page(schema, at))) {
      for (const { id, values } of items) {
        const sourceId = values[SOURCE_ID];
        if (typeof sourceId !== "string" || known?.has(sourceId) !== true) others++;
        else this.#ids.set(id, `${schema}\n${sourceId}`);
      }
    }
    return others;
  }

  async #compare(schema: string, others: number): Promise<SchemaParity> {
    const counts = {
      ...{ schema, source: 0, stored: 0, others },
      ...{ values: 0, equal: 0, files: 0, equalFiles: 0 },
    };
    let some: SourceEntry[] = [];
    const flush = async () => {
      const stored = await this.#storedOf(schema, some);
      for (const entry of some) {
        const found = stored.get(entry.id);
        this.#entry(entry, found, counts);
        if (entry.draft !== undefined && found !== undefined) await this.#published(entry, found, counts);
      }
      this.#done += some.length;
      this.#shown.at(this.#done);
      some = [];
    };
    for await (const entry of this.#input.source.entries(schema)) {
      some.push(entry);
      if (some.length === AT_ONCE) await flush();
    }
    if (some.length > 0) await flush();
    return counts;
  }

  /** Returns the stored entries of entries of the source. */
  async #storedOf(schema: string, entries: readonly SourceEntry[]): Promise<Map<string, StoredEntry>> {
    const found = new Map<string, StoredEntry>();
    const simple = entries.filter(({ id }) => !id.includes(","));
    const filters = entries
      .filter(({ id }) => id.includes(","))
      .map(({ id }) => [`filter[${SOURCE_ID}]`, id]);
    if (simple.length > 0) filters.push([`filter[${SOURCE_ID}][in]`, simple.map(({ id }) => id).join(",")]);
    for (const [name = "", value = ""] of filters) {
      for await (const { items } of pagesOf((at) => this.#page(schema, { [name]: value, ...at })))
        for (const one of items) found.set(String(one.values[SOURCE_ID]), one);
    }
    return found;
  }

  #tell(entry: SourceEntry, field: string | undefined, source: unknown, stored: unknown): void {
    this.#differences.push({
      at: entryLabel(entry, field),
      source: shortOf(source),
      stored: shortOf(stored),
    });
  }

  #entry(entry: SourceEntry, stored: StoredEntry | undefined, counts: SchemaParity): void {
    counts.source++;
    if (stored === undefined) this.#tell(entry, undefined, "an entry", "none");
    else {
      counts.stored++;
      this.#origin(entry, stored);
    }
    // Responses have the newest draft.
    this.#values(entry, valuesOf(entry, "draft"), stored?.values, counts);
  }

  #values(
    entry: SourceEntry,
    values: Readonly<Record<string, unknown>>,
    stored: Readonly<Record<string, unknown>> | undefined,
    counts: SchemaParity,
  ): void {
    const { fields = [] } = this.#input.fitted.schemas.find(({ id }) => id === entry.schema) ?? {};
    for (const field of fields)
      for (const [place, value, other] of placesOf(field, values[field.name], stored?.[field.name])) {
        if (isEmpty(value) && (isEmpty(other) || field.type === "slug")) continue;
        const isSame = stored !== undefined && this.#agree(field.type, value, other);
        const isFile = value instanceof SourceFile;
        counts[isFile ? "files" : "values"]++;
        if (isSame) counts[isFile ? "equalFiles" : "equal"]++;
        else if (stored !== undefined) this.#tell(entry, `${field.name}${place}`, value, other);
      }
  }

  /** Compares what is published of an entry that has a newer draft. */
  async #published(entry: SourceEntry, { id }: StoredEntry, counts: SchemaParity): Promise<void> {
    const path = `/api/admin/orbs/${encodeURIComponent(this.#input.orb)}/entries/${encodeURIComponent(id)}`;
    const query = { revision: "published" };
    const { values } = await manage<StoredEntry>(this.#context, "GET", path, { query });
    this.#values(entry, entry.values, values, counts);
  }

  #origin(entry: SourceEntry, stored: StoredEntry): void {
    if (entry.status !== stored.status) this.#tell(entry, "status", entry.status, stored.status);
    const { createdAt, createdBy } = entry;
    if (createdAt !== undefined && Date.parse(createdAt) !== Date.parse(stored.createdAt))
      this.#tell(entry, "createdAt", createdAt, stored.createdAt);
    if (createdBy !== undefined && createdBy !== "" && createdBy !== stored.createdBy)
      this.#tell(entry, "createdBy", createdBy, stored.createdBy);
  }

  /** Returns whether a stored value is what the source has. The platform may have added to objects, such as keys. */
  #agree(type: string, value: unknown, stored: unknown): boolean {
    if (isEmpty(value) || isEmpty(stored)) return isEmpty(value) && isEmpty(stored);
    if (value instanceof Linked) return this.#isTarget(value, stored);
    if (value instanceof SourceFile) return this.#isContent(value, stored);
    if (type === "json") return equal(value, stored);
    if (Array.isArray(value))
      return (
        Array.isArray(stored) &&
        value.length === stored.length &&
        value.every((one, at) => this.#agree(type, one, stored[at]))
      );
    if (isObject(value))
      return (
        isObject(stored) && Object.keys(value).every((name) => this.#agree("", value[name], stored[name]))
      );
    if (value === stored) return true;
    if (type === "datetime") return Date.parse(String(withOffset(value))) === Date.parse(String(stored));
    if (type === "decimal") return plainDecimal(value) === plainDecimal(stored);
    return type === "url" && URL.canParse(String(value)) && new URL(String(value)).href === stored;
  }

  #isTarget({ schema, id, form }: Linked, stored: unknown): boolean {
    const target = isObject(stored) ? stored.id : stored;
    const isNamed = form === "one" || (isObject(stored) && stored.schema === refOf(this.#input.orb, schema));
    return isNamed && typeof target === "string" && this.#ids.get(target) === `${schema}\n${id}`;
  }

  #isContent(file: SourceFile, stored: unknown): boolean {
    const name = nameOf(file, this.#input.folder);
    const sha256 = name === undefined ? undefined : this.#written.contentOf(name);
    return isObject(stored) && sha256 !== undefined && stored.sha256 === sha256;
  }
}

/** Returns a decimal number without zeros that say nothing. */
function plainDecimal(value: unknown): string {
  const text = String(value);
  const isPlain = /^-?\d+(?:\.\d+)?$/.test(text);
  return isPlain
    ? text
        .replace(/(\.\d*?)0+$/, "$1")
        .replace(/\.$/, "")
        .replace(/^-0$/, "0")
    : text;
}

/** Returns the values of a field in both systems, one pair for each language. */
function placesOf(field: FieldDefinition, value: unknown, stored: unknown): [string, unknown, unknown][] {
  if (field.translatable !== true) return [["", value, stored]];
  const [source, other] = [isObject(value) ? value : {}, isObject(stored) ? stored : {}];
  const places = new Set([...Object.keys(source), ...Object.keys(other)]);
  return [...places].map((place) => [`.${place}`, source[place], other[place]]);
}

function shortOf(value: unknown): string {
  const text = typeof value === "string" ? value : (JSON.stringify(value) ?? "nothing");
  return text.length > 200 ? `${text.slice(0, 200)}…` : text;
}
