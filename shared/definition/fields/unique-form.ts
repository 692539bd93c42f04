/** Characters that a reader cannot see, such as zero-width spaces, soft hyphens and control characters. */
const INVISIBLE = /[\p{Default_Ignorable_Code_Point}\p{Cc}\ufff9-\ufffb]/gu;
/** All white space, including tabs, line breaks and no-break spaces. */
const SPACE = /\p{White_Space}/gu;
/** Printable ASCII text without outer spaces needs no normalization. */
const PLAIN = /^[!-~](?:[ -~]*[!-~])?$/;

/**
 * Normalizes a text of a unique field. Texts that look the same to a reader then count as equal.
 *
 * 1. White space becomes U+0020, as in RFC 8265 (OpaqueString) and RFC 8266 (Nickname).
 * 2. Invisible characters are removed, as in UAX #31. Zero-width joiners are among them: they affect the display only.
 * Outer spaces are removed after that, because an invisible character may follow them.
 * 3. The text is converted to Unicode Normalization Form C (UAX #15).
 *
 * Case still matters. Compatibility mappings (NFKC) and confusables do not apply: `m²` and `m2` remain different. The
 * stored value keeps its original form.
 */
export function uniqueForm(text: string): string {
  if (PLAIN.test(text)) return text;
  return text.replace(SPACE, " ").replace(INVISIBLE, "").trim().normalize("NFC");
}
