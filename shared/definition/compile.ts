import { type CompiledField, compileField, type FieldCompiler, isRenamed } from "./compile-field.ts";
import {
  type Act,
  accessLists,
  compileAccess,
  compileWorkflow,
  DEFAULT_LANGUAGE,
  type Home,
  type HomeKey,
  homeKey,
  liveRoleOf,
  type ModuleDefinition,
  type ModuleType,
  NO_ROLES,
  type OrbDocument,
  type OrbRoles,
  type ReviewRule,
  rolesOf,
  type SchemaAccess,
  type SchemaDefinition,
  type SchemaToken,
  SESSION_TTL,
  SUBJECT_TYPES,
  schemaToken,
  sourceOf,
} from "./document/index.ts";
import {
  type MadeField,
  MODULES,
  type MovedField,
  madeFields,
  movedFields,
  NameTable,
  type StoredNames,
  schemasOf,
  storedHome,
} from "./names/index.ts";
import { componentsOf, withNested } from "./nested.ts";

export type { CompiledField };

export interface CompiledSchema {
  readonly orb: string;
  readonly module: string;
  readonly moduleType: ModuleType;
  /** Module type as it appears in message subjects. */
  readonly subjectType: Lowercase<ModuleType>;
  readonly id: string;
  /** Identifies the schema's entries in the application's stream. */
  readonly home: Home;
  /** Whether stored revisions have other names: of fields, of the schema or of its module. */
  readonly renamed: boolean;
  /** Fields of which some values are stored as those of members of objects, or reversed. */
  readonly moved: readonly MovedField[];
  /** Fields that a rule makes of others, in entries that were stored before the fields existed. */
  readonly made: readonly MadeField[];
  readonly definition: SchemaDefinition;
  readonly access: SchemaAccess;
  /**
   * The group of readers for which published copies of entries are stored. Everyone in the group may read every entry.
   * If this holds for only some signed-in users, the group is `admin`.
   */
  readonly liveRole: "public" | "user" | "admin";
  readonly fields: ReadonlyMap<string, CompiledField>;
  /** The fields of objects at all depths, by their names such as `seo.title`. */
  readonly nested: ReadonlyMap<string, readonly CompiledField[]>;
  /**
   * Whether some callers may access an entry but not all of its fields. `read`: some may not read every field. `any`:
   * some may not read or may not set every field. `readers`: the fields whose own access rules limit who may read them,
   * at all depths.
   */
  readonly narrowed: {
    readonly read: boolean;
    readonly any: boolean;
    readonly readers: readonly CompiledField[];
  };
  /** The fields that this view of the schema omits, each by its unique path. Empty for the schema itself. */
  readonly omitted: readonly string[];
  readonly unique: readonly CompiledField[];
  readonly indexed: readonly CompiledField[];
  readonly ordered: readonly CompiledField[];
  readonly searched: readonly CompiledField[];
  readonly sensitive: readonly CompiledField[];
  readonly translatable: readonly CompiledField[];
  readonly marketSpecific: readonly CompiledField[];
  readonly references: readonly CompiledField[];
  readonly files: readonly CompiledField[];
  /** Whether some fields are not required while a rule is not met. */
  readonly conditional: boolean;
  /** Slugs that are made from another field. */
  readonly slugs: readonly CompiledField[];
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
  /** Full name of the handler that each schedule calls. */
  readonly schedules: ReadonlyMap<string, string>;
  /** Whether the application has user accounts. */
  readonly usesAccess: boolean;
  readonly roles: OrbRoles;
  /** Rules that decide which approvals a change set needs before it can be published. */
  readonly review: readonly ReviewRule[];
  schema(module: string, schema?: string): CompiledSchema | undefined;
  /**
   * Returns the schema that has or had a name. Stored revisions and references from other applications may use the
   * name from an earlier definition, such as `product-variant` for `ProductVariant`.
   */
  schemaNamed(module: string, schema: string): CompiledSchema | undefined;
}

/**
 * @param stored the names in stored data, if they differ from those of the document
 * @param picks whether stored values that have more than the document's fields can hold are shown in part
 */
