/** The languages of the pages for people: sign-in, account and console. */

/** Tags of the languages. The first one serves people whose browsers ask for none of them. */
export const LANGUAGES = ["en", "de", "fr", "es", "ja", "ar"] as const;

export type Language = (typeof LANGUAGES)[number];

/** The name of each language in itself, for people who look for theirs. */
export const OWN_NAMES: Readonly<Record<Language, string>> = {
  en: "English",
  de: "Deutsch",
  fr: "Français",
  es: "Español",
  ja: "日本語",
  ar: "العربية",
};

/**
 * Name of the cookie that keeps the language that a person chose. It is a cookie because the functions choose the
 * language of a page before its script runs.
 */
export const LANGUAGE_COOKIE = "language";

export const directionOf = (language: Language): "ltr" | "rtl" => (language === "ar" ? "rtl" : "ltr");

/** Returns whether a tag is one of the languages. */
export const isLanguage = (tag: string | undefined): tag is Language =>
  (LANGUAGES as readonly (string | undefined)[]).includes(tag);

/** Returns the part of a language tag that names the language: `de-AT` → `de`. */
export const primaryOf = (tag: string): string => tag.split("-", 1)[0]?.toLowerCase() ?? "";

/** Returns the tags of the header `Accept-Language`, the most wanted first. */
function wantedTags(header: string): string[] {
  return header
    .slice(0, 1_000)
    .split(",")
    .map((part) => {
      const [tag = "", ...parameters] = part.split(";").map((piece) => piece.trim());
      const weight = parameters.find((parameter) => /^q=/i.test(parameter))?.slice(2);
      return { tag, weight: weight === undefined ? 1 : Number(weight) };
    })
    .filter(({ weight }) => weight > 0)
    .sort((one, other) => other.weight - one.weight)
    .map(({ tag }) => tag);
}

/**
 * Returns the language of a page.
 * @param chosen the value of the cookie
 * @param accepted the header `Accept-Language`
 */
export function languageFor(chosen: string | undefined, accepted: string | undefined): Language {
  if (isLanguage(chosen)) return chosen;
  return (
    wantedTags(accepted ?? "")
      .map(primaryOf)
      .find(isLanguage) ?? LANGUAGES[0]
  );
}
