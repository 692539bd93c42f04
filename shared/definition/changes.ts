/** What a new definition changes for stored entries. */
import type { Home, ModuleDefinition } from "./document/index.ts";

/**
 * How a change of the definition affects stored entries:
 * - `removal`: deletes the module or schema of the entries, or may be a rename that `was` does not tell. Needs `force`.
 * - `converted`: stores the values of a field in another form. Values of the earlier form are converted when they are
 *   read. Rejected if that would lose something.
 * - `dangerous`: makes stored values unreadable. Always rejected.
 * - `claim`: makes a field unique. Rejected if two entries have equal values.
 * - `access`: changes which group of readers the published copies of entries are for.
 * - `tightened`: the next write of an entry may be rejected.
 * - `index`: requires an index of stored values.
 * - `renamed`: gives a module, a schema, a component or a field another name. It keeps its entries and values.
 */
export type Severity =
  | "removal"
  | "converted"
  | "dangerous"
  | "claim"
  | "access"
  | "tightened"
  | "index"
  | "renamed";

export interface SchemaChange {
  severity: Severity;
  /** Stable code such as `removed_schema`, `changed_type` or `added_unique`. */
  code: string;
  module: string;
  moduleType: ModuleDefinition["type"];
  schema: string;
  /** Name of the field. For a field inside objects, the names on the way to it, such as `seo.title`. */
  field?: string;
  /**
   * New names that may be those of what is removed, so that the removal may be meant as a rename. For a field that comes
   * back, the fields of which a rule could make its values.
   */
  candidates?: string[];
  message: string;
}

/** A step of a publication, which moves values between the entries of two schemas. */
export interface Step {
  /** `split`: objects become entries of another schema. `join`: the values of such entries become objects. */
  kind: "split" | "join";
  /** Name of the new field. */
  field: string;
  /** Name of the field that it replaces, in the document before. */
  source: string;
  /** The other schema. */
  target: Home;
}

/** A change, and where its values are stored. */
export interface PlacedChange extends SchemaChange {
  home: Home;
  /** Stored names of the field of the schema that contains the field of the change. */
  roots?: readonly string[];
  /** Whether the entries must be checked, because the conversion of some values may lose something. */
  mayLose?: true;
  step?: Step;
}
