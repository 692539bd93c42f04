/** Checks fields of objects: components, levels, and attributes that depend on what contains a field. */
import { clip, type Faults, joinNames } from "../../kernel/faults.ts";
import { isObject } from "../../kernel/json.ts";
import { type FieldDefinition, LIMITS } from "../document/index.ts";
import { RESERVED_TYPES } from "../types/index.ts";
import { checkField, MAX_PATTERNS } from "./check-fields.ts";
import { noDuplicates } from "./check-names.ts";
import { type LooseDocument, type LooseField, type LooseModule, ownProperty, texts } from "./loose.ts";

export function checkNested(document: LooseDocument, faults: Faults): void {
  const ids = document.components.flatMap(({ id, path }) =>
    id === undefined ? [] : [{ path: `${path}/id`, value: id }],
  );
  noDuplicates(ids, "is already the id of another component", faults);
  for (const { fields } of document.components) checkOwn(document, { type: undefined }, fields, faults);
  const nesting = new Nesting(document, faults);
  for (const module of document.modules) {
    for (const schema of module.schemas) {
      for (const field of schema.fields) {
        checkShape(document, field, faults);
        checkOwn(document, module, field.fields, faults);
      }
      nesting.schema(module, schema.fields);
    }
  }
}

/** Checks the fields that a component or an object lists, each on its own. */
function checkOwn(
  document: LooseDocument,
  module: Pick<LooseModule, "type">,
  fields: readonly LooseField[],
  faults: Faults,
): void {
  const names = fields.flatMap(({ name, path }) =>
    name === undefined ? [] : [{ path: `${path}/name`, value: name }],
  );
  noDuplicates(names, "is already the name of another field of this object", faults);
  for (const field of fields.slice(0, LIMITS.totalFields)) {
    checkField(document, module, field, faults);
    checkShape(document, field, faults);
    if (ownProperty(field.raw, "from") !== undefined && !convertsByRule(field))
      faults.add(`${field.path}/from`, "not_applicable", "must not be set inside an object");
    checkOwn(document, module, field.fields, faults);
  }
}

/** Whether `from` has a rule for a change of type. Fields of objects cannot be slugs of other fields. */
const convertsByRule = ({ raw }: LooseField) => {
  const value = ownProperty(raw, "from");
  return isObject(value) && ownProperty(value, "convert") !== undefined;
};

const has = ({ raw }: LooseField, attribute: string) => ownProperty(raw, attribute) !== undefined;

/** Checks the attributes that tell which fields the objects have. */
function checkShape(document: LooseDocument, field: LooseField, faults: Faults): void {
  const { path, type } = field;
  if (type === undefined) return;
  const known = new Set(document.components.map(({ id }) => id));
  for (const { path: at, value } of [...field.components, ...(field.component ? [field.component] : [])]) {
    if (!known.has(value))
      faults.add(at, "unknown_component", `names no component of this orb: "${clip(value)}"`);
  }
  noDuplicates(field.components, "is listed twice", faults);
  const refuse = (attribute: string, ...owners: FieldDefinition["type"][]) => {
    if (has(field, attribute) && !owners.includes(type)) {
      const message = `must only be set on a field of type ${owners.join(" or ")}`;
      faults.add(`${path}/${attribute}`, "not_applicable", message);
    }
  };
  refuse("fields", "object");
  refuse("component", "object");
  refuse("components", "blocks", "richText");
  for (const attribute of ["styles", "marks", "lists", "links"]) refuse(attribute, "richText");
  if (type === "blocks" && !has(field, "components"))
    faults.add(`${path}/components`, "required", "is required for a field of type blocks");
  if (isBlocks(field) && has(field, "list")) {
    const message = `must not be set on a field of type ${type}, which is always a list`;
    faults.add(`${path}/list`, "not_applicable", message);
  }
  if (type === "richText") checkRichText(field, faults);
  if (type !== "object") return;
  const [fields, component] = [has(field, "fields"), has(field, "component")];
  if (!fields && !component)
    faults.add(`${path}/fields`, "required", "is required for an object without a component");
  if (fields && component)
    faults.add(`${path}/component`, "not_applicable", "must not be set together with fields");
}

/** Whether the values are lists of objects that tell their components. */
const isBlocks = ({ type }: LooseField) => type === "blocks" || type === "richText";

const isNested = (field: LooseField) => field.type === "object" || isBlocks(field);

/** Checks what a field of rich text allows. */
function checkRichText({ path, raw, links, components }: LooseField, faults: Faults): void {
  for (const attribute of ["styles", "marks", "lists"])
    noDuplicates(texts(ownProperty(raw, attribute), `${path}/${attribute}`), "is listed twice", faults);
  noDuplicates(links, "is listed twice", faults);
  for (const { path: at, value } of components) {
    if (!RESERVED_TYPES.includes(value)) continue;
    const message = `must not be ${value}, which is the name of a part of rich text. Use a component with another id.`;
    faults.add(at, "reserved", message);
  }
}

