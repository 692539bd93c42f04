/** Compiles one field, with the fields inside its objects. */
import { sortedLanguage, sortKeys, TABLES_VERSION } from "../collation/keys.ts";
import {
  compileFieldAccess,
  type FieldAccess,
  type FieldDefinition,
  isPolymorphic,
  type ModuleDefinition,
  type OrbRoles,
  type ReferenceTarget,
  targetKey,
  targetsOf,
} from "./document/index.ts";
import { FIELD_TYPES, type FieldType, type FilterOperator, type Json, type Rule } from "./fields/index.ts";
import { compareScalars, listOperators } from "./fields/parts/index.ts";
import {
  COMPONENTS,
  type Conversion,
  conversionTo,
  MODULES,
  type NameTable,
  OWN_FORM,
  scopeWithin,
  storedHome,
} from "./names/index.ts";
import { type Components, isLocalizedInside, shapesOf, TYPE } from "./nested.ts";
import { BLOCK, type Finish, finishBlock, linkTargets, type PartDefinition } from "./rich-text.ts";

/** Returns whether an entry must have a value of the field, at least in the default language and market. */
export function isRequired({ required }: Pick<FieldDefinition, "required">): boolean {
  return required === true || required === "allLanguages";
}

export interface CompiledField {
  /** Name that filters and responses use: for a field of an object, the names on the way to it, such as `seo.title`. */
  readonly name: string;
  /** Name of the member that has the values: the last part of `name`. */
  readonly key: string;
  /** Name of the member that has the values in stored data. Differs from `key` after a rename. */
  readonly stored: string;
  /** The first stored name, which no change of type changes. */
  readonly identity: string;
  /** Earlier stored names, from before changes of type, and how to convert the values under them. */
  readonly forms: ReadonlyMap<string, Conversion> | undefined;
  /**
   * For a field of an earlier revision whose type changed while there were no entries: the stored name that its values
   * have as those of the live definition, and how to convert them.
   */
  readonly written: { readonly stored: string; readonly conversion: Conversion } | undefined;
  /** The stored names on the way to the field, such as `seo.title`. */
  readonly storedName: string;
  /** Name in index keys and message subjects, which cannot contain a dot. Made of stored names. */
  readonly token: string;
  /** The field whose objects have this field. Undefined for the fields of a schema. */
  readonly parent: CompiledField | undefined;
  /** The component that has this field, if the parent is a field of blocks. */
  readonly component: string | undefined;
  /**
   * For fields of objects: the fields that each object has, by their keys. A field of blocks or rich text has one map
   * for each component, all others have one map under an empty text.
   */
  readonly shapes: ReadonlyMap<string, ReadonlyMap<string, CompiledField>> | undefined;
  /** Whether the value is a list of blocks, which tell their component in `_type`. */
  readonly blocks: boolean;
  /** Name of the member that tells which of `shapes` an object has. Undefined if all objects have one shape. */
  readonly kind: string | undefined;
  /** Completes the objects that the platform itself defines, by the keys of `shapes`. */
  readonly finish: ReadonlyMap<string, Finish> | undefined;
  /** Whether the platform itself defines the field, as a part of rich text. Filters cannot name it. */
  readonly isPart: boolean;
  /** Whether responses always have a value, which may be empty. */
  readonly always: boolean;
  /** For fields of objects, if stored values have other names inside: the stored names of the components. */
  readonly renamedInside: ReadonlyMap<string, string> | undefined;
  /** For values that name their schema: the keys under which stored values name renamed schemas, by their refs. */
  readonly renamedTargets: ReadonlyMap<string, string> | undefined;
  /** Whether an entry may have several values in one language and market, because the field is inside a list. */
  readonly repeated: boolean;
  /** Whether the values inside an object have languages or markets. */
  readonly localizedInside: boolean;
  readonly definition: FieldDefinition;
  readonly type: FieldType;
  readonly list: boolean;
  readonly translatable: boolean;
  readonly marketSpecific: boolean;
  readonly sensitive: boolean;
  readonly unique: boolean;
  readonly required: boolean;
  /** Includes the access to the fields that contain the field. */
  readonly access: FieldAccess;
  /** For fields of objects: whether some callers may access the objects but not all of their fields. */
  readonly narrowedInside: boolean;
  /** Converts a value to text. Two values are equal exactly if their texts are equal. */
  readonly equality: FieldType["token"];
  /** Whether an index can answer equality filters on this field. Never true for lists, maps and sensitive fields. */
  readonly indexed: boolean;
  /** Compares values in the order of lists. */
  readonly compare: FieldType["compare"];
  /** Returns the sort key of a text. Undefined if texts are sorted by their code units. */
  readonly sortKey: ((text: string) => string) | undefined;
  /** Whether the field has an ordered index (all entries sorted by this field), for sort orders and ranges. */
  readonly ordered: boolean;
  /** Name of the field's ordered index. An index with other sort keys has another name. */
  readonly indexName: string;
  /** Whether `search` finds entries by the words of the field. */
  readonly searched: boolean;
  readonly sortable: boolean;
  readonly operators: readonly FilterOperator[];
  /** The schemas that a reference field points to. Empty for all other fields. */
  readonly targets: readonly ReferenceTarget[];
  /** Whether each value names its schema, because the field may refer to several ones. */
  readonly polymorphic: boolean;
  /** The values of `enum`, by their equality. */
  readonly allowed: ReadonlyMap<string, Json> | undefined;
  readonly rules: Rule;
}

