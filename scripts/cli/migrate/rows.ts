/** Makes the rows of an import from the entries of another system. */
import { existsSync } from "node:fs";
import { resolve, sep } from "node:path";
import { unescapeSegment } from "../../../shared/kernel/faults.ts";
import { isObject } from "../../../shared/kernel/json.ts";
import type { Row } from "../../../shared/rows/row.ts";
import { type Fitted, isReady } from "./fit.ts";
import {
  entryLabel,
  type FieldDefinition,
  Linked,
  type Loss,
  MODULE,
  SOURCE_ID,
  type SourceEntry,
  SourceFile,
} from "./model/source.ts";
import { linksIn, mapValues, withOffset } from "./model/values.ts";

/** A line must be smaller than this many characters, which is the limit of the platform. */
const LINE_LIMIT = 512 * 1024 - 1024;

/** What is known while rows are made. */
export interface RowContext {
  orb: string;
  fitted: Fitted;
  /** Folder of the files. */
  folder: string | undefined;
  /** Why files cannot be uploaded, by the names in the rows. */
  noFiles: ReadonlyMap<string, string>;
  /** Why the platform refuses parts of entries, by entry and then by JSON Pointer inside the values. */
  refused: ReadonlyMap<string, ReadonlyMap<string, string>>;
  /** Entries that the platform refuses as a whole. */
  lost: ReadonlySet<string>;
}

/**
 * Which row of an entry to make. `first`: without the fields that refer to entries of later rows. `live`: what readers
 * may see. `draft`: with all references, and without state and dates, so that a published entry gets a newer draft.
 */
export type Form = "first" | "live" | "draft";

export interface MadeRow {
  row: Row;
  /** What of the entry is not in the row, and will not follow. */
  losses: Loss[];
  /** Whether a draft must follow: with references that only a draft can have, or with the values of a newer draft. */
  isHeld: boolean;
  /** Whether references are missing that only a draft can have. */
  lacksReferences: boolean;
  /** Whether fields are missing that refer to entries of later rows. */
  isLate: boolean;
}

export const keyOf = ({ schema, id }: { schema: string; id: string }): string => `${schema}\n${id}`;

/** Returns the full name of a schema in references. */
export const refOf = (orb: string, schema: string): string => `${orb}/${MODULE}/${schema}`;

/** Returns the name of a file in rows: its path if the folder has it, otherwise its address. Hidden files are none. */
export function nameOf({ path, address }: SourceFile, folder: string | undefined): string | undefined {
  if (path === undefined || isHidden(path)) return address;
  if (address === undefined) return path;
  const root = resolve(folder ?? ".");
  const full = resolve(root, path);
  return folder !== undefined && full.startsWith(root + sep) && existsSync(full) ? path : address;
}

/** Returns whether a path leads to a file like `.env`, or out of its folder. */
const isHidden = (path: string): boolean =>
  path.split(/[\\/]/).some((part) => part.startsWith(".") && part !== ".");

/**
 * Makes the row of an entry.
 * @param isSent whether the row of an entry was sent before; only for the form `first`
 */
export function rowOf(
  context: RowContext,
  entry: SourceEntry,
  line: number,
  form: Form = "live",
  isSent: (key: string) => boolean = () => true,
): MadeRow {
  const maker = new RowMaker(context, entry, form, isSent);
  const values = maker.values();
  const members = new Map<string, string>([
    ["module", JSON.stringify(MODULE)],
    ["schema", JSON.stringify(entry.schema)],
    ["values", JSON.stringify(values)],
  ]);
  if (form !== "draft") {
    members.set("status", JSON.stringify(entry.status));
    for (const [name, value] of Object.entries(maker.dates())) members.set(name, JSON.stringify(value));
  }
  const { losses, lacksReferences, isLate } = maker;
  return {
    row: { line, members },
    losses,
    lacksReferences,
    isLate,
    isHeld: lacksReferences || entry.draft !== undefined,
  };
}

/** Returns the values of an entry: those that readers may see, or those of the newest draft. */
export const valuesOf = ({ values, draft }: SourceEntry, form: Form) =>
  form === "draft" ? (draft ?? values) : values;