export function compileOrb(document: OrbDocument, stored?: StoredNames, picks = false): CompiledOrb {
  const names = new NameTable(stored, picks);
  const modules = new Map<string, CompiledModule>();
  const byHome = new Map<HomeKey, CompiledSchema>();
  const usesAccess = document.uses.some((use) => use.service === "access");
  // An application without its own accounts uses the shared accounts. Shared accounts have built-in roles only.
  const roles = usesAccess ? rolesOf(document.roles) : NO_ROLES;
  for (const definition of document.modules) {
    const schemas = new Map<string, CompiledSchema>();
    for (const schema of definition.schemas) {
      const compiled = compileSchema(document, definition, schema, roles, names);
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
    schedules: new Map(document.schedules?.map(({ id, handler }) => [id, handler])),
    usesAccess,
    roles,
    review: compileWorkflow(document.workflow, roles),
    schema(module, schema) {
      const found = modules.get(module);
      return schema === undefined ? found?.only : found?.schemas.get(schema);
    },
    schemaNamed(module, schema) {
      const found = modules.get(module) ?? modules.get(names.nowOf(MODULES, module) ?? "");
      return found === undefined ? undefined : namedIn(found, schemaToken(schema), names);
    },
  };
}

function namedIn(
  { type, schemas }: CompiledModule,
  token: SchemaToken,
  names: NameTable,
): CompiledSchema | undefined {
  const all = [...schemas.values()];
  const called = (name: string) => all.find(({ id }) => schemaToken(id) === name);
  const now = called(token);
  if (now !== undefined || names.isEmpty) return now;
  return called(names.nowOf(schemasOf(type), token) ?? "");
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

const NOTHING_RENAMED = new NameTable(undefined);

export function compileSchema(
  document: Pick<OrbDocument, "id" | "languages" | "markets" | "components"> &
    Partial<Pick<OrbDocument, "modules">>,
  module: Pick<ModuleDefinition, "id" | "type">,
  definition: SchemaDefinition,
  roles: OrbRoles = NO_ROLES,
  names: NameTable = NOTHING_RENAMED,
): CompiledSchema {
  const compiler: FieldCompiler = {
    roles,
    components: componentsOf(document),
    names,
    orb: document.id,
    modules: document.modules ?? [],
  };
  const token = schemaToken(definition.id);
  const home = storedHome(names, module.type, definition.id);
  const scope = homeKey(home);
  const fields = new Map(
    definition.fields.map((field) => [field.name, compileField(compiler, field, { scope })] as const),
  );
  const moved = movedFields({ names, components: compiler.components, scope, fields: definition.fields });
  const made = madeFields(names, scope, definition.fields, moved);
  const access = compileAccess(accessLists(module.type, definition), roles);
  return {
    orb: document.id,
    module: module.id,
    moduleType: module.type,
    subjectType: SUBJECT_TYPES[module.type],
    id: definition.id,
    home,
    renamed:
      home.schema !== token ||
      names.storedOf(MODULES, module.id) !== module.id ||
      moved.length > 0 ||
      made.length > 0 ||
      [...fields.values()].some(isRenamed),
    moved,
    made,
    definition,
    access,
    liveRole: liveRoleOf(access),
    ...partsOf(fields),
    omitted: [],
    languages: document.languages,
    markets: document.markets,
  };
}

function partsOf(fields: ReadonlyMap<string, CompiledField>) {
  const roots = [...fields.values()];
  const all = roots.some(({ shapes }) => shapes !== undefined) ? roots.flatMap(withNested) : roots;
  const readers = all.filter(({ access, parent }) => access.read !== undefined && access !== parent?.access);
  const read = readers.length > 0;
  return {
    fields,
    nested: Map.groupBy(
      all.filter(({ parent, isPart }) => parent !== undefined && !isPart),
      ({ name }) => name,
    ),
    narrowed: { read, any: read || all.some(({ access }) => access.write !== undefined), readers },
    unique: all.filter((field) => field.unique),
    indexed: all.filter((field) => field.indexed),
    ordered: all.filter((field) => field.ordered),
    searched: all.filter((field) => field.searched),
    sensitive: all.filter((field) => field.sensitive),
    translatable: all.filter((field) => field.translatable),
    marketSpecific: all.filter((field) => field.marketSpecific),
    references: all.filter((field) => field.targets.length > 0),
    conditional: all.some(({ definition }) => definition.showIf !== undefined),
    slugs: all.filter(({ definition }) => sourceOf(definition) !== undefined),
    files: all.filter(({ definition }) => definition.type === "file"),
  } satisfies Partial<CompiledSchema>;
}

/** Returns a copy of a schema without some fields, at any depth, as if the document did not contain them. */
export function withoutFields(schema: CompiledSchema, omitted: ReadonlySet<CompiledField>): CompiledSchema {
  const parts = partsOf(membersWithout(schema.fields, undefined, omitted));
  return { ...schema, ...parts, omitted: [...omitted].map(pathOf) };
}

/** Returns the path of a field, which differs for two components of one field of blocks. */
function pathOf({ key, parent, component }: CompiledField): string {
  return parent === undefined ? key : `${pathOf(parent)}/${component ?? ""}/${key}`;
}

function membersWithout(
  fields: ReadonlyMap<string, CompiledField>,
  parent: CompiledField | undefined,
  omitted: ReadonlySet<CompiledField>,
): Map<string, CompiledField> {
  const left = [...fields].filter(([, field]) => !omitted.has(field));
  return new Map(left.map(([key, field]) => [key, fieldWithout(field, parent, omitted)]));
}

/** @param parent the copy of the field whose objects have the field */
function fieldWithout(
  field: CompiledField,
  parent: CompiledField | undefined,
  omitted: ReadonlySet<CompiledField>,
): CompiledField {
  if (field.shapes === undefined) return field.parent === parent ? field : { ...field, parent };
  if (field.parent === parent && withNested(field).every((one) => !omitted.has(one))) return field;
  const shapes = new Map<string, ReadonlyMap<string, CompiledField>>();
  const copy: CompiledField = { ...field, parent, shapes };
  for (const [shape, members] of field.shapes) shapes.set(shape, membersWithout(members, copy, omitted));
  return copy;
}

/** Returns whether each value of the field belongs to one entry, so that it can address the entry. */
export function isKey({ unique, indexed, parent }: CompiledField): boolean {
  return unique && indexed && parent === undefined;
}

/** Returns the fields of a schema whose values address its entries. */
export function keyFields(schema: CompiledSchema): CompiledField[] {
  return schema.unique.filter(isKey);
}