export interface FieldCompiler {
  roles: OrbRoles;
  /** Fields of the document's components, by the components' ids. */
  components: Components;
  names: NameTable;
  orb: string;
  modules: readonly ModuleDefinition[];
}

/** The list of fields that has the field that is compiled. */
interface Inside {
  /** Scope of the names in the list. */
  scope: string;
  /** The field whose objects have the field. */
  parent?: CompiledField;
  /** The component of blocks that has the field. */
  component?: string | undefined;
}

/** Scope of the names that the platform itself gives to the parts of rich text. They never change. */
const PARTS = "parts";

/** Returns whether stored values have other names than a field, or inside it. */
export const isRenamed = ({ key, stored, forms, renamedInside, renamedTargets }: CompiledField) =>
  key !== stored || forms !== undefined || renamedInside !== undefined || renamedTargets !== undefined;

export function compileField(
  compiler: FieldCompiler,
  definition: PartDefinition,
  inside: Inside,
): CompiledField {
  const { names } = compiler;
  const stored = names.storedOf(inside.scope, definition.name);
  const type = FIELD_TYPES[definition.type];
  const shapes = new Map<string, ReadonlyMap<string, CompiledField>>();
  const given = shapesOf(definition, compiler.components);
  const field: Mutable<CompiledField> = {
    ...namesOf(definition, stored, inside),
    ...valuesOf(type, definition, stored, inside.parent),
    identity: names.rootOf(inside.scope, definition.name),
    forms: formsOf(names, inside.scope, definition.name),
    written: writtenOf(names, inside.scope, definition.name),
    definition,
    type,
    shapes: given === undefined ? undefined : shapes,
    ...kindOf(definition),
    isPart: isPart(inside),
    always: definition.always === true,
    renamedInside: undefined,
    renamedTargets: renamedTargets(compiler, definition),
    localizedInside: isLocalizedInside(definition, compiler.components),
    access: compileFieldAccess(definition.access, compiler.roles, inside.parent?.access),
    narrowedInside: false,
    rules: type.rules(definition),
  };
  const storedComponents = new Map<string, string>();
  for (const [component, fields] of given ?? []) {
    const ownParts = field.isPart || (definition.type === "richText" && component === BLOCK);
    if (field.blocks)
      storedComponents.set(component, ownParts ? component : names.storedOf(COMPONENTS, component));
    const scope = ownParts ? PARTS : scopeWithin(names, inside.scope, definition, component);
    const within = { scope, parent: field, component: field.kind === undefined ? undefined : component };
    const members = fields.map((each) => [each.name, compileField(compiler, each, within)] as const);
    shapes.set(component, new Map(members));
  }
  const below = [...shapes.values()].flatMap((members) => [...members.values()]);
  field.narrowedInside = below.some((one) => one.narrowedInside || one.access !== field.access);
  if (below.some(isRenamed) || [...storedComponents].some(([id, named]) => id !== named))
    field.renamedInside = storedComponents;
  return field;
}

function formsOf(names: NameTable, scope: string, name: string): ReadonlyMap<string, Conversion> | undefined {
  const forms = names.formsOf(scope, name);
  const current = names.storedOf(scope, name);
  return (
    forms &&
    new Map(
      forms.flatMap(({ stored }) =>
        stored === current ? [] : [[stored, conversionTo(current, stored, forms, names.picks)] as const],
      ),
    )
  );
}

function writtenOf(names: NameTable, scope: string, name: string): CompiledField["written"] {
  const current = names.storedOf(scope, name);
  const forms = current.endsWith(OWN_FORM) ? (names.formsOf(scope, name) ?? []) : [];
  const from = forms.find(({ stored }) => stored === current)?.from;
  return from === undefined ? undefined : { stored: from, conversion: conversionTo(from, current, forms) };
}

function renamedTargets(
  { names, orb, modules }: FieldCompiler,
  definition: PartDefinition,
): ReadonlyMap<string, string> | undefined {
  if (names.isEmpty) return undefined;
  const targets = isPolymorphic(definition) ? targetsOf(definition) : linkTargets(definition);
  const renamed = targets.flatMap((target): [string, string][] => {
    const type = target.orb === orb ? modules.find(({ id }) => id === target.module)?.type : undefined;
    if (type === undefined) return [];
    const { schema } = storedHome(names, type, target.schema);
    const key = targetKey({ orb, module: names.storedOf(MODULES, target.module), schema });
    return key === targetKey(target) ? [] : [[target.ref, key]];
  });
  return renamed.length === 0 ? undefined : new Map(renamed);
}

