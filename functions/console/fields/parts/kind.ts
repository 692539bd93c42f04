/** The field types of the console. Each type has a file that implements this interface. */
import type { ComponentChildren, ComponentType } from "preact";
import type { FilterOperator } from "../../../../shared/definition/types/index.ts";
import type { Progress } from "../../files/uploads.ts";
import type { FieldModel, Shape } from "../../model/orb.ts";
import type { InputAttributes } from "../../ui/form.tsx";

export type FilterOp = FilterOperator;

/** Identifies an entry of any application. */
export interface EntryTarget {
  orb: string;
  module: string;
  schema: string;
  id: string;
}

export interface CellProps {
  field: FieldModel;
  /** A single value in one language and market; null if there is none. For a list field, the value of one item. */
  value: unknown;
}

interface ShownProps extends CellProps {
  /** The name of the referenced entry, if it is known. */
  name?: string | undefined;
}

/** The blocks of components in rich text, which the form around it edits. */
export interface BlockForms {
  /** The components that the field allows. */
  shapes: readonly Shape[];
  /** Returns a new block with the defaults of its fields. */
  create: (shape: Shape) => Readonly<Record<string, unknown>>;
  /** Returns the inputs for a block. @param at its position in the value */
  form: (shape: Shape, at: number) => ComponentChildren;
  /** Returns whether a block has errors. @param at its position in the value */
  isWrong: (at: number) => boolean;
  /** Returns a short text that tells a block from the others. */
  textOf: (block: Readonly<Record<string, unknown>>, shape: Shape) => string;
}

export interface InputProps extends CellProps {
  onChange: (value: unknown) => void;
  /** Attributes that connect the input with its label, hint and error. Spread them on the input. */
  attributes: InputAttributes;
  disabled?: boolean;
  /** Reports a parse error, such as for `{` in JSON; undefined once the input is valid again. */
  onFault?: ((message: string | undefined) => void) | undefined;
  /** Reports the progress of uploads; undefined after the last one. */
  onUpload?: ((progress: Progress | undefined) => void) | undefined;
  /** Opens another entry next to the form. */
  onOpen?: ((target: EntryTarget) => void) | undefined;
  /**
   * Returns a function that lets the user create an entry to which the field can refer; undefined if the caller may not
   * create one. The function calls `pick` with the id of the new entry.
   */
  onCreate?:
    | ((field: FieldModel) => ((name: string, pick: (id: string) => void) => void) | undefined)
    | undefined;
  /** For rich text: how to edit its blocks. Without it, blocks can only be moved and removed. */
  blocks?: BlockForms | undefined;
  /** Returns the value of another field of the entry, in the language and market of this input. */
  readField?: ((name: string) => unknown) | undefined;
  /** Language of the value, or the default language of the application. */
  language?: string | undefined;
  /** Id of the application. The input needs it to find referenced entries. */
  orb: string;
  /** Whether the caller is a platform admin, who reads other entries through the management API. */
  managed: boolean;
}

export type Parsed = { value: unknown } | { message: string };

export interface FieldKind {
  /** Shows a value where space is limited, such as in a table cell. */
  Cell: ComponentType<ShownProps>;
  Input: ComponentType<InputProps>;
  /** The input for a list, if it differs from a list of inputs. */
  ListInput?: ComponentType<InputProps>;
  /** Filter operators, in the order in which the menu shows them. */
  filterOps: readonly FilterOp[];
  /** Parses a value from text, such as the text of a filter. Empty text means null. */
  parse: (text: string, field: FieldModel) => Parsed;
  /** Formats a value as text that {@link FieldKind.parse} can parse. */
  format: (value: unknown, field: FieldModel) => string;
  /** Set for numbers, which are aligned to the end of the column. */
  align?: "end";
}
