/**
 * The terms of a schema's word index, which finds entries by the words of their texts. A term is a word and the name of
 * the field that contains the word.
 */
import type { CompiledField, CompiledSchema } from "../../definition/compile.ts";
import type { Json } from "../../definition/fields/index.ts";
import type { Values } from "../../definition/validate.ts";
import { leavesOf } from "../../definition/walk.ts";
import { wordsOf } from "../../texts/words.ts";

/** Name of the word index among the ordered indexes of a schema. No field can have this name. */
export const WORDS = "-words";

export function termOf(word: string, field: string): string {
  return `${word} ${field}`;
}

/** Returns the text of a value that `search` finds: the value itself, or the items of a list. */
export function searchText({ type }: CompiledField, value: unknown): string {
  if (type.searchText !== undefined) return type.searchText(value as Json);
  return [value]
    .flat()
    .filter((one) => typeof one === "string")
    .join("\n");
}

/** Returns the search terms (a word and its field) of an entry, in all languages and markets. */
export function termsOf(
  { searched }: Pick<CompiledSchema, "searched">,
  plain: Readonly<Values>,
): Set<string> {
  const terms = new Set<string>();
  for (const field of searched)
    for (const word of wordsIn(field, plain)) terms.add(termOf(word, field.storedName));
  return terms;
}

function* wordsIn(field: CompiledField, plain: Readonly<Values>): Generator<string> {
  for (const { value } of leavesOf(field, plain)) yield* wordsOf(searchText(field, value));
}
