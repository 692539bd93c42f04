/**
 * Reads the valid parts of an invalid document. Further checks can then use these parts, and one response can report
 * all errors.
 */
import { isObject } from "../../kernel/json.ts";
import { type FieldDefinition, MODULE_TYPES, type ModuleType } from "../document/index.ts";
import { FIELD_TYPE_NAMES } from "../types/index.ts";

export type Bag = Readonly<Record<string, unknown>>;

export interface Placed {
  path: string;
  value: string;
}

export interface LooseField {
  path: string;
  name: string | undefined;
  type: FieldDefinition["type"] | undefined;
  raw: Bag;
  /** The fields of the objects, if the field lists them itself. */
  fields: LooseField[];
  component: Placed | undefined;
  components: Placed[];
  links: Placed[];
}

export interface LooseComponent {
  path: string;
  id: string | undefined;
  fields: LooseField[];
}

export interface LooseSchema {
  path: string;
  id: string | undefined;
  raw: Bag;
  fields: LooseField[];
}

export interface LooseModule {
  path: string;
  id: string | undefined;
  type: ModuleType | undefined;
  schemas: LooseSchema[];
}

export interface LooseHook {
  path: string;
  id: string | undefined;
  on: Placed[];
  module: string | undefined;
  schema: string | undefined;
  handler: string | undefined;
  url: unknown;
  mode: string | undefined;
  required: unknown;
}

export interface LooseSchedule {
  path: string;
  id: string | undefined;
  handler: string | undefined;
}

export interface LooseReviewRule {
  path: string;
  by: Placed[];
  module: string | undefined;
  schema: string | undefined;
}

export interface LooseDocument {
  id: string | undefined;
  languages: Placed[];
  markets: Placed[];
  /** Ids of the roles that the application defines. */
  roles: Placed[];
  uses: { path: string; service: string | undefined; handlers: Placed[]; acts: Placed[] }[];
  hooks: LooseHook[];
  schedules: LooseSchedule[];
  /** Review rules of the workflow. */
  review: LooseReviewRule[];
  components: LooseComponent[];
  modules: LooseModule[];
}

export function readLoosely(input: unknown): LooseDocument {
  const orb = bag(input);
  return {
    id: text(ownProperty(orb, "id")),
    languages: texts(ownProperty(orb, "languages"), "/languages"),
    markets: texts(ownProperty(orb, "markets"), "/markets"),
    roles: items(ownProperty(orb, "roles"), "/roles").flatMap(({ path, value }) => {
      const id = text(ownProperty(value, "id"));
      return id === undefined ? [] : [{ path: `${path}/id`, value: id }];
    }),
    uses: items(ownProperty(orb, "uses"), "/uses").map(({ path, value }) => ({
      path,
      service: text(ownProperty(value, "service")),
      handlers: texts(ownProperty(value, "handlers"), `${path}/handlers`),
      acts: texts(ownProperty(value, "acts"), `${path}/acts`),
    })),
    hooks: items(ownProperty(orb, "hooks"), "/hooks").map(({ path, value }) => ({
      path,
      id: text(ownProperty(value, "id")),
      on: texts(ownProperty(value, "on"), `${path}/on`),
      module: text(ownProperty(value, "module")),
      schema: text(ownProperty(value, "schema")),
      handler: text(ownProperty(value, "handler")),
      url: ownProperty(value, "url"),
      mode: text(ownProperty(value, "mode")),
      required: ownProperty(value, "required"),
    })),
    schedules: items(ownProperty(orb, "schedules"), "/schedules").map(({ path, value }) => ({
      path,
      id: text(ownProperty(value, "id")),
      handler: text(ownProperty(value, "handler")),
    })),
    review: items(ownProperty(bag(ownProperty(orb, "workflow")), "review"), "/workflow/review").map(
      ({ path, value }) => ({
        path,
        by: texts(ownProperty(value, "by"), `${path}/by`),
        module: text(ownProperty(value, "module")),
        schema: text(ownProperty(value, "schema")),
      }),
    ),
    components: items(ownProperty(orb, "components"), "/components").map(({ path, value }) => ({
      path,
      id: text(ownProperty(value, "id")),
      fields: fieldsIn(value, path),
    })),
    modules: items(ownProperty(orb, "modules"), "/modules").map(({ path, value }) => ({
      path,
      id: text(ownProperty(value, "id")),
      type: MODULE_TYPES.find((type) => type === ownProperty(value, "type")),
      schemas: items(ownProperty(value, "schemas"), `${path}/schemas`).map((schema) => ({
        path: schema.path,
        id: text(ownProperty(schema.value, "id")),
        raw: schema.value,
        fields: fieldsIn(schema.value, schema.path),
      })),
    })),
  };
}

function fieldsIn(owner: Bag, at: string): LooseField[] {
  return items(ownProperty(owner, "fields"), `${at}/fields`).map(({ path, value }) => {
    const component = text(ownProperty(value, "component"));
    return {
      path,
      name: text(ownProperty(value, "name")),
      type: FIELD_TYPE_NAMES.find((type) => type === ownProperty(value, "type")),
      raw: value,
      fields: fieldsIn(value, path),
      component: component === undefined ? undefined : { path: `${path}/component`, value: component },
      components: texts(ownProperty(value, "components"), `${path}/components`),
      links: texts(ownProperty(value, "links"), `${path}/links`),
    };
  });
}

/** Returns an own property of an object and ignores inherited ones such as `constructor`. */
export function ownProperty(value: Bag, key: string): unknown {
  return Object.hasOwn(value, key) ? value[key] : undefined;
}

function bag(value: unknown): Bag {
  return isObject(value) ? value : {};
}

function text(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined;
}

function items(value: unknown, path: string): { path: string; value: Bag }[] {
  if (!Array.isArray(value)) return [];
  return value.map((item: unknown, index) => ({ path: `${path}/${index}`, value: bag(item) }));
}

export function texts(value: unknown, path: string): Placed[] {
  if (!Array.isArray(value)) return [];
  return value.flatMap((item: unknown, index) =>
    typeof item === "string" ? [{ path: `${path}/${index}`, value: item }] : [],
  );
}
