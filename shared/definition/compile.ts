/** Compiles a valid document into a form that is fast to use. Does no I/O, so results can be cached. */
import {
  accessLists,
  compileAccess,
  compileFieldAccess,
  type FieldAccess,
  liveRoleOf,
  NO_ROLES,
  type OrbRoles,
  rolesOf,
  type SchemaAccess,
} from "./document/access.ts";
import type { Act } from "./document/acts.ts";
import {
  DEFAULT_LANGUAGE,
  type FieldDefinition,
  type ModuleDefinition,
  type ModuleType,
  type OrbDocument,
  type SchemaDefinition,
  SESSION_TTL,
} from "./document/document.ts";
import {
  type Home,
  type HomeKey,
  homeKey,
  homeOf,
  type SchemaToken,
  SUBJECT_TYPES,
  schemaToken,
} from "./document/home.ts";
import { FIELD_TYPES, type FieldType, type FilterOperator, type Rule } from "./fields/index.ts";
import { listOperators } from "./fields/type.ts";

export interface CompiledField {
  readonly name: string;
  readonly definition: FieldDefinition;
  readonly type: FieldType;
  readonly list: boolean;
  readonly translatable: boolean;
  readonly marketSpecific: boolean;
  readonly sensitive: boolean;
  readonly unique: boolean;
  readonly required: boolean;
  readonly access: FieldAccess;
  /** Converts a value to text. Two values are equal exactly if their texts are equal. */
  readonly equality: FieldType["token"];
  /** Whether an index can answer equality filters on this field. Never true for lists, maps and sensitive fields. */
  readonly indexed: boolean;
  /** Whether the field has an ordered index (all entries sorted by this field), for sort orders and ranges. */
  readonly ordered: boolean;
  /** Whether `search` finds entries by the words of the field. */
  readonly searched: boolean;
  readonly sortable: boolean;
  readonly operators: readonly FilterOperator[];
  /**
   * The schema that a reference field points to, by the name in message subjects, which never changes. The schema's
   * current id is unknown here, because another application may own and rename the schema.
   */
  readonly target: { orb: string; module: string; schema: SchemaToken } | undefined;
  readonly allowed: ReadonlySet<string> | undefined;
  readonly rules: Rule;
}

export interface CompiledSchema {
  readonly orb: string;
  readonly module: string;
  readonly moduleType: ModuleType;
  /** Module type as it appears in message subjects. */
  readonly subjectType: Lowercase<ModuleType>;
  readonly id: string;
  /** Identifies the schema's entries in the application's stream. */
  readonly home: Home;
  readonly definition: SchemaDefinition;
  readonly access: SchemaAccess;
  /**
   * The group of readers for which published copies of entries are stored. Everyone in the group may read every entry.
   * If this holds for only some signed-in users, the group is `admin`.
   */
  readonly liveRole: "public" | "user" | "admin";
  readonly fields: ReadonlyMap<string, CompiledField>;
  /**
   * Whether some callers may access an entry but not all of its fields. `read`: some may not read every field. `any`:
   * some may not read or may not set every field.
   */
  readonly narrowed: { readonly read: boolean; readonly any: boolean };
  readonly unique: readonly CompiledField[];
  readonly indexed: readonly CompiledField[];
  readonly ordered: readonly CompiledField[];
  readonly searched: readonly CompiledField[];
  readonly sensitive: readonly CompiledField[];
  readonly translatable: readonly CompiledField[];
  readonly marketSpecific: readonly CompiledField[];
  readonly references: readonly CompiledField[];
  readonly files: readonly CompiledField[];
  readonly languages: readonly string[];
  readonly markets: readonly string[];
}

export interface CompiledModule {
  readonly id: string;
  readonly type: ModuleType;
  readonly definition: ModuleDefinition;
  readonly schemas: ReadonlyMap<string, CompiledSchema>;
  /** The module's schema if the module has only one. URLs may then omit the schema id. */
  readonly only: CompiledSchema | undefined;
  /** Whether the platform serves the module's entries over HTTP. */
  readonly routed: boolean;
}

export interface CompiledOrb {
  readonly id: string;
  readonly document: OrbDocument;
  readonly modules: ReadonlyMap<string, CompiledModule>;
  readonly byHome: ReadonlyMap<HomeKey, CompiledSchema>;
  readonly languages: readonly string[];
  readonly defaultLanguage: string;
  readonly markets: readonly string[];
  readonly defaultMarket: string | undefined;
  /** Lifetime of user sessions, in seconds. */
  readonly sessionTtl: number;
  /**
   * Full handler names (`service.handler`) by the path of the handler in the application. The path is the handler's
   * name, such as `quote`. If several services have a `quote`, the path includes the service: `pricing/quote`.
   */
  readonly handlers: ReadonlyMap<string, string>;
  readonly handlerNames: ReadonlySet<string>;
  /** Operations (acts) that the document lets each handler perform for its callers, by full handler name. */
  readonly grants: ReadonlyMap<string, readonly Act[]>;
  /** Whether the application has user accounts. */
  readonly usesAccess: boolean;
  readonly roles: OrbRoles;
  schema(module: string, schema?: string): CompiledSchema | undefined;
  /**
   * Returns the schema whose entries are stored under a name. Stored revisions and references from other applications
   * may use the name from an earlier definition, such as `product-variant` for `ProductVariant`.
   */
  schemaNamed(module: string, schema: string): CompiledSchema | undefined;
}

