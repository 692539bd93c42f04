/** Parts of regular expressions that mean something else, or nothing, to other regular expression engines. */
const SPECIAL = [
  // Unicode properties, code points and text boundaries: JavaScript supports some of them only with the flag `u`, and
  // others not at all.
  /\\(?:[pPzZAaGQEXCcKR]|u\{|x\{)/,
  // POSIX classes of RE2, such as [[:alpha:]]. JavaScript gives them another meaning.
  /\[:\^?[a-z]+:\]/,
  // Flags within a pattern, and named groups.
  /\(\?(?:[a-zA-Z-]|<[a-zA-Z])/,
  // Without the flag `u`, JavaScript reads each of these characters as two.
  /[\u{10000}-\u{10ffff}]/u,
];

/**
 * Returns whether a regular expression means the same to RE2, to JavaScript with and without the flag `u`, and to most
 * other programs that read an OpenAPI document.
 */
export function isPortable(pattern: string): boolean {
  const escapes = pattern.replaceAll("\\\\", "");
  if (SPECIAL.some((special) => special.test(escapes))) return false;
  try {
    return [new RegExp(pattern), new RegExp(pattern, "u")].length === 2;
  } catch {
    return false;
  }
}