/** What contains a field. */
interface Around {
  module: LooseModule;
  /** Name of the containing field, with the names on the way to it. */
  name: string;
  levels: number;
  repeated: boolean;
  localized: boolean;
  components: readonly string[];
  /** Type of each field, by its name, to find components whose fields have one name and several types. */
  types: Map<string, string>;
}

/** Follows components into the fields that use them. */
class Nesting {
  readonly #faults: Faults;
  readonly #components: ReadonlyMap<string | undefined, readonly LooseField[]>;
  #fields = 0;
  #patterns = 0;

  constructor(document: LooseDocument, faults: Faults) {
    this.#faults = faults;
    this.#components = new Map(document.components.map(({ id, fields }) => [id, fields]));
    this.#fields = document.modules
      .flatMap(({ schemas }) => schemas)
      .reduce((sum, one) => sum + one.fields.length, 0);
  }

  schema(module: LooseModule, fields: readonly LooseField[]): void {
    for (const field of fields) {
      if (!isNested(field)) continue;
      if (module.type !== undefined && module.type !== "CONTENT" && module.type !== "CONFIG") {
        const message = `must not be ${field.type} in this module. Use a CONTENT or a CONFIG module.`;
        this.#faults.add(`${field.path}/type`, "not_applicable", message);
        continue;
      }
      const around = { module, name: "", levels: 0, repeated: false, localized: false, components: [] };
      this.#inside(field, { ...around, types: new Map() });
    }
  }

  #inside(field: LooseField, around: Around): void {
    if (this.#fields > LIMITS.totalFields) return;
    const levels = around.levels + 1;
    if (levels > LIMITS.levels) {
      const message = `must not contain objects, because fields nest at most ${LIMITS.levels} levels deep`;
      this.#faults.add(`${field.path}/type`, "too_deep", message);
      return;
    }
    const isList = isBlocks(field) || ownProperty(field.raw, "list") === true;
    const below: Around = {
      ...around,
      levels,
      name: around.name === "" ? (field.name ?? "") : `${around.name}.${field.name}`,
      repeated: around.repeated || isList,
      localized: around.localized || isLocalized(field),
    };
    this.#members(field, field.fields, below);
    // Each schema that links may refer to is a reference of its own.
    this.#fields += field.type === "richText" ? field.links.length : 0;
    const used = isBlocks(field) ? field.components : field.component ? [field.component] : [];
    for (const { path, value } of used) {
      if (around.components.includes(value)) {
        const way = joinNames([...around.components.slice(around.components.indexOf(value)), value]);
        this.#faults.add(path, "recursive", `must not make a component contain itself: ${way}`);
      } else {
        const fields = this.#components.get(value) ?? [];
        this.#members(field, fields, { ...below, components: [...around.components, value] });
      }
    }
  }

  #members(parent: LooseField, fields: readonly LooseField[], around: Around): void {
    for (const field of fields) {
      if (++this.#fields > LIMITS.totalFields) {
        const message = `must have at most ${LIMITS.totalFields} fields in total, counting the fields of a component each time it is used`;
        this.#faults.add("/modules", "too_many", message);
        return;
      }
      this.#member(parent, field, around);
      if (isNested(field)) this.#inside(field, around);
    }
  }

  #member(parent: LooseField, field: LooseField, around: Around): void {
    const refuse = (attribute: string, message: string) => {
      const value = ownProperty(field.raw, attribute);
      if (value !== undefined && value !== false)
        this.#faults.add(`${field.path}/${attribute}`, "not_applicable", message);
    };
    if (around.repeated) {
      refuse("unique", `must not be true inside the list ${around.name}`);
      refuse("index", `must not be set inside the list ${around.name}`);
    }
    if (around.localized) {
      const message = `because ${around.name} already has a value for each language or market`;
      refuse("translatable", `must not be true, ${message}`);
      refuse("marketSpecific", `must not be true, ${message}`);
      refuse("index", `must not be set, ${message}`);
    }
    if (around.module.type === "CONFIG")
      refuse("translatable", "must not be true in a CONFIG module. Use a CONTENT module.");
    if (ownProperty(field.raw, "pattern") !== undefined && ++this.#patterns > MAX_PATTERNS) {
      const message = `must not be the pattern of more than ${MAX_PATTERNS} fields, counting a component each time it is used`;
      this.#faults.add(`${field.path}/pattern`, "too_many", message);
    }
    this.#sameType(parent, field, around);
  }

  /** Filters name a field by its name alone, so components of one field of blocks must agree about its type. */
  #sameType(parent: LooseField, field: LooseField, { name, types }: Around): void {
    if (field.name === undefined || field.type === undefined) return;
    const full = `${name}.${field.name}`;
    const type = `${field.type}${ownProperty(field.raw, "list") === true ? " list" : ""}`;
    const other = types.get(full);
    types.set(full, type);
    if (other === undefined || other === type) return;
    const message = `must not have components whose fields ${clip(full)} differ in type: ${other} and ${type}. Rename one of them.`;
    this.#faults.add(`${parent.path}/components`, "ambiguous_field", message);
  }
}

const isLocalized = ({ raw }: LooseField) =>
  ownProperty(raw, "translatable") === true || ownProperty(raw, "marketSpecific") === true;
