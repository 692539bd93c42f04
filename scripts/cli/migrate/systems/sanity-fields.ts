/** Makes fields and components of the shapes of Sanity's documents, and converts their values. */
import { isObject } from "../../../../shared/kernel/json.ts";
import { Names } from "../model/names.ts";
import { numberIn, textIn } from "../model/read-json.ts";
import {
  type ComponentDefinition,
  type FieldDefinition,
  Linked,
  type Loss,
  SourceFile,
} from "../model/source.ts";
import { isAsset, newShape, type Shape } from "./sanity-shape.ts";
import { type Formats, formatsOf, textOf } from "./sanity-text.ts";

type Form = "plain" | "json" | "slug" | "reference" | "asset" | "point" | "object" | "blocks" | "text";

/** A field of a document or an object, and how its values are converted. */
export interface Field {
  source: string;
  definition: FieldDefinition;
  form: Form;
  fields: readonly Field[];
  /** By the `_type` of the objects. */
  blocks: ReadonlyMap<string, Component>;
}

interface Component {
  id: string;
  fields: readonly Field[];
}

export interface FieldContext {
  /** Returns the id of the schema for a type of documents. */
  schemaOf(type: string): string;
  /** Returns the type of the document with an id. */
  typeOf(id: string): string | undefined;
  /** Returns the address of an asset. */
  addressOf(id: string): string | undefined;
  losses: Loss[];
}

/** The platform allows objects inside each other to 8 levels. */
const MAX_LEVEL = 6;
const MOST_TARGETS = 50;
/** Component for parts of rich text that the platform does not know. */
export const PART = "sanity-part";

export class Fields {
  readonly #context: FieldContext;
  readonly #formats: Formats;
  /** All objects in lists, by their `_type`. */
  readonly #types: ReadonlyMap<string, Shape>;
  readonly #known = new Map<string, Component | undefined>();
  readonly #making = new Set<string>();
  readonly #ids: Names;
  /** Types of the fields of components, by name: components of one field must agree about them. */
  readonly #agreed = new Map<string, string>();
  readonly components: ComponentDefinition[] = [];

  constructor(context: FieldContext, types: ReadonlyMap<string, Shape>, documents: Iterable<unknown>) {
    this.#context = context;
    this.#types = types;
    this.#ids = new Names("schema", "object type", context.losses);
    this.#formats = formatsOf(documents);
  }

  /** @param at what contains the fields, for messages */
  of(shape: Shape, at: string, level = 0): Field[] {
    const names = new Names("field", `${at}, field`, this.#context.losses);
    return [...shape.members].flatMap(([source, member]) => {
      if (member.kinds.size === 0) return [];
      const place = `${at}, field ${source}`;
      return this.#field(member, source, names.of(source), place, level);
    });
  }

  #field(shape: Shape, source: string, name: string, at: string, level: number): Field {
    const base = { source, fields: [], blocks: new Map<string, Component>() };
    const [kind, ...others] = shape.kinds;
    const json = (why: string): Field => {
      this.#context.losses.push({ kind: "model", at, why, became: "a field of type json" });
      return { ...base, form: "json", definition: { name, type: "json" } };
    };
    if (others.length > 0) return json(`it has values of several types: ${[...shape.kinds].join(", ")}`);
    if (kind === "list") return this.#list(shape, source, name, at, level, json);
    if (kind === "object" || kind === "asset") {
      if (level >= MAX_LEVEL) return json("objects are too deep inside each other");
      const fields = this.#objectFields(shape, kind, at, level);
      if (fields.length === 0) return json("its objects have no members");
      const definition = { name, type: "object", fields: fields.map((one) => one.definition) };
      return { ...base, form: kind, fields, definition };
    }
    if (kind === "reference") return { ...base, form: "reference", definition: this.#reference(shape, name) };
    if (kind === "slug") return { ...base, form: "slug", definition: { name, type: "slug" } };
    if (kind === "point") return { ...base, form: "point", definition: { name, type: "point" } };
    return { ...base, form: "plain", definition: { name, type: plainType(shape) } };
  }

  #objectFields(shape: Shape, kind: "object" | "asset", at: string, level: number): Field[] {
    const fields = this.of(shape, at, level + 1);
    if (kind !== "asset") return fields;
    const asset = { source: "asset", form: "plain", fields: [], blocks: new Map() } as const;
    return [{ ...asset, definition: { name: "asset", type: "file" } }, ...fields];
  }

