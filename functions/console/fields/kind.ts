/** The field types of the console. Each type has a file that implements this interface. */
import type { ComponentType } from "preact";
import type { FieldModel } from "../model/orb.ts";
import type { InputAttributes } from "../ui/form.tsx";

export type FilterOp = "eq" | "ne" | "in" | "gt" | "gte" | "lt" | "lte" | "contains" | "startsWith" | "null";

/** An entry of any orb. */
export interface EntryTarget {
  orb: string;
  module: string;
  schema: string;
  id: string;
}

export interface CellProps {
  field: FieldModel;
  /** One value: never a list, and of one language and market. Null if there is none. */
  value: unknown;
}

interface ShownProps extends CellProps {
  /** The name of the entry that a reference leads to, if it is known. */
  name?: string | undefined;
}

export interface InputProps extends CellProps {
  onChange: (value: unknown) => void;
  /** Connects the input with its label, hint and error. Spread it on the input. */
  attributes: InputAttributes;
  disabled?: boolean;
  /** Reports a parse error, such as for `{` in JSON; undefined once the input is valid again. */
  onFault?: ((message: string | undefined) => void) | undefined;
  /** Shows another entry beside the form. */
  onOpen?: ((target: EntryTarget) => void) | undefined;
  /** Id of the orb, for references. */
  orb: string;
  /** Whether the caller is a platform admin, who reads other entries by the management API. */
  managed: boolean;
}

export type Parsed = { value: unknown } | { message: string };

export interface FieldKind {
  /** Shows a value where there is little room, such as a table cell. */
  Cell: ComponentType<ShownProps>;
  Input: ComponentType<InputProps>;
  /** Operators of filters, in the order of a menu. */
  filterOps: readonly FilterOp[];
  /** Reads a value from text, such as that of a filter. Empty text is null. */
  parse: (text: string, field: FieldModel) => Parsed;
  /** Returns a value as text that {@link FieldKind.parse} reads. */
  format: (value: unknown, field: FieldModel) => string;
  /** Numbers stand at the end of a column. */
  align?: "end";
}
