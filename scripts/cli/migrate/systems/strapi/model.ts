/** Reads the content types and components of Strapi, and describes them as schemas. */

import { isObject } from "../../../../../shared/kernel/json.ts";
import { Names } from "../../model/names.ts";
import { member, textIn, textsIn } from "../../model/read-json.ts";
import {
  ACTS,
  type Act,
  accessOf,
  NO_ACCOUNTS,
  type Right,
  rolesOf,
  type SourceRole,
} from "../../model/rights.ts";
import type {
  ComponentDefinition,
  Loss,
  RoleDefinition,
  SchemaDefinition,
  SourceDocument,
} from "../../model/source.ts";
import { htmlComponents } from "../html.ts";
import { agreeOnTypes } from "./agree.ts";
import { FILE, type Field, fieldOf } from "./fields.ts";

type Item = Record<string, unknown>;

/** What Strapi says of its content. */
export interface Described {
  types: readonly Item[];
  components: readonly Item[];
  /** What people without an account, and with one, may do. */
  everyone: unknown;
  users: unknown;
  /** Further roles, with what their accounts may do. */
  roles: readonly StrapiRole[];
}

export interface StrapiRole extends SourceRole {
  rights: unknown;
}

export interface ContentType {
  uid: string;
  schema: string;
  source: Item;
  isSingle: boolean;
  hasDrafts: boolean;
  isLocalized: boolean;
  /** Where the API has its entries. */
  path: string;
  fields: Field[];
}

export interface Component {
  uid: string;
  id: string;
  source: Item;
  fields: Field[];
}

export const USER = "plugin::users-permissions.user";
/** Content types of plugins that are carried if others refer to them, and which of their own attributes. */
const PLUGINS: Readonly<Record<string, { path: string; own: readonly string[] }>> = {
  [FILE]: { path: "/api/upload/files", own: ["name", "alternativeText", "caption"] },
  [USER]: { path: "/api/users", own: ["username", "email", "provider", "confirmed", "blocked"] },
};
/** Name of the field with the content of a file. */
export const CONTENT = "file";

export class Model {
  readonly losses: Loss[] = [];
  readonly #described: Described;
  readonly #types = new Map<string, ContentType>();
  readonly #components = new Map<string, Component>();
  /** Roles of the orb by the ids of those of Strapi. */
  readonly #roles: ReadonlyMap<string, RoleDefinition>;

