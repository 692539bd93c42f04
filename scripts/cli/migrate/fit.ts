/**
 * Fits a document to the content: other systems keep values that do not meet the rules of their own fields. Such rules
 * are left out, and reported, so that no value is.
 */
import { isObject } from "../../../shared/kernel/json.ts";
import type {
  FieldDefinition,
  Linked,
  Loss,
  SchemaDefinition,
  Source,
  SourceEntry,
  Status,
} from "./model/source.ts";
import { isDay, isEmpty, linksIn, valuesOf } from "./model/values.ts";

/** Maximum characters of the types. */
const LENGTHS: Readonly<Record<string, number>> = { string: 10_000, slug: 200, email: 254, url: 2_048 };
const SLUG = /^[a-z0-9]+(?:-[a-z0-9]+)*$/;
const EMAIL =
  /^[\w.!#$%&'*+/=?^`{|}~-]+@[a-z0-9](?:[a-z0-9-]*[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]*[a-z0-9])?)+$/i;

/** What is known of all entries. */
export interface Fitted {
  schemas: SchemaDefinition[];
  /** The state of each entry, by schema and id. */
  known: ReadonlyMap<string, ReadonlyMap<string, Status>>;
  losses: Loss[];
}

/** Counts what the values of a field do not meet. */
class FieldFit {
  readonly #field: FieldDefinition;
  readonly #first: string;
  readonly #pattern: RegExp | undefined;
  /** The entry of each unique value. */
  readonly #seen = new Map<string, string>();
  readonly broken = new Map<string, number>();
  #count = 0;
  #days = 0;
  #longest = 0;
  #scale = 0;

  constructor(field: FieldDefinition, first: string) {
    this.#field = field;
    this.#first = first;
    this.#pattern = patternOf(field.pattern);
  }

  /** @param isWritten whether the entry that a reference leads to is written before this one, in a fitting state */
  take(entry: string, value: unknown, isWritten: (link: Linked) => boolean): void {
    const { required, translatable } = this.#field;
    const places = translatable === true && isObject(value) ? value : { [this.#first]: value };
    if (required === true && !this.#isGiven(places[this.#first], isWritten)) this.#break("required");
    for (const [place, some] of Object.entries(places))
      for (const one of valuesOf({ ...this.#field, translatable: false }, some)) this.#one(entry, place, one);
  }

  #isGiven(value: unknown, isWritten: (link: Linked) => boolean): boolean {
    return !isEmpty(value) && linksIn(value).every(isWritten);
  }

  #break(rule: string): void {
    this.broken.set(rule, (this.broken.get(rule) ?? 0) + 1);
  }

  #one(entry: string, place: string, value: unknown): void {
    const { unique, enum: allowed, min, max } = this.#field;
    this.#count++;
    if (isDay(value)) this.#days++;
    const size = typeof value === "string" ? value.length : value;
    if (typeof value === "string") this.#longest = Math.max(this.#longest, value.length);
    if (typeof size === "number" && typeof min === "number" && size < min) this.#break("min");
    if (typeof size === "number" && typeof max === "number" && size > max) this.#break("max");
    if (allowed !== undefined && !allowed.some((one) => one === value)) this.#break("enum");
    if (typeof value === "string" && this.#pattern?.test(value) === false) this.#break("pattern");
    if (!hasForm(this.#field.type, value)) this.#break("type");
    if (this.#field.type === "decimal") this.#scale = Math.max(this.#scale, digitsOf(value));
    if (unique !== true) return;
    const text = typeof value === "string" ? value.normalize("NFC").trim() : JSON.stringify(value);
    const form = `${place}\n${text}`;
    // A draft may have the value of its own entry.
    if ((this.#seen.get(form) ?? entry) !== entry) this.#break("unique");
    this.#seen.set(form, entry);
  }

  /** Returns the field without the rules that values do not meet. */
  fitted(tell: (rule: string, count: number) => void): FieldDefinition {
    const field: Record<string, unknown> = { ...this.#field };
    for (const [rule, count] of this.broken) {
      tell(rule, count);
      if (rule === "type") field.type = "string";
      else delete field[rule];
      if (rule === "type") delete field.from;
      if (rule === "pattern") delete field.message;
    }
    if (field.type === "datetime" && this.#count > 0 && this.#days === this.#count) field.type = "date";
    if (typeof field.scale === "number") field.scale = Math.min(18, Math.max(field.scale, this.#scale));
    if (field.type === "string" && this.#longest > (LENGTHS.string ?? 0)) {
      field.type = "text";
      delete field.unique;
    }
    return { ...field, name: this.#field.name, type: String(field.type) };
  }
}

/** Returns the number of digits after the point. */
function digitsOf(value: unknown): number {
  const [, digits = ""] = /^-?\d+\.(\d+)$/.exec(String(value)) ?? [];
  return digits.replace(/0+$/, "").length;
}

function patternOf(pattern: unknown): RegExp | undefined {
  const [, flags = "", source] =
    typeof pattern === "string" ? (/^(?:\(\?([ims]+)\))?(.*)$/s.exec(pattern) ?? []) : [];
  try {
    return source === undefined ? undefined : new RegExp(source, `${flags}u`);
  } catch {
    return undefined;
  }
}

/** Returns whether a value has the form that a type of text requires. */
function hasForm(type: string, value: unknown): boolean {
  if (typeof value !== "string") return true;
  if (type !== "slug" && type !== "email" && type !== "url") return true;
  if (value.length > (LENGTHS[type] ?? 0)) return false;
  if (type === "slug") return SLUG.test(value);
  if (type === "email") return EMAIL.test(value);
  return /^https?:\/\/[^\s@]+$/i.test(value) && URL.canParse(value);
}

/** Reads all entries once. @param order ids of the schemas, in the order in which they are written */
export async function fitDocument(source: Source, order: readonly string[]): Promise<Fitted> {
  const [first = ""] = source.document.languages;
  const known = new Map<string, Map<string, Status>>();
  const losses: Loss[] = [];
  const schemas = new Map<string, SchemaDefinition>();
  for (const id of order) {
    const schema = source.document.schemas.find((one) => one.id === id);
    if (schema === undefined) continue;
    const fits = schema.fields.map((field) => new FieldFit(field, first));
    const states = new Map<string, Status>();
    known.set(id, states);
    for await (const entry of source.entries(id)) {
      if (states.has(entry.id)) losses.push(twice(entry));
      states.set(entry.id, entry.status);
      const isWritten = (link: Linked) => isReady(entry, known.get(link.schema)?.get(link.id));
      const draft = { ...entry, status: "SAVED" as const };
      const isKnown = (link: Linked) => isReady(draft, known.get(link.schema)?.get(link.id));
      for (const [at, { name }] of schema.fields.entries()) {
        fits[at]?.take(entry.id, entry.values[name], isWritten);
        if (entry.draft !== undefined) fits[at]?.take(entry.id, entry.draft[name], isKnown);
      }
    }
    const fields = schema.fields.map((field, at) => {
      const tell = (rule: string, count: number) =>
        losses.push({
          ...{ kind: "model", at: `${id}.${field.name}` },
          why: `${count} ${count === 1 ? "value does" : "values do"} not meet the rule ${ruleText(field, rule)}`,
          became: rule === "type" ? "a field of type string" : "the field without this rule",
        });
      return fits[at]?.fitted(tell) ?? field;
    });
    schemas.set(id, { ...schema, fields });
  }
  return { schemas: source.document.schemas.map((one) => schemas.get(one.id) ?? one), known, losses };
}

/** Returns whether an entry can refer to one in a state. What is published can refer to published entries only. */
export const isReady = (entry: Pick<SourceEntry, "status">, target: Status | undefined): boolean =>
  target !== undefined && (entry.status !== "PUBLISHED" || target === "PUBLISHED");

const ruleText = (field: FieldDefinition, rule: string) =>
  `${rule} ${JSON.stringify(rule === "type" ? field.type : field[rule])}`.slice(0, 200);

const twice = ({ schema, id }: SourceEntry): Loss => ({
  ...{ kind: "entry", at: `${schema} ${id}` },
  ...{ why: "the source has two entries with this id", became: "the later one" },
});

/** Returns the ids of schemas so that, as far as possible, a schema comes after those that its fields refer to. */
export function writingOrder({ schemas, components }: Source["document"]): string[] {
  const order: string[] = [];
  const begun = new Set<string>();
  const visit = (id: string) => {
    const schema = schemas.find((one) => one.id === id);
    if (schema === undefined || begun.has(id)) return;
    begun.add(id);
    for (const target of targetsIn(schema.fields, components)) visit(target);
    order.push(id);
  };
  for (const { id } of schemas) visit(id);
  return order;
}

export function targetsIn(
  fields: readonly FieldDefinition[],
  components: Source["document"]["components"],
): string[] {
  return fields.flatMap((field) => {
    const { ref, links } = field;
    const own = [ref, links].flat().filter((one): one is string => typeof one === "string");
    const used = [field.component ?? [], field.components ?? []].flat();
    const inner = components.filter(({ id }) => used.includes(id)).flatMap((one) => one.fields);
    return [...own, ...targetsIn([...inner, ...(field.fields ?? [])], components)];
  });
}
