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
    this.#tellOtherRights();
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
    const { everyone } = this.#described;
    // Everyone who knows the address of a file of Strapi can download it.
    if (uid === FILE) {
      const isOpen = this.types.some((one) => one.uid !== FILE && actsOf(everyone, one).includes("read"));
      return isOpen ? { read: "public" } : undefined;
    }
    const type = { uid, isSingle };
    const isOpen = actsOf(everyone, type).includes("read");
    const tell = (act: Act, name: string, why: string, became = `${name} may not`) =>
      void this.losses.push({ kind: "model", at: `content type ${uid}, ${act} for ${name}`, why, became });
    const rights = this.#holders.flatMap(({ caller, name, rights: own }): Right[] => {
      const acts = actsOf(own, type);
      if (!isOpen && !acts.includes("read") && readsIn(own, type).length > 0)
        tell("read", name, `Strapi allows only ${readsIn(own, type).join(", ")}`);
      return acts.flatMap((act) => {
        const narrower = caller === "user" && !(act === "read" && isOpen) ? this.#without(act, type) : [];
        if (narrower.length === 0) return [{ caller, act }];
        const why = `roles of an orb have the rights of all accounts, and ${narrower.join(", ")} may not`;
        tell(act, name, why, "accounts without a role may not");
        return [];
      });
    });
    const isPart = this.#holders.some((one) => readsIn(one.rights, type).length > 0);
    return accessOf(rights, isPart, ({ caller, act }, why) => {
      const name = this.#holders.find((one) => one.caller === caller)?.name ?? caller;
      tell(act, name, why, caller === "public" ? "only accounts may" : undefined);
    });
  }

  /** Returns who has rights. An account of Strapi has those of its one role, which may be Authenticated. */
  get #holders(): { caller: string; name: string; rights: unknown }[] {
    const { everyone, users, roles } = this.#described;
    return [
      { caller: "public", name: "Public", rights: everyone },
      { caller: "user", name: "Authenticated", rights: users },
      ...roles.flatMap(({ id, name, rights }) => {
        const caller = this.#roles.get(id)?.id;
        return caller === undefined ? [] : [{ caller, name, rights }];
      }),
    ];
  }

  /** Returns the names of the further roles that lack a right. */
  #without(act: Act, type: Pick<ContentType, "uid" | "isSingle">): string[] {
    return this.#described.roles
      .filter(({ rights }) => !actsOf(rights, type).includes(act))
      .map(({ name }) => name);
  }

  /** Tells rights to other actions than those of the entries of content types. */
  #tellOtherRights(): void {
    const known = new Set(this.types.map(({ uid }) => uid));
    for (const { name, rights } of this.#holders) {
      const others = actionsIn(rights).filter(
        ([api, controller, action]) =>
          !(known.has(`${api}.${controller}`) && ACTIONS.includes(action)) &&
          // An orb has a sign-in and accounts of its own.
          !(api === "plugin::users-permissions" && (controller === "auth" || action === "me")),
      );
      if (others.length === 0) continue;
      this.losses.push({
        ...{ kind: "model", at: `role ${name}, other rights`, became: "left out" },
        why: `there is no counterpart of ${others.map((one) => one.join(".")).join(", ")}`.slice(0, 1_000),
      });
    }
  }
}

/** Actions of the entries of a content type. */
const ACTIONS = ["find", "findOne", "create", "update", "delete"];

/** Returns the actions that a role may do: API, controller and action. */
function actionsIn(rights: unknown): [string, string, string][] {
  const entriesOf = (value: unknown) => Object.entries(isObject(value) ? value : {});
  return entriesOf(member(rights, "permissions")).flatMap(([api, one]) =>
    entriesOf(member(one, "controllers")).flatMap(([controller, actions]) =>
      entriesOf(actions).flatMap(([action, state]): [string, string, string][] =>
        member(state, "enabled") === true ? [[api, controller, action]] : [],
      ),
    ),
  );
}

/** Returns which of the two actions of reading a role may do. */
function readsIn(rights: unknown, { uid }: Pick<ContentType, "uid">): string[] {
  const own = actionsIn(rights).filter(([api, controller]) => `${api}.${controller}` === uid);
  return ["find", "findOne"].filter((name) => own.some(([, , action]) => action === name));
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
