/**
 * Names that people choose for accounts and passkeys. Names need not be unique, so a name proves nothing. These rules
 * only keep a name readable, and keep it from looking like other text.
 */

/** Scripts with letters that look alike. */
const ALIKE = ["Latin", "Greek", "Cyrillic", "Armenian", "Coptic", "Cherokee"].map(
  (script) => new RegExp(`\\p{Script=${script}}`, "u"),
);

/**
 * Characters without a shape of their own. A variation selector may follow an emoji or an ideograph, where it chooses
 * the shape.
 */
const INVISIBLE =
  /\p{Zl}|\p{Zp}|\u2800|(?!\p{Variation_Selector})\p{Default_Ignorable_Code_Point}|(?<![\p{Emoji}\p{Script=Han}\p{Script=Mongolian}])\p{Variation_Selector}/u;
const VISIBLE = /[\p{L}\p{N}\p{P}\p{S}]/u;
const WORD = /[\p{L}\p{M}]+/gu;

/** Returns a name as it is stored: in NFKC and with single spaces, as in the Nickname profile of RFC 8266. */
export function normalName(text: string): string {
  return text
    .normalize("NFKC")
    .replace(/\p{Zs}+/gu, " ")
    .trim();
}

/** Returns what is wrong with a name; undefined if it is allowed. */
export function nameFlaw(name: string): string | undefined {
  if (INVISIBLE.test(name)) return "must not contain invisible characters";
  if (name !== "" && !VISIBLE.test(name)) return "must contain a letter, a digit or a symbol";
  const mixed = name.match(WORD)?.some((word) => ALIKE.filter((script) => script.test(word)).length > 1);
  return mixed === true
    ? "must not mix letters of several scripts, such as Latin and Cyrillic, in one word"
    : undefined;
}