class RowMaker {
  readonly #context: RowContext;
  readonly #entry: SourceEntry;
  readonly #form: Form;
  readonly #isSent: (key: string) => boolean;
  readonly losses: Loss[];
  lacksReferences = false;
  isLate = false;

  constructor(context: RowContext, entry: SourceEntry, form: Form, isSent: (key: string) => boolean) {
    this.#context = context;
    this.#entry = entry;
    this.#form = form;
    this.#isSent = isSent;
    this.losses = [...(entry.losses ?? [])];
  }

  #tell(kind: Loss["kind"], field: string | undefined, why: string, became: string): void {
    this.losses.push({ kind, at: entryLabel(this.#entry, field), why, became });
  }

  values(): Record<string, unknown> {
    const fields = this.#context.fitted.schemas.find(({ id }) => id === this.#entry.schema)?.fields ?? [];
    const values: Record<string, unknown> = { [SOURCE_ID]: this.#entry.id };
    for (const field of fields) {
      const given = valuesOf(this.#entry, this.#form)[field.name];
      const isMissing = given === undefined || given === null;
      // Without a value, a draft would keep the one that is published, and a new entry would get the default.
      const isNull = this.#form === "draft" ? given === null : isMissing && field.default !== undefined;
      if (isNull) values[field.name] = null;
      if (isMissing) continue;
      if (this.#form === "first" && linksIn(given).some((link) => this.#isLater(link))) {
        this.isLate = true;
        continue;
      }
      const value = this.#resolved(this.#dated(field, given), field.name);
      if (value !== undefined) values[field.name] = value;
    }
    for (const [way, why] of unitsOf(values, this.#context.refused.get(keyOf(this.#entry)) ?? new Map())) {
      removeAt(values, way);
      this.#tell("value", way.join("."), `the platform refuses it: it ${why}`, "left out");
    }
    this.#shorten(values);
    return values;
  }

  dates(): Record<string, string> {
    const { createdAt, createdBy, validFrom } = this.#entry;
    const refused = this.#context.refused.get(keyOf(this.#entry));
    const found: Record<string, string> = {};
    for (const [name, value] of Object.entries({ createdAt, createdBy, validFrom })) {
      if (value === undefined || value === "") continue;
      const why = refused?.get(`/${name}`);
      if (why !== undefined) this.#tell("value", name, `the platform refuses it: it ${why}`, "left out");
      else found[name] = value;
    }
    return found;
  }

  #dated(field: FieldDefinition, value: unknown): unknown {
    if (field.type !== "datetime") return value;
    return mapValues(field, value, (one) => {
      const moment = withOffset(one);
      if (moment !== one)
        this.#tell("value", field.name, `${String(one)} has no time zone`, `${String(moment)}`);
      return moment;
    });
  }

  /** Returns a value with its references and files; undefined if nothing of it can be carried. */
  #resolved(value: unknown, field: string): unknown {
    if (value instanceof Linked) return this.#reference(value, field);
    if (value instanceof SourceFile) return this.#file(value, field);
    if (Array.isArray(value))
      return value.map((one) => this.#resolved(one, field)).filter((one) => one !== undefined);
    if (!isObject(value)) return value;
    const found = Object.entries(value).map(([name, one]) => [name, this.#resolved(one, field)] as const);
    return withoutBrokenLinks(Object.fromEntries(found.filter(([, one]) => one !== undefined)));
  }

  #isLater(link: Linked): boolean {
    const isKnown = this.#context.fitted.known.get(link.schema)?.has(link.id) === true;
    return isKnown && !this.#isSent(keyOf(link));
  }

  #reference({ schema, id, form }: Linked, field: string): unknown {
    const { orb, fitted } = this.#context;
    const state = fitted.known.get(schema)?.get(id);
    if (state === undefined) {
      this.#tell("value", field, `the source has no ${schema} ${id}`, "left out");
      return undefined;
    }
    if (this.#context.lost.has(keyOf({ schema, id }))) {
      this.#tell("value", field, `${schema} ${id} could not be stored`, "left out");
      return undefined;
    }
    if (this.#form !== "draft" && !isReady(this.#entry, state)) {
      this.lacksReferences = true;
      return undefined;
    }
    const key = { [SOURCE_ID]: id };
    if (form === "one") return key;
    const name = refOf(orb, schema);
    return form === "link" ? { schema: name, id: key } : { schema: name, ...key };
  }

  #file(file: SourceFile, field: string): unknown {
    const name = nameOf(file, this.#context.folder);
    const why = name === undefined ? "the source does not say where it is" : this.#context.noFiles.get(name);
    if (why === undefined) return name;
    this.#tell("file", field, why, "left out");
    return undefined;
  }

  /** Leaves out the largest values of an entry that is too large. */
  #shorten(values: Record<string, unknown>): void {
    for (;;) {
      const sizes = Object.entries(values).map(
        ([name, value]) => [name, JSON.stringify(value).length] as const,
      );
      const total = sizes.reduce((sum, [name, size]) => sum + name.length + size + 4, 2);
      const [largest] = sizes.filter(([name]) => name !== SOURCE_ID).toSorted(([, a], [, b]) => b - a);
      if (total < LINE_LIMIT || largest === undefined) return;
      const [name, size] = largest;
      delete values[name];
      const kib = Math.ceil(size / 1024);
      this.#tell("value", name, `the entry is too large, and this value has ${kib} KiB`, "left out");
    }
  }
}

/** Removes links of rich text whose entry is missing, and the marks that name them. */
function withoutBrokenLinks(block: Record<string, unknown>): Record<string, unknown> {
  const { markDefs, children } = block;
  if (block._type !== "block" || !Array.isArray(markDefs) || !Array.isArray(children)) return block;
  const isWhole = (link: unknown) => isObject(link) && ("href" in link || "reference" in link);
  const broken = new Set<unknown>(
    markDefs.filter((link) => !isWhole(link)).map((link) => (isObject(link) ? link._key : undefined)),
  );
  if (broken.size === 0) return block;
  return {
    ...block,
    markDefs: markDefs.filter(isWhole),
    children: children.map((span: unknown) =>
      isObject(span) && Array.isArray(span.marks)
        ? { ...span, marks: span.marks.filter((mark) => !broken.has(mark)) }
        : span,
    ),
  };
}

/** Returns the names and positions in a JSON Pointer behind `/values`; nothing for a pointer to something else. */
function wayOf(pointer: string): string[] {
  const [, member, ...way] = pointer.split("/").map(unescapeSegment);
  return member === "values" ? way : [];
}

/**
 * Returns the smallest parts of values that can be left out because of faults in them: an item of a list, the value in a
 * language, or the value of a field. Later items of a list come first, so that the others keep their positions.
 */
function unitsOf(
  values: Readonly<Record<string, unknown>>,
  refused: ReadonlyMap<string, string>,
): [string[], string][] {
  const units = new Map<string, [string[], string]>();
  for (const [pointer, why] of refused) {
    const [name = "", first = "", second = ""] = wayOf(pointer);
    if (name === "" || name === SOURCE_ID || !Object.hasOwn(values, name)) continue;
    const value = values[name];
    const inner = isObject(value) && Object.hasOwn(value, first) ? value[first] : undefined;
    const way = isItem(value, first)
      ? [name, first]
      : inner === undefined
        ? [name]
        : isItem(inner, second)
          ? [name, first, second]
          : [name, first];
    if (!units.has(way.join("/"))) units.set(way.join("/"), [way, why]);
  }
  const last = ([way]: [string[], string]) => Number(way.at(-1));
  return [...units.values()].sort((a, b) => (last(b) || 0) - (last(a) || 0));
}

const isItem = (list: unknown, at: string) =>
  Array.isArray(list) && /^\d+$/.test(at) && Number(at) < list.length;

function removeAt(values: Record<string, unknown>, [name = "", ...way]: readonly string[]): void {
  const value = values[name];
  const [first, second] = way;
  if (first === undefined) delete values[name];
  else if (Array.isArray(value)) values[name] = value.toSpliced(Number(first), 1);
  else if (isObject(value)) {
    const { [first]: inner, ...rest } = value;
    const kept =
      second !== undefined && Array.isArray(inner) ? { [first]: inner.toSpliced(Number(second), 1) } : {};
    values[name] = { ...rest, ...kept };
  }
}
