/** The console's model of an application. The management API and the discovery API both return its properties. */

export type FieldType =
  | "string"
  | "text"
  | "number"
  | "integer"
  | "boolean"
  | "date"
  | "datetime"
  | "json"
  | "reference"
  | "file";

export type Scalar = string | number | boolean;

/** A field of a schema, as in the application's document. */
export interface FieldModel {
  name: string;
  type: FieldType;
  label?: string;
  description?: string;
  required?: boolean;
  list?: boolean;
  translatable?: boolean;
  marketSpecific?: boolean;
  sensitive?: boolean;
  unique?: boolean;
  /** Whether the full-text search includes the field. */
  search?: boolean;
  /** Target of a reference: orbId/moduleId/schemaId. */
  ref?: string;
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
  pattern?: string;
  /**
   * Callers who may read and write the field: built-in roles, `own`, or roles of the application. If missing, all
   * callers who may access the entry may read and write the field.
   */
  access?: { read?: readonly string[]; write?: readonly string[] };
}

export type ModuleType = "CONTENT" | "CONFIG" | "RULES" | "TRANSACTIONS" | "SETTINGS";

export interface SchemaModel {
  id: string;
  name?: string;
  description?: string;
  fields: readonly FieldModel[];
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

/** Finds a schema of an application by the ids of the module and the schema. */
export function schemaOf(orb: OrbModel | undefined, module: string, schema: string): SchemaModel | undefined {
  return orb?.modules.find(({ id }) => id === module)?.schemas.find(({ id }) => id === schema);
}

/**
 * Returns the title field, which identifies an entry in lists. It is the first text field with a name like `title`, or
 * else the first text field.
 */
export function titleField({ fields }: SchemaModel): FieldModel | undefined {
  const texts = fields.filter(({ type, list, sensitive }) => type === "string" && !list && !sensitive);
  return texts.find(({ name }) => /^(title|name|headline|label|subject)$/i.test(name)) ?? texts[0];
}
