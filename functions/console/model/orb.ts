/** An orb as the console shows it, whether it comes from the management API or from the discovery. */

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

/** A field of a schema, with the members of the orb document. */
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
  /** Whether a search finds entries by its words. */
  search?: boolean;
  /** Target of a reference: orbId/moduleId/schemaId. */
  ref?: string;
  /** Types that a file may have. */
  accept?: readonly string[];
  enum?: readonly Scalar[];
  default?: unknown;
  min?: number | string;
  max?: number | string;
  pattern?: string;
  /** Callers who may read and set it, if not all who may access the entry: built-in roles, `own`, roles of the orb. */
  access?: { read?: readonly string[]; write?: readonly string[] };
}

export type ModuleType = "CONTENT" | "CONFIG" | "RULES" | "TRANSACTIONS" | "SETTINGS";

export interface SchemaModel {
  id: string;
  name?: string;
  description?: string;
  fields: readonly FieldModel[];
  /** Path of the entries in the runtime API; null or missing if the module has no automatic routes. */
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
  /** Roles of the orb's own. Their holders also have the rights of the role that they extend. */
  roles?: readonly { id: string; name: string; extends?: "user" | "admin" }[];
}

/** The name that people read: its own name, or its id. */
export const titleOf = (thing: { id: string; name?: string | undefined }): string => thing.name ?? thing.id;

/** The name of a field that people read. */
export const labelOf = (field: Pick<FieldModel, "name" | "label">): string => field.label ?? field.name;

/** Returns a schema of an orb by the ids of its module and its own. */
export function schemaOf(orb: OrbModel | undefined, module: string, schema: string): SchemaModel | undefined {
  return orb?.modules.find(({ id }) => id === module)?.schemas.find(({ id }) => id === schema);
}

/** Returns the field that names an entry in lists: the first text with a label-like name, or the first text. */
export function titleField({ fields }: SchemaModel): FieldModel | undefined {
  const texts = fields.filter(({ type, list, sensitive }) => type === "string" && !list && !sensitive);
  return texts.find(({ name }) => /^(title|name|headline|label|subject)$/i.test(name)) ?? texts[0];
}
