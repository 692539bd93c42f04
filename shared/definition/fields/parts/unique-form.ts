/** Characters that a reader cannot see, such as zero-width spaces and control characters. */
const INVISIBLE = /[\p{Default_Ignorable_Code_Point}\p{Cc}\ufff9-\ufffb]/gu;
const SPACE = /\p{White_Space}/gu;
/** Printable ASCII text without outer spaces needs no normalization. */
const PLAIN = /^[!-~](?:[ -~]*[!-~])?$/;

/**
 * Normalizes a text of a unique field, so that texts that look the same count as equal.
 *
 * 1. White space becomes U+0020, as in RFC 8265 (OpaqueString) and RFC 8266 (Nickname).
 * 2. Invisible characters are removed, as in UAX #31, and then outer spaces.
 * 3. The text is converted to Unicode Normalization Form C (UAX #15).
 *
 * Case still matters, and so do letters that only resemble each other. The stored value keeps its original form.
 */
export function uniqueForm(text: string): string {
  if (PLAIN.test(text)) return text;
  return text.replace(SPACE, " ").replace(INVISIBLE, "").trim().normalize("NFC");
}

/**
 * Returns whether a text counts as no value in a unique field: it is empty, or only white space and invisible
 * characters.
 * @param form the equality of the value in a unique field
 */
export function isBlankForm(form: string | null): boolean {
  return form === "s:";
}
