/** Texts with placeholders and plural forms, for the pages of the functions and for the console. */

/** A text, or its plural forms. The placeholder value `count` selects the form. */
export type Text = string | Readonly<Partial<Record<Intl.LDMLPluralRule, string>>>;

/** Texts by area and name, as a file of texts has them. */
export type Texts = Readonly<Record<string, Readonly<Record<string, Text>>>>;

/** The keys of texts: `<area>.<name>`. */
export type KeyOf<T> = { [A in keyof T & string]: `${A}.${keyof T[A] & string}` }[keyof T & string];

export type TextValues = Readonly<Record<string, string | number>>;

/** Returns the text of a key, if there is one. */
export function textAt(texts: Texts, key: string): Text | undefined {
  const dot = key.indexOf(".");
  const [area, name] = [key.slice(0, dot), key.slice(dot + 1)];
  const names = Object.hasOwn(texts, area) ? texts[area] : undefined;
  return names !== undefined && Object.hasOwn(names, name) ? names[name] : undefined;
}

/** Returns the form of a text for a number. */
export function formOf(text: Text, plurals: Intl.PluralRules, count: number): string | undefined {
  return typeof text === "string" ? text : (text[plurals.select(count)] ?? text.other);
}

/** Splits a form into texts (even positions) and names of placeholders (odd positions). */
export const piecesOf = (form: string): string[] => form.split(/\{(\w+)\}/);

/**
 * Replaces the placeholders of a form.
 * @param shown returns what stands for a value; undefined keeps the placeholder
 */
export function filled(form: string, shown: (name: string) => string | undefined): string {
  return piecesOf(form)
    .map((piece, at) => (at % 2 === 0 ? piece : (shown(piece) ?? `{${piece}}`)))
    .join("");
}

/**
 * Keeps the order of words around a value that may run in the other direction, such as a name in Latin letters in a
 * sentence in Arabic: surrounds it with the characters FIRST STRONG ISOLATE and POP DIRECTIONAL ISOLATE.
 */
export const isolated = (value: string): string => `\u2068${value}\u2069`;
