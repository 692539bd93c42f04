/** Characters that are not visible: zero-width characters, soft hyphens, variation selectors. */
const INVISIBLE = /\p{Default_Ignorable_Code_Point}/gu;
/** Every kind of space character: no-break, thin, ideographic and so on. */
const SPACE = /\p{Zs}/gu;
/** Printable ASCII without spaces at its ends is already in normal form. */
const PLAIN = /^[!-~](?:[ -~]*[!-~])?$/;

/**
 * Returns the normal form of a text in a unique field. Two texts with the same normal form count as the same value,
 * because they look the same to a reader.
 *
 * 1. Removes Default_Ignorable_Code_Point (Unicode Standard 5.21; UAX #31 and UTS #39 do so for identifiers). That
 * includes ZWJ and ZWNJ, which affect the display of some scripts and emoji, but not uniqueness.
 * 2. Replaces every space character (general category Zs) with U+0020, and trims white space at both ends (as in RFC
 * 8265 4.2.2, OpaqueString, and RFC 8266, Nickname).
 * 3. Converts the result to Unicode Normalization Form C (UAX #15), so that canonically equivalent texts are equal
 * (conformance C6).
 *
 * Case matters, and so do characters that only resemble each other: there is no case folding, no compatibility
 * mapping (NFKC would make `m²` and `m2` the same value) and no table of confusables. Stored values and responses
 * stay as sent.
 */
export function uniqueForm(text: string): string {
  if (PLAIN.test(text)) return text;
  return text.replace(INVISIBLE, "").replace(SPACE, " ").trim().normalize("NFC");
}
