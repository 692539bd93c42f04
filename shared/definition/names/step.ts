import type { FieldDefinition } from "../document/index.ts";

/** What determines how the values of a field are stored. */
export type Meaning = Pick<
  FieldDefinition,
  "type" | "list" | "translatable" | "marketSpecific" | "sensitive" | "scale" | "styles"
>;

/** A conversion between two forms of which one was made from the other. */
export interface Step {
  from: Meaning;
  to: Meaning;
  language: string | undefined;
  market: string | undefined;
  /** The rule that converts the values. */
  rule?: unknown;
  /** The rule of the way back. If the step has no rule, it must return the same value again. */
  inverse?: unknown;
  /** Whether a value that has more than the new form can hold becomes a part of it. */
  picks?: boolean;
}

/** Called with the reason why a value cannot be converted. It continues a sentence that begins with the value. */
export type OnLoss = (reason: string) => void;
