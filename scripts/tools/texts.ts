/**
 * Checks the texts of the pages for people: each language has the texts of English, with the same placeholders, in the
 * same order, and with all plural forms that its numbers need.
 */
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { LANGUAGES } from "../../functions/texts/languages.ts";
import { piecesOf, type Text, type Texts } from "../../functions/texts/translate.ts";

/** At most this many faults are printed. */
const SHOWN = 40;

const root = fileURLToPath(new URL("../..", import.meta.url));

/** Folders with a file of texts for each language. */
export const FOLDERS = ["functions/console/texts", "functions/pages/texts"] as const;

/**
 * Returns the plural forms that a language needs. French and Spanish have the form `many` only for round millions in
 * words, such as "un million d'articles". The pages write numbers in digits.
 */
const formsOf = (language: string): Intl.LDMLPluralRule[] =>
  new Intl.PluralRules(language)
    .resolvedOptions()
    .pluralCategories.filter((form) => form !== "many" || language === "ar");

/** Returns the names of the placeholders of a text, sorted, each once. */
const placeholdersOf = (form: string): string =>
  [...new Set(piecesOf(form).filter((_, at) => at % 2 === 1))].sort().join(", ");

/** Returns the forms of a text by their names. A text without plural forms has one form without a name. */
const entriesOf = (text: Text): [form: string, words: string][] =>
  typeof text === "string" ? [["", text]] : Object.entries(text);

/** Returns what is wrong with the forms of a text. */
function faultOf(english: Text, text: Text, language: string): string | undefined {
  if ((typeof english === "string") !== (typeof text === "string"))
    return typeof english === "string"
      ? "must be a text, as in English"
      : `must be an object with plural forms: ${formsOf(language).join(", ")}`;
  if (typeof text !== "string") {
    const [has, needs] = [Object.keys(text).sort(), formsOf(language).sort()];
    if (has.join() !== needs.join())
      return `must have the plural forms ${needs.join(", ")} (has ${has.join(", ")})`;
  }
  const wanted = entriesOf(english).map(([, words]) => placeholdersOf(words));
  for (const [form, words] of entriesOf(text)) {
    if (words === "") return "must not be empty";
    // A form for exactly one number may say it in words.
    const mayOmit = ["zero", "one", "two"].includes(form);
    const given = placeholdersOf(words);
    const isEqual =
      wanted.includes(given) || (mayOmit && wanted.includes(placeholdersOf(`${words} {count}`)));
    if (!isEqual) return `must have the placeholders {${wanted.at(-1)}}, as in English (has {${given}})`;
  }
  return undefined;
}

/** Returns the texts of a file by their keys, in order. */
const flat = (texts: Texts): Map<string, Text> =>
  new Map(
    Object.entries(texts).flatMap(([area, names]) =>
      Object.entries(names).map(([name, text]): [string, Text] => [`${area}.${name}`, text]),
    ),
  );

/** Returns the faults of the texts of a language, each as a line that says what to do. */
export function textFaults(english: Texts, texts: Texts, language: string, path: string): string[] {
  const [wanted, given] = [flat(english), flat(texts)];
  const keys = [...wanted.keys()];
  const faults: string[] = [];
  keys.forEach((key, at) => {
    const text = given.get(key);
    const original = wanted.get(key) ?? "";
    if (text === undefined)
      faults.push(
        `${path}: add "${key}" after "${keys[at - 1] ?? "the start"}", with the translation of ${JSON.stringify(original)}.`,
      );
    else {
      const fault = faultOf(original, text, language);
      if (fault !== undefined) faults.push(`${path}: "${key}" ${fault}.`);
    }
  });
  for (const key of given.keys())
    if (!wanted.has(key)) faults.push(`${path}: remove "${key}", because English does not have it.`);
  if (faults.length === 0 && [...given.keys()].join() !== keys.join())
    faults.push(`${path}: put the areas and the texts into the order of en.json.`);
  return faults;
}

const read = (path: string): Texts => JSON.parse(readFileSync(`${root}/${path}`, "utf8")) as Texts;

/** Reports what the files of texts lack. @returns an exit code */
export function checkTexts(): number {
  const faults = FOLDERS.flatMap((folder) => {
    const english = read(`${folder}/en.json`);
    return LANGUAGES.flatMap((language) =>
      textFaults(english, read(`${folder}/${language}.json`), language, `${folder}/${language}.json`),
    );
  });
  for (const fault of faults.slice(0, SHOWN)) console.error(fault);
  if (faults.length > SHOWN) console.error(`And ${faults.length - SHOWN} more.`);
  if (faults.length > 0)
    console.error(
      "Each text of the pages needs a translation in every language. Translate the meaning, in the words that the file already uses for the same things.",
    );
  return faults.length === 0 ? 0 : 1;
}
