/** Characters that a text can hold without showing them: zero-width ones, soft hyphens, variation selectors, controls. */
const INVISIBLE = /[\p{Default_Ignorable_Code_Point}\p{Cc}\ufff9-\ufffb]/gu;
/** Every white space: no-break, thin and ideographic spaces, tabs, ends of lines. Pages show each of them as a space. */
const SPACE = /\p{White_Space}/gu;
/** Printable ASCII without spaces at its ends is in the normal form already. */
const PLAIN = /^[!-~](?:[ -~]*[!-~])?$/;

/**
 * Returns the normal form of a text in a unique field. Two texts with the same normal form count as the same value,
 * because they look the same to a reader.
 *
 * 1. Every white space character is U+0020. RFC 8265 4.2.2 (OpaqueString) and RFC 8266 (Nickname) do so with spaces.
 * 2. Default_Ignorable_Code_Point is removed (Unicode Standard 5.21; UAX #31 and UTS #39 do so for identifiers). That
 *    includes ZWJ and ZWNJ, which matter to the display in some scripts and emoji, and not to uniqueness. All other
 *    controls, and interlinear annotation marks, are removed too: RFC 8264 9.7 allows them in no text that is compared.
 *    White space at both ends is removed after that, because a control can stand behind it.
 * 3. The result is in Unicode Normalization Form C (UAX #15): canonically equivalent texts are equal (conformance C6).
 *
 * Case matters, and so do characters that only resemble each other: there is no case folding, no compatibility
 * mapping (NFKC would make `m²` and `m2` the same value) and no table of confusables. Stored values and responses
 * stay as sent.
 */
export function uniqueForm(text: string): string {
  if (PLAIN.test(text)) return text;
  return text.replace(SPACE, " ").replace(INVISIBLE, "").trim().normalize("NFC");
}
