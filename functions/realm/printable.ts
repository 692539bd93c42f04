/**
 * Text of one line: no control characters (Cc), format characters (Cf) or halves of a surrogate pair (Cs). The pattern
 * has no flags and no property escapes, because clients read it in the API description: with the flag `u` and without
 * it, it matches the same texts.
 */

/** Cc and Cf of the basic plane, and Cs. */
const PLAIN =
  "\\u0000-\\u001f\\u007f-\\u009f\\u00ad\\u0600-\\u0605\\u061c\\u06dd\\u070f\\u0890\\u0891\\u08e2\\u180e\\u200b-\\u200f\\u202a-\\u202e\\u2060-\\u2064\\u2066-\\u206f\\ufeff\\ufff9-\\ufffb\\ud800-\\udfff";

/** Cf beyond the basic plane. */
const BEYOND: readonly (readonly [first: number, last: number])[] = [
  [0x110bd, 0x110bd],
  [0x110cd, 0x110cd],
  [0x13430, 0x1343f],
  [0x1bca0, 0x1bca3],
  [0x1d173, 0x1d17a],
  [0xe0001, 0xe0001],
  [0xe0020, 0xe007f],
];

/** Each character as a pair of escapes: without the flag `u`, a class cannot contain a pair. */
const pairs = BEYOND.flatMap(([first, last]) =>
  Array.from({ length: last - first + 1 }, (_, index) =>
    [...String.fromCodePoint(first + index)]
      .flatMap((character) => [character.charCodeAt(0), character.charCodeAt(1)])
      .map((unit) => `\\u${unit.toString(16)}`)
      .join(""),
  ),
);

export const PRINTABLE = new RegExp(
  `^(?:(?!${pairs.join("|")})(?:[^${PLAIN}]|[\\ud800-\\udbff][\\udc00-\\udfff]))*$`,
);
