/** Tells text from binary content, and decodes it. */

/** Characters that no text has. Tab, line feed, form feed, carriage return and escape are allowed. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they tell binary content from text
const CONTROL = /[\x00-\x08\x0b\x0e-\x1a\x1c-\x1f]/;

const starts = (head: Uint8Array, ...bytes: number[]) => bytes.every((byte, at) => head[at] === byte);

/** Swaps the bytes of each pair. */
function swapped(head: Uint8Array): Uint8Array {
  const pairs = head.slice(0, head.length & ~1);
  for (let at = 0; at < pairs.length; at += 2) pairs.set([pairs[at + 1] ?? 0, pairs[at] ?? 0], at);
  return pairs;
}

function decode(head: Uint8Array, encoding: string): string | undefined {
  try {
    // The sample may end in the middle of a character. The option `stream` makes the decoder accept this.
    return new TextDecoder(encoding, { fatal: true }).decode(head, { stream: true });
  } catch {
    return undefined;
  }
}

/**
 * Returns the first bytes of a file as text without a byte order mark. Returns undefined unless they are UTF-8, or
 * UTF-16 with a byte order mark, without control characters.
 */
export function textIn(head: Uint8Array): string | undefined {
  const text = starts(head, 0xff, 0xfe)
    ? decode(head.subarray(0, head.length & ~1), "utf-16le")
    : starts(head, 0xfe, 0xff)
      ? decode(swapped(head), "utf-16le")
      : decode(head, "utf-8");
  return text === undefined || CONTROL.test(text) ? undefined : text.replace(/^\uFEFF/, "");
}

/** Returns the first bytes as text in an encoding with one byte per character, such as Windows-1252. */
export function singleByteText(head: Uint8Array): string | undefined {
  const text = new TextDecoder("windows-1252").decode(head);
  return CONTROL.test(text) ? undefined : text;
}
