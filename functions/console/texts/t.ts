/** All texts of the console. `en.json` has one section for each area of the console. */
import texts from "./en.json" with { type: "json" };

type Texts = typeof texts;

/** The key of a text: `<area>.<name>`. */
export type TextKey = { [A in keyof Texts & string]: `${A}.${keyof Texts[A] & string}` }[keyof Texts &
  string];

export type TextValues = Readonly<Record<string, string | number>>;

/** A text, or its plural forms. The placeholder value `count` selects the form. */
type Text = string | Readonly<Partial<Record<Intl.LDMLPluralRule, string>>>;

/** Language of the texts. */
export const LANGUAGE = "en";

/** The browser's language, for the form of dates and numbers. */
export const LOCALE: string = (() => {
  try {
    return Intl.getCanonicalLocales(navigator.language)[0] ?? LANGUAGE;
  } catch {
    return LANGUAGE;
  }
})();

const plurals = new Intl.PluralRules(LANGUAGE);
const numbers = new Intl.NumberFormat(LOCALE);

/** Formats a number with separators: `12,500`. */
export const formatNumber = (value: number): string => numbers.format(value);

/** Returns a text, with its placeholders replaced by values: `t("home.entries", { count: 3 })`. */
export function t(key: TextKey, values: TextValues = {}): string {
  const dot = key.indexOf(".");
  const area = (texts as Readonly<Record<string, Readonly<Record<string, Text>>>>)[key.slice(0, dot)];
  const found: Text = area?.[key.slice(dot + 1)] ?? key;
  const form =
    typeof found === "string"
      ? found
      : (found[plurals.select(Number(values.count ?? 0))] ?? found.other ?? key);
  return form.replace(/\{(\w+)\}/g, (whole, name: string) => {
    const value = values[name];
    return value === undefined ? whole : typeof value === "number" ? formatNumber(value) : value;
  });
}

/** Returns whether a text exists for a key that is built at run time, for example from a state. */
export function has(key: string): key is TextKey {
  const [area = "", name = ""] = key.split(".", 2);
  return Object.hasOwn((texts as Readonly<Record<string, object>>)[area] ?? {}, name);
}

const languages = new Intl.DisplayNames(LANGUAGE, { type: "language" });

/** Returns the name of a language: `de` → `German`. */
export function languageName(tag: string): string {
  try {
    return languages.of(tag) ?? tag;
  } catch {
    return tag;
  }
}
