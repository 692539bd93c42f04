/**
 * The terms of a schema's word index, which finds entries by the words of their texts. A term is a word and the name of
 * the field that contains the word.
 */
import type { CompiledField, CompiledSchema } from "../../definition/compile.ts";
import type { Values } from "../../definition/validate.ts";
import { leavesOf } from "../../definition/values.ts";
import { wordsOf } from "../../kernel/words.ts";

/** Name of the word index among the ordered indexes of a schema. No field can have this name. */
export const WORDS = "-words";

export function termOf(word: string, field: string): string {
  return `${word} ${field}`;
}

/** Returns the texts of a value: the value itself, or the items of a list. */
export function textsOf(value: unknown): string[] {
  if (Array.isArray(value)) return value.flatMap(textsOf);
  return typeof value === "string" ? [value] : [];
}

/** Returns the search terms (a word and its field) of an entry, in all languages and markets. */
export function termsOf(
  { searched }: Pick<CompiledSchema, "searched">,
  plain: Readonly<Values>,
): Set<string> {
  const terms = new Set<string>();
  for (const field of searched) for (const word of wordsIn(field, plain)) terms.add(termOf(word, field.name));
  return terms;
}

function* wordsIn(field: CompiledField, plain: Readonly<Values>): Generator<string> {
  for (const { value } of leavesOf(field, plain)) yield* wordsOf(textsOf(value).join("\n"));
}
