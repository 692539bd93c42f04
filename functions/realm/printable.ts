/** A pattern for one line of printable text. It works with and without the flag `u`, because clients may use either. */

/** Control characters, format characters and surrogates below U+10000. */
const PLAIN =
  "\\u0000-\\u001f\\u007f-\\u009f\\u00ad\\u0600-\\u0605\\u061c\\u06dd\\u070f\\u0890\\u0891\\u08e2\\u180e\\u200b-\\u200f\\u202a-\\u202e\\u2060-\\u2064\\u2066-\\u206f\\ufeff\\ufff9-\\ufffb\\ud800-\\udfff";

/** Format characters from U+10000. */
const BEYOND: readonly (readonly [first: number, last: number])[] = [
  [0x110bd, 0x110bd],
  [0x110cd, 0x110cd],
  [0x13430, 0x1343f],
  [0x1bca0, 0x1bca3],
  [0x1d173, 0x1d17a],
  [0xe0001, 0xe0001],
  [0xe0020, 0xe007f],
];

/** Without the flag `u`, a character class cannot contain a surrogate pair. */
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
