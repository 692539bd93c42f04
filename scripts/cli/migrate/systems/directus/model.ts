/** Reads the collections of Directus, and describes them as schemas. */
import { Names } from "../../model/names.ts";
import { member, objectsIn, textIn } from "../../model/read-json.ts";
import { NO_ACCOUNTS, rolesOf } from "../../model/rights.ts";
import type {
  FieldDefinition,
  Loss,
  RoleDefinition,
  SchemaDefinition,
  SourceDocument,
} from "../../model/source.ts";
import { htmlComponents } from "../html.ts";
import { accessTo, type DirectusRole, type Holder, type Part } from "./access.ts";
import { type Field, isSecret, specialsOf, valueField } from "./fields.ts";
import { Relations, type Way } from "./relations.ts";
import { type States, statesOf } from "./states.ts";

type Item = Record<string, unknown>;

/** What Directus says of its content. */
export interface Described {
  collections: readonly Item[];
  fields: readonly Item[];
  relations: readonly Item[];
  /** Permissions of those who have not signed in. */
  permissions: readonly Item[];
  roles: readonly DirectusRole[];
  /** Names of policies that give rights to some accounts alone. */
  policies: readonly string[];
  /** Policies that count only under a condition. */
  limited: readonly { name: string; why: string }[];
}

export interface Collection {
  id: string;
  schema: string;
  source: Item;
  /** Name of the primary key. */
  key: string;
  fields: Field[];
  translated: Translated | undefined;
  states: States | undefined;
  created: Field | undefined;
  creator: Field | undefined;
}

/** The texts of a collection in its languages. */
export interface Translated {
  alias: string;
  way: Extract<Way, { kind: "translations" }>;
  fields: Field[];
  /** The default language, if the form of Directus names one. */
  first: string | undefined;
}

export const FILES = "directus_files";
/** Collections of Directus itself that are carried if others refer to them, and which of their own fields. */
const SYSTEM: Readonly<Record<string, readonly string[]>> = {
  [FILES]: [
    ...["title", "description", "location", "tags", "folder", "filename_download", "uploaded_by"],
    ...["created_on", "uploaded_on", "focal_point_x", "focal_point_y"],
  ],
  directus_folders: ["name", "parent"],
  directus_users: [
    ...["first_name", "last_name", "email", "location", "title", "description", "tags", "avatar"],
    ...["language", "status"],
  ],
};
/** Name of the field with the content of a file. */
export const CONTENT = "file";

export class Model {
  readonly losses: Loss[] = [];
  readonly #described: Described;
  readonly #relations: Relations;
  readonly #collections = new Map<string, Collection>();
  /** Roles of the orb by the ids of those of Directus. */
  readonly #roles: ReadonlyMap<string, RoleDefinition>;