  #reference(shape: Shape, name: string): FieldDefinition {
    const targets = [...shape.targets].map((type) => this.#context.schemaOf(type)).slice(0, MOST_TARGETS);
    // References to documents that the export does not have have no schema. They are texts.
    if (targets.length === 0) return { name, type: "string" };
    return { name, type: "reference", ref: targets.length === 1 ? targets[0] : targets };
  }

  #list(
    shape: Shape,
    source: string,
    name: string,
    at: string,
    level: number,
    json: (why: string) => Field,
  ): Field {
    const items = shape.items ?? newShape();
    if (items.kinds.size === 0) return json("its lists are empty");
    if (items.kinds.has("list")) return json("its lists contain lists");
    if (shape.types.has("block")) return this.#text(shape, source, name);
    const isObjects = [...items.kinds].every((kind) => kind === "object" || kind === "asset");
    if (isObjects && shape.types.size > 1)
      return this.#blocks(shape, source, name) ?? json("its objects contain themselves");
    const one = this.#field(items, source, name, at, level);
    if (one.form === "json") return { ...one, definition: { name, type: "json" } };
    return { ...one, definition: { ...one.definition, list: true } };
  }

  #blocks(shape: Shape, source: string, name: string): Field | undefined {
    const blocks = this.#componentsOf([...shape.types]);
    if (blocks === undefined) return undefined;
    const components = [...blocks.values()].map(({ id }) => id);
    return { source, form: "blocks", fields: [], blocks, definition: { name, type: "blocks", components } };
  }

  #text(shape: Shape, source: string, name: string): Field {
    const others = [...shape.types].filter((type) => type !== "block");
    const blocks = this.#componentsOf(others) ?? new Map<string, Component>();
    const components = [...new Set([...blocks.values()].map(({ id }) => id)), PART];
    if (!this.components.some(({ id }) => id === PART))
      this.components.push({
        id: PART,
        name: "Part of Sanity's text",
        fields: [{ name: "part", type: "json" }],
      });
    const { styles, marks, lists } = this.#formats;
    const links = [...this.#formats.targets].flatMap((id) => this.#context.typeOf(id) ?? []);
    const named = [...new Set(links)].map((type) => this.#context.schemaOf(type)).slice(0, MOST_TARGETS);
    const allowed = { styles, marks, lists, components, ...(named.length === 0 ? {} : { links: named }) };
    return { source, form: "text", fields: [], blocks, definition: { name, type: "richText", ...allowed } };
  }

  /** Returns the components for types of objects; undefined if one of them contains itself. */
  #componentsOf(types: readonly string[]): Map<string, Component> | undefined {
    const found = new Map<string, Component>();
    for (const type of types) {
      const one = this.#component(type);
      if (one === undefined) return undefined;
      found.set(type, one);
    }
    return found;
  }

  #component(type: string): Component | undefined {
    if (this.#making.has(type)) return undefined;
    if (this.#known.has(type)) return this.#known.get(type);
    this.#making.add(type);
    const id = this.#ids.of(RESERVED.has(type) ? `${type}-block` : type === "" ? "item" : type);
    const shape = this.#types.get(type) ?? newShape();
    const isAssetType = shape.kinds.has("asset") || type === "image" || type === "file";
    const own = this.#objectFields(shape, isAssetType ? "asset" : "object", `object ${type}`, 1);
    const fields = own.map((field) => this.#agreeing(field, id));
    this.#making.delete(type);
    const definitions = fields.map(({ definition }) => definition);
    this.components.push({
      ...{ id, name: type === "" ? "Item" : type },
      fields: definitions.length > 0 ? definitions : [{ name: "empty", type: "boolean" }],
    });
    const component = { id, fields };
    this.#known.set(type, component);
    return component;
  }

  /** Returns the field with another name, if a field of another component has its name and another type. */
  #agreeing(field: Field, component: string): Field {
    const { definition } = field;
    const form = JSON.stringify([definition.type, definition.list === true, definition.fields]);
    const agreed = this.#agreed.get(definition.name) ?? form;
    this.#agreed.set(definition.name, agreed);
    if (agreed === form) return field;
    const name = `${definition.name}_${component.replaceAll("-", "_")}`.slice(0, 63);
    this.#context.losses.push({
      ...{ kind: "model", at: `object ${component}, field ${field.source}` },
      ...{ why: "another object has a field of this name and another type", became: name },
    });
    return { ...field, definition: { ...definition, name } };
  }

  /** Converts the members of a document or an object. */
  values(
    fields: readonly Field[],
    value: Readonly<Record<string, unknown>>,
    tell: (loss: Pick<Loss, "why" | "became">) => void,
  ): Record<string, unknown> {
    const values: Record<string, unknown> = {};
    for (const field of fields) {
      const given = Object.hasOwn(value, field.source) ? value[field.source] : undefined;
      if (given !== undefined && given !== null)
        values[field.definition.name] = this.#value(field, given, tell);
    }
    return values;
  }

  #value(field: Field, value: unknown, tell: (loss: Pick<Loss, "why" | "became">) => void): unknown {
    const { form, definition, blocks } = field;
    if (form === "json") return value;
    if (form === "text" && Array.isArray(value))
      return textOf(value, {
        tell,
        part: PART,
        linkTo: (id) => {
          const type = this.#context.typeOf(id);
          return type === undefined
            ? undefined
            : new Linked(this.#context.schemaOf(type), publishedId(id), "link");
        },
        block: (item, key) => this.#block(blocks, item, key, tell),
      });
    if (form === "blocks" && Array.isArray(value))
      return value.flatMap((item, at) =>
        isObject(item) ? (this.#block(blocks, item, keyAt(item, at), tell) ?? []) : [],
      );
    if (definition.list === true && Array.isArray(value))
      return value.flatMap((item, at) => {
        const one = this.#one(field, item, tell);
        if (one === undefined) return [];
        return isObject(one) && (form === "object" || form === "asset")
          ? { _key: keyAt(item, at), ...one }
          : one;
      });
    return this.#one(field, value, tell);
  }

  #block(
    blocks: ReadonlyMap<string, Component>,
    item: Readonly<Record<string, unknown>>,
    key: string,
    tell: (loss: Pick<Loss, "why" | "became">) => void,
  ): Record<string, unknown> | undefined {
    const component = blocks.get(textIn(item, "_type") ?? "");
    if (component === undefined) return undefined;
    const asset = isAsset(item) ? { asset: this.#file(item) } : {};
    return { _type: component.id, _key: key, ...this.values(component.fields, { ...item, ...asset }, tell) };
  }

  #one(
    { form, fields, definition }: Field,
    value: unknown,
    tell: (loss: Pick<Loss, "why" | "became">) => void,
  ): unknown {
    if (!isObject(value)) return value;
    if (value instanceof SourceFile) return value;
    if (form === "slug") return textIn(value, "current");
    if (form === "reference") {
      const id = textIn(value, "_ref") ?? "";
      const type = this.#context.typeOf(id);
      if (definition.type === "string") return id;
      if (type !== undefined)
        return new Linked(
          this.#context.schemaOf(type),
          publishedId(id),
          Array.isArray(definition.ref) ? "several" : "one",
        );
      tell({ why: `the export has no document ${id}`, became: "left out" });
      return undefined;
    }
    if (form === "point") {
      const [lat, lon] = [numberIn(value, "lat"), numberIn(value, "lng")];
      if (value.alt !== undefined) tell({ why: "a point has no altitude", became: "latitude and longitude" });
      return lat === undefined || lon === undefined ? undefined : { lat, lon };
    }
    const asset = form === "asset" ? { asset: this.#file(value) } : {};
    return this.values(fields, { ...value, ...asset }, tell);
  }

  /** Returns the file of an image or a file; undefined if there is none. */
  #file(value: Readonly<Record<string, unknown>>): SourceFile | undefined {
    const [, named] = /^(?:image|file)@(.*)$/.exec(textIn(value, "_sanityAsset") ?? "") ?? [];
    if (named?.startsWith("file://") === true)
      return new SourceFile(undefined, named.slice("file://".length));
    const address = named ?? this.#context.addressOf(textIn(value, "asset", "_ref") ?? "");
    return address === undefined ? undefined : new SourceFile(address);
  }
}

/** Types of rich text itself. */
const RESERVED = new Set(["block", "span", "link"]);

/** Returns the id of a document without the prefix of its draft. */
export const publishedId = (id: string): string => id.replace(/^drafts\./, "");

function keyAt(item: unknown, at: number): string {
  const key = textIn(item, "_key") ?? "";
  return /^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$/.test(key) ? key : `i${at}`;
}

function plainType(shape: Shape): string {
  if (shape.kinds.has("boolean")) return "boolean";
  if (shape.kinds.has("number")) return shape.isInteger ? "integer" : "number";
  if (shape.isDay) return "date";
  if (shape.isMoment) return "datetime";
  return shape.hasLines ? "text" : "string";
}
