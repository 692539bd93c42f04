import type { Fault } from "../../../../../shared/client/problem.ts";
import type { Present } from "../../../api/editing.ts";
import type { EntryTarget, InputProps } from "../../../fields/parts/kind.ts";
import type { Progress } from "../../../files/uploads.ts";
import type { Cell, Content } from "../../../model/cells.ts";
import type { FieldModel, OrbModel, SchemaModel } from "../../../model/orb.ts";

/** Properties that are the same for all fields of a form. */
export interface FormContext {
  orb: OrbModel;
  schema: SchemaModel;
  /** What leads to the object whose fields the form shows; undefined for the values of the entry. */
  before?: readonly string[];
  managed: boolean;
  draft: Content;
  faults: readonly Fault[];
  /** The reason why the entry cannot be changed; undefined if it can be changed. */
  readOnly: string | undefined;
  writable: ReadonlySet<string>;
  /** Returns whether the caller may read or set a field, also one of an object that the caller may read or set. */
  mayField: (field: FieldModel, action: "read" | "write") => boolean;
  /** The language and market to show; undefined for all. */
  language: string | undefined;
  market: string | undefined;
  revealed: Content | undefined;
  reveal: (() => Promise<void>) | undefined;
  set: (cell: Cell, value: unknown) => void;
  /** Sets the error message for input that cannot be parsed, or clears it (undefined). */
  tell: (cell: Cell, message: string | undefined) => void;
  /** Reports the uploads of a cell; undefined after the last one. */
  upload: (cell: Cell, progress: Progress | undefined) => void;
  /** Others who edit the entry. */
  present?: readonly Present[];
  /** Opens another entry next to the form. */
  open: ((target: EntryTarget) => void) | undefined;
  /** Lets the user create an entry for a reference; see `onCreate` of an input. */
  create: InputProps["onCreate"];
}
