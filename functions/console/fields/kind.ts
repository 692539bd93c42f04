/** The field types of the console. Each type has a file that implements this interface. */
import type { ComponentType } from "preact";
import type { FieldModel } from "../model/orb.ts";
import type { InputAttributes } from "../ui/form.tsx";

export type FilterOp = "eq" | "ne" | "in" | "gt" | "gte" | "lt" | "lte" | "contains" | "startsWith" | "null";

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

export interface InputProps extends CellProps {
  onChange: (value: unknown) => void;
  /** Attributes that connect the input with its label, hint and error. Spread them on the input. */
  attributes: InputAttributes;
  disabled?: boolean;
  /** Reports a parse error, such as for `{` in JSON; undefined once the input is valid again. */
  onFault?: ((message: string | undefined) => void) | undefined;
  /** Opens another entry next to the form. */
  onOpen?: ((target: EntryTarget) => void) | undefined;
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
  /** Filter operators, in the order in which the menu shows them. */
  filterOps: readonly FilterOp[];
  /** Parses a value from text, such as the text of a filter. Empty text means null. */
  parse: (text: string, field: FieldModel) => Parsed;
  /** Formats a value as text that {@link FieldKind.parse} can parse. */
  format: (value: unknown, field: FieldModel) => string;
  /** Set for numbers, which are aligned to the end of the column. */
  align?: "end";
}
