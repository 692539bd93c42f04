/**
 * Rules for the names that people choose for accounts and passkeys. Names need not be unique, so a name does not
 * identify an account. These rules keep names readable and reject some that imitate other names.
 */

/** Scripts that contain similar-looking letters. A word may use only one of these scripts. */
const ALIKE = ["Latin", "Greek", "Cyrillic", "Armenian", "Coptic", "Cherokee"].map(
  (script) => new RegExp(`\\p{Script=${script}}`, "u"),
);

/**
 * Matches invisible characters. A variation selector is allowed only after an emoji, a Chinese or a Mongolian
 * character, because it changes how that character is drawn.
 */
const INVISIBLE =
  /\p{Zl}|\p{Zp}|\u2800|(?!\p{Variation_Selector})\p{Default_Ignorable_Code_Point}|(?<![\p{Emoji}\p{Script=Han}\p{Script=Mongolian}])\p{Variation_Selector}/u;
const VISIBLE = /[\p{L}\p{N}\p{P}\p{S}]/u;
const WORD = /[\p{L}\p{M}]+/gu;

/**
 * Normalises a name before it is stored: Unicode form NFKC and single spaces, as in the Nickname profile of RFC 8266.
 */
export function normalName(text: string): string {
  return text
    .normalize("NFKC")
    .replace(/\p{Zs}+/gu, " ")
    .trim();
}

/** Returns an error message for a name that is not allowed; undefined if the name is allowed. */
export function nameFlaw(name: string): string | undefined {
  if (INVISIBLE.test(name)) return "must not contain invisible characters";
  if (name !== "" && !VISIBLE.test(name)) return "must contain a letter, a digit or a symbol";
  const mixed = name.match(WORD)?.some((word) => ALIKE.filter((script) => script.test(word)).length > 1);
  return mixed === true
    ? "must not mix letters of several scripts, such as Latin and Cyrillic, in one word"
    : undefined;
}