  constructor(described: Described) {
    this.#described = described;
    this.#roles = rolesOf(
      described.roles.filter(({ isAdmin }) => !isAdmin),
      this.losses,
    );
    this.#relations = new Relations(described.relations);
    const names = new Names("schema", "collection", this.losses);
    const carried = this.#carried();
    for (const source of carried) {
      const id = textIn(source, "collection") ?? "";
      this.#collections.set(id, {
        ...{ id, source, schema: names.of(id), key: this.#keyOf(id), fields: [] },
        ...{ translated: undefined, states: undefined, created: undefined, creator: undefined },
      });
    }
    for (const collection of this.#collections.values()) this.#read(collection);
    for (const name of described.policies)
      this.losses.push({
        ...{ kind: "model", at: `policy ${name}`, became: "left out" },
        why: "no role has it, or some accounts have it beside their roles",
      });
    for (const { name, why } of described.limited)
      this.losses.push({ kind: "model", at: `policy ${name}`, why, became: "left out" });
    for (const { id, name, isAdmin } of described.roles)
      if (isAdmin || this.#roles.has(id))
        this.losses.push({
          ...{ kind: "model", at: `role ${name}, its accounts`, why: NO_ACCOUNTS },
          became: `the role${isAdmin ? " admin" : ""}: invite people with it`,
        });
    this.losses.push({
      ...{ kind: "model", at: "flows, dashboards, presets, comments, revisions, activity" },
      ...{ why: "only Directus itself uses them", became: "left out" },
    });
  }

  get collections(): readonly Collection[] {
    return [...this.#collections.values()];
  }

  schemaOf(collection: string): string | undefined {
    return this.#collections.get(collection)?.schema;
  }

  #fieldsOf(collection: string): Item[] {
    return this.#described.fields.filter((field) => field.collection === collection);
  }

  #keyOf(collection: string): string {
    const own = this.#fieldsOf(collection);
    const key = own.find((field) => member(field, "schema", "is_primary_key") === true);
    return textIn(key, "field") ?? "id";
  }

  #wayOf(collection: string, field: Item): Way | undefined {
    return this.#relations.wayOf(collection, textIn(field, "field") ?? "", specialsOf(field));
  }

  /** Returns the collections that become schemas: those of Directus's user, and those of Directus they refer to. */
  #carried(): Item[] {
    const all = this.#described.collections;
    const isOwn = (id: string) => id.startsWith("directus_");
    const own = all.filter((one) => !isOwn(textIn(one, "collection") ?? ""));
    for (const one of own.filter((one) => one.schema === null || one.schema === undefined))
      this.losses.push({
        ...{ kind: "model", at: `collection ${textIn(one, "collection")}`, became: "left out" },
        why: "it is a folder in the menu of Directus",
      });
    const tables = own.filter((one) => one.schema !== null && one.schema !== undefined);
    const connecting = new Set(tables.flatMap((one) => this.#connectedBy(textIn(one, "collection") ?? "")));
    const found = tables.filter((one) => !connecting.has(textIn(one, "collection") ?? ""));
    const names = new Set(found.map((one) => textIn(one, "collection") ?? ""));
    for (const name of [...names, ...connecting])
      for (const target of this.#systemTargets(name)) names.add(target);
    for (const name of names) if (isOwn(name)) for (const more of this.#systemTargets(name)) names.add(more);
    return [
      ...found,
      ...all.filter((one) => isOwn(textIn(one, "collection") ?? "") && names.has(String(one.collection))),
    ];
  }

  /** Returns the collections that only connect the items of a collection to others, or translate them. */
  #connectedBy(collection: string): string[] {
    return this.#fieldsOf(collection).flatMap((field) => {
      const way = this.#wayOf(collection, field);
      if (way?.kind === "translations") return [way.through];
      return way?.kind === "many" || way?.kind === "manyAny" ? this.#plainJunction(way.through) : [];
    });
  }

  /** Returns a junction, unless it has values of its own. */
  #plainJunction(through: string): string[] {
    const connecting = new Set([...this.#relations.connecting(through), this.#keyOf(through)]);
    const isPlain = this.#fieldsOf(through).every(({ field }) => connecting.has(String(field)));
    return isPlain ? [through] : [];
  }

  /** Returns the collections of Directus itself to which the fields of a collection refer. */
  #systemTargets(collection: string): string[] {
    return this.#listed(collection).flatMap((field) => {
      const way = this.#wayOf(collection, field);
      const targets =
        way?.kind === "one" || way?.kind === "many"
          ? [way.target]
          : way !== undefined && "targets" in way
            ? way.targets
            : [];
      return targets.filter((one) => Object.hasOwn(SYSTEM, one));
    });
  }

  /** Returns the fields of a collection that are carried. */
  #listed(collection: string): Item[] {
    const system = Object.hasOwn(SYSTEM, collection) ? SYSTEM[collection] : undefined;
    const own = this.#fieldsOf(collection);
    if (system === undefined) return own;
    return own.filter(
      (field) => system.includes(String(field.field)) || member(field, "meta", "system") !== true,
    );
  }

  #read(collection: Collection): void {
    const { id, key, source } = collection;
    const at = `collection ${id}, field`;
    const names = new Names("field", at, this.losses);
    collection.states =
      id === FILES || id === "directus_users" ? undefined : statesOf(source, this.#fieldsOf(id), this.losses);
    const listed = this.#listed(id);
    const groups = new Map(
      listed.filter((one) => specialsOf(one).includes("group")).map((one) => [String(one.field), one]),
    );
    for (const source of listed) {
      const name = String(source.field);
      if (name === key && !isChosenKey(source)) continue;
      if (name === collection.states?.field && !collection.states.isKept) continue;
      const field = this.#field(collection, source, `${at} ${name}`, names);
      if (field === undefined) continue;
      const group = textIn(source, "meta", "group");
      if (group !== undefined && groups.has(group)) field.definition = { ...field.definition, group };
      if (name === key) field.definition = { ...field.definition, unique: true };
      collection.fields.push(field);
      const specials = specialsOf(source);
      if (specials.includes("date-created")) collection.created ??= field;
      if (specials.includes("user-created")) collection.creator ??= field;
    }
    if (id === FILES) collection.fields.push(contentField(names));
    if (Object.hasOwn(SYSTEM, id))
      this.losses.push({
        ...{ kind: "model", at: `collection ${id}, other fields of Directus` },
        ...{ why: "only Directus itself uses them", became: "left out" },
      });
    if (member(source, "meta", "singleton") === true)
      this.losses.push({
        ...{ kind: "model", at: `collection ${id}` },
        ...{ why: "schemas have no limit of one entry", became: "a schema with one entry" },
      });
  }

  #field(collection: Collection, source: Item, at: string, names: Names): Field | undefined {
    const tell = (why: string, became: string) => void this.losses.push({ kind: "model", at, why, became });
    const id = String(source.field);
    const way = this.#wayOf(collection.id, source);
    if (objectsIn(source, "meta", "conditions").length > 0)
      tell("conditions of Directus's forms have no counterpart", "a field that is always shown");
    if (way?.kind === "translations") {
      if (collection.translated === undefined)
        collection.translated = this.#translated(source, way, at, names);
      else tell("a collection has one set of translations", "left out");
      return undefined;
    }
    if (way !== undefined) return this.#linkField(source, way, at, names);
    if (source.type === "alias") {
      if (!specialsOf(source).some((one) => one === "no-data" || one === "group"))
        tell("it has no data of its own", "left out");
      return undefined;
    }
    if (isSecret(source)) {
      tell("it is a secret, which Directus hashes or hides", "left out");
      return undefined;
    }
    if (collection.fields.some((one) => one.way?.kind === "any" && one.way.collectionField === id))
      return undefined;
    return valueField(source, at, names, this.losses);
  }

  #linkField(
    source: Item,
    given: Exclude<Way, { kind: "translations" }>,
    at: string,
    names: Names,
  ): Field | undefined {
    const way = this.#carriedWay(given, at);
    const id = String(source.field);
    const list = way.kind !== "one" && way.kind !== "any";
    const targets = way.kind === "back" ? [way.from] : "targets" in way ? way.targets : [way.target];
    const refs = targets.flatMap((one) => this.schemaOf(one) ?? []);
    if (refs.length === 0) {
      this.losses.push({
        ...{ kind: "model", at, why: `${targets.join(", ") || "nothing"} is not carried` },
        became: list ? "left out" : "a field of type string",
      });
      return list ? undefined : valueField({ ...source, type: "string" }, at, names, this.losses);
    }
    const isRequired =
      member(source, "meta", "required") === true || member(source, "schema", "is_nullable") === false;
    const isUnique = member(source, "schema", "is_unique") === true;
    const note = textIn(source, "meta", "note") ?? "";
    const definition: FieldDefinition = {
      ...{ name: names.of(id), type: "reference", ref: refs.length === 1 ? refs[0] : refs },
      ...(list ? { list: true } : {}),
      ...(isRequired ? { required: true } : {}),
      ...(isUnique && !list ? { unique: true } : {}),
      ...(note === "" ? {} : { description: note.slice(0, 5_000) }),
    };
    return { source, id, form: "link", way, definition, inner: [] };
  }

  /** A junction with values of its own is a schema, and lists refer to its entries. */
  #carriedWay(
    way: Exclude<Way, { kind: "translations" }>,
    at: string,
  ): Exclude<Way, { kind: "translations" }> {
    if ((way.kind !== "many" && way.kind !== "manyAny") || !this.#collections.has(way.through)) return way;
    this.losses.push({
      ...{ kind: "model", at, why: `the junction ${way.through} has fields of its own` },
      became: `references to its entries, which are in the schema ${this.schemaOf(way.through)}`,
    });
    return { kind: "back", from: way.through, sort: way.sort };
  }

  #translated(source: Item, way: Translated["way"], at: string, names: Names): Translated {
    const skipped = new Set([this.#keyOf(way.through), way.back, way.language]);
    const own = new Set(this.#fieldsOf(String(source.collection)).map(({ field }) => String(field)));
    const fields = this.#fieldsOf(way.through).flatMap((field): Field[] => {
      const id = String(field.field);
      if (skipped.has(id)) return [];
      const place = `${at}, ${id}`;
      const named = own.has(id) ? { ...field, field: `${String(source.field)}_${id}` } : field;
      if (own.has(id))
        this.losses.push({
          ...{ kind: "model", at: place, why: "the collection has a field of this name" },
          became: String(named.field),
        });
      const inner = this.#wayOf(way.through, field);
      if (isSecret(field) || (field.type === "alias" && inner === undefined)) return [];
      if (inner !== undefined && inner.kind !== "one") {
        this.losses.push({
          kind: "model",
          at: place,
          why: "translations have no lists of items",
          became: "left out",
        });
        return [];
      }
      const made =
        inner === undefined
          ? valueField(named, place, names, this.losses)
          : this.#linkField(named, inner, place, names);
      if (made === undefined) return [];
      return [{ ...made, id, definition: { ...made.definition, translatable: true } }];
    });
    const first = textIn(source, "meta", "options", "defaultLanguage");
    return { alias: String(source.field), way, fields, first };
  }

  document(languages: readonly string[]): SourceDocument {
    const forms = this.collections.flatMap(({ fields, translated }) => [
      ...fields,
      ...(translated?.fields ?? []),
    ]);
    const hasText = forms.some(({ definition }) => definition.type === "richText");
    return {
      ...{ name: "Directus", languages },
      components: hasText ? htmlComponents(this.schemaOf(FILES)) : [],
      schemas: this.collections.map((one) => this.#schemaOf(one)),
      roles: [...this.#roles.values()],
    };
  }

  /** Returns who has permissions: people without an account, and roles. */
  get #holders(): Holder[] {
    const { permissions, roles } = this.#described;
    const own = roles.flatMap(({ id, name, permissions: some }) => {
      const caller = this.#roles.get(id)?.id;
      return caller === undefined ? [] : [{ name, caller, permissions: some }];
    });
    return [{ name: "everyone", caller: "public", permissions }, ...own];
  }

  #schemaOf(collection: Collection): SchemaDefinition {
    const { id, schema, source, fields, translated, states } = collection;
    const definitions = [...fields, ...(translated?.fields ?? [])].map(({ definition }) => definition);
    const access = accessTo(id, this.#holders, states, this.losses, partsOf(collection));
    const note = textIn(source, "meta", "note") ?? "";
    return {
      ...{ id: schema, name: id, ...(note === "" ? {} : { description: note.slice(0, 5_000) }) },
      ...(access === undefined ? {} : { access }),
      fields: definitions.length > 0 ? definitions : [{ name: "empty", type: "boolean" }],
    };
  }
}

/** Returns the collections that are no schemas, because their items are part of the entries of this one. */
const partsOf = ({ fields, translated }: Collection): Part[] =>
  [translated, ...fields].flatMap((one) =>
    one?.way !== undefined && "through" in one.way
      ? [{ collection: one.way.through, back: one.way.back }]
      : [],
  );

/** Returns whether people choose the values of a primary key. */
const isChosenKey = (field: Item): boolean =>
  member(field, "schema", "has_auto_increment") !== true && !specialsOf(field).includes("uuid");

function contentField(names: Names): Field {
  const definition = { name: names.of(CONTENT), type: "file" };
  return { source: {}, id: CONTENT, form: "content", way: undefined, definition, inner: [] };
}

/** Returns the values of a list of objects in an answer. */
export const dataIn = (answer: unknown): Item[] => objectsIn(answer, "data");