/** Returns how the objects of a field tell their shapes. */
function kindOf(definition: PartDefinition) {
  const { type, kind, finish } = definition;
  const blocks = type === "blocks" || type === "richText";
  return {
    blocks,
    kind: kind ?? (blocks ? TYPE : undefined),
    finish: type === "richText" ? new Map([[BLOCK, finishBlock(definition)]]) : finish,
  } satisfies Partial<CompiledField>;
}

const isPart = ({ parent, component }: Inside): boolean =>
  parent !== undefined && (parent.isPart || (parent.definition.type === "richText" && component === BLOCK));

/** Returns the rich text that contains a field. */
function richTextAround(field: CompiledField | undefined): CompiledField | undefined {
  return field === undefined || field.definition.type === "richText" ? field : richTextAround(field.parent);
}

type Mutable<T> = { -readonly [K in keyof T]: T[K] };

/** Returns the names of a field, and where it is. */
function namesOf({ name: key, isLink }: PartDefinition, stored: string, { parent, component }: Inside) {
  const named = isLink === true ? richTextAround(parent) : undefined;
  return {
    key,
    stored,
    name: named?.name ?? (parent === undefined ? key : `${parent.name}.${key}`),
    storedName: named?.storedName ?? (parent === undefined ? stored : `${parent.storedName}.${stored}`),
    token: named?.token ?? (parent === undefined ? stored : `${parent.token}-${stored}`),
    parent,
    component,
    repeated: parent !== undefined && (parent.repeated || parent.list),
  } satisfies Partial<CompiledField>;
}

/** Returns whether all entries have at most one value of a field: not in a list, and not for each language or market. */
function isSingle(
  field: Pick<CompiledField, "list" | "translatable" | "marketSpecific" | "parent">,
): boolean {
  const { list, translatable, marketSpecific, parent } = field;
  return !list && !translatable && !marketSpecific && (parent === undefined || isSingle(parent));
}

function valuesOf(
  type: FieldType,
  definition: FieldDefinition,
  stored: string,
  parent: CompiledField | undefined,
) {
  const list = definition.list === true || definition.type === "blocks" || definition.type === "richText";
  const translatable = definition.translatable === true;
  const marketSpecific = definition.marketSpecific === true;
  const sensitive = definition.sensitive === true;
  const unique = definition.unique === true;
  const equality = (unique ? type.uniqueToken : undefined) ?? type.equality ?? type.token;
  const single = !sensitive && isSingle({ list, translatable, marketSpecific, parent });
  const repeated = parent !== undefined && (parent.repeated || parent.list);
  const sortKey = definition.collation === undefined ? type.sortKey : sortKeys(definition.collation);
  return {
    list,
    translatable,
    marketSpecific,
    sensitive,
    unique,
    equality,
    required: isRequired(definition),
    indexed: single && (definition.enum !== undefined || unique || type.indexed),
    compare: definition.collation === undefined || sortKey === undefined ? type.compare : comparedBy(sortKey),
    sortKey,
    indexName: indexNameOf(parent === undefined ? stored : `${parent.token}-${stored}`, definition),
    ordered: single && definition.index === "ordered" && type.orderable,
    searched: !sensitive && definition.search === true && type.searchable,
    sortable: !list && !sensitive && !repeated && type.sortable && !isPolymorphic(definition),
    operators: sensitive ? [] : list ? listOperators(type) : type.operators,
    targets: targetsOf(definition),
    polymorphic: isPolymorphic(definition),
    allowed:
      definition.enum === undefined
        ? undefined
        : new Map(definition.enum.flatMap((value) => enumPair(type, equality, value, definition)).reverse()),
  } satisfies Partial<CompiledField>;
}

function comparedBy(key: (text: string) => string): FieldType["compare"] {
  return (a, b) => (typeof a === "string" && typeof b === "string" ? compareScalars(key(a), key(b)) : 0);
}

function indexNameOf(token: string, { collation }: FieldDefinition): string {
  const language = collation === undefined ? undefined : sortedLanguage(collation);
  return language === undefined ? token : `${token}-${language}-${TABLES_VERSION}`;
}

function enumPair(
  type: FieldType,
  equality: FieldType["token"],
  value: string | number | boolean,
  definition: FieldDefinition,
): [string, Json][] {
  const normal = type.parse(value, () => {}, definition);
  const token = normal === undefined ? null : equality(normal);
  return normal === undefined || token === null ? [] : [[token, normal]];
}
