/** Substring search where clients choose both the text and the pattern. */

/** Patterns up to this length use the engine's own search, whose worst case is this factor times the text's length. */
const SHORT = 32;

/**
 * Returns whether a text contains a part, in linear time. The engine's own search takes the product of both lengths
 * for texts of equal letters, which is half a minute for two of 250 KB.
 */
export function containsText(text: string, part: string): boolean {
  if (part.length <= SHORT || part.length >= text.length) return text.includes(part);
  // Knuth-Morris-Pratt: the failure function tells how much of the part still matches after a mismatch.
  const borders = new Int32Array(part.length);
  let known = 0;
  for (let at = 1; at < part.length; at++) {
    known = grown(part, borders, known, part.charCodeAt(at));
    borders[at] = known;
  }
  let found = 0;
  for (let at = 0; at < text.length; at++) {
    found = grown(part, borders, found, text.charCodeAt(at));
    if (found === part.length) return true;
  }
  return false;
}

/** Length of the longest matching prefix after this letter. */
function grown(part: string, borders: Int32Array, before: number, letter: number): number {
  let length = before;
  while (length > 0 && part.charCodeAt(length) !== letter) length = borders[length - 1] ?? 0;
  return part.charCodeAt(length) === letter ? length + 1 : 0;
}
