/** The console's model of an application. The management API and the discovery API both return its properties. */
import { BLOCK, type FieldTypeName, titleAmong } from "../../../shared/definition/types/index.ts";

export type FieldType = FieldTypeName;

export type Scalar = string | number | boolean;

/** A field of a schema, as in the application's document. */
export interface FieldModel {
  name: string;
  type: FieldType;
  label?: string;
  description?: string;
  /** `allLanguages`: published entries need a value in every language. */
  required?: boolean | "allLanguages";
  list?: boolean;
  translatable?: boolean;
  marketSpecific?: boolean;
  sensitive?: boolean;
  unique?: boolean;
  /** `ordered`: lists of any size can be sorted by the field. */
  index?: "ordered";
  /** Language in whose order lists are sorted by the field. */
  collation?: string;
  /** Whether the full-text search includes the field. */
  search?: boolean;
  /** Target of a reference: orbId/moduleId/schemaId. With a list, the values name one of its schemas. */
  ref?: string | readonly string[];
  /** File types that the field accepts. */
  accept?: readonly string[];
  /** Maximum bytes of a file. */
  maxSize?: number;
  /** Smaller copies of an image. */
  variants?: readonly Readonly<Record<string, string | number>>[];
  enum?: readonly Scalar[];
  default?: unknown;
  min?: number | string;
  max?: number | string;
  /** The field of which a slug is made, the rule of a change of type, or the fields that became members. */
  from?: string | { readonly convert: unknown } | { readonly fields: Readonly<Record<string, string>> };
  /** Digits after the point of a decimal number. */
  scale?: number;
  pattern?: string;
  /** The message for a value that does not match the pattern: a text, or one for each language. */
  message?: string | Readonly<Record<string, string>>;
  /** Section of the form. */
  group?: string;
  /** Width in the form. Default: full. */
  width?: "full" | "half" | "third";
  /** An example that an empty input shows. */
  placeholder?: string;
  /** JsonLogic rule over the entry's values. If it is not met, the form hides the field. */
  showIf?: unknown;
  /** How people see a number: `1,948` or `1948`. */
  format?: "grouped" | "plain";
  /**
   * Callers who may read and write the field: built-in roles, `own`, or roles of the application. If missing, all
   * callers who may access the entry may read and write the field.
   */
  access?: { read?: readonly string[]; write?: readonly string[] };
  /** The fields of the objects, for a field of type `object`. */
  fields?: readonly FieldModel[];
  /** The component whose fields the objects have. */
  component?: string;
  /** The components that blocks may have, as in the application's document. */
  components?: readonly string[];
  /** What rich text allows. A missing list allows the formats of `DEFAULT_FORMATS`, and no links. */
  styles?: readonly string[];
  marks?: readonly string[];
  lists?: readonly string[];
  /** Schemas to whose entries the links of rich text may lead: orbId/moduleId/schemaId. */
  links?: readonly string[];
  /** The components that blocks may have, with their fields, as in the discovery API. */
  blocks?: readonly { component: string; fields: readonly FieldModel[] }[];
}

export interface ComponentModel {
  id: string;
  name?: string;
  fields: readonly FieldModel[];
}

/** The fields that an object has. */
export interface Shape {
  /** Id of the component; empty for an object without blocks. */
  component: string;
  label: string;
  fields: readonly FieldModel[];
}

export type ModuleType = "CONTENT" | "CONFIG" | "RULES" | "TRANSACTIONS" | "SETTINGS";

export interface SchemaModel {
  id: string;
  name?: string;
  description?: string;
  fields: readonly FieldModel[];
  /** Set if a site shows the entries. The management API has the address here, the discovery API only `true`. */
  preview?: unknown;
  /** Path of the entries in the runtime API; null or missing if the platform does not serve the module. */
  href?: string | null;
}

export interface ModuleModel {
  id: string;
  type: ModuleType;
  name?: string;
  description?: string;
  schemas: readonly SchemaModel[];
}