export function compileOrb(document: OrbDocument): CompiledOrb {
  const modules = new Map<string, CompiledModule>();
  const byHome = new Map<HomeKey, CompiledSchema>();
  const usesAccess = document.uses.some((use) => use.service === "access");
  // An application without its own accounts uses the shared accounts. Shared accounts have built-in roles only.
  const roles = usesAccess ? rolesOf(document.roles) : NO_ROLES;
  for (const definition of document.modules) {
    const schemas = new Map<string, CompiledSchema>();
    for (const schema of definition.schemas) {
      const compiled = compileSchema(document, definition, schema, roles);
      schemas.set(schema.id, compiled);
      byHome.set(homeKey(compiled.home), compiled);
    }
    modules.set(definition.id, {
      id: definition.id,
      type: definition.type,
      definition,
      schemas,
      only: schemas.size === 1 ? schemas.values().next().value : undefined,
      routed: definition.type === "CONTENT" || definition.type === "CONFIG",
    });
  }
  const handlers = routesOf(document.uses);
  const grants = new Map(
    document.uses.flatMap(({ service, handlers, acts = [] }) =>
      handlers.map((handler) => [`${service}.${handler}`, acts] as const),
    ),
  );
  return {
    id: document.id,
    document,
    modules,
    byHome,
    languages: document.languages,
    defaultLanguage: document.languages[0] ?? DEFAULT_LANGUAGE,
    markets: document.markets,
    defaultMarket: document.markets[0],
    sessionTtl: document.session?.ttl ?? SESSION_TTL.default,
    handlers,
    handlerNames: new Set(handlers.values()),
    grants,
    usesAccess,
    roles,
    schema(module, schema) {
      const found = modules.get(module);
      return schema === undefined ? found?.only : found?.schemas.get(schema);
    },
    schemaNamed(module, schema) {
      const type = modules.get(module)?.type;
      const found = type === undefined ? undefined : byHome.get(homeKey(homeOf(type, schema)));
      return found?.module === module ? found : undefined;
    },
  };
}

function routesOf(uses: OrbDocument["uses"]): Map<string, string> {
  const used = uses.flatMap(({ service, handlers }) => handlers.map((handler) => ({ service, handler })));
  const services = Map.groupBy(used, ({ handler }) => handler);
  return new Map(
    used.map(({ service, handler }) => {
      const path = services.get(handler)?.length === 1 ? handler : `${service}/${handler}`;
      return [path, `${service}.${handler}`] as const;
    }),
  );
}

export function compileSchema(
  document: Pick<OrbDocument, "id" | "languages" | "markets">,
  module: Pick<ModuleDefinition, "id" | "type">,
  definition: SchemaDefinition,
  roles: OrbRoles = NO_ROLES,
): CompiledSchema {
  const fields = new Map(definition.fields.map((field) => [field.name, compileField(field, roles)] as const));
  const access = compileAccess(accessLists(module.type, definition), roles);
  return {
    orb: document.id,
    module: module.id,
    moduleType: module.type,
    subjectType: SUBJECT_TYPES[module.type],
    id: definition.id,
    home: homeOf(module.type, definition.id),
    definition,
    access,
    liveRole: liveRoleOf(access),
    ...partsOf(fields),
    languages: document.languages,
    markets: document.markets,
  };
}

function partsOf(fields: ReadonlyMap<string, CompiledField>) {
  const all = [...fields.values()];
  const read = all.some(({ access }) => access.read !== undefined);
  return {
    fields,
    narrowed: { read, any: read || all.some(({ access }) => access.write !== undefined) },
    unique: all.filter((field) => field.unique),
    indexed: all.filter((field) => field.indexed),
    ordered: all.filter((field) => field.ordered),
    searched: all.filter((field) => field.searched),
    sensitive: all.filter((field) => field.sensitive),
    translatable: all.filter((field) => field.translatable),
    marketSpecific: all.filter((field) => field.marketSpecific),
    references: all.filter((field) => field.target !== undefined),
    files: all.filter(({ definition }) => definition.type === "file"),
  } satisfies Partial<CompiledSchema>;
}

/** Returns a copy of a schema with only the named fields, as if the document did not contain the others. */
export function withFields(schema: CompiledSchema, names: ReadonlySet<string>): CompiledSchema {
  return { ...schema, ...partsOf(new Map([...schema.fields].filter(([name]) => names.has(name)))) };
}

function compileField(definition: FieldDefinition, roles: OrbRoles): CompiledField {
  const type = FIELD_TYPES[definition.type];
  const list = definition.list === true;
  const translatable = definition.translatable === true;
  const marketSpecific = definition.marketSpecific === true;
  const sensitive = definition.sensitive === true;
  const unique = definition.unique === true;
  const single = !list && !translatable && !marketSpecific && !sensitive;
  const [orb, module, schema] = definition.ref?.split("/") ?? [];
  return {
    name: definition.name,
    definition,
    type,
    list,
    translatable,
    marketSpecific,
    sensitive,
    unique,
    equality: (unique ? type.uniqueToken : undefined) ?? type.token,
    required: definition.required === true,
    access: compileFieldAccess(definition.access, roles),
    indexed:
      single &&
      (definition.enum !== undefined ||
        unique ||
        definition.type === "boolean" ||
        definition.type === "reference"),
    ordered: single && definition.index === "ordered" && type.orderable,
    searched: !sensitive && definition.search === true && type.searchable,
    sortable: !list && !sensitive && type.sortable,
    operators: sensitive ? [] : list ? listOperators(type) : type.operators,
    target:
      orb !== undefined && module !== undefined && schema !== undefined
        ? { orb, module, schema: schemaToken(schema) }
        : undefined,
    allowed:
      definition.enum === undefined
        ? undefined
        : new Set(definition.enum.map((value) => enumToken(type, value) ?? "")),
    rules: type.rules(definition),
  };
}

function enumToken(type: FieldType, value: string | number | boolean): string | null {
  const normal = type.parse(value, () => {});
  return normal === undefined ? null : type.token(normal);
}