  constructor(described: Described) {
    this.#described = described;
    this.#roles = rolesOf(described.roles, this.losses);
    const names = new Names("schema", "content type", this.losses);
    for (const source of described.types) {
      const uid = textIn(source, "uid") ?? "";
      if (this.#isCarried(source, uid))
        this.#types.set(uid, typeOf(source, uid, names.of(nameOf(source, uid))));
    }
    const componentNames = new Names("schema", "component", this.losses);
    for (const source of described.components) {
      const uid = textIn(source, "uid") ?? "";
      this.#components.set(uid, { uid, source, id: componentNames.of(uid), fields: [] });
    }
    for (const component of this.#components.values())
      component.fields = this.#fieldsOf(component.source, `component ${component.uid}`, true);
    for (const type of this.#types.values())
      type.fields = this.#fieldsOf(type.source, `content type ${type.uid}`, false);
    const all = [...this.#types.values(), ...this.#components.values()].flatMap(({ fields }) => fields);
    agreeOnTypes(all, (uid) => this.#components.get(uid), this.losses);
    this.#tellRest();
  }

  get types(): readonly ContentType[] {
    return [...this.#types.values()];
  }

  schemaOf(uid: string): string | undefined {
    return this.#types.get(uid)?.schema;
  }

  component(uid: string): Component | undefined {
    return this.#components.get(uid);
  }

  #isCarried(source: Item, uid: string): boolean {
    if (uid.startsWith("api::")) return true;
    if (uid === FILE) return true;
    if (uid === USER) return this.#described.types.some((one) => refersTo(one, USER));
    if (member(source, "schema", "visible") === true && !uid.startsWith("admin::"))
      this.losses.push({
        ...{ kind: "model", at: `content type ${uid}`, became: "left out" },
        why: "a plugin of Strapi manages it",
      });
    return false;
  }

  #fieldsOf(source: Item, at: string, isInside: boolean): Field[] {
    const names = new Names("field", `${at}, attribute`, this.losses);
    const attributes = member(source, "schema", "attributes");
    const own = Object.hasOwn(PLUGINS, String(source.uid)) ? PLUGINS[String(source.uid)]?.own : undefined;
    const context = {
      losses: this.losses,
      schemaOf: (uid: string) => this.schemaOf(uid),
      componentOf: (uid: string) => this.#components.get(uid)?.id,
    };
    const fields: Field[] = [];
    for (const [id, attribute] of Object.entries(isObject(attributes) ? attributes : {})) {
      if (!isObject(attribute) || id === "localizations" || id === "locale") continue;
      // Strapi's own attributes of plugins cannot be configured, or are hidden.
      if (
        own !== undefined &&
        !own.includes(id) &&
        (attribute.configurable === false || attribute.private === true)
      )
        continue;
      const field = fieldOf(id, attribute, `${at}, attribute ${id}`, names, context, isInside);
      if (field !== undefined) fields.push(field);
    }
    return fields.map((field) => ({ ...field, definition: withSlugSource(field, fields) }));
  }

  #tellRest(): void {
    const tell = (at: string, why: string, became = "left out") =>
      void this.losses.push({ kind: "model", at, why, became });
    for (const type of this.types)
      if (type.isSingle)
        tell(`content type ${type.uid}`, "schemas have no limit of one entry", "a schema with one entry");
    tell(`content type ${FILE}, other attributes and folders`, "the platform finds them itself, or has none");
    if (this.#types.has(USER)) tell(`content type ${USER}, passwords and roles`, "Strapi does not show them");
    for (const { id, name } of this.#described.roles)
      if (this.#roles.has(id))
        tell(`role ${name}, its accounts`, NO_ACCOUNTS, "the role: invite people with it");
    tell(
      "createdBy, updatedBy, updatedAt, publishedAt",
      "the API of Strapi does not show them, or the platform sets them",
      "the time and the account of the import; createdAt is carried",
    );
    tell("releases, review workflows, webhooks, history", "only Strapi itself uses them");
  }

  document(languages: readonly string[]): SourceDocument {
    const used = this.#used();
    const forms = [...this.types.flatMap(({ fields }) => fields), ...used.flatMap(({ fields }) => fields)];
    const hasText = forms.some(({ definition }) => definition.type === "richText");
    const components: ComponentDefinition[] = used.map(({ id, uid, fields }) => ({
      ...{ id, name: uid },
      fields: definitionsOf(fields),
    }));
    return {
      ...{ name: "Strapi", languages },
      components: [...(hasText ? htmlComponents(this.schemaOf(FILE)) : []), ...components],
      schemas: this.types.map((type) => this.#schemaOf(type)),
      roles: [...this.#roles.values()],
    };
  }

  /** Returns the components that content types use, also over other components. */
  #used(): Component[] {
    const found = new Set<Component>();
    const visit = (fields: readonly Field[]) => {
      for (const { source } of fields)
        for (const uid of [textIn(source, "component") ?? [], textsIn(source, "components")].flat()) {
          const component = this.#components.get(uid);
          if (component === undefined || found.has(component)) continue;
          found.add(component);
          visit(component.fields);
        }
    };
    for (const { fields } of this.types) visit(fields);
    return [...found];
  }

  #schemaOf(type: ContentType): SchemaDefinition {
    const { uid, schema, source, fields } = type;
    const access = this.#accessOf(type);
    const description = textIn(source, "schema", "description") ?? "";
    const content = uid === FILE ? [{ name: CONTENT, type: "file" }] : [];
    return {
      ...{ id: schema, name: (textIn(source, "schema", "displayName") ?? schema).slice(0, 200) },
      ...(description === "" ? {} : { description: description.slice(0, 5_000) }),
      ...(access === undefined ? {} : { access }),
      fields: [...definitionsOf(fields), ...content],
    };
  }

  /** Returns the access rules of a content type; undefined if Strapi has no rights without a token of its API. */
  #accessOf({ uid, isSingle }: ContentType): SchemaDefinition["access"] {
    if (uid === USER) return { read: "admin" };
    const { everyone, users, roles } = this.#described;
    const callers = [
      { caller: "public", rights: everyone },
      { caller: "user", rights: users },
      ...roles.flatMap(({ id, rights }) => {
        const caller = this.#roles.get(id)?.id;
        return caller === undefined ? [] : [{ caller, rights }];
      }),
    ];
    // Everyone who knows the address of a file of Strapi can download it.
    if (uid === FILE) {
      const isOpen = this.types.some((one) => one.uid !== FILE && actsOf(everyone, one).includes("read"));
      return isOpen ? { read: "public" } : undefined;
    }
    const all = callers.flatMap(({ caller, rights }): Right[] =>
      actsOf(rights, { uid, isSingle }).map((act) => ({ caller, act })),
    );
    return accessOf(all, (act) =>
      this.losses.push({
        ...{ kind: "model", at: `content type ${uid}, ${act} for Public`, became: "only accounts may" },
        why: "people without an account cannot write",
      }),
    );
  }
}

/** Returns what a role may do with the documents of a content type. */
function actsOf(rights: unknown, { uid, isSingle }: Pick<ContentType, "uid" | "isSingle">): Act[] {
  const [api = "", name = ""] = uid.split(".");
  const allowed = (action: string) =>
    member(rights, "permissions", api, "controllers", name, action, "enabled") === true;
  return ACTS.filter((act) => {
    if (act === "read") return allowed("find") && (isSingle || allowed("findOne"));
    // A single type has its entry from its first update on.
    return allowed(act === "create" && isSingle ? "update" : act);
  });
}

const definitionsOf = (fields: readonly Field[]) =>
  fields.length > 0 ? fields.map(({ definition }) => definition) : [{ name: "empty", type: "boolean" }];

/** Returns the name of a schema. Those of plugins say where they come from. */
const nameOf = (source: Item, uid: string): string => textIn(source, "schema", "singularName") ?? uid;

function typeOf(source: Item, uid: string, schema: string): ContentType {
  const isSingle = member(source, "schema", "kind") === "singleType";
  const route = textIn(source, "schema", isSingle ? "singularName" : "pluralName") ?? "";
  const own = Object.hasOwn(PLUGINS, uid) ? PLUGINS[uid] : undefined;
  return {
    ...{ uid, schema, source, isSingle, fields: [] },
    path: own?.path ?? `/api/${encodeURIComponent(route)}`,
    hasDrafts: member(source, "schema", "draftAndPublish") === true,
    isLocalized: member(source, "schema", "pluginOptions", "i18n", "localized") === true,
  };
}

function refersTo(source: Item, uid: string): boolean {
  const attributes = member(source, "schema", "attributes");
  const isOwn = String(source.uid).startsWith("api::");
  return (
    isOwn &&
    Object.values(isObject(attributes) ? attributes : {}).some((one) => textIn(one, "target") === uid)
  );
}

/** Returns the definition of a field. The platform can make a slug of a field that varies by language as it does. */
function withSlugSource({ source, definition }: Field, fields: readonly Field[]): Field["definition"] {
  if (definition.type !== "slug") return definition;
  const of = fields.find(({ id }) => id === source.targetField);
  const isText =
    of !== undefined && ["string", "text"].includes(of.definition.type) && of.definition.list !== true;
  return isText && of.isLocalized === (definition.translatable === true)
    ? { ...definition, from: of.definition.name }
    : definition;
}