export interface OrbModel {
  id: string;
  name?: string;
  description?: string;
  /** The first language is the default. */
  languages: readonly string[];
  /** The first market is the default. */
  markets: readonly string[];
  modules: readonly ModuleModel[];
  /** The application's components. The discovery API lists their fields in the fields that use them instead. */
  components?: readonly ComponentModel[];
  /**
   * Roles that the application defines. An account with such a role also has the rights of the built-in role that it
   * extends.
   */
  roles?: readonly { id: string; name: string; extends?: "user" | "admin" }[];
}

/** Returns the name to show: the `name` property, or else the id. */
export const titleOf = (thing: { id: string; name?: string | undefined }): string => thing.name ?? thing.id;

/** Returns the display name of a field. */
export const labelOf = (field: Pick<FieldModel, "name" | "label">): string => field.label ?? field.name;

/** Returns whether the value of a field is a list in each language and market. */
export const isListField = ({ list, type }: Pick<FieldModel, "list" | "type">): boolean =>
  list === true || type === "blocks" || type === "richText";

/** Returns whether an entry needs a value of the field, at least in the default language and market. */
export const isRequired = ({ required }: Pick<FieldModel, "required">): boolean =>
  required === true || required === "allLanguages";

/** Returns the schemas to which a reference may point: orbId/moduleId/schemaId. */
export const refsOf = ({ ref }: Pick<FieldModel, "ref">): readonly string[] =>
  ref === undefined ? [] : typeof ref === "string" ? [ref] : ref;

/** Returns whether the values of a reference name the schema: `{ "schema": "shop/people/person", "id": "…" }`. */
export const isPolymorphic = ({ ref }: Pick<FieldModel, "ref">): boolean =>
  ref !== undefined && typeof ref !== "string";

/** A reference: the schema, and the id of an entry. */
export interface Pointer {
  schema: string;
  id: string;
}

/** Returns the reference in a value. An id alone refers to the field's first schema. */
export function pointerIn(field: Pick<FieldModel, "ref">, value: unknown): Pointer | undefined {
  const [first = ""] = refsOf(field);
  if (typeof value === "string") return value === "" ? undefined : { schema: first, id: value };
  if (typeof value !== "object" || value === null || !("id" in value) || typeof value.id !== "string")
    return undefined;
  return {
    schema: "schema" in value && typeof value.schema === "string" ? value.schema : first,
    id: value.id,
  };
}

export const isObjects = ({ type }: Pick<FieldModel, "type">): boolean =>
  type === "object" || type === "blocks";

/** Returns the fields that the objects of a field can have: one shape, or one for each component of blocks. */
export function shapesOf(
  field: FieldModel,
  { components = [] }: Pick<OrbModel, "components">,
): readonly Shape[] {
  const shapeOf = (id: string, fields?: readonly FieldModel[]): Shape => {
    const found = components.find((one) => one.id === id);
    return { component: id, label: found?.name ?? id, fields: fields ?? found?.fields ?? [] };
  };
  if (field.type === "blocks" || field.type === "richText")
    return (
      field.blocks
        // The discovery API also describes the paragraphs of rich text.
        ?.filter(({ component }) => field.type === "blocks" || component !== BLOCK)
        .map(({ component, fields }) => shapeOf(component, fields)) ??
      (field.components ?? []).map((id) => shapeOf(id))
    );
  if (field.type !== "object") return [];
  const fields = field.fields ?? components.find(({ id }) => id === field.component)?.fields ?? [];
  return [{ component: "", label: labelOf(field), fields }];
}

/** Finds a schema of an application by the ids of the module and the schema. */
export function schemaOf(orb: OrbModel | undefined, module: string, schema: string): SchemaModel | undefined {
  return orb?.modules.find(({ id }) => id === module)?.schemas.find(({ id }) => id === schema);
}

/** Returns the title field, which identifies an entry in lists. */
export const titleField = ({ fields }: SchemaModel): FieldModel | undefined => titleAmong(fields);
