/** What an adapter reads from another system, before anything is written. */

/** Name of the unique field that holds the id that an entry had in the other system. */
export const SOURCE_ID = "sourceId";
/** Id of the module that contains all schemas of a migration. */
export const MODULE = "content";

/** A field as the orb document describes it. */
export interface FieldDefinition {
  name: string;
  type: string;
  list?: boolean;
  translatable?: boolean;
  required?: boolean;
  unique?: boolean;
  enum?: readonly (string | number)[];
  fields?: readonly FieldDefinition[];
  component?: string;
  components?: readonly string[];
  [attribute: string]: unknown;
}

export interface SchemaDefinition {
  id: string;
  name?: string;
  description?: string;
  access?: Readonly<Record<string, unknown>>;
  fields: FieldDefinition[];
}

export interface ComponentDefinition {
  id: string;
  name?: string;
  fields: FieldDefinition[];
}

export interface RoleDefinition {
  id: string;
  name: string;
}

/** The part of the orb document that an adapter makes. References name their schemas by id alone. */
export interface SourceDocument {
  name: string;
  /** The first is the default. */
  languages: readonly string[];
  components: ComponentDefinition[];
  schemas: SchemaDefinition[];
  /** Roles that access rules of the schemas name. */
  roles?: readonly RoleDefinition[];
}

/** Something that could not be carried as it was. */
export interface Loss {
  /** `model`: of the description of the content; `value`: of one entry; `entry`: a whole entry; `file`: a file. */
  kind: "model" | "value" | "entry" | "file";
  /** Where it is in the other system, such as `post 12, field title`. */
  at: string;
  /** Why it could not be carried. */
  why: string;
  /** What is there now instead. */
  became: string;
}

/**
 * A reference to another entry of the other system.
 * `one`: the field refers to one schema. `several`: it refers to several. `link`: it is in a link of rich text.
 */
export class Linked {
  readonly schema: string;
  readonly id: string;
  readonly form: "one" | "several" | "link";

  constructor(schema: string, id: string, form: Linked["form"]) {
    this.schema = schema;
    this.id = id;
    this.form = form;
  }
}

/** A file, by its address, by its path in the folder of files, or by both. The path counts if there is such a file. */
export class SourceFile {
  readonly address: string | undefined;
  readonly path: string | undefined;

  constructor(address: string | undefined, path?: string) {
    this.address = address;
    this.path = path;
  }
}

export type Status = "SAVED" | "PUBLISHED" | "UNPUBLISHED" | "ARCHIVED";

export interface SourceEntry {
  schema: string;
  /** Id in the other system, unique in the schema. */
  id: string;
  status: Status;
  createdAt?: string | undefined;
  createdBy?: string | undefined;
  validFrom?: string | undefined;
  /** As a write takes them, with {@link Linked} for references and {@link SourceFile} for files. */
  values: Readonly<Record<string, unknown>>;
  /** The values of a draft that is newer than what is published. */
  draft?: Readonly<Record<string, unknown>> | undefined;
  losses?: readonly Loss[];
}

export interface Source {
  document: SourceDocument;
  /** Yields the entries of a schema in the order of their creation: as they are now, or as they were when it was opened. */
  entries(schema: string): AsyncIterable<SourceEntry>;
  /** What of the model cannot be carried. */
  losses: readonly Loss[];
  /** Folder of the files, if the source says it. */
  folder?: string | undefined;
  /** Whether the source runs on this machine, so that its files come from there, too. */
  isLocal?: boolean;
  /** Headers with which the files of the source are downloaded. Other addresses do not get them. */
  credentials?: { url: string; headers: Readonly<Record<string, string>> } | undefined;
}

/** How adapters are opened. */
export interface SourceOptions {
  /** A file, a folder or an address. */
  source: string;
  env: NodeJS.ProcessEnv;
}

/** Returns the name of an entry in messages. */
export const entryLabel = ({ schema, id }: { schema: string; id: string }, field?: string): string =>
  field === undefined ? `${schema} ${id}` : `${schema} ${id}, ${field}`;
