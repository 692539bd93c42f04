/** Maximum length of a string for which the built-in search is used. Its worst case takes quadratic time. */
const SHORT = 32;

/**
 * Returns a function that tells whether a string contains `part`, in linear time. The built-in search can take half a
 * minute for malicious texts.
 */
export function searchFor(part: string): (text: string) => boolean {
  if (part.length <= SHORT) return (text) => text.includes(part);
  // Knuth-Morris-Pratt: after a mismatch, the failure table tells how much of the pattern still matches.
  const borders = new Int32Array(part.length);
  let known = 0;
  for (let at = 1; at < part.length; at++) {
    known = grown(part, borders, known, part.charCodeAt(at));
    borders[at] = known;
  }
  return (text) => {
    if (part.length >= text.length) return text.includes(part);
    let found = 0;
    for (let at = 0; at < text.length; at++) {
      found = grown(part, borders, found, text.charCodeAt(at));
      if (found === part.length) return true;
    }
    return false;
  };
}

function grown(part: string, borders: Int32Array, before: number, letter: number): number {
  let length = before;
  while (length > 0 && part.charCodeAt(length) !== letter) length = borders[length - 1] ?? 0;
  return part.charCodeAt(length) === letter ? length + 1 : 0;
}

/** Returns whether a string contains another string, in linear time. */
export function containsText(text: string, part: string): boolean {
  return searchFor(part)(text);
}
