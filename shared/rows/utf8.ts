/** Decodes the bytes of a file as UTF-8. Refuses everything else instead of replacing it. */
import { RowFault } from "./fault.ts";

const REMEDY =
  "Save the file as UTF-8: in a spreadsheet as “CSV UTF-8”, or with iconv -f WINDOWS-1252 -t UTF-8.";

/** Returns the number of bytes of the sequence that begins with `byte`; 0 if no sequence begins with it. */
function lengthOf(byte: number): number {
  if (byte < 0x80) return 1;
  if (byte >= 0xc2 && byte <= 0xdf) return 2;
  if (byte >= 0xe0 && byte <= 0xef) return 3;
  return byte >= 0xf0 && byte <= 0xf4 ? 4 : 0;
}

/** Returns how many bytes at the end of `bytes` begin a sequence that is not complete. */
function unfinished(bytes: Uint8Array): number {
  for (let back = 1; back <= Math.min(3, bytes.length); back++) {
    const byte = bytes[bytes.length - back] ?? 0;
    if (byte >= 0xc0) return lengthOf(byte) > back ? back : 0;
    if (byte < 0x80) return 0;
  }
  return 0;
}

const isValid = (bytes: Uint8Array): boolean => {
  try {
    new TextDecoder("utf-8", { fatal: true }).decode(bytes);
    return true;
  } catch {
    return false;
  }
};

/** Returns the index of the first byte that is not part of valid UTF-8. */
function invalidAt(bytes: Uint8Array): number {
  let at = 0;
  while (at < bytes.length) {
    const length = lengthOf(bytes[at] ?? 0);
    if (length !== 1 && (length === 0 || !isValid(bytes.subarray(at, at + length)))) return at;
    at += length;
  }
  return at;
}

function joined(first: Uint8Array, second: Uint8Array): Uint8Array {
  if (first.length === 0) return second;
  const all = new Uint8Array(first.length + second.length);
  all.set(first);
  all.set(second, first.length);
  return all;
}

const LINE_ENDS = /\r\n|\n|\r/g;
const decode = (bytes: Uint8Array) =>
  new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);

/**
 * Yields the text of a file, without its byte order mark.
 * @throws RowFault `utf8` with the line and the position of the first byte that is not UTF-8
 */
export async function* decodeUtf8(parts: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  let rest: Uint8Array = new Uint8Array(0);
  let line = 1;
  let column = 0;
  let isFirst = true;
  const take = (bytes: Uint8Array): string => {
    let text: string;
    try {
      text = decode(bytes);
    } catch {
      const at = invalidAt(bytes);
      const before = decode(bytes.subarray(0, at));
      const ends = [...before.matchAll(LINE_ENDS)];
      const last = ends.at(-1);
      const begun = last === undefined ? before : before.slice(last.index + last[0].length);
      const place = (last === undefined ? column : 0) + new TextEncoder().encode(begun).length + 1;
      const byte = (bytes[at] ?? 0).toString(16).toUpperCase().padStart(2, "0");
      throw new RowFault(
        line + ends.length,
        "utf8",
        `is not UTF-8: byte ${place} of the line is ${byte}. ${REMEDY}`,
      );
    }
    const ends = [...text.matchAll(LINE_ENDS)];
    const last = ends.at(-1);
    line += ends.length;
    const begun = last === undefined ? text : text.slice(last.index + last[0].length);
    column = (last === undefined ? column : 0) + new TextEncoder().encode(begun).length;
    if (isFirst && text !== "") {
      isFirst = false;
      return text.replace(/^\uFEFF/, "");
    }
    return text;
  };
  for await (const part of parts) {
    const all = joined(rest, part);
    if (isFirst && all.length < 2) {
      rest = all;
      continue;
    }
    if (isFirst) refuseUtf16(all);
    // A line end of two characters must not be split, so that it counts once.
    const keep = all.at(-1) === 0x0d ? 1 : unfinished(all);
    rest = all.slice(all.length - keep);
    const text = take(all.subarray(0, all.length - keep));
    if (text !== "") yield text;
  }
  const text = take(rest);
  if (text !== "") yield text;
}

function refuseUtf16([first, second]: Uint8Array): void {
  const isUtf16 = (first === 0xff && second === 0xfe) || (first === 0xfe && second === 0xff);
  if (isUtf16) throw new RowFault(1, "utf8", "is in UTF-16. Save the file as UTF-8.");
}
