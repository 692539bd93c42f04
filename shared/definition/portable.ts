/** Characters and escapes that have another meaning, or none, in other pattern languages. */
const SPECIAL = [
  // Unicode properties, code points and text boundaries. JavaScript needs the flag `u` for some of them and does not
  // know the others.
  /\\(?:[pPzZAaGQEXCcKR]|u\{|x\{)/,
  // POSIX classes of RE2, such as [[:alpha:]]. JavaScript gives them another meaning.
  /\[:\^?[a-z]+:\]/,
  // Flags and named groups.
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
